//! Generic assignments: a name that promises a secret and a value that keeps the promise.
//!
//! This is the net for what no provider's rule knows. The less a name says, the more the value must look drawn at
//! random. The order of the checks is the order of their cost: prose that talks about tokens leaves after a few bytes.

use std::ops::Range;

use super::bounds::{ahead, behind};
use super::exclude::{Harmless, contains_any_case, has_hash_form, is_stock_word, never_a_secret, not_random};
use super::name::{Promise, follows_table_word, name_around, promise};
use super::shape::{Alphabet, entropy, is_uuid, is_word_like};
use super::value::{Joint, Value, value_after};
use crate::table::{Column, MISFITS};

/// The words whose presence makes a name worth reading. `pass` covers password, passwd and passphrase.
pub(super) const WORDS: &[&str] = &[
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "credential",
    "creds",
    "auth",
    "_pat",
    "access",
    "private",
];

/// What an assignment turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    pub promise: Promise,
    pub span: Range<usize>,
    pub confidence: u8,
}

/// Judges the word at `word`: is it part of a name that is given a secret?
pub(super) fn judge(text: &[u8], word: &Range<usize>) -> Option<Assignment> {
    let name = name_around(text, &without_separator(text, word));
    let value = value_after(text, &name).or_else(|| dashed(text, &name))?;
    let bytes = text.get(value.span.clone())?;
    if bytes.len() < 5 || (value.joint == Joint::Loose && !could_be_random(bytes)) {
        return None;
    }
    let promise = promise(text.get(name.clone())?)?;
    if promise == Promise::Key && follows_table_word(text, &name) {
        return None;
    }
    if is_stock_word(bytes) || same_as_name(text, &name, bytes) {
        return None;
    }
    let is_sequence = promise == Promise::Secret && not_random(bytes) == Some(Harmless::Sequence);
    let confidence = match promise {
        Promise::PerhapsPassword => is_mixed(bytes).then_some(60),
        Promise::Password if value.joint.is_told() => is_mixed(bytes).then_some(60),
        _ if value.joint == Joint::Loose || value.joint.is_told() => {
            let is_named_uuid = is_uuid(bytes) && promise == Promise::Secret;
            (is_named_uuid || (!is_uuid(bytes) && is_random(bytes, 12))).then_some(50)
        }
        Promise::Password => is_password(text, &name, &value).then_some(70),
        Promise::Secret => {
            (is_data(&value, bytes) && (is_uuid(bytes) || is_sequence || is_random(bytes, 8))).then_some(70)
        }
        Promise::Mentioned => {
            (is_data(&value, bytes) && is_random(bytes, 16) && !has_hash_form(bytes)).then_some(50)
        }
        Promise::Key | Promise::Label => (is_data(&value, bytes) && is_random(bytes, 16)).then_some(50),
    }?;
    if never_a_secret(bytes).is_some() {
        return None;
    }
    Some(Assignment {
        promise,
        span: value.span,
        confidence,
    })
}

/// The values of a column whose heading is the name around a word: `username,password` and rows below.
pub(super) fn in_column(text: &[u8], word: &Range<usize>) -> Vec<Assignment> {
    let mut held = Vec::new();
    let name = name_around(text, word);
    let Some(column) = Column::below(text, &name) else {
        return held;
    };
    let Some(promise) = text.get(name).and_then(promise) else {
        return held;
    };
    let mut misfits = 0;
    for cell in column.filter(|cell| !cell.is_empty()) {
        let bytes = text.get(cell.clone()).unwrap_or_default();
        let convinces = match promise {
            Promise::Password | Promise::PerhapsPassword => is_mixed(bytes),
            Promise::Secret => is_random(bytes, 16),
            Promise::Mentioned | Promise::Key | Promise::Label => false,
        };
        if convinces && !is_stock_word(bytes) && never_a_secret(bytes).is_none() {
            held.push(Assignment {
                promise,
                span: cell,
                confidence: 60,
            });
        } else {
            misfits += 1;
        }
        if misfits > MISFITS {
            break;
        }
    }
    held
}

/// A short word is looked for with what follows it, which is no part of the name.
fn without_separator(text: &[u8], word: &Range<usize>) -> Range<usize> {
    let last = word.end.checked_sub(1).and_then(|last| text.get(last));
    match last {
        Some(b':' | b'=' | b'"') => word.start..word.end - 1,
        _ => word.clone(),
    }
}

/// Whether a value is more than words where only a sentence, a table or an unsure name says that it is a password: letters
/// with digits or signs among them, as people are made to choose them.
fn is_mixed(bytes: &[u8]) -> bool {
    let alphabet = Alphabet::of(bytes);
    if !(8..=64).contains(&bytes.len())
        || alphabet.letters() == 0
        || !bytes.iter().all(u8::is_ascii_graphic)
        || bytes.iter().any(|byte| b"()[]{}\\<>|\"".contains(byte))
        || contains_any_case(bytes, b"://")
        || matches!(
            not_random(bytes),
            Some(Harmless::Locator | Harmless::NamedHash | Harmless::Uuid)
        )
    {
        return false;
    }
    let has_sign = bytes.iter().any(|byte| b"!#$%^&*@+=?~".contains(byte));
    let is_hyphenated = bytes.contains(&b'-') && is_word_like(bytes);
    let has_hump = bytes
        .windows(2)
        .any(|pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()));
    if alphabet.digits == 0 {
        return has_sign && has_hump;
    }
    // No identifier starts with a digit.
    let is_no_name = bytes.first().is_some_and(u8::is_ascii_digit) && has_hump;
    !is_hyphenated && (has_sign || is_no_name || !is_word_like(bytes))
}

/// `NAME-value`: a dash joins a name to a value that begins with no word.
fn dashed(text: &[u8], name: &Range<usize>) -> Option<Value> {
    let start = match text.get(name.end) {
        Some(b'-' | b'.') => name.end + 1,
        _ => return None,
    };
    let length = ahead(text, start, 256)
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        .count();
    Some(Value {
        span: start..start + length,
        joint: Joint::Loose,
        quoted: false,
    })
}

/// A value that a person may have chosen.
fn is_password(text: &[u8], name: &Range<usize>, value: &Value) -> bool {
    let Some(bytes) = text.get(value.span.clone()) else {
        return false;
    };
    let alphabet = Alphabet::of(bytes);
    if value.joint == Joint::Argument && alphabet.digits == 0 {
        return false;
    }
    let has_blank = bytes.iter().any(u8::is_ascii_whitespace);
    if bytes.len() > 128 || (has_blank && alphabet.digits == 0) || is_public_login(text, name) {
        return false;
    }
    if matches!(bytes, [b'/' | b'.' | b'(' | b'*', ..]) || contains_any_case(bytes, b"://") {
        return false;
    }
    value.quoted || is_bare_password(text, value, bytes, alphabet)
}

/// Without quotes a value may as well be code or prose: calls, members, types and the rest of a sentence are not passwords.
fn is_bare_password(text: &[u8], value: &Value, bytes: &[u8], alphabet: Alphabet) -> bool {
    if bytes
        .iter()
        .any(|byte| matches!(byte, b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'\\'))
    {
        return false;
    }
    if ["pass", "pwd", "secret", "token"]
        .iter()
        .any(|word| contains_any_case(bytes, word.as_bytes()))
    {
        return is_random(bytes, 12);
    }
    if alphabet.digits > 0 {
        return alphabet.letters() > 0 || alphabet.digits >= 6;
    }
    let is_member =
        bytes.contains(&b'.') && alphabet.other == bytes.iter().filter(|&&byte| byte == b'.').count();
    let is_type = bytes.first().is_some_and(u8::is_ascii_uppercase) && alphabet.other == 0;
    !is_member && !is_type && ends_statement(text, value.span.end)
}

/// Whether nothing but a comment or the end of a statement follows on the line.
fn ends_statement(text: &[u8], end: usize) -> bool {
    let rest = ahead(text, end, 8);
    let after = rest
        .iter()
        .position(|byte| !matches!(byte, b' ' | b'\t'))
        .and_then(|at| rest.get(at..));
    after.is_none_or(|after| {
        matches!(
            after,
            [b'\n' | b'\r' | b';' | b'&' | b'#' | b'<' | b'"' | b'\'', ..] | [b'/', b'/', ..]
        )
    })
}

/// By convention the password of an anonymous login is anything at all.
fn is_public_login(text: &[u8], name: &Range<usize>) -> bool {
    contains_any_case(behind(text, name.start, 64), b"anonymous")
}

/// A value that is data rather than code: quoted, or free of what only expressions hold.
fn is_data(value: &Value, bytes: &[u8]) -> bool {
    let is_code = bytes
        .iter()
        .any(|byte| matches!(byte, b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'$' | b'*'));
    !bytes.iter().any(u8::is_ascii_whitespace) && (value.quoted || !is_code)
}

fn same_as_name(text: &[u8], name: &Range<usize>, value: &[u8]) -> bool {
    text.get(name.clone())
        .is_some_and(|name| name.eq_ignore_ascii_case(value))
}

/// A first, cheap look: long enough, and both letters and digits.
fn could_be_random(bytes: &[u8]) -> bool {
    bytes.len() >= 12 && bytes.iter().any(u8::is_ascii_digit) && bytes.iter().any(u8::is_ascii_alphabetic)
}

/// Whether a value of at least `shortest` bytes looks drawn at random.
fn is_random(bytes: &[u8], shortest: usize) -> bool {
    if bytes.len() < shortest {
        return false;
    }
    if matches!(not_random(bytes), Some(harmless) if harmless != Harmless::Uuid) {
        return false;
    }
    let alphabet = Alphabet::of(bytes);
    let bits = entropy(bytes);
    if alphabet.digits > 0 {
        return bits >= if bytes.len() < 16 { 2.6 } else { 3.0 };
    }
    let mixed = alphabet.lower > 0 && alphabet.upper > 0;
    bits >= 3.4 && (mixed && bytes.len() >= 16 || bytes.len() >= 24)
}
