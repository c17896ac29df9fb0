//! What looks like a secret and is none, in one place, with the reason for each.
//!
//! A rule that fires on placeholders is switched off by its users within a day, so every rule asks here before it
//! reports. The checks look at the value alone; what a name says about a value is judged in `name`.

use std::collections::HashSet;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use sha2::{Digest, Sha256};

use super::shape::{Alphabet, distinct, is_hex, is_uuid, is_word_like, longest_runs};
use super::words;

/// Why a value is not reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Harmless {
    /// Points to a value that is kept elsewhere: `${VAR}`, `process.env.X`, `{{ .Values.x }}`, `<your-key>`.
    Reference,
    /// Stands for a value to be filled in: `changeme`, `xxxx`, `your-api-key`.
    Placeholder,
    /// One or two characters over and over.
    Repetition,
    /// The alphabet or the digits in order.
    Sequence,
    /// A sample that its provider prints in public documentation or ships in public source code.
    PublishedSample,
    /// Words, identifiers, versions: chosen by a person to be read, not drawn at random.
    Words,
    /// A URL, path, file name, address or date: says where or when, not who may.
    Locator,
    /// A hash that names its own algorithm: an integrity field, an image digest, a checksum.
    NamedHash,
    /// A UUID names things; only a name that says "secret" makes one.
    Uuid,
}

/// Excluded whatever the rule: even a known prefix does not make these secrets.
pub(super) fn never_a_secret(value: &[u8]) -> Option<Harmless> {
    if is_reference(value) {
        Some(Harmless::Reference)
    } else if is_placeholder(value) {
        Some(Harmless::Placeholder)
    } else if is_repetition(value) {
        Some(Harmless::Repetition)
    } else if is_published_sample(value) {
        Some(Harmless::PublishedSample)
    } else {
        None
    }
}

/// Excluded where only a general name (`token`, `key`) points at the value, so that the value itself must convince.
pub(super) fn not_random(value: &[u8]) -> Option<Harmless> {
    if is_named_hash(value) {
        Some(Harmless::NamedHash)
    } else if is_locator(value) {
        Some(Harmless::Locator)
    } else if longest_runs(value).1 >= 20 {
        Some(Harmless::Sequence)
    } else if is_uuid(value) {
        Some(Harmless::Uuid)
    } else if is_word_like(value) {
        Some(Harmless::Words)
    } else {
        None
    }
}

/// Excluded even after a name such as `password`, where people do choose words: what forms, types and manuals say.
pub(super) fn is_stock_word(value: &[u8]) -> bool {
    words::STOCK
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
        || is_field_name(value)
}

/// `new_password`, `API_TOKEN`: the name of a field where its value should be.
fn is_field_name(value: &[u8]) -> bool {
    let tails = [
        "_password",
        "_passwd",
        "_pass",
        "_token",
        "_secret",
        "_key",
        "_pwd",
        "-password",
        "-token",
        "-secret",
        "-key",
    ];
    let plain = value
        .iter()
        .all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'-'))
        || value
            .iter()
            .all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'-'));
    plain
        && tails
            .iter()
            .any(|tail| ends_with_any_case(value, tail.as_bytes()))
}

/// Whether a value refers to another place.
pub(super) fn is_reference(value: &[u8]) -> bool {
    // Three or more dollars are the fields of a password hash, not a variable.
    let is_variable = value.first() == Some(&b'$') && value.iter().filter(|&&byte| byte == b'$').count() < 3;
    let is_between =
        |open: u8, close: u8| value.len() > 2 && value.first() == Some(&open) && value.last() == Some(&close);
    is_variable
        || words::REFERENCE_STARTS
            .iter()
            .any(|start| starts_with_any_case(value, start.as_bytes()))
        || is_between(b'%', b'%')
        || (is_between(b'{', b'}') && is_word_like(value))
        || REFERENCE_PARTS.is_match(value)
}

fn is_placeholder(value: &[u8]) -> bool {
    is_masked(value) || PLACEHOLDER_PARTS.is_match(value)
}

/// All of one mask character, perhaps cut into groups: `xxx-xxx`, `••••`, `####`.
fn is_masked(value: &[u8]) -> bool {
    let letters = value.iter().filter(|byte| byte.is_ascii_alphanumeric()).count();
    let masks = value
        .iter()
        .filter(|byte| matches!(byte, b'x' | b'X' | b'0'))
        .count();
    (masks == letters && !value.is_empty()) || value.starts_with("\u{2022}".as_bytes())
}

fn is_repetition(value: &[u8]) -> bool {
    let (same, _) = longest_runs(value);
    value.len() >= 8 && (same * 2 >= value.len() || distinct(value) <= value.len().min(16) / 4)
}

pub(super) fn is_published_sample(value: &[u8]) -> bool {
    let digest = Sha256::digest(value);
    let short = digest.first_chunk::<8>().map(|bytes| u64::from_be_bytes(*bytes));
    short.is_some_and(|short| PUBLISHED_SAMPLES.contains(&short))
}

fn is_named_hash(value: &[u8]) -> bool {
    ["sha1", "sha256", "sha384", "sha512", "md5", "blake"]
        .iter()
        .any(|name| {
            starts_with_any_case(value, name.as_bytes())
                && matches!(value.get(name.len()), Some(b'-' | b':' | b'='))
        })
}

fn is_locator(value: &[u8]) -> bool {
    let file_ends = [
        ".pem", ".key", ".crt", ".cer", ".p12", ".pfx", ".json", ".txt", ".yml", ".yaml", ".xml", ".env",
        ".js", ".ts", ".py", ".go", ".rs", ".com", ".org", ".net", ".io", ".md", ".html", ".jks", ".keytab",
        ".conf", ".toml", ".php", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".pdf", ".csv", ".log", ".gz",
        ".zip", ".tar",
    ];
    let letters = Alphabet::of(value).letters();
    contains_any_case(value, b"://")
        || value.starts_with(b"/")
        || value.starts_with(b"./")
        || value.starts_with(b"../")
        || value.starts_with(b"~/")
        || value.get(1..3) == Some(b":\\")
        || file_ends
            .iter()
            .any(|end| ends_with_any_case(value, end.as_bytes()))
        || letters == 0
        || ends_in_version(value)
        || is_address(value)
        || encodes_host(value)
}

/// The longest value that is read as an encoded name of a host.
const LONGEST_ENCODED_HOST: usize = 96;

/// Whether a value is the name of a host in base64: it says who a token is for.
fn encodes_host(value: &[u8]) -> bool {
    let plain = value.trim_ascii_end().strip_suffix(b"=").unwrap_or(value);
    if plain.len() < 8 || plain.len() > LONGEST_ENCODED_HOST {
        return false;
    }
    let is_name = |byte: &u8| byte.is_ascii_lowercase() || matches!(byte, b'.' | b'-');
    BASE64_STANDARD_NO_PAD
        .decode(plain)
        .is_ok_and(|name| name.iter().all(is_name) && name.iter().filter(|&&byte| byte == b'.').count() >= 2)
}

/// `name-1.2.3`: a package and its version.
fn ends_in_version(value: &[u8]) -> bool {
    let is_version_byte = |byte: &&u8| byte.is_ascii_digit() || **byte == b'.';
    let version = value.iter().rev().take_while(is_version_byte).count();
    let tail = value.get(value.len() - version..).unwrap_or_default();
    tail.len() >= 3
        && tail.windows(2).filter(|pair| pair.contains(&b'.')).count() >= 2
        && tail.first() != Some(&b'.')
}

fn is_address(value: &[u8]) -> bool {
    let Some(at) = value.iter().position(|&byte| byte == b'@') else {
        return false;
    };
    let host = value.get(at + 1..).unwrap_or_default();
    at > 0
        && host.contains(&b'.')
        && host
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
}

/// Whether a value has the length of a common hash and only hex digits: a commit, a checksum, a fingerprint.
pub(super) fn has_hash_form(value: &[u8]) -> bool {
    matches!(value.len(), 32 | 40 | 56 | 64 | 96 | 128) && is_hex(value)
}

pub(super) fn contains_any_case(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len())
        .any(|window| window.eq_ignore_ascii_case(part))
}

pub(super) fn starts_with_any_case(text: &[u8], start: &[u8]) -> bool {
    text.get(..start.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(start))
}

pub(super) fn ends_with_any_case(text: &[u8], end: &[u8]) -> bool {
    text.len()
        .checked_sub(end.len())
        .and_then(|from| text.get(from..))
        .is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

static REFERENCE_PARTS: LazyLock<PartSet> = LazyLock::new(|| PartSet::new(words::REFERENCE_PARTS));
static PLACEHOLDER_PARTS: LazyLock<PartSet> = LazyLock::new(|| PartSet::new(words::PLACEHOLDER_PARTS));

/// Looks for any of several parts, in any case, in one walk over the value.
struct PartSet(Option<AhoCorasick>);

impl PartSet {
    fn new(parts: &[&str]) -> Self {
        Self(
            AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .build(parts)
                .ok(),
        )
    }

    /// Without its automaton the set matches nothing: then more is reported, not less.
    fn is_match(&self, value: &[u8]) -> bool {
        self.0.as_ref().is_some_and(|parts| parts.is_match(value))
    }
}

/// The first eight bytes of the SHA-256 of each published sample, so that no sample stands in this project.
static PUBLISHED_SAMPLES: LazyLock<HashSet<u64>> = LazyLock::new(|| {
    include_str!("../../rules/published_samples.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_whitespace().next())
        .filter_map(|short| u64::from_str_radix(short, 16).ok())
        .collect()
});
