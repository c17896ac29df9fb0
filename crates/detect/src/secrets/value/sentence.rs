//! Values that a sentence gives: `the root password for db01 is …`, `API key for prod: …`.

/// The most words between a name and its verb or colon: `for the old server`.
const WORDS: usize = 4;

/// The longest of those words.
const LONGEST: usize = 24;

const VERBS: [&str; 6] = ["is", "was", "ist", "est", "es", "\u{e9}"];
const PREPOSITIONS: [&str; 9] = ["for", "of", "on", "to", "in", "f\u{fc}r", "para", "pour", "de"];

/// Where the value begins, if the words at `start`, which follow a name and a blank, tell one.
pub(super) fn value_start(text: &[u8], start: usize) -> Option<usize> {
    let (word, mut at) = word_at(text, start)?;
    if is_one_of(word, &VERBS) {
        return after_verb(text, at);
    }
    if !is_one_of(word, &PREPOSITIONS) {
        return None;
    }
    for _ in 0..WORDS {
        let (word, end) = word_at(text, blank(text, at)?)?;
        if is_one_of(word, &VERBS) {
            return after_verb(text, end);
        }
        if text.get(end) == Some(&b':') {
            return blank(text, end + 1);
        }
        at = end;
    }
    None
}

/// Past the blank after a verb, or after the colon behind it.
fn after_verb(text: &[u8], end: usize) -> Option<usize> {
    let colon = usize::from(text.get(end) == Some(&b':'));
    blank(text, end + colon)
}

fn blank(text: &[u8], at: usize) -> Option<usize> {
    (text.get(at) == Some(&b' ')).then_some(at + 1)
}

fn word_at(text: &[u8], start: usize) -> Option<(&[u8], usize)> {
    let rest = text.get(start..)?;
    let in_word = |byte: &&u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'\'') || **byte >= 0x80
    };
    let length = rest.iter().take(LONGEST).take_while(in_word).count();
    let word = rest.get(..length).filter(|word| !word.is_empty())?;
    Some((word, start + length))
}

fn is_one_of(word: &[u8], list: &[&str]) -> bool {
    list.iter()
        .any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::value_start;

    #[test]
    fn sentences_tell_values() {
        for (text, expected) in [
            ("is X", Some("X")),
            ("is: X", Some("X")),
            ("for db01 is X", Some("X")),
            ("for the old server was X", Some("X")),
            ("for prod: X", Some("X")),
            ("isX", None),
            ("for", None),
            ("for a b c d e is X", None),
            ("and is X", None),
        ] {
            let start = value_start(text.as_bytes(), 0);
            assert_eq!(start.map(|start| &text[start..]), expected, "{text}");
        }
    }
}
