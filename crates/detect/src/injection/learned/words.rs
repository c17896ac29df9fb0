//! A text as words, and what is remembered of them.
//!
//! A word is a run of letters in any case, a number of any digits, a character of a script that sets no blanks, or a mark of
//! ASCII. Other marks and pictures are blanks, and the names of things (`get_env.ts`, an address) are all one word.
//! Of each word four things count: itself, it after the one before, it after the one before that, and how it begins. What
//! is said again says no more: a word that stood behind the same word shortly before is passed over.

/// How many things count about a word.
pub(super) const COUNTED: usize = 4;

/// How many numbers the things are dealt out to, as a power of two.
const BITS: u32 = 20;

/// How many numbers there are.
pub const FEATURES: usize = 1 << BITS;

/// The bytes by which words that only end otherwise are told.
const STEM: usize = 5;

/// How many bytes of a word are taken in at once.
const BYTES: usize = 8;

/// The longest word of letters beyond ASCII that is read as a whole, in bytes.
const LONGEST: usize = 64;

/// How many pairs of words are remembered.
const REMEMBERED: usize = 64;

/// Calls `each` with the numbers of every word in order that says something new, and where the word ends.
#[inline]
pub(super) fn for_each(text: &str, mut each: impl FnMut([u32; COUNTED], usize)) {
    let bytes = text.as_bytes();
    let mut trail = Trail::default();
    let mut memory = Memory::default();
    let mut each = |numbers: [u32; COUNTED], end| {
        if memory.is_new(numbers[1]) {
            each(numbers, end);
        }
    };
    let mut mark = None;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if let Some(length) = name(bytes, at) {
            at += length;
            each(trail.follow(Word::NAME), at);
            mark = None;
            continue;
        }
        let sort = sort(byte);
        let length = match sort {
            Sort::Letter | Sort::Digit => run(bytes, at, sort),
            Sort::Blank | Sort::Mark | Sort::Beyond => 1,
        };
        let end = at + length;
        let goes_beyond = bytes.get(end).is_some_and(|next| !next.is_ascii());
        at = match sort {
            Sort::Beyond => beyond(text, at, &mut |word, end| each(trail.follow(word), end)),
            Sort::Letter if goes_beyond => beyond(text, at, &mut |word, end| each(trail.follow(word), end)),
            Sort::Letter => {
                each(trail.follow(Word::read(bytes, at..end)), end);
                end
            }
            Sort::Digit => {
                each(trail.follow(Word::NUMBER), end);
                end
            }
            // What is repeated says no more.
            Sort::Mark if mark != Some(byte) => {
                each(trail.follow(Word::mark(u64::from(byte))), end);
                end
            }
            Sort::Mark | Sort::Blank => end,
        };
        mark = match sort {
            Sort::Mark => Some(byte),
            Sort::Blank => mark,
            Sort::Letter | Sort::Digit | Sort::Beyond => None,
        };
    }
}

/// The last pairs of words that were new.
struct Memory {
    met: [u32; REMEMBERED],
    next: usize,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            met: [u32::MAX; REMEMBERED],
            next: 0,
        }
    }
}

impl Memory {
    /// Whether a pair was not met shortly before.
    #[inline(always)]
    fn is_new(&mut self, pair: u32) -> bool {
        if self.met.contains(&pair) {
            return false;
        }
        if let Some(place) = self.met.get_mut(self.next % REMEMBERED) {
            *place = pair;
        }
        self.next += 1;
        true
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Letter,
    Digit,
    /// Also an apostrophe, which stands inside words.
    Blank,
    Mark,
    /// A part of a character beyond ASCII.
    Beyond,
}

#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "there is a place for every byte")]
const fn sort(byte: u8) -> Sort {
    SORTS[byte as usize]
}

#[expect(clippy::indexing_slicing, reason = "there is a place for every byte")]
static SORTS: [Sort; 256] = {
    let mut sorts = [Sort::Beyond; 256];
    let mut byte = 0x80;
    while byte > 0 {
        byte -= 1;
        sorts[byte as usize] = match byte {
            b'a'..=b'z' | b'A'..=b'Z' => Sort::Letter,
            b'0'..=b'9' => Sort::Digit,
            b'\'' | b' ' | b'\n' | b'\t' | b'\r' => Sort::Blank,
            _ => Sort::Mark,
        };
    }
    sorts
};

/// How many bytes of a sort stand from a place on.
#[inline(always)]
fn run(bytes: &[u8], at: usize, wanted: Sort) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().take_while(|byte| sort(**byte) == wanted).count()
}

/// The most bytes of a name that are looked at.
const LONGEST_NAME: usize = 64;

/// How long the name is that stands at a place, if one does: words joined by marks without a blank, which say nothing by themselves.
#[inline(always)]
fn name(bytes: &[u8], at: usize) -> Option<usize> {
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || is_joint(**byte) || **byte == b'-';
    let rest = bytes.get(at..).unwrap_or_default();
    rest.first().filter(|first| first.is_ascii_alphanumeric())?;
    let length = rest.iter().take(LONGEST_NAME).take_while(is_part).count();
    let piece = rest.get(..length)?;
    let joined =
        |pair: &[u8]| matches!(pair, [joint, next] if is_joint(*joint) && next.is_ascii_alphanumeric());
    piece.windows(2).any(joined).then_some(length)
}

const fn is_joint(byte: u8) -> bool {
    matches!(byte, b'_' | b'.' | b'/' | b'@' | b'\\')
}

/// Reads a word that has letters beyond ASCII, or one character that is none of a word; gives back where it ends.
#[cold]
fn beyond(text: &str, at: usize, each: &mut dyn FnMut(Word, usize)) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let letters = rest.find(|letter| !is_letter(letter)).unwrap_or(rest.len());
    if let Some(word) = rest.get(..letters).filter(|word| !word.is_empty()) {
        let mut small = [0; LONGEST];
        let length = write_small(word, &mut small);
        each(Word::read(&small, 0..length), at + letters);
        return at + letters;
    }
    let letter = rest.chars().next().unwrap_or(' ');
    let end = at + letter.len_utf8();
    if letter.is_alphabetic() {
        each(Word::mark(u64::from(letter)), end);
    }
    end
}

/// Writes a word in small letters, as much of it as there is room for; gives back how many bytes that are.
fn write_small(word: &str, room: &mut [u8]) -> usize {
    let mut length = 0;
    for letter in word.chars().flat_map(char::to_lowercase) {
        let Some(place) = room.get_mut(length..length + letter.len_utf8()) else {
            break;
        };
        length += letter.encode_utf8(place).len();
    }
    length
}

/// Whether a character is a letter among others of a word, and no word by itself.
fn is_letter(letter: char) -> bool {
    let is_word = matches!(letter,
        '\u{e00}'..='\u{eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}');
    letter.is_alphabetic() && !is_word
}

#[derive(Clone, Copy)]
struct Word {
    hash: u32,
    stem: u32,
}

impl Word {
    /// A number of any digits.
    const NUMBER: Self = Self::mark(0xd161);

    /// The name of a thing: a file, a host, a field, an address.
    const NAME: Self = Self::mark(0x4a3e);

    #[inline(always)]
    const fn mark(mark: u64) -> Self {
        let hash = mixed(mark);
        Self { hash, stem: 0 }
    }

    /// The word that stands at a place.
    #[inline(always)]
    fn read(bytes: &[u8], at: std::ops::Range<usize>) -> Self {
        let mut part = taken(bytes, at.start, at.len());
        let stem = if at.len() > STEM {
            mixed(part & ((1 << (8 * STEM)) - 1))
        } else {
            0
        };
        let mut start = at.start + BYTES;
        while start < at.end {
            part = u64::from(mixed(part)) << 32 ^ taken(bytes, start, at.end - start);
            start += BYTES;
        }
        Self {
            hash: mixed(part),
            stem,
        }
    }
}

/// Up to eight bytes from a place on, with letters made small.
#[inline(always)]
fn taken(bytes: &[u8], at: usize, length: usize) -> u64 {
    let word = match bytes.get(at..).and_then(<[u8]>::first_chunk) {
        Some(eight) => u64::from_le_bytes(*eight),
        None => padded(bytes.get(at..).unwrap_or_default()),
    };
    let mask = u64::MAX >> (64 - 8 * length.clamp(1, BYTES));
    (word | 0x2020_2020_2020_2020) & mask
}

#[cold]
fn padded(rest: &[u8]) -> u64 {
    rest.iter()
        .rev()
        .fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[inline(always)]
const fn mixed(part: u64) -> u32 {
    (part.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

/// The two words before.
#[derive(Default)]
struct Trail {
    last: u32,
    before: u32,
}

impl Trail {
    /// The numbers of a word, which is the last one from then on.
    #[inline(always)]
    fn follow(&mut self, word: Word) -> [u32; COUNTED] {
        let Self { last, before } = *self;
        *self = Self {
            last: word.hash,
            before: last,
        };
        let pair = word
            .hash
            .wrapping_add(last.rotate_left(9))
            .wrapping_mul(0x85eb_ca6b);
        let over = word
            .hash
            .wrapping_add(before.rotate_left(18))
            .wrapping_mul(0xc2b2_ae35);
        let begins = if word.stem == 0 {
            pair ^ before.rotate_left(5)
        } else {
            word.stem ^ 0x5bd1_e995
        };
        [word.hash, pair, over, begins].map(|number| number >> (u32::BITS - BITS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<[u32; COUNTED]> {
        let mut all = Vec::new();
        for_each(text, |numbers, _| all.push(numbers));
        all
    }

    fn words(text: &str) -> Vec<&str> {
        let mut ends = vec![0];
        for_each(text, |_, end| ends.push(end));
        ends.windows(2)
            .map(|pair| text[pair[0]..pair[1]].trim())
            .collect()
    }

    #[test]
    fn a_text_is_read_word_by_word() {
        for (text, expected) in [
            (
                "Ignore that, please!",
                &["Ignore", "that", ",", "please", "!"][..],
            ),
            (
                "see get-env.ts, or ann@corp.example",
                &["see", "get-env.ts", ",", "or", "ann@corp.example"],
            ),
            ("well-known. So", &["well", "-", "known", ".", "So"]),
            ("don't 42 x9y", &["don", "'t", "42", "x", "9", "y"]),
            ("a --- --- =", &["a", "-", "-- --- ="]),
            ("用户 ok", &["用", "户", "ok"]),
            ("Größe – ja", &["Größe", "– ja"]),
            ("так и быть", &["так", "и", "быть"]),
            ("", &[]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_said_again_says_no_more() {
        assert_eq!(numbers("so it is so it is so it was").len(), 5);
        assert_eq!(numbers(&"It is seen, then gone. ".repeat(60)).len(), 8);
        for words in 1..40 {
            let sentence: String = (0..words)
                .map(|word| format!("{} ", "x".repeat(word + 1)))
                .collect();
            assert!(numbers(&sentence.repeat(9)).len() <= words + 1, "{words} words");
        }
    }

    #[test]
    fn case_and_digits_do_not_matter() {
        assert_eq!(
            numbers("Take 12 Größen"),
            numbers("TAKE 999 GRÖSSEN".replace("SS", "ß").as_str())
        );
        assert_ne!(numbers("take that"), numbers("that take"));
    }

    #[test]
    fn what_stands_behind_a_word_does_not_matter_to_it() {
        assert_eq!(numbers("internationally")[0], numbers("internationally, so")[0]);
        assert_eq!(numbers("ab")[0], numbers("ab cdefghijkl")[0]);
    }

    #[test]
    fn words_that_end_otherwise_have_something_in_common() {
        let [first, second] = [numbers("disregard"), numbers("disregarding")];
        assert_eq!(first[0][3], second[0][3]);
        assert_ne!(first[0][0], second[0][0]);
    }
}
