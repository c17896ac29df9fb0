//! Findings become stubs, and stubs become values again.
//!
//! A stub such as `{EMAIL_1}` is the same for the same value all through a session, so an agent can reason about a
//! value it never sees. The redactor knows values only by a keyed digest; the values themselves go to the caller's
//! vault. Text that already looks like a stub is replaced too: nobody can smuggle in a stub that the vault would
//! resolve, and restoring gives back exactly what was there.

mod stub;

use std::collections::HashMap;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use tidegate_core::{Class, Confined};

use crate::scan::resolve::resolve;
use crate::{Confidence, Finding, FindingKind, RuleId};

pub use stub::{Stub, restore};

/// The most values one session may have stubs for.
pub const MAX_STUBS: usize = 100_000;

/// Values shorter than this are replaced where they were found only: elsewhere they may mean something else.
const SHORTEST_ECHO: usize = 6;
/// Values whose other occurrences are looked for in one text.
const MAX_ECHOES: usize = 1000;

const LOOKALIKE: RuleId = RuleId::built_in("stub-lookalike");

/// Names the values of one session.
pub struct Redactor {
    key: [u8; 32],
    stubs: HashMap<[u8; 32], Stub>,
    counts: HashMap<String, u32>,
}

/// One value that was taken out of a text.
#[derive(Clone, Debug)]
pub struct Replacement {
    /// What stands in its place.
    pub stub: Stub,
    /// Where the stub stands in the redacted text.
    pub span: Range<usize>,
    /// The rule that found the value.
    pub rule: RuleId,
    /// The value, for the vault.
    pub value: Confined<Vec<u8>>,
    /// The value's digest under the session's key.
    pub digest: [u8; 32],
    /// Whether the value is new in this session.
    pub first_seen: bool,
}

/// A text with stubs in place of what was found.
#[derive(Clone, Debug)]
pub struct Redacted {
    /// The text.
    pub text: Vec<u8>,
    /// What was taken out, in order of its place.
    pub replacements: Vec<Replacement>,
}

/// Why a text cannot be redacted. It must not be released then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedactError {
    /// The session holds too many values.
    #[error("the session has stubs for too many values")]
    TooManyStubs,
}

impl Redactor {
    /// A redactor for a session. The key must be the session's own, or values of two sessions could be compared.
    #[must_use]
    pub fn new(key: [u8; 32]) -> Self {
        Self {
            key,
            stubs: HashMap::new(),
            counts: HashMap::new(),
        }
    }

    /// Takes up a stub that the session already has, as the vault kept it.
    pub fn recall(&mut self, digest: [u8; 32], stub: Stub) {
        let count = self.counts.entry(stub.name().to_owned()).or_default();
        *count = (*count).max(stub.number());
        self.stubs.insert(digest, stub);
    }

    /// Replaces findings of a text, and every other place where a found value stands as a whole word.
    ///
    /// # Errors
    /// When the session has too many stubs.
    pub fn redact(&mut self, text: &[u8], findings: &[Finding]) -> Result<Redacted, RedactError> {
        self.replace(text, findings, |_, _| false)
    }

    /// Replaces findings of a JSON text so that it stays JSON: a stub for a bare number comes in quotes.
    ///
    /// # Errors
    /// When the session has too many stubs.
    pub fn redact_json(&mut self, text: &[u8], findings: &[Finding]) -> Result<Redacted, RedactError> {
        let mut strings = Strings::new(text);
        let widened: Vec<Finding> = findings
            .iter()
            .map(|finding| match strings.holds(finding.span.start) {
                true => finding.clone(),
                false => Finding {
                    span: bare_token(text, &finding.span),
                    ..finding.clone()
                },
            })
            .collect();
        let mut strings = Strings::new(text);
        self.replace(text, &widened, |_, span| !strings.holds(span.start))
    }

    fn replace(
        &mut self,
        text: &[u8],
        findings: &[Finding],
        mut is_bare: impl FnMut(&[u8], &Range<usize>) -> bool,
    ) -> Result<Redacted, RedactError> {
        let mut all = findings.to_vec();
        all.extend(echoes(text, findings));
        all.extend(stub::lookalikes(text).map(lookalike));
        let mut redacted = Redacted {
            text: Vec::with_capacity(text.len()),
            replacements: Vec::new(),
        };
        let mut at = 0;
        for finding in resolve(all) {
            let Some(value) = text.get(finding.span.clone()) else {
                continue;
            };
            redacted
                .text
                .extend_from_slice(text.get(at..finding.span.start).unwrap_or_default());
            let bare = is_bare(text, &finding.span);
            let replacement = self.replacement(&finding, value, bare, redacted.text.len())?;
            redacted
                .text
                .extend_from_slice(replacement.stub.written().as_bytes());
            redacted.replacements.push(replacement);
            at = finding.span.end;
        }
        redacted
            .text
            .extend_from_slice(text.get(at..).unwrap_or_default());
        Ok(redacted)
    }

    fn replacement(
        &mut self,
        finding: &Finding,
        value: &[u8],
        bare: bool,
        at: usize,
    ) -> Result<Replacement, RedactError> {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&[u8::from(bare)]).update(value);
        let digest = *hasher.finalize().as_bytes();
        let known = self.stubs.get(&digest).cloned();
        let first_seen = known.is_none();
        let stub = match known {
            Some(stub) => stub,
            None => self.assign(digest, &finding.rule, bare)?,
        };
        Ok(Replacement {
            span: at..at + stub.written().len(),
            stub,
            rule: finding.rule.clone(),
            value: Confined::new(finding.class, value.to_vec()),
            digest,
            first_seen,
        })
    }

    fn assign(&mut self, digest: [u8; 32], rule: &RuleId, bare: bool) -> Result<Stub, RedactError> {
        if self.stubs.len() >= MAX_STUBS {
            return Err(RedactError::TooManyStubs);
        }
        let name = stub::name_for(rule, bare);
        let count = self.counts.entry(name.clone()).or_default();
        *count += 1;
        let stub = Stub::new(name, *count);
        self.stubs.insert(digest, stub.clone());
        Ok(stub)
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor")
            .field("stubs", &self.stubs.len())
            .finish_non_exhaustive()
    }
}

fn lookalike(span: Range<usize>) -> Finding {
    Finding {
        rule: LOOKALIKE,
        kind: FindingKind::InternalIp,
        class: Class::Public,
        span,
        confidence: Confidence::CERTAIN,
    }
}

/// Other places where a found value stands as a whole word, though no rule found it there.
fn echoes(text: &[u8], findings: &[Finding]) -> Vec<Finding> {
    let mut values: Vec<(&[u8], &Finding)> = findings
        .iter()
        .filter_map(|finding| Some((text.get(finding.span.clone())?, finding)))
        .filter(|(value, _)| value.len() >= SHORTEST_ECHO)
        .collect();
    values.sort_by_key(|(value, finding)| (*value, finding.span.start));
    values.dedup_by_key(|(value, _)| *value);
    values.truncate(MAX_ECHOES);
    let patterns = values.iter().map(|(value, _)| value);
    let Ok(searcher) = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(patterns)
    else {
        return Vec::new();
    };
    let is_word = |at: Option<usize>| {
        at.and_then(|at| text.get(at))
            .is_some_and(u8::is_ascii_alphanumeric)
    };
    searcher
        .find_iter(text)
        .filter(|place| !is_word(place.start().checked_sub(1)) && !is_word(Some(place.end())))
        .filter_map(|place| {
            let (_, finding) = values.get(place.pattern().as_usize())?;
            Some(Finding {
                span: place.start()..place.end(),
                ..(*finding).clone()
            })
        })
        .collect()
}

/// Answers for rising places of a JSON text whether they stand inside a string.
struct Strings<'a> {
    text: &'a [u8],
    at: usize,
    inside: bool,
}

impl<'a> Strings<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            at: 0,
            inside: false,
        }
    }

    fn holds(&mut self, place: usize) -> bool {
        while self.at < place {
            match self.text.get(self.at) {
                Some(b'\\') if self.inside => self.at += 1,
                Some(b'"') => self.inside = !self.inside,
                _ => {}
            }
            self.at += 1;
        }
        self.inside
    }
}

/// The whole number or word around a span outside strings.
fn bare_token(text: &[u8], span: &Range<usize>) -> Range<usize> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
    let head = text
        .get(..span.start)
        .unwrap_or_default()
        .iter()
        .rev()
        .take(64)
        .take_while(|byte| is_part(byte));
    let tail = text
        .get(span.end..)
        .unwrap_or_default()
        .iter()
        .take(64)
        .take_while(|byte| is_part(byte));
    span.start - head.count()..span.end + tail.count()
}
