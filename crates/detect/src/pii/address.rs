//! Postal addresses by their structure: a house number and a street, and the town that follows.

mod behind;
mod words;

use super::rule::{PiiRule, Sink};
use words::{ENDINGS, PREFIXES, SUFFIXES, UNITS};

pub(crate) static ADDRESS: PiiRule = PiiRule::personal(
    "postal-address",
    "a postal address",
    "a house number with a word for a kind of street, and the town, state and code that follow",
);

const MAX_STREET_WORDS: usize = 5;
const MAX_TAIL: usize = 80;

/// Words after which a number begins an address.
const LEADS: [&[u8]; 6] = [
    b"lives at ",
    b"live at ",
    b"living at ",
    b"resides at ",
    b"address: ",
    b"address is ",
];
const LONGEST_LEAD: usize = 11;

/// Decides about a number whose first digit stands at a place.
pub(crate) fn check(text: &[u8], digit: usize, sink: &mut Sink<'_>) {
    let before = digit
        .checked_sub(1)
        .and_then(|at| text.get(at))
        .copied()
        .unwrap_or(b'\n');
    if before.is_ascii_alphanumeric() || matches!(before, b'.' | b'-' | b'/' | b'_' | b'$' | b'=' | b'#') {
        return;
    }
    let digits = text
        .get(digit..)
        .unwrap_or_default()
        .iter()
        .take(6)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let mut at = digit + digits;
    if digits > 5 {
        return;
    }
    if text
        .get(at)
        .is_some_and(|byte| byte.is_ascii_uppercase() || matches!(byte, b'a'..=b'c'))
    {
        at += 1;
    }
    let street = (text.get(at) == Some(&b' '))
        .then(|| {
            street_end(text, at + 1)
                .or_else(|| street_with_unit(text, at + 1))
                .or_else(|| introduced_street_end(text, digit, at + 1))
        })
        .flatten();
    match street {
        Some((end, percent)) => {
            let end = tail_end(text, end);
            sink.push(&ADDRESS, digit..end, percent);
        }
        None => behind::check(text, digit, digit + digits, sink),
    }
}

/// The end of a street that no word tells, before the flat in its house: `353 Buerlia 227 Apt. 391`.
fn street_with_unit(text: &[u8], start: usize) -> Option<(usize, u8)> {
    let mut at = start;
    for index in 0..=MAX_STREET_WORDS {
        let word = word(text, at)?;
        if index > 0 && is_unit(word) {
            return number_end(text, at + word.len()).map(|end| (end, 70));
        }
        let part = word
            .first()
            .is_some_and(|byte| byte.is_ascii_uppercase() || *byte >= 0x80);
        let number = index > 0 && word.iter().take(5).all(u8::is_ascii_digit);
        if !(part || number) {
            return None;
        }
        at += word.len();
        let gap = text
            .get(at..)?
            .iter()
            .take(3)
            .take_while(|byte| matches!(byte, b' ' | b'\n' | b','));
        at += gap.count();
    }
    None
}

/// The end of a street that only the words before its number tell: `lives at 172 Birkenhof 75`.
fn introduced_street_end(text: &[u8], digit: usize, start: usize) -> Option<(usize, u8)> {
    let before = text.get(digit.saturating_sub(LONGEST_LEAD)..digit)?;
    let leads = |lead: &&[u8]| {
        before
            .len()
            .checked_sub(lead.len())
            .and_then(|from| before.get(from..))
            .is_some_and(|tail| tail.eq_ignore_ascii_case(lead))
    };
    if !LEADS.iter().any(leads) {
        return None;
    }
    let first = word(text, start).filter(|first| first.len() > 2)?;
    if !first.first().is_some_and(u8::is_ascii_uppercase) {
        return None;
    }
    let end = start + first.strip_suffix(b".").unwrap_or(first).len();
    Some((number_end(text, end).unwrap_or(end), 60))
}

/// The end of the street's name that starts here, and how sure it is.
fn street_end(text: &[u8], start: usize) -> Option<(usize, u8)> {
    let mut at = start;
    for index in 0..MAX_STREET_WORDS {
        let word = word(text, at)?;
        let bare = word.strip_suffix(b".").unwrap_or(word);
        let end = at + word.len();
        if index > 0 && word.first().is_some_and(u8::is_ascii_uppercase) && is_any(&SUFFIXES, bare) {
            let end = if is_any(&[b"st", b"ave", b"rd", b"blvd", b"ln", b"dr", b"ct", b"pl"], bare) {
                end
            } else {
                at + bare.len()
            };
            return Some((end, 78));
        }
        if index == 0 && (is_any(&PREFIXES, word) || is_any(&PREFIXES, bare)) {
            return Some((prefixed_end(text, end)?, 65));
        }
        if index == 0 && ends_like_street(word) {
            return Some((number_end(text, end).unwrap_or(end), 70));
        }
        let is_part = word
            .first()
            .is_some_and(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte >= 0x80);
        if !is_part || text.get(end) != Some(&b' ') {
            return None;
        }
        at = end + 1;
    }
    None
}

/// The name after `Rue` or `Calle`: capitalised words and small ones between, perhaps a number.
fn prefixed_end(text: &[u8], from: usize) -> Option<usize> {
    let mut end = from;
    let mut named = false;
    for _ in 0..MAX_STREET_WORDS {
        if text.get(end) != Some(&b' ') {
            break;
        }
        let Some(word) = word(text, end + 1) else { break };
        let capital = word
            .first()
            .is_some_and(|byte| byte.is_ascii_uppercase() || *byte >= 0x80);
        if !capital && word.len() > 4 {
            break;
        }
        named |= capital;
        end += 1 + word.len();
    }
    named.then(|| number_end(text, end).unwrap_or(end))
}

fn number_end(text: &[u8], end: usize) -> Option<usize> {
    let rest = text.get(end..)?.strip_prefix(b" ")?;
    let digits = rest
        .iter()
        .take(6)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    (1..=5).contains(&digits).then_some(end + 1 + digits)
}

/// The end of unit, town, state and code after a street, as far as they follow without a break.
fn tail_end(text: &[u8], from: usize) -> usize {
    let mut end = from;
    let mut at = from;
    let limit = from + MAX_TAIL;
    for _ in 0..8 {
        let mut start = at;
        while text
            .get(start)
            .is_some_and(|byte| matches!(byte, b',' | b' ' | b'\n'))
            && start - at < 4
        {
            start += 1;
        }
        if start == at || start > limit {
            break;
        }
        let Some(word) = word(text, start).filter(|word| is_tail_word(word)) else {
            break;
        };
        // A number at the end of a sentence has the dot of the sentence.
        let numbered = word.first().is_some_and(u8::is_ascii_digit);
        let word = word.strip_suffix(b".").filter(|_| numbered).unwrap_or(word);
        at = start + word.len();
        // A town alone is too little; a unit, a state or a code is what makes the tail one.
        if is_unit(word) || word.first().is_some_and(u8::is_ascii_digit) || is_state(word) {
            end = at;
        }
        if word.first().is_some_and(u8::is_ascii_digit) && word.len() >= 4 {
            break;
        }
    }
    end
}

fn is_tail_word(word: &[u8]) -> bool {
    word.first()
        .is_some_and(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte >= 0x80)
        && word.len() <= 24
}

fn is_unit(word: &[u8]) -> bool {
    is_any(&UNITS, word)
}

fn is_state(word: &[u8]) -> bool {
    word.len() == 2 && word.iter().all(u8::is_ascii_uppercase)
}

fn word(text: &[u8], start: usize) -> Option<&[u8]> {
    let rest = text.get(start..)?;
    let length = rest.iter().take(32).take_while(|byte| is_word(**byte)).count();
    rest.get(..length).filter(|word| !word.is_empty())
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || matches!(byte, b'.' | b'-' | b'\'')
}

fn is_any(words: &[&[u8]], word: &[u8]) -> bool {
    // No word for a street begins with a digit.
    let may_be = word.first().is_some_and(|first| !first.is_ascii_digit());
    may_be && words.iter().any(|known| known.eq_ignore_ascii_case(word))
}

fn ends_like_street(word: &[u8]) -> bool {
    word.len() > 5
        && ENDINGS.iter().any(|ending| {
            word.len() > ending.len()
                && word
                    .get(word.len() - ending.len()..)
                    .is_some_and(|end| end.eq_ignore_ascii_case(ending))
        })
}

#[cfg(test)]
mod tests {
    use crate::pii::tests::check;

    #[test]
    fn streets_and_what_follows() {
        for address in [
            "9949 Walnut St, Bristol, MN 63749",
            "216 Menzies Street",
            "12 rue Victor Hugo",
            "Musterstraße 12",
        ] {
            check(&format!("at {address}\n\n"), &[("postal-address", address)]);
        }
        check("12 apples and 7 Brown Foxes", &[]);
    }

    #[test]
    fn streets_that_only_the_flat_behind_them_tells() {
        let address = "4711 Havnsgarden 12\n Apt. 300\n Oldetown\n Norway 61234";
        check(
            &format!("Send it to {address}.\n"),
            &[("postal-address", address)],
        );
        check("see 12 Monkeys 3 times", &[]);
    }

    #[test]
    fn parts_on_lines_of_their_own() {
        check(
            "> 17 Elm Street\n> Apt. 4\n> Bye",
            &[("postal-address", "17 Elm Street"), ("postal-address", "Apt. 4")],
        );
        check("to Apt. 675 please", &[("postal-address", "Apt. 675")]);
        check("Suite 3 of the tests, gate 12", &[]);
        check(
            "she lives at 172 Birkenhof 75, right?",
            &[("postal-address", "172 Birkenhof 75")],
        );
        check("base address: 4096 bytes, the mail address is 7 words", &[]);
        check(
            "in der Bonner Stra\u{df}e 9",
            &[("postal-address", "Bonner Stra\u{df}e 9")],
        );
    }
}
