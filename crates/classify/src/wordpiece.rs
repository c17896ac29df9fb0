//! Words to numbers, as models of the BERT family read them: cleaned, lower-cased, split at spaces and punctuation, and
//! each word cut into the longest pieces that the vocabulary knows.
//!
//! Only this one scheme, from the `tokenizer.json` that such models come with: the library that reads every scheme
//! brings sixty crates. Marks such as `[SEP]` in the text are read as text, so that nobody can write one.

use std::collections::HashMap;

use serde_json::Value;
use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::UnicodeNormalization;

/// How many tokens a model is taken to read at once when its tokenizer does not say.
const USUAL_WINDOW: usize = 256;

/// The fewest and the most tokens at once that are believed.
const WINDOWS: std::ops::RangeInclusive<usize> = 16..=512;

/// What begins a piece that continues a word.
const CONTINUES: &str = "##";

/// A vocabulary and how text is prepared for it.
pub(crate) struct WordPiece {
    pieces: HashMap<String, i64>,
    longest_piece: usize,
    longest_word: usize,
    lowercase: bool,
    unknown: i64,
    first: i64,
    last: i64,
    window: usize,
}

/// Why a tokenizer file cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenizerError {
    /// It is not JSON.
    #[error("it is not the JSON of a tokenizer")]
    NotJson,
    /// It is of another scheme.
    #[error("it must be of type WordPiece with a BertNormalizer and a BertPreTokenizer")]
    OtherScheme,
    /// It lacks pieces that every text needs.
    #[error("its vocabulary must hold [CLS], [SEP] and [UNK]")]
    Incomplete,
}

impl WordPiece {
    /// Reads a `tokenizer.json`.
    pub(crate) fn read(file: &[u8]) -> Result<Self, TokenizerError> {
        let file: Value = serde_json::from_slice(file).map_err(|_| TokenizerError::NotJson)?;
        let text = |path: &str| file.pointer(path).and_then(Value::as_str);
        let flag = |path: &str| file.pointer(path).and_then(Value::as_bool);
        let lowercase = flag("/normalizer/lowercase").unwrap_or(true);
        let is_bert = text("/model/type") == Some("WordPiece")
            && text("/normalizer/type") == Some("BertNormalizer")
            && text("/pre_tokenizer/type") == Some("BertPreTokenizer")
            && text("/model/continuing_subword_prefix").is_none_or(|prefix| prefix == CONTINUES)
            && flag("/normalizer/clean_text") != Some(false)
            && flag("/normalizer/handle_chinese_chars") != Some(false)
            && flag("/normalizer/strip_accents").is_none_or(|strip| strip == lowercase);
        let vocabulary = file.pointer("/model/vocab").and_then(Value::as_object);
        let Some(vocabulary) = vocabulary.filter(|_| is_bert) else {
            return Err(TokenizerError::OtherScheme);
        };
        let pieces: HashMap<_, _> = vocabulary
            .iter()
            .filter_map(|(piece, id)| Some((piece.clone(), id.as_i64()?)))
            .collect();
        let id = |piece: &str| pieces.get(piece).copied().ok_or(TokenizerError::Incomplete);
        let count = |path: &str| {
            let count = file.pointer(path).and_then(Value::as_u64)?;
            usize::try_from(count).ok()
        };
        Ok(Self {
            longest_piece: pieces.keys().map(String::len).max().unwrap_or_default(),
            longest_word: count("/model/max_input_chars_per_word").unwrap_or(100).min(200),
            lowercase,
            unknown: id("[UNK]")?,
            first: id("[CLS]")?,
            last: id("[SEP]")?,
            window: count("/truncation/max_length")
                .filter(|count| WINDOWS.contains(count))
                .unwrap_or(USUAL_WINDOW),
            pieces,
        })
    }

    /// The text as the model reads it: windows of tokens, each with its marks, overlapping by a quarter so that nothing
    /// is cut where it cannot be understood. There is at least one.
    pub(crate) fn windows(&self, text: &str) -> Vec<Vec<i64>> {
        let tokens = self.tokens(text);
        let content = self.window - 2;
        let step = content - content / 4;
        let starts = (0..=tokens.len().saturating_sub(content).div_ceil(step)).map(|index| index * step);
        let window = |start: usize| {
            let inner = tokens.iter().skip(start).take(content).copied();
            [self.first].into_iter().chain(inner).chain([self.last]).collect()
        };
        starts.map(window).collect()
    }

    fn tokens(&self, text: &str) -> Vec<i64> {
        let mut tokens = Vec::new();
        let mut word = String::new();
        for symbol in self.prepared(text) {
            if symbol == ' ' {
                self.cut(&word, &mut tokens);
                word.clear();
            } else if stands_alone(symbol) {
                self.cut(&word, &mut tokens);
                word.clear();
                word.push(symbol);
                self.cut(&word, &mut tokens);
                word.clear();
            } else {
                word.push(symbol);
            }
        }
        self.cut(&word, &mut tokens);
        tokens
    }

    /// The text without what does not show, with plain spaces, and without case and accents if the model knows none.
    fn prepared(&self, text: &str) -> impl Iterator<Item = char> {
        let cleaned = text.chars().filter(|symbol| !is_dropped(*symbol));
        let cleaned = cleaned.map(|symbol| if symbol.is_whitespace() { ' ' } else { symbol });
        if self.lowercase {
            let bare = cleaned
                .nfd()
                .filter(|symbol| get_general_category(*symbol) != GeneralCategory::NonspacingMark);
            let lowered: String = bare.flat_map(char::to_lowercase).collect();
            lowered.chars().collect::<Vec<_>>().into_iter()
        } else {
            cleaned.collect::<Vec<_>>().into_iter()
        }
    }

    /// Cuts a word into the longest known pieces from its start; a word that cannot be cut is unknown as a whole.
    fn cut(&self, word: &str, tokens: &mut Vec<i64>) {
        if word.is_empty() {
            return;
        }
        if word.chars().count() > self.longest_word {
            tokens.push(self.unknown);
            return;
        }
        let before = tokens.len();
        let mut rest = word;
        while !rest.is_empty() {
            let Some((id, length)) = self.longest(rest, rest.len() < word.len()) else {
                tokens.truncate(before);
                tokens.push(self.unknown);
                return;
            };
            tokens.push(id);
            rest = rest.get(length..).unwrap_or_default();
        }
    }

    fn longest(&self, rest: &str, continues: bool) -> Option<(i64, usize)> {
        let mut piece = String::from(if continues { CONTINUES } else { "" });
        let prefix = piece.len();
        piece.push_str(rest);
        while piece.len() > prefix {
            if piece.len() <= self.longest_piece
                && let Some(id) = self.pieces.get(&piece)
            {
                return Some((*id, piece.len() - prefix));
            }
            piece.pop();
        }
        None
    }
}

/// What a model of this family never sees: control and format characters, private use, the unassigned.
fn is_dropped(symbol: char) -> bool {
    use GeneralCategory as Of;
    let is_other = matches!(
        get_general_category(symbol),
        Of::Control | Of::Format | Of::PrivateUse | Of::Surrogate | Of::Unassigned
    );
    symbol == '\u{fffd}' || is_other && !matches!(symbol, '\t' | '\n' | '\r')
}

/// Punctuation, and the ideographs that are words by themselves.
fn stands_alone(symbol: char) -> bool {
    use GeneralCategory as Of;
    let is_punctuation = matches!(
        get_general_category(symbol),
        Of::ConnectorPunctuation
            | Of::DashPunctuation
            | Of::OpenPunctuation
            | Of::ClosePunctuation
            | Of::InitialPunctuation
            | Of::FinalPunctuation
            | Of::OtherPunctuation
    );
    let is_ideograph = matches!(
        u32::from(symbol),
        0x3400..=0x4DBF
            | 0x4E00..=0x9FFF
            | 0xF900..=0xFAFF
            | 0x20000..=0x2A6DF
            | 0x2A700..=0x2B73F
            | 0x2B740..=0x2B81F
            | 0x2B920..=0x2CEAF
            | 0x2F800..=0x2FA1F
    );
    symbol.is_ascii_punctuation() || is_punctuation || is_ideograph
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const VOCABULARY: [&str; 14] = [
        "[UNK]", "[CLS]", "[SEP]", "gate", "##way", "##s", "tide", "un", "##like", "##ly", "!", "cafe", "水",
        "[",
    ];

    fn wordpiece(window: usize) -> WordPiece {
        let vocabulary: serde_json::Map<_, _> = VOCABULARY
            .iter()
            .zip(0..)
            .map(|(piece, id)| ((*piece).to_owned(), Value::from(id)))
            .collect();
        let file = json!({
            "normalizer": {"type": "BertNormalizer", "lowercase": true},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "model": {"type": "WordPiece", "vocab": vocabulary},
            "truncation": {"max_length": window},
        });
        WordPiece::read(file.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn words_are_cut_into_the_longest_known_pieces() {
        let reader = wordpiece(64);
        for (text, pieces) in [
            ("", vec![]),
            ("Tide\tgateways!", vec!["tide", "gate", "##way", "##s", "!"]),
            ("unlikely", vec!["un", "##like", "##ly"]),
            ("unlikelyx tide", vec!["[UNK]", "tide"]),
            ("CAFÉ cafe\u{301}", vec!["cafe", "cafe"]),
            ("ga\u{200b}te", vec!["gate"]),
            ("水水tide", vec!["水", "水", "tide"]),
            ("[SEP]", vec!["[", "[UNK]", "[UNK]"]),
            (&"gate".repeat(60), vec!["[UNK]"]),
        ] {
            let expected: Vec<_> = pieces.iter().map(|piece| reader.pieces[*piece]).collect();
            assert_eq!(reader.tokens(text), expected, "{text}");
        }
    }

    #[test]
    fn only_the_known_scheme_is_read() {
        let scheme = |model: &str, normalizer: &str| {
            json!({
                "normalizer": {"type": normalizer},
                "pre_tokenizer": {"type": "BertPreTokenizer"},
                "model": {"type": model, "vocab": {"a": 1}},
            })
            .to_string()
        };
        for (file, error) in [
            ("vocab".to_owned(), TokenizerError::NotJson),
            ("{}".to_owned(), TokenizerError::OtherScheme),
            (scheme("BPE", "BertNormalizer"), TokenizerError::OtherScheme),
            (scheme("WordPiece", "NFC"), TokenizerError::OtherScheme),
            (scheme("WordPiece", "BertNormalizer"), TokenizerError::Incomplete),
        ] {
            assert_eq!(WordPiece::read(file.as_bytes()).err(), Some(error), "{file}");
        }
    }

    proptest! {
        #[test]
        fn every_token_is_in_a_window_and_no_window_is_too_long(text in "(tide|gates|un|水|\\PC| ){0,200}", window in 16_usize..80) {
            let reader = wordpiece(window);
            let tokens = reader.tokens(&text);
            let windows = reader.windows(&text);
            prop_assert!(windows.iter().all(|window| window.len() <= reader.window));
            let content = reader.window - 2;
            let step = content - content / 4;
            let mut joined: Vec<i64> = Vec::new();
            for (index, window) in windows.iter().enumerate() {
                joined.truncate(index * step);
                joined.extend(&window[1..window.len() - 1]);
            }
            prop_assert_eq!(joined, tokens);
        }
    }
}
