//! Which shapes some bytes may hold, from signs that are quickly seen.
//!
//! The shapes themselves (see `entity`) are found in the plain reading, piece by piece. A piece that has one of them also has
//! its sign: a link has a dot before a known ending, an account has eight digits. What is said here may be too much and must
//! not be too little; of bytes that may read otherwise than they stand everything is said.

use fearless_simd::Simd;

use super::class::{Class, ClassSet};
use super::entity::{ENDINGS, is_part_of_host};
use crate::lanes::{self, Chunk, Question, Those, WIDTH};

/// The longest of the known endings, and some.
const LONGEST_ENDING: usize = 8;

/// The fewest digits of an account.
const ACCOUNT_DIGITS: u32 = 8;

/// The classes of shapes that the bytes may hold, of those that are asked for.
pub(super) fn shapes_in(bytes: &[u8], asked: ClassSet) -> ClassSet {
    let (signs, long_number) = Signs::of(bytes);
    if signs.odd {
        return all() & asked;
    }
    let mut shapes = ClassSet::default();
    let mut add = |class: Class, may_stand: &dyn Fn() -> bool| {
        if asked.meets(class.into()) && may_stand() {
            shapes |= class.into();
        }
    };
    add(Class::Address, &|| signs.at);
    add(Class::Link, &|| {
        signs.dot && may_link(bytes) || signs.scheme && has_scheme(bytes)
    });
    add(Class::Account, &|| {
        long_number || signs.coded && has_country_code(bytes)
    });
    add(Class::Money, &|| signs.digit);
    add(Class::Toolname, &|| signs.joined);
    add(Class::Toolinvoke, &|| {
        signs.joined && signs.open && may_call(bytes)
    });
    add(Class::Ident, &|| signs.digit || signs.at || signs.path);
    add(Class::Filled, &|| signs.image);
    shapes
}

/// What stands somewhere in the bytes.
#[derive(Clone, Copy, Default)]
struct Signs {
    /// A byte that may stand for another, or for nothing.
    odd: bool,
    digit: bool,
    /// Two capitals and a digit.
    coded: bool,
    at: bool,
    dot: bool,
    /// A colon and a slash.
    scheme: bool,
    /// `_`, or a hump of camelCase.
    joined: bool,
    open: bool,
    /// `/` or `#`.
    path: bool,
    /// `![`.
    image: bool,
}

/// How many chunks are looked at in one go.
const CHUNKS: usize = 24;

impl Signs {
    /// The signs, and whether so many digits as an account has stand without a blank between them.
    fn of(bytes: &[u8]) -> (Self, bool) {
        let mut found = Self::default();
        let mut number = Number::default();
        let mut seen = [Seen::default(); CHUNKS];
        for first in (0..bytes.len()).step_by(CHUNKS * WIDTH) {
            let count = (bytes.len() - first).div_ceil(WIDTH).min(CHUNKS);
            let seen = seen.get_mut(..count).unwrap_or_default();
            lanes::ask(bytes, first, b' ', &Looking, seen);
            for here in seen {
                found = found.or(here.signs);
                number.go_on(here.digits, here.blanks);
            }
        }
        (found, number.is_long)
    }

    fn or(self, other: Self) -> Self {
        Self {
            odd: self.odd | other.odd,
            digit: self.digit | other.digit,
            coded: self.coded | other.coded,
            at: self.at | other.at,
            dot: self.dot | other.dot,
            scheme: self.scheme | other.scheme,
            joined: self.joined | other.joined,
            open: self.open | other.open,
            path: self.path | other.path,
            image: self.image | other.image,
        }
    }
}

/// What a chunk shows, and which of its bytes are digits and blanks.
#[derive(Clone, Copy, Default)]
struct Seen {
    signs: Signs,
    digits: u64,
    blanks: u64,
}

/// Counts digits from blank to blank.
#[derive(Default)]
struct Number {
    /// The digits since the last blank.
    digits: u32,
    is_long: bool,
}

impl Number {
    /// Counts on over a chunk.
    #[inline]
    fn go_on(&mut self, mut digits: u64, blanks: u64) {
        if self.is_long {
            return;
        }
        let mut before = blanks;
        while digits != 0 {
            let first = digits.trailing_zeros();
            if before & ((1 << first) - 1) != 0 {
                self.digits = 0;
            }
            // Up to the next blank, or to the end of the chunk.
            let after = blanks & (u64::MAX << first);
            let here = digits & after.wrapping_sub(1) & !after;
            self.digits += here.count_ones();
            self.is_long |= self.digits >= ACCOUNT_DIGITS;
            digits ^= here;
            before = after;
        }
        if before != 0 {
            self.digits = 0;
        }
    }
}

struct Looking;

impl Question for Looking {
    type Answer = Seen;

    #[inline(always)]
    fn of<S: Simd>(&self, chunk: Chunk<'_, S>) -> Seen {
        let (here, next) = (chunk.lanes(), chunk.lanes_after::<1>());
        let codes = here.are(b'\\') | here.are(b'%') | here.are(b'=') | here.are(b'&');
        let (capitals, next_capitals) = (here.between(b'A', b'Z').bits(), next.between(b'A', b'Z').bits());
        let humps = here.between(b'a', b'z').bits() & next_capitals;
        let coded = capitals & next_capitals & chunk.lanes_after::<2>().digits().bits();
        let any = |those: Those<S>| those.bits() != 0;
        let blanks = here.are(b' ') | here.between(b'\t', b'\n') | here.between(0x0c, b'\r');
        let digits = here.digits().bits();
        let signs = Signs {
            odd: any(codes | here.beyond_ascii()),
            digit: digits != 0,
            coded: coded != 0,
            at: any(here.are(b'@')),
            dot: any(here.are(b'.')),
            scheme: here.are(b':').bits() & next.are(b'/').bits() != 0,
            joined: humps | here.are(b'_').bits() != 0,
            open: any(here.are(b'(')),
            path: any(here.are(b'/') | here.are(b'#')),
            image: here.are(b'!').bits() & next.are(b'[').bits() != 0,
        };
        Seen {
            signs,
            digits,
            blanks: blanks.bits(),
        }
    }
}

/// Every class of shapes.
pub(super) fn all() -> ClassSet {
    [
        Class::Address,
        Class::Link,
        Class::Account,
        Class::Money,
        Class::Toolname,
        Class::Toolinvoke,
        Class::Ident,
        Class::Filled,
    ]
    .into_iter()
    .fold(ClassSet::default(), |all, class| all | class.into())
}

/// Whether a bracket opens right after a name.
fn may_call(bytes: &[u8]) -> bool {
    let called = |open: usize| {
        let before = open.checked_sub(1).and_then(|before| bytes.get(before));
        before.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
    };
    memchr::memchr_iter(b'(', bytes).any(called)
}

fn has_scheme(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, b"://").is_some()
}

/// Whether a dot has a known ending after it, or `www` before it.
fn may_link(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'.', bytes).any(|dot| {
        let (name, rest) = (
            bytes.get(..dot).unwrap_or_default(),
            bytes.get(dot + 1..).unwrap_or_default(),
        );
        follows_www(name) || ends_host(rest) && is_name_of_host(name)
    })
}

fn follows_www(name: &[u8]) -> bool {
    let start = name.len().saturating_sub(3);
    name.get(start..)
        .is_some_and(|end| end.eq_ignore_ascii_case(b"www"))
}

/// Whether a known ending stands after a dot, and no more of a word.
fn ends_host(rest: &[u8]) -> bool {
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric();
    let length = rest.iter().take(LONGEST_ENDING + 1).take_while(is_part).count();
    let ending = rest.get(..length).unwrap_or_default();
    ending.first().is_some_and(u8::is_ascii_alphabetic)
        && ENDINGS
            .iter()
            .any(|known| ending.eq_ignore_ascii_case(known.as_bytes()))
}

/// Whether the end of the bytes may be a host's name: in an address it is none.
fn is_name_of_host(name: &[u8]) -> bool {
    let before = name.iter().rposition(|byte| !is_part_of_host(*byte));
    before.and_then(|before| name.get(before)) != Some(&b'@')
}

/// Whether two capitals and two digits follow each other.
fn has_country_code(bytes: &[u8]) -> bool {
    let starts = |four: &[u8]| matches!(four, [a, b, c, d] if a.is_ascii_uppercase() && b.is_ascii_uppercase() && c.is_ascii_digit() && d.is_ascii_digit());
    bytes.windows(4).any(starts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::injection::entity;
    use crate::normalize::normalize;
    use proptest::prelude::*;

    fn has_long_number(bytes: &[u8]) -> bool {
        let pieces = bytes.split(u8::is_ascii_whitespace);
        let digits = |piece: &[u8]| piece.iter().filter(|byte| byte.is_ascii_digit()).count();
        pieces.map(digits).any(|digits| digits >= ACCOUNT_DIGITS as usize)
    }

    proptest! {
        #[test]
        fn digits_are_counted_from_blank_to_blank(bytes in "([0-9]{0,5}|[a-z.-]{0,30}|[ \n\t]{0,2}|\x0b|\x0c){0,40}") {
            let (_, long_number) = Signs::of(bytes.as_bytes());
            prop_assert_eq!(long_number, has_long_number(bytes.as_bytes()));
        }

        #[test]
        fn whole_chunks_show_what_single_bytes_do(bytes in "([a-zA-Z ]{0,70}|[!-~]{0,3}|é|://|!\\[|DE89){0,40}") {
            let bytes = bytes.as_bytes();
            let has = |is_such: &dyn Fn(u8) -> bool| bytes.iter().any(|byte| is_such(*byte));
            let pair = |is_such: &dyn Fn(u8, u8) -> bool| bytes.windows(2).any(|pair| is_such(pair[0], pair[1]));
            let (signs, _) = Signs::of(bytes);
            prop_assert_eq!(signs.odd, has(&|byte| !byte.is_ascii() || b"\\%=&".contains(&byte)));
            prop_assert_eq!(signs.digit, has(&|byte| byte.is_ascii_digit()));
            let capitals = |three: &[u8]| three[0].is_ascii_uppercase() && three[1].is_ascii_uppercase();
            let coded = bytes.windows(3).any(|three| capitals(three) && three[2].is_ascii_digit());
            prop_assert_eq!(signs.coded, coded);
            prop_assert_eq!(signs.at, has(&|byte| byte == b'@'));
            prop_assert_eq!(signs.dot, has(&|byte| byte == b'.'));
            prop_assert_eq!(signs.scheme, pair(&|a, b| a == b':' && b == b'/'));
            let humps = pair(&|a, b| a.is_ascii_lowercase() && b.is_ascii_uppercase());
            prop_assert_eq!(signs.joined, humps || has(&|byte| byte == b'_'));
            prop_assert_eq!(signs.open, has(&|byte| byte == b'('));
            prop_assert_eq!(signs.path, has(&|byte| matches!(byte, b'/' | b'#')));
            prop_assert_eq!(signs.image, pair(&|a, b| a == b'!' && b == b'['));
        }

        #[test]
        fn what_stands_in_a_text_was_hinted_at(
            pieces in proptest::collection::vec(
                "[a-z]{1,6}@[a-z]{1,6}\\.com|(https?://|www\\.)?[a-z]{1,5}\\.(com|io|COM)(/[a-z]*)?|[A-Z]{0,3}-?[0-9-]{1,12}\
                 |[A-Z]{2}[0-9]{2}[A-Z0-9]{9,13}|\\$[0-9]{1,4}|[0-9]{1,3} (USD|euros)|[a-z]{1,4}_[a-z]{1,4}\\(?|[a-z]{1,3}[A-Z][a-z]\\(\
                 |[/#~][a-z/]{1,5}|!\\[x\\]\\([a-z?={}]{1,9}\\)|[ -~]{1,8}|%[0-9A-F]{2}|\\\\[nx0-9]{1,3}",
                1..12,
            ),
            gap in proptest::sample::select(vec![" ", "  ", "\"", ", ", ""]),
        ) {
            let text = pieces.join(gap);
            let mut tokens = Vec::new();
            entity::find(normalize(text.as_bytes()).text(), &mut tokens);
            let hinted = shapes_in(text.as_bytes(), all());
            for token in tokens {
                prop_assert!(token.classes.meets(hinted), "{:?}", token);
            }
        }
    }
}
