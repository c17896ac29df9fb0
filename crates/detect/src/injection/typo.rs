//! The key words of an override, misspelt by one letter. A model reads `iunstructions` without noticing.

use super::class::Class;
use super::token::Token;

const WORDS: [(&str, Class); 8] = [
    ("ignore", Class::Override),
    ("disregard", Class::Override),
    ("previous", Class::Prior),
    ("preceding", Class::Prior),
    ("instruction", Class::Instr),
    ("instructions", Class::Instr),
    ("directives", Class::Instr),
    ("guidelines", Class::Instr),
];

/// Pushes a token for each word that is one edit away from a key word and is not the word itself.
pub(super) fn find(text: &str, tokens: &mut Vec<Token>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = bytes.get(at..).unwrap_or_default();
        let length = rest.iter().take_while(|b| b.is_ascii_alphanumeric()).count();
        if let Some(class) = meant(rest.get(..length).unwrap_or_default()) {
            let mut token = Token::of(at..at + length, class);
            token.misspelt = true;
            tokens.push(token);
        }
        at += length.max(1);
    }
}

/// What a word means that is one edit away from a key word.
pub(super) fn meant(word: &[u8]) -> Option<Class> {
    let likely = (5..=13).contains(&word.len())
        && matches!(word, [b'i' | b'I' | b'd' | b'D' | b'p' | b'P' | b'g' | b'G', ..]);
    if !likely {
        return None;
    }
    let close = WORDS.iter().find(|(key, _)| one_edit_apart(word, key.as_bytes()));
    close.map(|(_, class)| *class)
}

/// Whether one insertion, deletion, replacement or swap of neighbours turns one word into the other. The first letter
/// must agree, which keeps ordinary words apart and makes the test cheap.
fn one_edit_apart(word: &[u8], key: &[u8]) -> bool {
    let (Some(first), Some(key_first)) = (word.first(), key.first()) else {
        return false;
    };
    if !first.eq_ignore_ascii_case(key_first) || word.len().abs_diff(key.len()) > 1 {
        return false;
    }
    let same = |(a, b): &(&u8, &u8)| a.eq_ignore_ascii_case(b);
    let prefix = word.iter().zip(key).take_while(same).count();
    let (word, key) = (
        word.get(prefix..).unwrap_or_default(),
        key.get(prefix..).unwrap_or_default(),
    );
    let suffix = word.iter().rev().zip(key.iter().rev()).take_while(same).count();
    let (left, right) = (word.len() - suffix, key.len() - suffix);
    match (left, right) {
        (0, 0) => false,
        (0 | 1, 0 | 1) => true,
        (2, 2) => {
            word.first()
                .zip(key.get(1))
                .is_some_and(|(a, b)| a.eq_ignore_ascii_case(b))
                && word
                    .get(1)
                    .zip(key.first())
                    .is_some_and(|(a, b)| a.eq_ignore_ascii_case(b))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::one_edit_apart;

    #[test]
    fn one_edit_is_a_typo_and_two_are_another_word() {
        for (word, key, apart) in [
            ("iunstructions", "instructions", true),
            ("instrctions", "instructions", true),
            ("ignroe", "ignore", true),
            ("ignare", "ignore", true),
            ("ignore", "ignore", false),
            ("ignored", "ignore", true),
            ("inore", "ignore", true),
            ("ingots", "ignore", false),
            ("tnstructions", "instructions", false),
        ] {
            assert_eq!(
                one_edit_apart(word.as_bytes(), key.as_bytes()),
                apart,
                "{word} and {key}"
            );
        }
    }
}
