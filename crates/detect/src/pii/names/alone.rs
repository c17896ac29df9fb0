//! Given names without a surname: persons only where the words around them say so.

use std::ops::Range;

use super::{LONGEST_WORD, Names, word};

/// Names that stand for nobody in examples of two who talk.
const NOBODY: [&[u8]; 6] = [b"alice", b"bob", b"carol", b"dave", b"eve", b"mallory"];

/// What a person does, right after a name.
const DOES: [&[u8]; 32] = [
    b"is", b"was", b"has", b"had", b"lives", b"lived", b"said", b"says", b"spent", b"told", b"tells",
    b"asked", b"asks", b"wants", b"wanted", b"works", b"worked", b"went", b"loves", b"likes", b"wrote",
    b"moved", b"shouted", b"replied", b"smiled", b"laughed", b"left", b"met", b"bought", b"knows", b"thinks",
    b"called",
];

/// What stands right before the name of a person.
const BEFORE: [&[u8]; 20] = [
    b"said",
    b"says",
    b"asked",
    b"kid",
    b"son",
    b"daughter",
    b"child",
    b"wife",
    b"husband",
    b"brother",
    b"sister",
    b"friend",
    b"mother",
    b"father",
    b"uncle",
    b"aunt",
    b"colleague",
    b"boss",
    b"neighbour",
    b"neighbor",
];

/// Verbs of speech before the one who is spoken to.
const SPEAKS: [&[u8]; 10] = [
    b"said",
    b"says",
    b"shouted",
    b"yelled",
    b"talked",
    b"spoke",
    b"replied",
    b"smiled",
    b"wrote",
    b"whispered",
];

/// Whether a given name that no surname follows is that of a person. One that is also a word or a place needs words that
/// only persons have beside them.
pub(super) fn is_person(names: &Names, text: &[u8], name: &Range<usize>, ambiguous: bool) -> bool {
    let written = text.get(name.clone()).unwrap_or_default();
    if written.len() < 3 || NOBODY.iter().any(|nobody| nobody.eq_ignore_ascii_case(written)) {
        return false;
    }
    let after = text.get(name.end..).unwrap_or_default();
    is_any(&BEFORE, word_before(text, name.start))
        || is_spoken_to(text, name)
        || is_listed(names, text, name, after)
        || !ambiguous && (speaks(text, name, after) || follows(text, name, after))
}

/// `shouted at Anna`, `said Piotr to Anna`.
fn is_spoken_to(text: &[u8], name: &Range<usize>) -> bool {
    let joint = word_before(text, name.start);
    if !is_any(&[b"to", b"at"], joint) {
        return false;
    }
    let Some(before) = name.start.checked_sub(joint.len() + 1) else {
        return false;
    };
    let speaker = word_before(text, before);
    let behind = before.checked_sub(speaker.len() + 1);
    is_any(&SPEAKS, speaker)
        || speaker.first().is_some_and(u8::is_ascii_uppercase)
            && behind.is_some_and(|behind| is_any(&SPEAKS, word_before(text, behind)))
}

/// `Anna: What now?` at the start of a line.
fn speaks(text: &[u8], name: &Range<usize>, after: &[u8]) -> bool {
    let starts_line = name
        .start
        .checked_sub(1)
        .is_none_or(|at| text.get(at) == Some(&b'\n'));
    starts_line && (after.starts_with(b": ") || after.starts_with(b":\""))
}

/// `Anna lives`, where a sentence begins or no capitalised word stands before.
fn follows(text: &[u8], name: &Range<usize>, after: &[u8]) -> bool {
    let Some(rest) = after.strip_prefix(b" ") else {
        return false;
    };
    let length = rest
        .iter()
        .take(8)
        .take_while(|byte| byte.is_ascii_lowercase())
        .count();
    let ends = rest
        .get(length)
        .is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte < 0x80);
    let before = word_before(text, name.start);
    ends && is_any(&DOES, rest.get(..length).unwrap_or_default())
        && !before.first().is_some_and(u8::is_ascii_uppercase)
}

/// `Anna, Piotr and Sven`: another given name stands beside.
fn is_listed(names: &Names, text: &[u8], name: &Range<usize>, after: &[u8]) -> bool {
    const JOINTS: [&[u8]; 3] = [b", ", b" and ", b" & "];
    let is_given = |place: Option<Range<usize>>| {
        place.is_some_and(|place| {
            names
                .known(text, &place)
                .is_some_and(|known| known.given && !known.ambiguous)
        })
    };
    let next = JOINTS.iter().find(|joint| after.starts_with(joint));
    if next.is_some_and(|joint| is_given(word(text, name.end + joint.len()))) {
        return true;
    }
    let before = text.get(..name.start).unwrap_or_default();
    JOINTS.iter().any(|joint| {
        before.ends_with(joint) && {
            let end = name.start - joint.len();
            is_given(word(text, start_of_word(text, end)).filter(|place| place.end == end))
        }
    })
}

/// The word that stands before a place, with one blank between.
fn word_before(text: &[u8], at: usize) -> &[u8] {
    let Some(end) = at.checked_sub(1).filter(|at| text.get(*at) == Some(&b' ')) else {
        return &[];
    };
    text.get(start_of_word(text, end)..end).unwrap_or_default()
}

fn start_of_word(text: &[u8], end: usize) -> usize {
    let floor = end.saturating_sub(LONGEST_WORD);
    let before = text.get(floor..end).unwrap_or_default();
    let letters = before
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_alphabetic() || **byte >= 0x80);
    end - letters.count()
}

fn is_any(words: &[&[u8]], word: &[u8]) -> bool {
    words.contains(&word)
}

#[cfg(test)]
mod tests {
    use crate::pii::tests::check;

    #[test]
    fn given_names_where_a_person_is_spoken_of() {
        check("Kristina lives in the north.", &[("person-name", "Kristina")]);
        check("\nTadeusz: What now?", &[("person-name", "Tadeusz")]);
        check("ask my brother Giovanni first", &[("person-name", "Giovanni")]);
        check(
            "then Tadeusz shouted at Kristina: stop",
            &[("person-name", "Tadeusz"), ("person-name", "Kristina")],
        );
        check(
            "my sister Paris, said Tadeusz to Scott",
            &[
                ("person-name", "Paris"),
                ("person-name", "Tadeusz"),
                ("person-name", "Scott"),
            ],
        );
        check(
            "for Kristina, Tadeusz and more",
            &[("person-name", "Kristina"), ("person-name", "Tadeusz")],
        );
    }

    #[test]
    fn given_names_that_stand_for_nobody() {
        check("Alice is the sender, Bob was the receiver.", &[]);
        check("the Kristina release, run by Giovanni", &[]);
        check("Scott: Paris is closed, fly to Madison", &[]);
    }
}
