//! A text as the patterns see it: words with a meaning, addresses, sums of money, in order.

use std::ops::Range;

use super::class::{Class, ClassSet};
use super::entity;
use super::lexicon::LEXICON;
use super::typo;

/// Something with a meaning that stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) span: Range<usize>,
    pub(super) classes: ClassSet,
    /// Whether an utterance begins here.
    pub(super) opens: bool,
    /// Whether a misspelling was read as the word. Such a token never anchors a pattern.
    pub(super) misspelt: bool,
}

impl Token {
    pub(super) fn new(span: Range<usize>, classes: ClassSet) -> Self {
        Self {
            span,
            classes,
            opens: false,
            misspelt: false,
        }
    }

    pub(super) fn of(span: Range<usize>, class: Class) -> Self {
        Self::new(span, class.into())
    }
}

/// Every token of a text in order of where it starts.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    LEXICON.find(text, &mut tokens);
    entity::find(text, &mut tokens);
    typo::find(text, &mut tokens);
    tokens.sort_by_key(|token| (token.span.start, token.span.end));
    for token in &mut tokens {
        token.opens = opens_utterance(text, token.span.start);
    }
    tokens
}

/// Whether only blanks and marks stand between this place and the end of what was said before.
fn opens_utterance(text: &str, at: usize) -> bool {
    let before = text
        .get(..at)
        .unwrap_or_default()
        .trim_end_matches([' ', '*', '_', '`', '(']);
    before.chars().next_back().is_none_or(|last| {
        matches!(
            last,
            '.' | '!'
                | '?'
                | ':'
                | ';'
                | '"'
                | '\''
                | '\n'
                | '>'
                | ']'
                | ')'
                | '}'
                | '#'
                | '-'
                | '|'
                | ','
                | '。'
                | '！'
                | '？'
                | '：'
                | '，'
        )
    })
}
