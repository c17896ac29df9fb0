//! The small closed vocabularies that events are made of.

use std::fmt;

use data_encoding::HEXLOWER;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tidegate_core::Class;

use super::wire;
use crate::Name;

/// What content may be used as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The system prompt and the framework's own words.
    AgentInstruction,
    /// What a person typed.
    OperatorInput,
    /// Everything that was retrieved.
    TaskData,
}

impl Origin {
    /// Every origin, the one that is trusted most first.
    pub const ALL: [Self; 3] = [Self::AgentInstruction, Self::OperatorInput, Self::TaskData];

    /// The name used on every wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AgentInstruction => "agent-instruction",
            Self::OperatorInput => "operator-input",
            Self::TaskData => "task-data",
        }
    }
}

/// What was done with a chunk that tried to give instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Disposition {
    /// It did not enter.
    Quarantine,
    /// It stayed under the threshold, or a person let it pass.
    Allow,
}

/// What was decided about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It may run.
    Allow,
    /// It does not run.
    Deny,
    /// A person decides.
    Hold,
}

/// What came of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateOutcome {
    /// The call was released, once.
    Approved,
    /// The call was refused.
    Denied,
    /// Nobody answered in time, which refuses it.
    Expired,
}

/// Why evidence was destroyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DestructionCause {
    /// Its class's retention ran out.
    Retention,
    /// Somebody asked.
    Request,
    /// It was held for the session's life only.
    SessionEnd,
}

/// What a source of record said of a citation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CitationOutcome {
    /// It is there.
    Verified,
    /// It is not there.
    HallucinatedCitation,
    /// The source of record could not be asked.
    Unverified,
}

impl CitationOutcome {
    /// The name used on every wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::HallucinatedCitation => "hallucinated-citation",
            Self::Unverified => "unverified",
        }
    }
}

/// Where a note is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryKind {
    /// For the run.
    Scratchpad,
    /// From run to run.
    Memory,
}

/// What was done with notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryAct {
    /// They were read.
    Read,
    /// One was written.
    Write,
    /// One was not taken.
    Refuse,
    /// All were destroyed.
    Clear,
}

/// The one failure a blocked egress stands for, spelled `pii-leak-risk`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PiiLeakRisk;

impl PiiLeakRisk {
    const NAME: &'static str = "pii-leak-risk";
}

impl Serialize for PiiLeakRisk {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(Self::NAME)
    }
}

impl<'de> Deserialize<'de> for PiiLeakRisk {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        wire::exactly(deserializer, Self::NAME).map(|()| Self)
    }
}

/// How sure a detector is, from 0 to 1 in thousandths, so that it is spelled one way only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Score(u16);

impl Score {
    /// Rounds to thousandths. What is no number at all counts as certain.
    #[must_use]
    pub fn new(confidence: f64) -> Self {
        if confidence.is_nan() {
            return Self(1000);
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to 0..=1000 just before"
        )]
        Self((confidence.clamp(0.0, 1.0) * 1000.0).round() as u16)
    }
}

impl Serialize for Score {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(f64::from(self.0) / 1000.0)
    }
}

impl<'de> Deserialize<'de> for Score {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self::new)
    }
}

/// The names of a call's arguments: a bounded list, its last entry saying so when there were more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FieldNames(Vec<Name>);

impl FieldNames {
    /// The most names that are kept.
    pub const MAX: usize = 64;

    /// Keeps the first [`Self::MAX`] names. A key that is no name, and the rest beyond the bound, are kept as
    /// `(unnameable)`.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names = names.into_iter();
        let mut kept: Vec<Name> = names.by_ref().take(Self::MAX).map(Name::or_unnameable).collect();
        if names.next().is_some() {
            kept.push(Name::or_unnameable(""));
        }
        Self(kept)
    }
}

/// Where evidence lies: `evidence://<class>/<id>`.
///
/// The id is random. It is not derived from the content, since a digest of a short value can be guessed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EvidencePointer {
    class: Class,
    id: [u8; 16],
}

impl EvidencePointer {
    const SCHEME: &'static str = "evidence://";

    /// The pointer with this id.
    #[must_use]
    pub const fn new(class: Class, id: [u8; 16]) -> Self {
        Self { class, id }
    }

    /// Reads a pointer.
    ///
    /// # Errors
    /// When the text is not of the form `evidence://<class>/<32 hex digits>`.
    pub fn parse(text: &str) -> Result<Self, BadPointer> {
        let (class, id) = text
            .strip_prefix(Self::SCHEME)
            .and_then(|rest| rest.split_once('/'))
            .ok_or(BadPointer)?;
        let id = HEXLOWER
            .decode(id.as_bytes())
            .ok()
            .and_then(|id| id.try_into().ok())
            .ok_or(BadPointer)?;
        Ok(Self {
            class: class.parse().map_err(|_| BadPointer)?,
            id,
        })
    }

    /// The class of what it points to.
    #[must_use]
    pub const fn class(&self) -> Class {
        self.class
    }

    /// What tells it from others of its class.
    #[must_use]
    pub const fn id(&self) -> &[u8; 16] {
        &self.id
    }
}

impl fmt::Display for EvidencePointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}/{}", Self::SCHEME, self.class, HEXLOWER.encode(&self.id))
    }
}

impl fmt::Debug for EvidencePointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for EvidencePointer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EvidencePointer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// The text is no pointer into the vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an evidence pointer has the form evidence://<class>/<32 hex digits>")]
pub struct BadPointer;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_read_back_and_nothing_else_does() {
        let pointer = EvidencePointer::new(Class::Pii, [0xab; 16]);
        let text = pointer.to_string();
        assert_eq!(text, format!("evidence://pii/{}", "ab".repeat(16)));
        assert_eq!(EvidencePointer::parse(&text), Ok(pointer));
        for bad in [
            "",
            "evidence://",
            "evidence://pii/",
            "evidence://pii/zz",
            "evidence://other/00",
            "file:///pii/00",
        ] {
            assert_eq!(EvidencePointer::parse(bad), Err(BadPointer), "{bad}");
        }
    }

    #[test]
    fn scores_are_spelled_one_way() {
        for (confidence, text) in [
            (0.9, "0.9"),
            (0.123_456, "0.123"),
            (7.0, "1.0"),
            (-1.0, "0.0"),
            (f64::NAN, "1.0"),
        ] {
            assert_eq!(serde_json::to_string(&Score::new(confidence)).unwrap(), text);
        }
    }

    #[test]
    fn field_names_are_bounded() {
        let keys: Vec<String> = (0..100).map(|n| format!("key{n}")).collect();
        let FieldNames(kept) = FieldNames::new(keys.iter().map(String::as_str));
        assert_eq!(kept.len(), FieldNames::MAX + 1);
        assert_eq!(kept.last().unwrap().as_str(), "(unnameable)");
    }
}
