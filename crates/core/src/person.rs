//! Which principals are one person.
//!
//! Somebody may hold a token and also come in by way of an identity provider. What a provider calls a person gets a mark in
//! front, so that no account elsewhere can stand on the record as the holder of a token. Where it counts how many
//! people agree, and whether somebody approves their own, the mark counts for nothing: the same name is the same person, however
//! they came in. Taking two for one asks for another person; taking one for two would let somebody approve their own.

use crate::{BadIdent, Ident};

/// What stands in front of the name of somebody whom a provider vouches for.
const MARK: &str = "oidc:";

/// The principal whom a provider calls by this name.
///
/// # Errors
/// When the name holds what no principal's name may.
pub fn vouched(name: &str) -> Result<Ident, BadIdent> {
    Ident::parse(name)?;
    Ident::parse(&format!("{MARK}{name}"))
}

/// Whether a name is one that only a provider gives.
#[must_use]
pub fn is_vouched(principal: &Ident) -> bool {
    let name = principal.as_str().get(..MARK.len());
    name.is_some_and(|start| start.eq_ignore_ascii_case(MARK))
}

/// Whether two principals count as one person: their names are the same without marks and apart from case.
#[must_use]
pub fn same_person(one: &Ident, other: &Ident) -> bool {
    let name = |principal: &Ident| {
        let name = principal.as_str().to_ascii_lowercase();
        name.trim_start_matches(MARK).to_owned()
    };
    name(one) == name(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ident(text: &str) -> Ident {
        Ident::parse(text).unwrap()
    }

    #[test]
    fn one_person_is_one_however_they_came_in() {
        for (one, other, is_same) in [
            ("alice", "alice", true),
            ("alice", "oidc:alice", true),
            ("oidc:alice", "alice", true),
            ("Alice@corp.example", "oidc:alice@corp.example", true),
            ("OIDC:alice", "alice", true),
            ("oidc:oidc:alice", "oidc:alice", true),
            ("alice", "bob", false),
            ("oidc:alice", "oidc:bob", false),
            ("alice:oidc:", "alice", false),
            ("alice", "alice2", false),
        ] {
            assert_eq!(same_person(&ident(one), &ident(other)), is_same, "{one} {other}");
        }
    }

    #[test]
    fn a_provider_gives_names_that_no_token_has() {
        assert_eq!(vouched("alice").unwrap(), ident("oidc:alice"));
        for name in ["", ".alice", "al ice", "alice/..", "alice\n"] {
            assert!(vouched(name).is_err(), "{name:?}");
        }
        assert!(vouched(&"a".repeat(Ident::MAX_LEN)).is_err());
        for (name, expected) in [
            ("oidc:alice", true),
            ("OIDC:x", true),
            ("alice", false),
            ("oid", false),
        ] {
            assert_eq!(is_vouched(&ident(name)), expected, "{name}");
        }
    }
}
