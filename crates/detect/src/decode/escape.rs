//! Escapes that stand for single characters: JSON, URL, HTML, quoted-printable.

use std::ops::Range;

use crate::normalize::Draft;

/// Undoes one layer of escapes, or says that there is none.
pub(crate) fn unescape(text: &str) -> Option<Draft> {
    let bytes = text.as_bytes();
    let mut draft: Option<Draft> = None;
    let mut copied = 0;
    let mut at = 0;
    while let Some(start) = next_mark(bytes, at) {
        match escape_at(text, start) {
            Some((replacement, length)) => {
                let draft = draft.get_or_insert_with(|| Draft::with_capacity(bytes.len()));
                draft.keep(text.get(copied..start).unwrap_or_default(), copied);
                write(draft, &replacement, start..start + length);
                copied = start + length;
                at = copied;
            }
            None => at = start + 1,
        }
    }
    let mut draft = draft?;
    draft.keep(text.get(copied..).unwrap_or_default(), copied);
    Some(draft)
}

enum Replacement {
    Character(char),
    Nothing,
}

fn write(draft: &mut Draft, replacement: &Replacement, source: Range<usize>) {
    match replacement {
        Replacement::Character(character) => draft.replace_char(*character, source),
        Replacement::Nothing => {}
    }
}

fn next_mark(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let common = memchr::memchr3(b'\\', b'%', b'&', rest);
    let limit = common.unwrap_or(rest.len());
    let equals = memchr::memchr(b'=', rest.get(..limit).unwrap_or_default());
    equals.or(common).map(|offset| from + offset)
}

fn escape_at(text: &str, start: usize) -> Option<(Replacement, usize)> {
    let rest = text.get(start..)?;
    match rest.as_bytes().first()? {
        b'\\' => backslash(rest),
        b'%' => percent(rest),
        b'&' => entity(rest),
        b'=' => quoted_printable(rest),
        _ => None,
    }
}

fn backslash(rest: &str) -> Option<(Replacement, usize)> {
    let character = match rest.as_bytes().get(1)? {
        b'n' => '\n',
        b'r' | b't' => ' ',
        b'"' => '"',
        b'\'' => '\'',
        b'/' => '/',
        b'\\' => '\\',
        b'\n' => return Some((Replacement::Nothing, 2)),
        b'u' => return unicode_escape(rest),
        b'x' => return hex_character(rest, 2, 2).map(|c| (Replacement::Character(c), 4)),
        _ => return None,
    };
    Some((Replacement::Character(character), 2))
}

fn unicode_escape(rest: &str) -> Option<(Replacement, usize)> {
    if rest.as_bytes().get(2) == Some(&b'{') {
        let digits = rest
            .get(3..)?
            .find('}')
            .filter(|&length| (1..=6).contains(&length))?;
        return hex_character(rest, 3, digits).map(|c| (Replacement::Character(c), digits + 4));
    }
    let high = hex_number(rest, 2, 4)?;
    if (0xd800..0xdc00).contains(&high) && rest.get(6..8) == Some("\\u") {
        let low = hex_number(rest, 8, 4).filter(|low| (0xdc00..0xe000).contains(low))?;
        let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        return char::from_u32(code).map(|c| (Replacement::Character(c), 12));
    }
    char::from_u32(high).map(|c| (Replacement::Character(c), 6))
}

/// One percent-encoded character, of one byte or of a whole UTF-8 sequence.
fn percent(rest: &str) -> Option<(Replacement, usize)> {
    encoded_character(rest, '%')
}

fn quoted_printable(rest: &str) -> Option<(Replacement, usize)> {
    match rest.as_bytes() {
        [b'=', b'\r', b'\n', ..] => Some((Replacement::Nothing, 3)),
        [b'=', b'\n', ..] => Some((Replacement::Nothing, 2)),
        _ => encoded_character(rest, '='),
    }
}

fn encoded_character(rest: &str, mark: char) -> Option<(Replacement, usize)> {
    let mut bytes = [0_u8; 4];
    for unit in 0..bytes.len() {
        let at = unit * 3;
        rest.get(at..)?.strip_prefix(mark)?;
        *bytes.get_mut(unit)? = u8::try_from(hex_number(rest, at + 1, 2)?).ok()?;
        let count = unit + 1;
        let so_far = bytes.get(..count)?;
        if let Ok(text) = std::str::from_utf8(so_far) {
            let character = text.chars().next()?;
            return Some((Replacement::Character(character), count * 3));
        }
    }
    None
}

fn entity(rest: &str) -> Option<(Replacement, usize)> {
    if let Some(number) = rest.strip_prefix("&#") {
        return numeric_entity(number);
    }
    let end = rest.get(1..)?.bytes().take(8).position(|b| b == b';')?;
    let name = rest.get(1..=end)?;
    let character = NAMED_ENTITIES
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))?
        .1;
    Some((Replacement::Character(character), end + 2))
}

fn numeric_entity(number: &str) -> Option<(Replacement, usize)> {
    let (digits, radix, prefix) = match number.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16, 3),
        None => (number, 10, 2),
    };
    let length = digits.bytes().take(8).take_while(u8::is_ascii_hexdigit).count();
    let code = u32::from_str_radix(digits.get(..length)?, radix).ok()?;
    let semicolon = usize::from(digits.as_bytes().get(length) == Some(&b';'));
    char::from_u32(code).map(|c| (Replacement::Character(c), prefix + length + semicolon))
}

fn hex_character(text: &str, start: usize, digits: usize) -> Option<char> {
    char::from_u32(hex_number(text, start, digits)?)
}

fn hex_number(text: &str, start: usize, digits: usize) -> Option<u32> {
    let digits = text.get(start..start + digits)?;
    digits.bytes().all(|b| b.is_ascii_hexdigit()).then_some(())?;
    u32::from_str_radix(digits, 16).ok()
}

/// The entities that occur in running text; letters are always written as numbers when they are to be hidden.
const NAMED_ENTITIES: [(&str, char); 14] = [
    ("lt", '<'),
    ("gt", '>'),
    ("amp", '&'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", ' '),
    ("colon", ':'),
    ("period", '.'),
    ("comma", ','),
    ("excl", '!'),
    ("lpar", '('),
    ("rpar", ')'),
    ("tab", ' '),
    ("newline", '\n'),
];
