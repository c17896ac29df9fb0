//! Addresses whose number stands last: `Koskikatu 25`, `Via Roma 131`, `P.O. Box 12`, and the posts of a navy and an army.

use super::words::{PREFIXES, SMALL_LAST};
use super::{ADDRESS, MAX_STREET_WORDS, ends_like_street, is_any, is_word, tail_end};
use crate::pii::rule::Sink;

/// The most bytes that are looked at before a number.
const MAX_BEFORE: usize = 48;

/// What only a flat is called; other words for one are also said of other things.
const FLATS: [&[u8]; 3] = [b"apt", b"apt.", b"apartment"];

/// The longest word of a street.
const LONGEST_WORD: usize = 32;

/// Decides about a number, from the words that stand before it.
pub(super) fn check(text: &[u8], digit: usize, number_end: usize, sink: &mut Sink<'_>) {
    let Some(last) = word_before(text, digit) else {
        return;
    };
    let written = text.get(last..digit.saturating_sub(1)).unwrap_or_default();
    if let Some(start) = military_start(text, last, number_end - digit) {
        sink.push(&ADDRESS, start..number_end, 80);
    } else if let Some(start) = post_box_start(text, last, written) {
        sink.push(&ADDRESS, start..number_end, 66);
    } else if is_capital(written) && is_any(&FLATS, written) {
        sink.push(&ADDRESS, last..number_end, 60);
    } else if let Some((start, percent)) = street_start(text, last, written) {
        sink.push(&ADDRESS, start..tail_end(text, number_end), percent);
    }
}

/// Where the street begins that ends with a word, and how sure it is.
fn street_start(text: &[u8], last: usize, written: &[u8]) -> Option<(usize, u8)> {
    let capital = is_capital(written);
    if capital && written.len() > 5 && ends_like_street(written) {
        return Some((last, 68));
    }
    if is_any(&SMALL_LAST, written) {
        let start = word_before(text, last)?;
        return is_capital(text.get(start..last)?).then_some((first_capital(text, start), 62));
    }
    if !capital {
        return None;
    }
    prefix_start(text, last).map(|start| (start, 62))
}

/// Where `Via`, `Rue` or `ul.` stands in the words that lead to a place.
fn prefix_start(text: &[u8], last: usize) -> Option<usize> {
    let mut start = last;
    for _ in 0..MAX_STREET_WORDS {
        let end = start.checked_sub(1)?;
        start = word_before(text, start)?;
        let written = text.get(start..end)?;
        let capital = is_capital(written);
        if is_any(&PREFIXES, written) {
            // Small words such as `via` and `place` are said of other things too.
            return (capital || written.last() == Some(&b'.')).then_some(start);
        }
        if !capital && written.len() > 4 {
            return None;
        }
    }
    None
}

/// The first of the capitalised words that lead to a place.
fn first_capital(text: &[u8], from: usize) -> usize {
    let mut start = from;
    for _ in 0..MAX_STREET_WORDS {
        match word_before(text, start) {
            Some(before) if text.get(before..).is_some_and(is_capital) => start = before,
            _ => break,
        }
    }
    start
}

/// `P.O. Box 242`, `Postfach 12`.
fn post_box_start(text: &[u8], last: usize, written: &[u8]) -> Option<usize> {
    if is_any(&[b"postbox", b"postfach", b"postboks", b"postbus"], written) {
        return is_capital(written).then_some(last);
    }
    if !written.eq_ignore_ascii_case(b"box") {
        return None;
    }
    let start = word_before(text, last)?;
    is_any(&[b"p.o.", b"po", b"p.o"], text.get(start..last.checked_sub(1)?)?).then_some(start)
}

/// `PSC 2721, Box 8637` and on the next line `APO AA 06259`: where it begins, given where the two letters do.
fn military_start(text: &[u8], region: usize, digits: usize) -> Option<usize> {
    if digits != 5 || !is_any(&[b"aa", b"ae", b"ap"], text.get(region..region + 2)?) {
        return None;
    }
    let post = region.checked_sub(4)?;
    if !is_any(&[b"apo ", b"fpo ", b"dpo "], text.get(post..region)?) {
        return None;
    }
    let floor = post.saturating_sub(MAX_BEFORE);
    let before = text.get(floor..post)?;
    const LEADS: [&[u8]; 6] = [b"psc ", b"unit ", b"uss ", b"usns ", b"uscgc ", b"usnv "];
    let lead = (0..before.len()).rev().find(|&at| {
        let starts = |lead: &&[u8]| {
            before
                .get(at..at + lead.len())
                .is_some_and(|there| there.eq_ignore_ascii_case(lead))
        };
        let border = at.checked_sub(1).and_then(|at| before.get(at));
        !border.is_some_and(u8::is_ascii_alphanumeric) && LEADS.iter().any(starts)
    });
    Some(lead.map_or(post, |at| floor + at))
}

/// Where the word begins that stands before a place, with one blank between.
fn word_before(text: &[u8], at: usize) -> Option<usize> {
    let space = at.checked_sub(1).filter(|at| text.get(*at) == Some(&b' '))?;
    let floor = space.saturating_sub(LONGEST_WORD);
    let before = text.get(floor..space)?;
    let length = before.iter().rev().take_while(|byte| is_word(**byte)).count();
    (1..LONGEST_WORD).contains(&length).then_some(space - length)
}

fn is_capital(word: &[u8]) -> bool {
    word.first()
        .is_some_and(|byte| byte.is_ascii_uppercase() || *byte >= 0xc3)
}

#[cfg(test)]
mod tests {
    use crate::pii::tests::check;

    #[test]
    fn the_number_stands_last() {
        for address in [
            "Koskikatu 25",
            "Via Garibaldi 131",
            "Calle de Alcalá 46",
            "ul. Długa 10",
            "Petőfi Sándor utca 12",
            "P.O. Box 242",
            "Postfach 1234",
        ] {
            check(&format!("near {address}\n\n"), &[("postal-address", address)]);
        }
        check("sent via Port 8080, in place 3, on Windows 11, Box 5", &[]);
    }

    #[test]
    fn posts_of_an_army() {
        for address in [
            "PSC 2718, Box 2818\nAPO AE 09123",
            "USS Example\nFPO AP 96543",
            "Unit 31 Box 41\nDPO AA 34567",
        ] {
            check(&format!("Write to {address}.\n"), &[("postal-address", address)]);
        }
        check("the FPO AE 12 module", &[]);
    }
}
