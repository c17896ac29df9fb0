//! What stands in place of a value, and how text that merely looks like it is kept apart.
//!
//! Stubs and handles have one form, `{GUEST_EMAIL_1}`. A text from outside that has it, also in wide letters or with
//! invisible characters between, is marked on its way in: `{literal:GUEST_EMAIL_1}`. The mark is taken off again on the
//! way to a tool. So whatever resolves was written by the gateway, and nobody else's text is changed for good.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

const MARK: &str = "literal:";
const LONGEST_NAME: usize = 64;
const MOST_DIGITS: usize = 9;
/// The first byte of every wide form of a letter, in UTF-8.
const WIDE: u8 = 0xEF;
/// How far a look-alike is followed, invisible characters and marks included.
const LONGEST_LOOK: usize = 512;

/// A stub or a handle.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Token {
    /// The part before the number.
    pub(crate) name: String,
    /// Which of the session's of that name.
    pub(crate) number: u32,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{}_{}}}", self.name, self.number)
    }
}

impl Token {
    /// Reads a token as it is written, with its braces and nothing around it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match tokens(text).next() {
            Some((span, token)) if span == (0..text.len()) => Some(token),
            _ => None,
        }
    }
}

/// Every token in a text. Only the exact form counts, so that one token has one spelling.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = (Range<usize>, Token)> + '_ {
    text.match_indices('{').filter_map(|(at, _)| {
        let body = text.get(at + 1..)?;
        let length = body
            .bytes()
            .take(LONGEST_NAME + MOST_DIGITS + 2)
            .take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
            .count();
        let (inner, rest) = body.split_at_checked(length)?;
        if !rest.starts_with('}') {
            return None;
        }
        read(inner).map(|token| (at..at + length + 2, token))
    })
}

fn read(inner: &str) -> Option<Token> {
    let (name, digits) = inner.rsplit_once('_')?;
    let is_name = name.starts_with(|first: char| first.is_ascii_uppercase()) && name.len() <= LONGEST_NAME;
    let is_number =
        (1..=MOST_DIGITS).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: u32 = digits.parse().ok()?;
    (is_name && is_number && !digits.starts_with('0')).then(|| Token {
        name: name.to_owned(),
        number,
    })
}

/// Marks everything in a text that looks like a token.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    let mut marked = String::new();
    let mut at = 0;
    for look in lookalikes(text) {
        marked.push_str(text.get(at..look.inside).unwrap_or_default());
        marked.push_str(MARK);
        at = look.inside;
    }
    if at == 0 {
        return Cow::Borrowed(text);
    }
    marked.push_str(text.get(at..).unwrap_or_default());
    Cow::Owned(marked)
}

/// Takes one mark off everything that has one.
pub(crate) fn unescape(text: &str) -> Cow<'_, str> {
    let mut plain = String::new();
    let mut at = 0;
    for look in lookalikes(text) {
        if text
            .get(look.inside..)
            .is_some_and(|inside| inside.starts_with(MARK))
        {
            plain.push_str(text.get(at..look.inside).unwrap_or_default());
            at = look.inside + MARK.len();
        }
    }
    if at == 0 {
        return Cow::Borrowed(text);
    }
    plain.push_str(text.get(at..).unwrap_or_default());
    Cow::Owned(plain)
}

/// Whether a text holds anything that looks like a token, marked or not.
pub(crate) fn has_lookalike(text: &str) -> bool {
    lookalikes(text).next().is_some()
}

struct Lookalike {
    /// The place after the brace.
    inside: usize,
}

fn lookalikes(text: &str) -> impl Iterator<Item = Lookalike> + '_ {
    openings(text).filter_map(|inside| {
        let mut rest = text.get(inside..)?;
        let mut seen = String::new();
        for _ in 0..LONGEST_LOOK {
            let (letter, length) = first_letter(rest)?;
            rest = rest.get(length..)?;
            match folded(letter) {
                None => {}
                Some('}') => {
                    let name = strip_marks(&seen);
                    return is_lookalike(name).then_some(Lookalike { inside });
                }
                Some(part) if part.is_ascii_alphanumeric() || matches!(part, '_' | ':') => seen.push(part),
                Some(_) => return None,
            }
        }
        None
    })
}

/// The places after braces that open: narrow, wide, or written as an escape. The wide ones begin with [`WIDE`], so most of a
/// text need not be read letter by letter.
fn openings(text: &str) -> impl Iterator<Item = usize> + '_ {
    let bytes = text.as_bytes();
    memchr::memchr3_iter(b'{', WIDE, b'\\', bytes).filter_map(move |at| {
        // Of several backslashes the first is read with all of them.
        let is_read = at > 0 && bytes.get(at) == Some(&b'\\') && bytes.get(at - 1) == Some(&b'\\');
        let (letter, length) = first_letter(text.get(at..).filter(|_| !is_read)?)?;
        (folded(letter) == Some('{')).then_some(at + length)
    })
}

/// The first letter of a text, and how long it is as written: a document inside a text may write any letter in four digits
/// behind one backslash, or behind several when it stands inside of others.
fn first_letter(text: &str) -> Option<(char, usize)> {
    let behind = text.trim_start_matches('\\');
    let backslashes = text.len() - behind.len();
    let digits = behind.strip_prefix('u').and_then(|rest| rest.get(..4));
    let escaped = digits
        .filter(|digits| backslashes > 0 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .and_then(char::from_u32);
    match escaped {
        Some(letter) => Some((letter, backslashes + 5)),
        None => text.chars().next().map(|letter| (letter, letter.len_utf8())),
    }
}

fn strip_marks(mut text: &str) -> &str {
    while let Some(rest) = text.strip_prefix(MARK) {
        text = rest;
    }
    text
}

fn is_lookalike(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.bytes().all(is_part)
        && name
            .rsplit_once('_')
            .is_some_and(|(_, digits)| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A letter as a reader would copy it: wide forms are narrow, what cannot be seen is nothing.
fn folded(letter: char) -> Option<char> {
    match letter {
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(letter) - 0xFEE0),
        '\u{FE5B}' => Some('{'),
        '\u{FE5C}' => Some('}'),
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{180E}' | '\u{FEFF}' => None,
        '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' => None,
        '\u{FE00}'..='\u{FE0F}' | '\u{E0000}'..='\u{E01EF}' => None,
        other => Some(other),
    }
}

/// The name of tokens for the value at a place: its last named steps, in capitals.
pub(crate) fn name_for<'a>(steps: impl DoubleEndedIterator<Item = &'a str>, otherwise: &str) -> String {
    let mut named: Vec<&str> = steps.rev().filter(|step| is_plain_name(step)).take(3).collect();
    named.reverse();
    let mut name = String::new();
    for letter in named.join("_").chars().take(48) {
        let letter = if letter.is_ascii_alphanumeric() {
            letter.to_ascii_uppercase()
        } else {
            '_'
        };
        if !(letter == '_' && (name.is_empty() || name.ends_with('_'))) {
            name.push(letter);
        }
    }
    let name = name.trim_matches('_');
    match name.chars().next() {
        Some(first) if first.is_ascii_alphabetic() => name.to_owned(),
        Some(_) => format!("FIELD_{name}"),
        None => otherwise.to_owned(),
    }
}

/// Whether a key reads like the name of a field and not like a value that somebody uses as a key.
pub(crate) fn is_plain_name(key: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'$');
    let digits = key.bytes().filter(u8::is_ascii_digit).count();
    (1..=40).contains(&key.len())
        && key.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_' || first == '$')
        && key.bytes().all(is_part)
        && digits <= 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_the_exact_form_is_a_token() {
        for text in [
            "{EMAIL_1}",
            "{US_SSN_12}",
            "{SEALED_BOOKING_LOOKUP_3}",
            "{A_999999999}",
        ] {
            assert_eq!(Token::parse(text).unwrap().to_string(), text);
        }
        for text in [
            "EMAIL_1",
            "{email_1}",
            "{EMAIL}",
            "{_1}",
            "{EMAIL_1",
            "{EMAIL_}",
            "{EMAIL_01}",
            "{EMAIL_0}",
            "{EMAIL_1234567890}",
            "{}",
            "{EMAIL_1} ",
            "{literal:EMAIL_1}",
            "｛EMAIL_1｝",
            "{EMA\u{200b}IL_1}",
        ] {
            assert_eq!(Token::parse(text), None, "{text}");
        }
        let found: Vec<_> = tokens("to {{A_1}, {B_2}{C_3} {D}")
            .map(|(_, token)| token.to_string())
            .collect();
        assert_eq!(found, ["{A_1}", "{B_2}", "{C_3}"]);
    }

    #[test]
    fn what_looks_like_a_token_is_marked() {
        for (text, marked) in [
            ("x {EMAIL_1} y", "x {literal:EMAIL_1} y"),
            ("{literal:EMAIL_1}", "{literal:literal:EMAIL_1}"),
            ("｛EMAIL_１｝", "｛literal:EMAIL_１｝"),
            ("{EMA\u{200b}IL_1}", "{literal:EMA\u{200b}IL_1}"),
            ("{\u{2060}EMAIL_0001}", "{literal:\u{2060}EMAIL_0001}"),
            ("{EMAIL_12345678901}", "{literal:EMAIL_12345678901}"),
            ("{name_1} {NAME} {}", "{name_1} {NAME} {}"),
            (r"\u007bEMAIL_1\u007d", r"\u007bliteral:EMAIL_1\u007d"),
            (r"{\u0045MAIL_1\u007D", r"{literal:\u0045MAIL_1\u007D"),
            (r"\\\\u007BEMAIL_1}", r"\\\\u007Bliteral:EMAIL_1}"),
            (r"\u007bEMAIL} \u00", r"\u007bEMAIL} \u00"),
        ] {
            assert_eq!(escape(text), marked);
            assert_eq!(unescape(marked), text);
            assert!(tokens(marked).next().is_none());
        }
    }

    #[test]
    fn names_come_from_the_path() {
        for (path, name) in [
            (&["guest", "email"][..], "GUEST_EMAIL"),
            (&["guests", "0", "e-mail"][..], "GUESTS_E_MAIL"),
            (&["anna@example.org", "phone"][..], "PHONE"),
            (&["0"][..], "RESULT"),
            (&["_id"][..], "ID"),
            (&[][..], "RESULT"),
        ] {
            assert_eq!(name_for(path.iter().copied(), "RESULT"), name);
        }
    }

    proptest! {
        #[test]
        fn no_opening_is_missed(text in "(\\{|｛|﹛|\u{200b}|[^\\\\\\PC]){0,20}") {
            let every = text.char_indices().filter(|(_, letter)| folded(*letter) == Some('{'));
            let every: Vec<_> = every.map(|(at, letter)| at + letter.len_utf8()).collect();
            prop_assert_eq!(openings(&text).collect::<Vec<_>>(), every);
        }

        #[test]
        fn a_text_that_is_parsed_again_and_again_shows_no_token(
            text in "(\\{|\\}|A_1|\\\\u007b|\\\\u007D|\\\\u0041_1|\\\\|B| ){0,9}",
            layers in 0..4usize,
        ) {
            let mut written = text;
            for _ in 0..layers {
                written = serde_json::to_string(&written).unwrap();
            }
            let mut read = escape(&written).into_owned();
            prop_assert!(tokens(&read).next().is_none());
            while let Ok(serde_json::Value::String(parsed)) = serde_json::from_str(&read) {
                read = parsed;
                prop_assert!(tokens(&read).next().is_none(), "{}", read);
            }
        }

        #[test]
        fn marks_come_off_as_they_went_on(text in "(\\{|｛|\\}|literal:|A_1|B|_|1|\u{200b}| ){0,14}") {
            let marked = escape(&text);
            prop_assert_eq!(unescape(&marked), text.as_str());
            prop_assert!(tokens(&marked).next().is_none());
        }
    }
}
