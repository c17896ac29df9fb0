//! A text as the patterns see it: words with a meaning, addresses, sums of money, in order.

use std::ops::Range;

use super::blocks::{BLOCK, OVERLAP};
use super::class::{Class, ClassSet};
use super::described::drop_described;
use super::entity;
use super::lexicon::LEXICON;
use super::typo;
use super::value::values;

/// Something with a meaning that stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) span: Range<usize>,
    pub(super) classes: ClassSet,
    /// Whether an utterance begins here.
    pub(super) opens: bool,
    /// Whether a quoted value of a record begins here.
    pub(super) opens_value: bool,
    /// Whether it stands in a quoted value of a record.
    pub(super) in_value: bool,
    /// Whether a misspelling was read as the word. Such a token never anchors a pattern.
    pub(super) misspelt: bool,
}

impl Token {
    pub(super) fn new(span: Range<usize>, classes: ClassSet) -> Self {
        Self {
            span,
            classes,
            opens: false,
            opens_value: false,
            in_value: false,
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
    drop_idioms(&mut tokens);
    drop_nouns(text, &mut tokens);
    entity::find(text, &mut tokens);
    typo::find(text, &mut tokens);
    tokens.sort_by_key(|token| (token.span.start, token.span.end));
    drop_answered(text, &mut tokens);
    drop_described(text, &mut tokens);
    let values = values(text);
    for token in &mut tokens {
        token.opens = opens_utterance(text, token.span.start);
        token.opens_value = opens_value(text, &token.span);
        let next = values.partition_point(|value| value.end <= token.span.start);
        token.in_value = values
            .get(next)
            .is_some_and(|value| value.start <= token.span.start);
    }
    tokens
}

/// A saying means something else than its words: nobody keeps back the secret of happiness.
fn drop_idioms(tokens: &mut Vec<Token>) {
    let idiom = ClassSet::from(Class::Idiom);
    let sayings: Vec<Range<usize>> = tokens
        .iter()
        .filter(|token| token.classes.meets(idiom))
        .map(|token| token.span.clone())
        .collect();
    if sayings.is_empty() {
        return;
    }
    let within = |token: &Token, saying: &Range<usize>| {
        saying.start <= token.span.start && token.span.end <= saying.end
    };
    tokens.retain(|token| !sayings.iter().any(|saying| within(token, saying)));
}

/// What words ask for that may as well name a thing.
pub(super) fn actions() -> ClassSet {
    ClassSet::from(Class::Send) | Class::Pay.into() | Class::Strongact.into() | Class::Get.into()
}

/// Words such as `email`, `report` or `order` name a thing after an article or before a colon; then they ask for nothing.
fn drop_nouns(text: &str, tokens: &mut Vec<Token>) {
    let actions = actions();
    tokens.retain_mut(|token| {
        if token.classes.meets(actions)
            && (follows_article(text, token.span.start) || names_field(text, token.span.end))
        {
            token.classes = token.classes.without(actions);
        }
        !token.classes.is_empty()
    });
}

/// Whether a colon follows, with or without a quote: the word is the name of a field.
fn names_field(text: &str, end: usize) -> bool {
    let after = text.get(end..).unwrap_or_default();
    after.strip_prefix(['"', '\'']).unwrap_or(after).starts_with(':')
}

fn follows_article(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let Some(before) = before.strip_suffix(' ') else {
        return false;
    };
    let start = before
        .rfind(|c: char| !c.is_alphanumeric())
        .map_or(0, |at| at + 1);
    let word = before.get(start..).unwrap_or_default();
    ARTICLES.iter().any(|article| word.eq_ignore_ascii_case(article))
}

/// In questions and answers of one paragraph only a last question that nobody answers is left for the reader. A list of
/// answered questions asks nothing, and paragraphs of their own are how people write them down.
fn drop_answered(text: &str, tokens: &mut Vec<Token>) {
    let (asked, answered) = (ClassSet::from(Class::Lastasked), ClassSet::from(Class::Answered));
    let whole = text.len() < BLOCK + OVERLAP;
    // Where the next label stands, and whether something is said after it.
    let mut next: Option<usize> = None;
    for token in tokens.iter_mut().rev() {
        if !token.classes.meets(asked | answered) {
            continue;
        }
        let until = next.unwrap_or(text.len());
        let said = text.get(token.span.end..until).unwrap_or_default();
        let line = said.split('\n').next().unwrap_or_default();
        let ends_line = line.len() < said.len();
        let is_said = line.contains(char::is_alphanumeric);
        if token.classes.meets(asked) {
            let last = ends_line || next.is_none() && whole;
            if !(last && is_said) {
                token.classes = token.classes.without(asked);
            }
        }
        // An answer that is still to be given answers nothing.
        if is_said || token.classes.meets(asked) || ends_line {
            next = Some(token.span.start);
        }
    }
    tokens.retain(|token| !token.classes.is_empty());
}

/// Words after which an action names a thing.
pub(super) const ARTICLES: [&str; 25] = [
    "a",
    "an",
    "the",
    "this",
    "that",
    "these",
    "those",
    "your",
    "our",
    "their",
    "his",
    "her",
    "its",
    "my",
    "of",
    "via",
    "by",
    "in",
    "no",
    "any",
    "each",
    "new",
    "every",
    "following",
    "mailing",
];

/// Whether only blanks and marks stand between this place and the end of what was said before.
pub(super) fn opens_utterance(text: &str, at: usize) -> bool {
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

/// Whether a quote that follows a colon or a bracket stands right before these words, and more is said after them: in
/// `"type": "text"` nobody is told to text.
fn opens_value(text: &str, words: &Range<usize>) -> bool {
    let before = text.get(..words.start).unwrap_or_default();
    let is_all = text
        .get(words.end..)
        .is_some_and(|after| after.starts_with(['"', '\'']));
    !is_all
        && before.strip_suffix(['"', '\'']).is_some_and(|before| {
            let before = before.trim_end_matches(' ');
            before.ends_with([':', '['])
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_open_when_nobody_answers_it() {
        for (text, open) in [
            ("Q: one? A: yes. Q: two?", vec![16]),
            ("Q: one? A: yes. Q: two? A:", vec![16]),
            ("Q: one? A: yes. Q: two? A: no.", vec![]),
            ("Q: one? A: yes.\nQ: two?", vec![16]),
            ("Q: one? A: yes. Q:", vec![]),
            ("Q: one? A: yes. Q: two?\nA: no.", vec![16]),
        ] {
            let found: Vec<_> = tokens(text)
                .into_iter()
                .filter(|token| token.classes.meets(Class::Lastasked.into()))
                .map(|token| token.span.start)
                .collect();
            assert_eq!(found, open, "{text}");
        }
    }
}
