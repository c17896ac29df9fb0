//! What is remembered of one session, and what it says of a value.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use tidegate_core::Name;
use tidegate_store::{Origin, OriginChunk, Recalled};

use super::date;
use super::key::Digester;
use super::token::{self, Piece, Shape, Token};
use super::view::Views;

/// The longest value that is looked at. What is longer is no address and no name.
const LONGEST_VALUE: usize = 16 * 1024;

/// The values that entered one session.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// What the operator or a trusted source brought, by its strict spelling.
    believed: HashSet<u64>,
    /// What others brought first, by its loose spelling, with the source; none when the agent said it itself.
    foreign: HashMap<u64, Option<usize>>,
    sources: Vec<Name>,
    pub(super) closed: bool,
    /// The place of the last chunk that is in here.
    pub(super) last: u64,
}

/// What is known of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// The operator or a trusted source brought all of it.
    Believed,
    /// An untrusted source brought it, or a telling part of it, first.
    Untrusted(Name),
    /// Nobody is known to have brought it.
    Unknown,
    /// It is too long to be looked at.
    TooLong,
}

impl Memory {
    /// Takes in what the store recalls after [`Self::last`].
    pub(super) fn take(&mut self, recalled: Recalled) {
        self.closed |= recalled.closed;
        if recalled.last <= self.last {
            return;
        }
        self.last = recalled.last;
        for chunk in recalled.chunks {
            self.add(&chunk);
        }
    }

    fn add(&mut self, chunk: &OriginChunk) {
        match chunk.origin {
            Origin::Operator | Origin::Trusted => self.believed.extend(&chunk.digests),
            Origin::Agent => {
                for digest in &chunk.digests {
                    self.foreign.entry(*digest).or_insert(None);
                }
            }
            Origin::Untrusted => {
                let known = self.sources.iter().position(|source| *source == chunk.source);
                let at = known.unwrap_or(self.sources.len());
                if known.is_none() {
                    self.sources.push(chunk.source.clone());
                }
                for digest in &chunk.digests {
                    let source = self.foreign.entry(*digest).or_insert(Some(at));
                    *source = source.or(Some(at));
                }
            }
        }
    }

    /// About how many digests are in here.
    pub(super) fn len(&self) -> usize {
        self.believed.len() + self.foreign.len()
    }

    /// The first untrusted source that brought something.
    pub(super) fn first_untrusted(&self) -> Option<&Name> {
        self.sources.first()
    }

    /// The digests of a text that this origin would add; `None` when there are more than `most`.
    pub(super) fn additions(
        &self,
        text: &str,
        origin: Origin,
        digester: &Digester,
        most: usize,
    ) -> Option<HashSet<u64>> {
        let views = Views::of(text);
        let mut added = HashSet::new();
        let mut read = |view: &str| {
            token::visit(view, |_, pieces| {
                added.extend(
                    pieces
                        .iter()
                        .filter_map(|piece| self.addition(piece, origin, digester)),
                );
                if added.len() > most {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })
        };
        let mut whole = read(&views.plain).is_continue();
        // What stands encoded is believed of nobody: the agent would have to decode it first.
        if matches!(origin, Origin::Untrusted | Origin::Agent) {
            whole &= views.decoded.iter().all(|view| read(view).is_continue());
        }
        whole.then_some(added)
    }

    /// INVARIANT (first seen counts): what an untrusted source or the agent said first is not believed because a
    /// trusted source says it later, since it may only be repeating what it was asked.
    fn addition(&self, piece: &Piece, origin: Origin, digester: &Digester) -> Option<u64> {
        let strict = || Some(digester.strict(&piece.strict)).filter(|digest| !self.believed.contains(digest));
        let loose = digester.loose(&piece.loose);
        match origin {
            Origin::Operator => strict(),
            Origin::Trusted if self.foreign.contains_key(&loose) => None,
            Origin::Trusted => strict(),
            Origin::Untrusted => {
                let known = self.foreign.get(&loose).is_some_and(Option::is_some);
                (!known).then_some(loose)
            }
            Origin::Agent => (!self.foreign.contains_key(&loose) && strict().is_some()).then_some(loose),
        }
    }

    /// What is known of a value of an argument.
    pub(super) fn judge(&self, value: &str, digester: &Digester) -> Standing {
        if value.len() > LONGEST_VALUE {
            return Standing::TooLong;
        }
        let judging = Judging {
            memory: self,
            digester,
        };
        let views = Views::of(value);
        let plain = Reading::of(&views.plain);
        let covered = judging.covered(&plain);
        if let Some(source) = judging.untrusted(&plain, &covered) {
            return Standing::Untrusted(source.clone());
        }
        // What holds no letter and no digit names nobody, but what is not blank is not nothing either.
        let is_believed = if plain.words.is_empty() {
            value.trim().is_empty()
        } else {
            covered.iter().all(|covered| *covered)
        };
        if is_believed {
            return Standing::Believed;
        }
        let untrusted = views.decoded.iter().find_map(|view| {
            let reading = Reading::of(view);
            let covered = judging.covered(&reading);
            judging.untrusted(&reading, &covered)
        });
        untrusted.map_or(Standing::Unknown, |source| Standing::Untrusted(source.clone()))
    }
}

/// A value, read: its words, and the pieces that end at each.
struct Reading {
    words: Vec<(Token, Vec<Piece>)>,
}

impl Reading {
    fn of(view: &str) -> Self {
        let mut words = Vec::new();
        let _ = token::visit(view, |token, pieces| {
            words.push((token.clone(), pieces.to_vec()));
            ControlFlow::Continue(())
        });
        Self { words }
    }
}

struct Judging<'a> {
    memory: &'a Memory,
    digester: &'a Digester,
}

impl Judging<'_> {
    fn believes(&self, strict: &str) -> bool {
        self.memory.believed.contains(&self.digester.strict(strict))
    }

    /// For each word whether somebody who is believed brought it.
    fn covered(&self, reading: &Reading) -> Vec<bool> {
        let alone = reading.words.len() == 1;
        let mut covered: Vec<bool> = reading
            .words
            .iter()
            .map(|(token, _)| !alone && token.is_filler())
            .collect();
        if covered.iter().all(|covered| *covered) {
            covered.fill(false);
        }
        for (at, (_, pieces)) in reading.words.iter().enumerate() {
            let words = pieces.iter().filter(|piece| self.covers(piece));
            let most = words.map(|piece| piece.words).max().unwrap_or(0);
            let range = (at + 1).saturating_sub(most)..=at;
            for covered in covered.get_mut(range).into_iter().flatten().take(most) {
                *covered = true;
            }
        }
        covered
    }

    fn covers(&self, piece: &Piece) -> bool {
        match piece.shape {
            Shape::Part => false,
            Shape::Word | Shape::Groups | Shape::Phrase => self.believes(&piece.strict),
            Shape::Day => {
                self.believes(&piece.strict)
                    || date::without_year(&piece.strict).is_some_and(|day| self.believes(&day))
            }
        }
    }

    /// The untrusted source that brought a telling piece of the value which nobody believed brought.
    fn untrusted(&self, reading: &Reading, covered: &[bool]) -> Option<&Name> {
        let count = reading.words.len();
        for (at, (token, pieces)) in reading.words.iter().enumerate() {
            let is_covered = covered.get(at).copied().unwrap_or(false);
            let asked = pieces.iter().filter(|piece| match piece.shape {
                Shape::Word => !is_covered && (count == 1 || token.is_specific()),
                Shape::Part => !is_covered,
                Shape::Day => false,
                Shape::Groups => true,
                Shape::Phrase => piece.words == count.min(3) && !piece.is_filler,
            });
            for piece in asked {
                let source = self.memory.foreign.get(&self.digester.loose(&piece.loose));
                if let Some(Some(source)) = source
                    && !self.believes(&piece.strict)
                {
                    return self.memory.sources.get(*source);
                }
            }
        }
        None
    }
}
