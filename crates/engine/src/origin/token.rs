//! Cutting a text into the pieces by which a value is known again.
//!
//! A piece has two spellings. The loose one drops everything but letters and digits, so that what somebody planted is
//! known however it is punctuated; a value is doubted by its loose spelling. The strict one keeps what makes a difference
//! to a machine (`go-ogle.com` is not `google.com`); a value is believed by its strict spelling alone. Pieces are the words
//! themselves, the parts of an address, numbers written in groups, and runs of two and three words for names and phrases.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use super::date;

/// The most words that a number in groups has.
const MOST_GROUPS: usize = 8;

/// The fewest letters and digits of a part that tells anything by itself.
const TELLING: usize = 6;

/// One word: everything between blanks, quotes, commas and brackets.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) strict: String,
    pub(super) loose: String,
    /// Whether only blanks and hyphens stand between it and the word before.
    joins: bool,
    digits: usize,
    letters: usize,
}

impl Token {
    fn new(text: &str, joins: bool) -> Option<Self> {
        let text = without_scheme(text.trim_matches(is_connector)).trim_matches(is_connector);
        let loose = alphanumeric(text);
        if loose.is_empty() {
            return None;
        }
        let digits = text.chars().filter(char::is_ascii_digit).count();
        let strict = if is_number_like(text, digits) {
            loose.clone()
        } else {
            text.to_owned()
        };
        Some(Self {
            letters: loose.chars().count() - digits,
            strict,
            loose,
            joins,
            digits,
        })
    }

    /// Whether it is more than a plain word: an address, a number, an identifier.
    pub(super) fn is_specific(&self) -> bool {
        self.digits > 0 || self.strict != self.loose
    }

    /// Whether it is a short plain word, which tells nothing beside others.
    pub(super) fn is_filler(&self) -> bool {
        self.digits == 0 && self.letters <= 3 && !self.is_specific()
    }

    fn is_group(&self) -> bool {
        let plain = self.strict == self.loose;
        plain && (self.digits > 0 && self.loose.len() <= 16 || self.digits == 0 && self.letters <= 4)
    }
}

/// What a piece is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One word.
    Word,
    /// A part of a word: a host, a segment of a path, the domain of an address.
    Part,
    /// A day of the calendar.
    Day,
    /// A number in groups.
    Groups,
    /// Words in a row.
    Phrase,
}

/// A piece of a text, ending at the word that was read last.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) shape: Shape,
    /// How many words it has.
    pub(super) words: usize,
    pub(super) strict: String,
    pub(super) loose: String,
    /// Whether it is made of short plain words alone.
    pub(super) is_filler: bool,
}

/// Visits the words of a text, each with the pieces that end at it, until told to stop.
pub(super) fn visit(
    text: &str,
    mut visit: impl FnMut(&Token, &[Piece]) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut recent: VecDeque<Token> = VecDeque::with_capacity(MOST_GROUPS + 1);
    let mut days = date::Days::default();
    let mut pieces = Vec::new();
    let mut gap_joins = true;
    let mut rest = text;
    while let Some(start) = rest.find(is_of_word) {
        gap_joins &= rest
            .get(..start)
            .unwrap_or_default()
            .chars()
            .all(|c| matches!(c, ' ' | '\t' | '(' | ')'));
        rest = rest.get(start..).unwrap_or_default();
        let end = end_of_word(rest);
        let (word, after) = rest.split_at(end);
        rest = after;
        let Some(token) = Token::new(word, gap_joins) else {
            continue;
        };
        gap_joins = true;
        recent.push_back(token);
        if recent.len() > MOST_GROUPS {
            recent.pop_front();
        }
        pieces.clear();
        collect(recent.make_contiguous(), &mut days, &mut pieces);
        if let Some(token) = recent.back() {
            visit(token, &pieces)?;
        }
    }
    ControlFlow::Continue(())
}

fn collect(recent: &[Token], days: &mut date::Days, pieces: &mut Vec<Piece>) {
    let Some(last) = recent.last() else { return };
    pieces.push(Piece {
        shape: Shape::Word,
        words: 1,
        strict: last.strict.clone(),
        loose: last.loose.clone(),
        is_filler: last.is_filler(),
    });
    pieces.extend(parts(&last.strict));
    pieces.extend(days.read(&last.strict).into_iter().map(|day| Piece {
        shape: Shape::Day,
        words: 1,
        strict: day.clone(),
        loose: day,
        is_filler: false,
    }));
    pieces.extend(groups(recent));
    for words in 2..=3 {
        pieces.extend(phrase(recent, words));
    }
}

/// The parts of an address: what stands between slashes and the like, the domain, and the domains above it.
fn parts(text: &str) -> impl Iterator<Item = Piece> {
    let segments = text.split(['/', '?', '&', '=', '#', ':']).filter(|s| *s != text);
    let domain = text.rsplit_once('@').map(|(_, domain)| domain);
    let mut found: Vec<&str> = segments.chain(domain).collect();
    let hosts: Vec<&str> = found.iter().copied().chain([text]).collect();
    for host in hosts.into_iter().filter(|host| !host.contains(['@', '/'])) {
        let above = host.match_indices('.').filter_map(|(at, _)| host.get(at + 1..));
        found.extend(above.filter(|domain| domain.contains('.')));
    }
    found.into_iter().filter_map(|part| {
        let token = Token::new(part, false)?;
        (token.loose.chars().count() >= TELLING).then_some(Piece {
            shape: Shape::Part,
            words: 1,
            strict: token.strict,
            loose: token.loose,
            is_filler: false,
        })
    })
}

/// Numbers written in groups that end here: `GB29 NWBK 6016 1331 9268 19`, `(555) 010 4477`.
fn groups(recent: &[Token]) -> Vec<Piece> {
    let mut found = Vec::new();
    let (mut joined, mut digits, mut words) = (String::new(), 0, 0);
    for token in recent.iter().rev() {
        if !token.is_group() {
            break;
        }
        joined.insert_str(0, &token.loose);
        digits += token.digits;
        words += 1;
        if words > 1 && digits >= 4 && joined.len() >= TELLING {
            found.push(Piece {
                shape: Shape::Groups,
                words,
                strict: joined.clone(),
                loose: joined.clone(),
                is_filler: false,
            });
        }
        if !token.joins || joined.len() > 40 {
            break;
        }
    }
    found
}

fn phrase(recent: &[Token], words: usize) -> Option<Piece> {
    let last = recent.get(recent.len().checked_sub(words)?..)?;
    let joined = |spelled: fn(&Token) -> &str| last.iter().map(spelled).collect::<Vec<_>>().join(" ");
    Some(Piece {
        shape: Shape::Phrase,
        words,
        strict: joined(|token| &token.strict),
        loose: joined(|token| &token.loose),
        is_filler: last.iter().all(Token::is_filler),
    })
}

/// A word ends where no letter, digit or connector follows. Scripts that write no blanks are read sign by sign.
fn end_of_word(text: &str) -> usize {
    let mut characters = text.char_indices();
    match characters.next() {
        Some((_, first)) if is_unspaced(first) => first.len_utf8(),
        Some(_) | None => characters
            .find(|(_, c)| !is_of_word(*c) || is_unspaced(*c))
            .map_or(text.len(), |(at, _)| at),
    }
}

fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || is_connector(character)
}

fn is_connector(character: char) -> bool {
    matches!(
        character,
        '@' | '.' | '-' | '_' | '/' | ':' | '+' | '#' | '?' | '&' | '=' | '~' | '%' | '$' | '\\'
    )
}

fn alphanumeric(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// A number that hyphens and dots only group: what they stand between is no name.
fn is_number_like(text: &str, digits: usize) -> bool {
    let grouped = text.chars().all(|c| c.is_alphanumeric() || "-._+".contains(c));
    let names = |pair: &[char]| match pair {
        ['.', c] | [c, '.'] => c.is_alphabetic(),
        _ => false,
    };
    let characters: Vec<char> = text.chars().collect();
    digits >= 4 && grouped && !characters.windows(2).any(names)
}

fn without_scheme(text: &str) -> &str {
    let after = |scheme: &str| text.strip_prefix(scheme);
    ["https://", "http://", "ftp://", "mailto:", "tel:"]
        .iter()
        .find_map(|scheme| after(scheme))
        .unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, shape: Shape, expected: &[&str]) {
        let mut found = Vec::new();
        let _ = visit(text, |_, pieces| {
            found.extend(
                pieces
                    .iter()
                    .filter(|piece| piece.shape == shape)
                    .map(|piece| piece.strict.clone()),
            );
            ControlFlow::Continue(())
        });
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn words_are_cut_where_a_value_ends() {
        for (text, expected) in [
            (
                "send it to \"jay@google.com\", please.",
                &["send", "it", "to", "jay@google.com", "please"][..],
            ),
            ("<https://evil.example/x?y=1>", &["evil.example/x?y=1"]),
            ("iban: uk12-3456-7890", &["iban", "uk1234567890"]),
            ("go-ogle.com 2.1.2024", &["go-ogle.com", "212024"]),
            ("写给jay@google.com吧", &["写", "给", "jay@google.com", "吧"]),
            ("... -- ''", &[]),
        ] {
            check(text, Shape::Word, expected);
        }
    }

    #[test]
    fn an_address_has_parts() {
        check(
            "https://data.evil.example/steal/account?to=someone",
            Shape::Part,
            &["data.evil.example", "account", "someone", "evil.example"],
        );
        check(
            "jay@mail.evil.example",
            Shape::Part,
            &["mail.evil.example", "evil.example"],
        );
        check("data.evil.example", Shape::Part, &["evil.example"]);
    }

    #[test]
    fn numbers_in_groups_are_one() {
        check(
            "gb29 nwbk 6016 now",
            Shape::Groups,
            &[
                "nwbk6016",
                "gb29nwbk6016",
                "6016now",
                "nwbk6016now",
                "gb29nwbk6016now",
            ],
        );
        check("gb29, 6016", Shape::Groups, &[]);
    }

    #[test]
    fn phrases_are_two_and_three_words() {
        check(
            "the river view",
            Shape::Phrase,
            &["the river", "river view", "the river view"],
        );
    }
}
