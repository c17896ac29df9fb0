//! Shapes that carry meaning for the patterns: addresses, links, account numbers, sums of money, tool names.

use std::ops::Range;

use super::class::Class;
use super::token::Token;

/// The most bytes one shape may have.
pub(super) const MAX_SHAPE: usize = 256;

/// Pushes a token for each shape in the text.
pub(super) fn find(text: &str, tokens: &mut Vec<Token>) {
    let mut number: Option<usize> = None;
    for (start, word, signs) in words(text) {
        // Most words are nothing but letters.
        if number.is_none() && signs.is_none() && !matches!(word.as_bytes(), [b'/' | b'~' | b'#', ..]) {
            continue;
        }
        let end = start + word.len();
        let mut push = |class, holds: bool, start| {
            if holds {
                tokens.push(Token::of(start..end, class));
            }
        };
        let named = (signs.upper || signs.underscore) && is_tool_name(word) && !names_member(text, end);
        push(Class::Address, signs.at && is_mail_address(word), start);
        push(Class::Link, signs.dot && is_link(word), start);
        push(Class::Account, signs.digits && is_account(word), start);
        push(
            Class::Money,
            signs.digits && !word.is_ascii() | word.starts_with('$') && is_money(word),
            start,
        );
        push(Class::Toolname, named, start);
        push(
            Class::Toolinvoke,
            named && text.as_bytes().get(end) == Some(&b'('),
            start,
        );
        push(Class::Ident, is_identifier(word, &signs), start);
        if let Some(number) = number.take() {
            push(
                Class::Money,
                CURRENCIES.iter().any(|known| word.eq_ignore_ascii_case(known)),
                number,
            );
        }
        let amount = signs.digits
            && word
                .bytes()
                .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b','));
        number = amount.then_some(start);
    }
    find_image_links(text, tokens);
}

/// Which bytes a word has, so that most words need no closer look.
#[derive(Clone, Copy)]
struct Signs {
    at: bool,
    dot: bool,
    digits: bool,
    upper: bool,
    underscore: bool,
}

impl Signs {
    const AT: u8 = 1;
    const DOT: u8 = 2;
    const DIGIT: u8 = 4;
    const UPPER: u8 = 8;
    const UNDERSCORE: u8 = 16;
    /// What stands between words.
    const GAP: u8 = 32;

    /// What each byte is a sign of.
    #[expect(clippy::indexing_slicing, reason = "the loop ends where the table does")]
    const OF_BYTE: [u8; 256] = {
        let mut signs = [0; 256];
        let mut byte = 0;
        while byte < signs.len() {
            #[expect(clippy::cast_possible_truncation, reason = "the table has 256 entries")]
            let written = byte as u8;
            signs[byte] = match written {
                b'@' => Self::AT,
                b'.' | b':' => Self::DOT,
                b'0'..=b'9' => Self::DIGIT,
                b'A'..=b'Z' => Self::UPPER,
                b'_' => Self::UNDERSCORE,
                b' ' | b'\n' | b'"' | b'\'' | b'(' | b')' | b'<' | b'>' | b'`' | b'[' | b']' | b'{'
                | b'}' => Self::GAP,
                _ => 0,
            };
            byte += 1;
        }
        signs
    };

    const fn is_none(self) -> bool {
        !(self.at || self.dot || self.digits || self.upper || self.underscore)
    }

    const fn from_bits(bits: u8) -> Self {
        Self {
            at: bits & Self::AT != 0,
            dot: bits & Self::DOT != 0,
            digits: bits & Self::DIGIT != 0,
            upper: bits & Self::UPPER != 0,
            underscore: bits & Self::UNDERSCORE != 0,
        }
    }

    /// The signs of the bytes before the next gap, and how many these are.
    #[expect(clippy::indexing_slicing, reason = "the table has an entry for every byte")]
    fn before_gap(bytes: &[u8]) -> (Self, usize) {
        let (mut all, mut length) = (0, 0);
        for byte in bytes {
            let signs = Self::OF_BYTE[usize::from(*byte)];
            if signs == Self::GAP {
                break;
            }
            all |= signs;
            length += 1;
        }
        (Self::from_bits(all), length)
    }
}

/// Pieces without blanks, freed of the marks around them, with the signs that they had with these.
fn words(text: &str) -> impl Iterator<Item = (usize, &str, Signs)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            let start = at;
            let (signs, length) = Signs::before_gap(text.as_bytes().get(start..)?);
            at += length + 1;
            let (lead, tail) = marks_around(text.as_bytes().get(start..start + length)?);
            let start = start + lead;
            let word = text.get(start..at - 1 - tail)?;
            if word.len() >= 2 && word.len() <= MAX_SHAPE {
                return Some((start, word, signs));
            }
        }
        None
    })
}

/// How many marks of a sentence stand before and after a piece.
fn marks_around(piece: &[u8]) -> (usize, usize) {
    let before = |byte: &&u8| matches!(byte, b',' | b';' | b':' | b'*' | b'.');
    let after = |byte: &&u8| matches!(byte, b'.' | b',' | b';' | b':' | b'!' | b'?' | b'*');
    let lead = piece.iter().take_while(before).count();
    let rest = piece.get(lead..).unwrap_or_default();
    (lead, rest.iter().rev().take_while(after).count())
}

fn is_mail_address(word: &str) -> bool {
    let word = word.strip_prefix("mailto:").unwrap_or(word);
    word.split_once('@').is_some_and(|(local, host)| {
        !local.is_empty()
            && host
                .rsplit_once('.')
                .is_some_and(|(_, ending)| ending.bytes().any(|b| b.is_ascii_alphabetic()))
            && host
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'))
    })
}

fn is_link(word: &str) -> bool {
    ["http://", "https://", "www.", "ftp://", "hxxp://", "hxxps://"]
        .iter()
        .any(|prefix| {
            word.len() > prefix.len()
                && word
                    .get(..prefix.len())
                    .is_some_and(|lead| lead.eq_ignore_ascii_case(prefix))
        })
        || is_bare_host(word)
}

/// `example.com/path`: a host in a top-level domain that is written without a scheme.
fn is_bare_host(word: &str) -> bool {
    let host = word.split('/').next().unwrap_or_default();
    let Some((name, ending)) = host.rsplit_once('.') else {
        return false;
    };
    !name.is_empty()
        && name.bytes().all(is_part_of_host)
        && ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known))
}

/// Endings of hosts that are written without a scheme.
pub(super) const ENDINGS: [&str; 15] = [
    "com", "net", "org", "io", "xyz", "info", "biz", "ru", "cn", "co", "ai", "app", "dev", "site", "online",
];

/// Whether the name of a host is written with a byte.
pub(super) const fn is_part_of_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-')
}

/// An IBAN, or at least eight digits with dashes and a short prefix.
fn is_account(word: &str) -> bool {
    let bytes = word.as_bytes();
    let iban = matches!(bytes, [a, b, c, d, ..] if a.is_ascii_uppercase() && b.is_ascii_uppercase() && c.is_ascii_digit() && d.is_ascii_digit())
        && bytes.len() >= 15
        && bytes.iter().all(u8::is_ascii_alphanumeric);
    let number = word.trim_start_matches(|c: char| c.is_ascii_uppercase() || c == '-');
    let plain = number.len() + 4 >= word.len() && number.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    let digits = number.bytes().filter(u8::is_ascii_digit).count();
    iban || (plain && digits >= 8 && !is_date(word))
}

fn is_date(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.get(4) == Some(&b'-') && bytes.get(7) == Some(&b'-')
}

fn is_money(word: &str) -> bool {
    let Some(amount) = word.strip_prefix(['$', '€', '£', '¥', '₹']) else {
        return false;
    };
    amount.bytes().next().is_some_and(|b| b.is_ascii_digit())
}

/// Names in the manner of programs: `send_money`, `GmailSendEmail`, `sendEmail`.
fn is_tool_name(word: &str) -> bool {
    if !word
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
    {
        return false;
    }
    let humps = word
        .as_bytes()
        .windows(2)
        .filter(|pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()))
        .count();
    humps >= 1 || (word.contains('_') && word.bytes().any(|b| b.is_ascii_lowercase()))
}

/// Whether a quote and a colon follow: the word is a member of a record, not something that is said in it.
fn names_member(text: &str, end: usize) -> bool {
    let after = text.get(end..).and_then(|after| after.strip_prefix(['"', '\'']));
    after.is_some_and(|after| after.starts_with(':'))
}

/// An address, a path, a channel, or an identifier: letters with digits, or many digits.
fn is_identifier(word: &str, signs: &Signs) -> bool {
    let rooted = ["/", "~/", "#", "c:\\"].iter().any(|lead| {
        word.len() > lead.len() + 1
            && word
                .get(..lead.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(lead))
    });
    let digits = || word.bytes().filter(u8::is_ascii_digit).count();
    let letters = || word.bytes().any(|b| b.is_ascii_alphabetic());
    rooted || signs.at && is_mail_address(word) || signs.digits && (letters() || digits() >= 5)
}

/// A Markdown image whose address has a place to fill in, or carries data in its query.
fn find_image_links(text: &str, tokens: &mut Vec<Token>) {
    let mut at = 0;
    while let Some(open) = text
        .get(at..)
        .and_then(|rest| rest.find("!["))
        .map(|offset| at + offset)
    {
        at = open + 2;
        if let Some(link) = image_link(text, open)
            && text.get(link.clone()).is_some_and(carries_data)
        {
            tokens.push(Token::of(link, Class::Filled));
        }
    }
}

fn image_link(text: &str, open: usize) -> Option<Range<usize>> {
    let rest = text.get(open..)?;
    let start = open + rest.find("](").filter(|&offset| offset <= MAX_SHAPE)? + 2;
    let length = text
        .get(start..)?
        .find([')', '\n'])
        .filter(|&offset| offset <= MAX_SHAPE)?;
    Some(start..start + length)
}

fn carries_data(link: &str) -> bool {
    let Some((_, query)) = link.split_once('?') else {
        return link.contains('{');
    };
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .any(|(_, value)| {
            value.contains(['{', '<'])
                || value.starts_with('[') && value.ends_with(']')
                || value.contains('_') && value.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
        })
}

const CURRENCIES: [&str; 22] = [
    "usd", "eur", "gbp", "dollars", "dollar", "euros", "euro", "pounds", "btc", "bitcoin", "bitcoins", "eth",
    "ethereum", "yuan", "yen", "rupees", "units", "shares", "usdt", "coins", "chf", "francs",
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same pieces, cut where each character says.
    fn plainly(text: &str) -> Vec<(usize, &str)> {
        let mut at = 0;
        text.split([' ', '\n', '"', '\'', '(', ')', '<', '>', '`', '[', ']', '{', '}'])
            .filter_map(|piece| {
                let start = at;
                at += piece.len() + 1;
                let word = piece.trim_start_matches([',', ';', ':', '*', '.']);
                let start = start + piece.len() - word.len();
                let word = word.trim_end_matches(['.', ',', ';', ':', '!', '?', '*']);
                (word.len() >= 2 && word.len() <= MAX_SHAPE).then_some((start, word))
            })
            .collect()
    }

    proptest! {
        #[test]
        fn bytes_cut_where_characters_do(text in "([ -~\n]{0,9}|é|指示|[a-zA-Z0-9@._:]{0,9}|[a-z]{250,260}){0,20}") {
            let quickly: Vec<_> = words(&text).collect();
            let pairs: Vec<_> = quickly.iter().map(|(start, word, _)| (*start, *word)).collect();
            prop_assert_eq!(pairs, plainly(&text));
            for (_, word, signs) in quickly {
                let has = |is_such: fn(u8) -> bool| word.bytes().any(is_such);
                prop_assert_eq!(signs.at, has(|byte| byte == b'@'));
                prop_assert_eq!(signs.digits, has(|byte| byte.is_ascii_digit()));
                prop_assert_eq!(signs.upper, has(|byte| byte.is_ascii_uppercase()));
                prop_assert_eq!(signs.underscore, has(|byte| byte == b'_'));
                prop_assert!(signs.dot || !has(|byte| matches!(byte, b'.' | b':')));
            }
        }
    }
}
