//! Which shapes some bytes may hold, from signs that are quickly seen.
//!
//! The shapes themselves (see `entity`) are found in the plain reading, piece by piece. A piece that has one of them also has
//! its sign: a link has a dot before a known ending, an account has eight digits. What is said here may be too much and must
//! not be too little; of bytes that may read otherwise than they stand everything is said.

use super::class::{Class, ClassSet};
use super::entity::{ENDINGS, is_part_of_host};

/// The fewest digits of an account.
const ACCOUNT_DIGITS: usize = 8;

/// The classes of shapes that the bytes may hold.
pub(super) fn shapes_in(bytes: &[u8]) -> ClassSet {
    if has(bytes, is_odd) {
        return all();
    }
    let mut shapes = ClassSet::default();
    let mut add = |class: Class, may_stand: bool| {
        if may_stand {
            shapes |= class.into();
        }
    };
    let digits = has(bytes, |byte| byte.is_ascii_digit());
    let address = memchr::memchr(b'@', bytes).is_some();
    let named = may_name_tool(bytes);
    add(Class::Address, address);
    add(Class::Link, may_link(bytes));
    add(Class::Account, digits && may_be_account(bytes));
    add(Class::Money, digits);
    add(Class::Toolname, named);
    add(Class::Toolinvoke, named && may_call(bytes));
    add(
        Class::Ident,
        digits || address || memchr::memchr2(b'/', b'#', bytes).is_some(),
    );
    add(Class::Filled, memchr::memmem::find(bytes, b"![").is_some());
    shapes
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

/// Whether such a byte stands anywhere. All are looked at, many at a time: most often there is none.
#[inline(always)]
fn has(bytes: &[u8], is_such: impl Fn(u8) -> bool) -> bool {
    bytes.iter().fold(false, |any, byte| any | is_such(*byte))
}

/// Whether a byte may stand for another, or for nothing.
const fn is_odd(byte: u8) -> bool {
    !byte.is_ascii() || matches!(byte, b'\\' | b'%' | b'=' | b'&')
}

fn may_name_tool(bytes: &[u8]) -> bool {
    let pairs = bytes.iter().zip(bytes.iter().skip(1));
    memchr::memchr(b'_', bytes).is_some()
        || pairs.fold(false, |any, (a, b)| {
            any | (a.is_ascii_lowercase() & b.is_ascii_uppercase())
        })
}

/// Whether a bracket opens right after a name.
fn may_call(bytes: &[u8]) -> bool {
    let called = |open: usize| {
        let before = open.checked_sub(1).and_then(|before| bytes.get(before));
        before.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
    };
    memchr::memchr_iter(b'(', bytes).any(called)
}

fn may_link(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, b"://").is_some()
        || memchr::memchr_iter(b'.', bytes).any(|dot| {
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
    let length = rest
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count();
    let ending = rest.get(..length).unwrap_or_default();
    ENDINGS
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known.as_bytes()))
}

/// Whether the end of the bytes may be a host's name: in an address it is none.
fn is_name_of_host(name: &[u8]) -> bool {
    let before = name.iter().rposition(|byte| !is_part_of_host(*byte));
    before.and_then(|before| name.get(before)) != Some(&b'@')
}

/// Whether two capitals and two digits follow each other, or so many digits stand without a blank between them.
fn may_be_account(bytes: &[u8]) -> bool {
    let mut digits = 0;
    let long = bytes.iter().any(|byte| {
        digits = match byte {
            b'0'..=b'9' => digits + 1,
            blank if blank.is_ascii_whitespace() => 0,
            _ => digits,
        };
        digits >= ACCOUNT_DIGITS
    });
    let starts = |four: &[u8]| matches!(four, [a, b, c, d] if a.is_ascii_uppercase() && b.is_ascii_uppercase() && c.is_ascii_digit() && d.is_ascii_digit());
    long || bytes.windows(4).any(starts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::injection::entity;
    use crate::normalize::normalize;
    use proptest::prelude::*;

    proptest! {
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
            let hinted = shapes_in(text.as_bytes());
            for token in tokens {
                prop_assert!(token.classes.meets(hinted), "{:?}", token);
            }
        }
    }
}
