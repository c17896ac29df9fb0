//! Names of this house as object ids of the server, and back.
//!
//! An id ends at whitespace and gives `:`, `#` and `*` a meaning, so these are written as `%` and two digits. Everything
//! else stays readable. An agent belongs to one user: two users may call their agents alike, and a token that is bound
//! to no agent may name any, so a grant to an agent's bare name would be one to everybody.

use std::fmt::Write;

use tidegate_core::{Ident, Name};

/// The server's bounds.
const MOST_OBJECT_BYTES: usize = 256;
const MOST_USER_BYTES: usize = 512;

/// A name is too long for an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name is too long for an id of OpenFGA")]
pub struct BadId;

/// A tool.
///
/// # Errors
/// When its name is too long; then nobody can have been given leave to use it.
pub fn tool_id(tool: &Name) -> Result<String, BadId> {
    bounded(format!("tool:{}", escaped(tool.as_str())), MOST_OBJECT_BYTES)
}

/// An agent of a user.
///
/// # Errors
/// When the names are too long.
pub fn agent_id(user: &Ident, agent: &Ident) -> Result<String, BadId> {
    let id = format!("agent:{}/{}", escaped(user.as_str()), escaped(agent.as_str()));
    bounded(id, MOST_USER_BYTES)
}

pub(crate) fn user_id(user: &Ident) -> Result<String, BadId> {
    bounded(format!("user:{}", escaped(user.as_str())), MOST_OBJECT_BYTES)
}

pub(crate) fn session_id(session: &Ident) -> Result<String, BadId> {
    bounded(
        format!("session:{}", escaped(session.as_str())),
        MOST_OBJECT_BYTES,
    )
}

/// The tool that an object is; nothing for what cannot be one.
pub(crate) fn tool_of(object: &str) -> Option<Name> {
    let id = object.strip_prefix("tool:")?;
    Name::parse(&unescaped(id)?).ok()
}

fn bounded(id: String, most: usize) -> Result<String, BadId> {
    if id.len() <= most { Ok(id) } else { Err(BadId) }
}

fn escaped(name: &str) -> String {
    let mut id = String::with_capacity(name.len());
    for character in name.chars() {
        let is_plain = !character.is_whitespace() && !"%:#*".contains(character);
        if is_plain {
            id.push(character);
            continue;
        }
        let mut bytes = [0; 4];
        for byte in character.encode_utf8(&mut bytes).bytes() {
            let _ = write!(id, "%{byte:02X}");
        }
    }
    id
}

fn unescaped(id: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(id.len());
    let mut rest = id.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let value = digit(rest.next())? * 16 + digit(rest.next())?;
        bytes.push(u8::try_from(value).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ids_read_like_the_names() {
        for (name, id) in [
            ("web_search", "tool:web_search"),
            ("crm.lookup", "tool:crm.lookup"),
            ("sql:patients", "tool:sql%3Apatients"),
            ("Q4 numbers", "tool:Q4%20numbers"),
            ("*", "tool:%2A"),
            ("100%", "tool:100%25"),
            ("données", "tool:données"),
        ] {
            assert_eq!(tool_id(&Name::parse(name).unwrap()).unwrap(), id);
        }
        let ident = |text| Ident::parse(text).unwrap();
        assert_eq!(
            agent_id(&ident("alice"), &ident("bot:1")).unwrap(),
            "agent:alice/bot%3A1"
        );
        assert_eq!(tool_id(&Name::parse(&"#".repeat(200)).unwrap()), Err(BadId));
        for bad in ["user:x", "tool:%4", "tool:%zz", "tool:%FF", "tool:"] {
            assert_eq!(tool_of(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_tool_comes_back_from_its_id(name in "\\PC{1,60}") {
            if let Ok(name) = Name::parse(&name) {
                let id = tool_id(&name);
                prop_assume!(id.is_ok());
                let id = id.unwrap();
                prop_assert!(!id.contains(char::is_whitespace) && !id.contains(['#', '*']));
                prop_assert_eq!(id.matches(':').count(), 1);
                prop_assert_eq!(tool_of(&id), Some(name));
            }
        }

        #[test]
        fn two_agents_never_share_an_id(a in "[a-z:@+./-]{1,6}", b in "[a-z:@+./-]{1,6}", c in "[a-z:@+./-]{1,6}", d in "[a-z:@+./-]{1,6}") {
            let ident = |text: &str| Ident::parse(text);
            if let (Ok(a), Ok(b), Ok(c), Ok(d)) = (ident(&a), ident(&b), ident(&c), ident(&d)) {
                let same = agent_id(&a, &b).unwrap() == agent_id(&c, &d).unwrap();
                prop_assert_eq!(same, (a, b) == (c, d));
            }
        }
    }
}
