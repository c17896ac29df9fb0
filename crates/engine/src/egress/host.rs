//! Where a connection is to lead, in one spelling.
//!
//! Libraries disagree about what `0x7f.1`, `2130706433`, `EXAMPLE.com.` and `bücher.example` mean. Here a host is an address in
//! its usual form or a name of lower-case ASCII labels, and what is neither is refused instead of guessed at: whatever
//! passes means the same to the policy, to the resolver and to the other end.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A host: an address or a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// An address.
    Address(IpAddr),
    /// A name in lower case, without a dot at its end.
    Name(String),
}

/// The text is no host that everybody understands alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a host: write a name such as api.example.com (xn-- for other letters), 192.0.2.1 or [2001:db8::1]"
)]
pub struct BadHost;

impl Host {
    /// Reads a host as it stands in a URL: an IPv6 address in brackets.
    ///
    /// # Errors
    /// When it is not one that everybody understands alike.
    pub fn parse(text: &str) -> Result<Self, BadHost> {
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or(BadHost)?;
            let address: Ipv6Addr = inner.parse().map_err(|_| BadHost)?;
            return Ok(Self::Address(address.into()));
        }
        // The standard library takes four decimal numbers without leading zeros and nothing else.
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Ok(Self::Address(address.into()));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        if is_name(&name) {
            Ok(Self::Name(name))
        } else {
            Err(BadHost)
        }
    }
}

/// Letters, digits, hyphens and underscores in labels of at most 63, and a last label that nobody reads as a number.
fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let inner = label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        inner && (1..=63).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-')
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|b| b.is_ascii_digit())
        || last
            .strip_prefix("0x")
            .is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_hexdigit()));
    name.len() <= 253 && name.split('.').all(is_label) && !is_number
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
}

impl Target {
    /// Reads `host:port`, or `host` alone where a port is implied.
    ///
    /// # Errors
    /// When the host is none, or the port is not a plain number from 1.
    pub fn parse(text: &str, implied: Option<u16>) -> Result<Self, BadHost> {
        let end = match text.rfind(']') {
            Some(bracket) => bracket + 1,
            None => text.find(':').unwrap_or(text.len()),
        };
        let (host, port) = text.split_at_checked(end).ok_or(BadHost)?;
        let port = match port.strip_prefix(':') {
            Some(digits) if (1..=5).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()) => {
                digits.parse().map_err(|_| BadHost)?
            }
            None if port.is_empty() => implied.ok_or(BadHost)?,
            Some(_) | None => return Err(BadHost),
        };
        let host = Host::parse(host)?;
        if port == 0 {
            Err(BadHost)
        } else {
            Ok(Self { host, port })
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_spelling_for_each_host() {
        for (text, expected) in [
            ("example.com", Some("example.com")),
            ("EXAMPLE.Com.", Some("example.com")),
            ("xn--bcher-kva.example", Some("xn--bcher-kva.example")),
            ("_dmarc.example.com", Some("_dmarc.example.com")),
            ("127.0.0.1", Some("127.0.0.1")),
            ("[::1]", Some("[::1]")),
            ("[::FFFF:127.0.0.1]", Some("[::ffff:127.0.0.1]")),
            ("::1", None),
            ("[::1", None),
            ("[fe80::1%eth0]", None),
            ("2130706433", None),
            ("0x7f000001", None),
            ("0x7f.1", None),
            ("0177.0.0.1", None),
            ("127.1", None),
            ("example.0x10", None),
            ("bücher.example", None),
            ("ｅxample.com", None),
            ("a..b", None),
            ("example.com..", None),
            (".example.com", None),
            ("-a.example", None),
            ("user@example.com", None),
            ("exa mple.com", None),
            ("example.com%00.evil", None),
            ("", None),
        ] {
            let host = Host::parse(text).ok().map(|host| host.to_string());
            assert_eq!(host.as_deref(), expected, "{text}");
        }
        assert!(Host::parse(&"a.".repeat(130)).is_err());
    }

    #[test]
    fn targets_have_a_port() {
        for (text, implied, expected) in [
            ("example.com:443", None, Some("example.com:443")),
            ("example.com", None, None),
            ("example.com", Some(80), Some("example.com:80")),
            ("[::1]:8443", None, Some("[::1]:8443")),
            ("[::1]", Some(80), Some("[::1]:80")),
            ("example.com:", Some(80), None),
            ("example.com:0", None, None),
            ("example.com:+443", None, None),
            ("example.com:65536", None, None),
            ("example.com:443:443", None, None),
            ("[::1]443", None, None),
        ] {
            let target = Target::parse(text, implied).ok().map(|target| target.to_string());
            assert_eq!(target.as_deref(), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_reads_back(text in "\\PC{0,60}") {
            if let Ok(target) = Target::parse(&text, Some(80)) {
                prop_assert_eq!(Target::parse(&target.to_string(), None), Ok(target));
            }
        }
    }
}
