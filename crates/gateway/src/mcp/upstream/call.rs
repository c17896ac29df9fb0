//! A call of a client's, as the server that has it may speak of it.

use tidegate_core::Name;

/// A call that a server was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// The tool or surface that the rules know it by.
    pub(crate) subject: Name,
    /// Its progress token as the client wrote it.
    pub(crate) token: Option<String>,
}

impl Call {
    /// Whether a token in a server's message may be this call's.
    pub(super) fn may_have(&self, token: &str) -> bool {
        let own = self.token.as_deref();
        own.is_some_and(|own| may_be_same(own, token))
    }
}

/// Whether two tokens may be the same to a server, which may read a number and write it otherwise, or as a text.
fn may_be_same(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let (one, other) = (plain(one), plain(other));
    let number = |token: &str| token.parse::<f64>().ok();
    one == other || number(&one).is_some_and(|one| number(&other) == Some(one))
}

fn plain(token: &str) -> String {
    serde_json::from_str(token).unwrap_or_else(|_| token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_may_be_anything_that_reads_as_it() {
        for (own, told, expected) in [
            ("7", "7", true),
            ("7", "8", false),
            ("10", "1e1", true),
            ("10", "10.0", true),
            ("7", r#""7""#, true),
            (r#""a""#, r#""\u0061""#, true),
            (r#""a""#, r#""b""#, false),
            ("7", r#""a""#, false),
        ] {
            let call = |token: Option<&str>| Call {
                subject: Name::parse("hr.slow").unwrap(),
                token: token.map(str::to_owned),
            };
            assert_eq!(call(Some(own)).may_have(told), expected, "{own} {told}");
            assert_eq!(call(Some(told)).may_have(own), expected, "{told} {own}");
            assert!(!call(None).may_have(told));
        }
    }
}
