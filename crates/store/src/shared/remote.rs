//! How a shared server is reached.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// A server, and how long to wait for it.
#[derive(Clone, Debug)]
pub struct Remote {
    /// Its address; it may hold a password.
    pub url: Hidden,
    /// The password, when it is not in the address.
    pub password: Option<Hidden>,
    /// The certificates of whoever signs the server's; without it, those of the system.
    pub ca_file: Option<PathBuf>,
    /// What sets this state apart from others on the same server: a schema's name, or the beginning of every key.
    pub namespace: String,
    /// How long one question to the server may take, a new connection included. Then it is an error, which is a denial.
    pub timeout: Duration,
    /// How many replicas of a Redis server must have a change before it is acknowledged. PostgreSQL has a setting of
    /// its own for this.
    pub replicas: Option<u32>,
}

impl Remote {
    /// The server at this address, with the usual bounds.
    #[must_use]
    pub fn at(url: &str) -> Self {
        Self {
            url: Hidden::new(url),
            password: None,
            ca_file: None,
            namespace: "tidegate".to_owned(),
            timeout: Duration::from_secs(2),
            replicas: None,
        }
    }

    /// Whether a name can be a namespace: it becomes part of statements and keys as it is.
    #[must_use]
    pub fn is_namespace(text: &str) -> bool {
        let mut bytes = text.bytes();
        text.len() <= 40
            && bytes.next().is_some_and(|first| first.is_ascii_lowercase())
            && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    }
}

/// A text that is not shown: it holds a password, or may.
#[derive(Clone, PartialEq, Eq)]
pub struct Hidden(String);

impl Hidden {
    /// Hides a text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text, for whoever connects.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hidden(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        let remote = Remote::at("postgres://gateway:hunter2@db/state");
        assert!(!format!("{remote:?}").contains("hunter2"));
    }

    #[test]
    fn only_plain_words_are_namespaces() {
        for (text, good) in [
            ("tidegate", true),
            ("t_2", true),
            ("", false),
            ("2t", false),
            ("a\"b", false),
            ("Ab", false),
            ("a-b", false),
        ] {
            assert_eq!(Remote::is_namespace(text), good, "{text}");
        }
        assert!(!Remote::is_namespace(&"a".repeat(41)));
    }
}
