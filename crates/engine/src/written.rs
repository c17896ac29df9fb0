//! JSON as text, byte for byte as `serde_json` writes it, and sooner.
//!
//! Everything that is looked into is written first, and most of what is large is one long string. `serde_json` asks a table
//! about each of its bytes and makes room as it goes; here eight bytes are asked at a time, and the room is there before.

use std::io::Write as _;

use serde_json::Value;

/// A value as JSON.
pub(crate) fn written(value: &Value) -> Vec<u8> {
    let mut text = Vec::with_capacity(room(value));
    write(value, &mut text);
    text
}

/// About how many bytes a value takes: a few of a string's letters are written as two.
fn room(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 8,
        Value::Number(_) => 24,
        Value::String(text) => room_of(text),
        Value::Array(items) => 2 + items.iter().map(|item| 1 + room(item)).sum::<usize>(),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| 2 + room_of(name) + room(value);
            2 + members.iter().map(member).sum::<usize>()
        }
    }
}

const fn room_of(text: &str) -> usize {
    text.len() + text.len() / 16 + 8
}

fn write(value: &Value, into: &mut Vec<u8>) {
    match value {
        Value::Null => into.extend(b"null"),
        Value::Bool(true) => into.extend(b"true"),
        Value::Bool(false) => into.extend(b"false"),
        // Memory takes whatever is written.
        Value::Number(number) => drop(write!(into, "{number}")),
        Value::String(text) => write_string(text, into),
        Value::Array(items) => {
            let mut between = b'[';
            for item in items {
                into.push(between);
                write(item, into);
                between = b',';
            }
            close(items.is_empty(), b"[]", into);
        }
        Value::Object(members) => {
            let mut between = b'{';
            for (name, member) in members {
                into.push(between);
                write_string(name, into);
                into.push(b':');
                write(member, into);
                between = b',';
            }
            close(members.is_empty(), b"{}", into);
        }
    }
}

/// Ends a list or an object; one that is empty was not begun.
fn close(is_empty: bool, brackets: &[u8; 2], into: &mut Vec<u8>) {
    let [_, end] = brackets;
    if is_empty {
        into.extend(brackets);
    } else {
        into.push(*end);
    }
}

fn write_string(text: &str, into: &mut Vec<u8>) {
    into.push(b'"');
    let mut rest = text.as_bytes();
    while let Some((plain, behind)) = rest.split_at_checked(plain_bytes(rest)) {
        into.extend_from_slice(plain);
        let Some((escaped, behind)) = behind.split_first() else {
            break;
        };
        escape(*escaped, into);
        rest = behind;
    }
    into.push(b'"');
}

/// How many bytes at the front are written as they are.
fn plain_bytes(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let marks = escaped_in(u64::from_le_bytes(*word));
        if marks != 0 {
            return index * 8 + marks.trailing_zeros() as usize / 8;
        }
    }
    let is_escaped = |byte: &u8| matches!(byte, b'"' | b'\\' | ..0x20);
    let plain = rest.iter().position(is_escaped).unwrap_or(rest.len());
    words.len() * 8 + plain
}

/// The high bit of each byte of a word that is not written as it is: right for the lowest one, which is all that is asked.
const fn escaped_in(word: u64) -> u64 {
    const fn each(byte: u8) -> u64 {
        u64::from_ne_bytes([byte; 8])
    }
    const fn zero_bytes(word: u64) -> u64 {
        word.wrapping_sub(each(1)) & !word
    }
    let control = word.wrapping_sub(each(0x20)) & !word;
    let (quote, backslash) = (word ^ each(b'"'), word ^ each(b'\\'));
    (control | zero_bytes(quote) | zero_bytes(backslash)) & each(0x80)
}

fn escape(byte: u8, into: &mut Vec<u8>) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0C => b'f',
        b'\r' => b'r',
        _ => return drop(write!(into, "\\u{byte:04x}")),
    };
    into.extend([b'\\', short]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn check(value: &Value) {
        assert_eq!(written(value), serde_json::to_vec(value).unwrap(), "{value}");
    }

    #[test]
    fn every_byte_is_written_as_serde_json_writes_it() {
        for byte in 0..=0x7F_u8 {
            for before in 0..20 {
                let text = format!("{}{}{}", "x".repeat(before), char::from(byte), "é\u{7F}x");
                check(&Value::from(text));
            }
        }
        check(&json!([null, true, false, 0, -7, 1.5, 1e300, u64::MAX, [], {}, "", {"": [{}]}]));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "[a\"\\\\\\n\\x00-\\x1f]{0,40}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_text_is_what_serde_json_writes(value in any_json()) {
            prop_assert_eq!(written(&value), serde_json::to_vec(&value).unwrap());
        }
    }
}
