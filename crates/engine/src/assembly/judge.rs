//! What is to become of each chunk, before anything is done.

use std::ops::Range;

use tidegate_core::{Class, Confined, Ident, Kinds, Name, Role, Trust};
use tidegate_detect::injection::{Assessment, Verdict as Opinion};
use tidegate_detect::{Confidence, Finding, FindingKind, RuleId};
use tidegate_ledger::event::{CitationOutcome, Disposition, Event, InjectionDetectionHit, Origin, Score};
use tidegate_store::Origin as Word;

use super::citations::Citation;
use super::leaves::leaves;
use super::sources::Source;
use super::{AssembleError, Band, Chunk};
use crate::access::{Act, Reach, reach};
use crate::inspect::Found;
use crate::provenance::{spelled, word};
use crate::{AccessError, Engine, Payload, RecordError};

/// A chunk and what is to become of it.
pub(super) struct Judged {
    pub(super) chunk: Chunk,
    pub(super) verdict: Verdict,
}

impl Judged {
    /// Whose word it is and what it says, if it enters. Who may not speak for the operator is not believed to.
    pub(super) fn word(&self, role: Role) -> Option<(Word, Name, String)> {
        let Verdict::Admitted(admitted) = &self.verdict else {
            return None;
        };
        let speaks = reach(role, Act::SpeakForOperator) != Reach::Nothing;
        let word = match (self.chunk.origin, admitted.source.trust) {
            (Origin::AgentInstruction, _) | (Origin::TaskData, Trust::Trusted) => Word::Trusted,
            (Origin::OperatorInput, _) if speaks => Word::Operator,
            (Origin::OperatorInput | Origin::TaskData, _) => Word::Untrusted,
        };
        Some((word, admitted.source.name.clone(), self.chunk.text.clone()))
    }
}

pub(super) enum Verdict {
    /// It may not enter, by this rule.
    Blocked(&'static str),
    /// It gives orders.
    Poisoned(Box<Poisoned>),
    /// It may enter.
    Admitted(Box<Admitted>),
}

pub(super) struct Poisoned {
    pub(super) source: Source,
    pub(super) class: Class,
    pub(super) assessment: Assessment,
}

pub(super) struct Admitted {
    pub(super) source: Source,
    pub(super) found: Found,
    pub(super) is_json: bool,
    pub(super) band: Band,
    /// Its citations, each with its text for the record's digest.
    pub(super) citations: Vec<(Citation, String)>,
}

/// Stands for the whole of a chunk that may not be seen at all.
const WHOLE: RuleId = RuleId::built_in("withheld");

impl Admitted {
    /// The class of the raw chunk.
    pub(super) fn class(&self) -> Class {
        self.source.class.join(self.found.class())
    }

    /// Whether nothing of it may be seen.
    fn is_withheld(&self) -> bool {
        self.source.class.join(self.found.raised) == Class::Secret
    }

    /// What must be taken out: all of what is secret; every value of a record of personal data; elsewhere personal data
    /// and credentials, whichever source they are from. Names and hosts of the house may be seen where the rest may.
    pub(super) fn withheld(&self, text: &str) -> Vec<Finding> {
        if self.is_withheld() {
            return vec![Finding {
                rule: WHOLE,
                kind: FindingKind::Credentials,
                class: Class::Secret,
                span: 0..text.len(),
                confidence: Confidence::percent(100),
            }];
        }
        let hidden = |finding: &&Finding| self.is_hidden(finding);
        let mut withheld: Vec<_> = self.found.findings.iter().filter(hidden).cloned().collect();
        if self.is_json && self.source.class >= Class::Pii {
            withheld.extend(leaves(text, self.source.class));
        }
        withheld
    }

    fn is_hidden(&self, finding: &Finding) -> bool {
        let identifies = matches!(finding.kind, FindingKind::Pii | FindingKind::Credentials);
        finding.class >= Class::Pii || (self.source.class >= Class::Confidential && identifies)
    }

    /// The class and the kinds of what enters in the clear. Text that was redacted still counts at its source's class:
    /// a detector finds what it knows, and the rest is as the source declares.
    pub(super) fn in_the_clear(&self) -> (Class, Kinds) {
        if self.is_withheld() {
            return (Class::Public, Kinds::NONE);
        }
        let shown = || {
            self.found
                .findings
                .iter()
                .filter(|finding| !self.is_hidden(finding))
        };
        let declared = self.source.class.join(self.found.raised);
        let class = shown().fold(declared, |class, finding| class.join(finding.class));
        let kinds = shown().filter_map(|finding| finding.kind.contaminates());
        (class, kinds.chain(declared.kind()).collect())
    }
}

impl Engine {
    /// Judges every chunk by itself, then all retrieved ones together: orders can be cut in pieces.
    pub(super) async fn judge_all(
        &self,
        id: &Ident,
        chunks: Vec<Chunk>,
    ) -> Result<Vec<Judged>, AssembleError> {
        let mut all = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let verdict = self.judge(id, &chunk).await?;
            all.push(Judged { chunk, verdict });
        }
        self.judge_together(&mut all).await?;
        for judged in &mut all {
            if let Verdict::Admitted(admitted) = &mut judged.verdict {
                admitted.citations = self
                    .rules
                    .citations
                    .check(&judged.chunk.text, admitted.class())
                    .await;
                let verified = |(mark, _): &(Citation, String)| mark.outcome == CitationOutcome::Verified;
                if !admitted.citations.iter().all(verified) {
                    admitted.band = admitted.band.lowered();
                }
            }
        }
        Ok(all)
    }

    /// The source of that name: a registered one, or a tool that the control list declares, of the class that the standing
    /// list gives it.
    async fn source(&self, name: &Name) -> Result<Option<Source>, AccessError> {
        if let Some(registered) = self.rules.sources.find(name) {
            return Ok(Some(registered));
        }
        if self.policy.control.find(name.as_str()).is_none() {
            return Ok(None);
        }
        let standing = self.standing().await?;
        Ok(standing.control.find(name.as_str()).map(Source::of_tool))
    }

    async fn judge(&self, id: &Ident, chunk: &Chunk) -> Result<Verdict, AssembleError> {
        let Some(source) = self.source(&chunk.source).await? else {
            return Ok(Verdict::Blocked("unregistered-source"));
        };
        if !source.kind.may_bring(chunk.origin) {
            return Ok(Verdict::Blocked("origin-above-source"));
        }
        let is_data = chunk.origin == Origin::TaskData;
        let (mut found, is_json) = self.inspector.chunk(&source.name, &chunk.text, is_data).await?;
        if is_data {
            let content = Payload::new(chunk.text.as_str().into());
            found = self.hear_model(id, found, &content, chunk.text.len()).await;
        }
        if let Some(assessment) = found.hostile().cloned() {
            let class = source.class.join(found.class());
            return Ok(Verdict::Poisoned(Box::new(Poisoned {
                source,
                class,
                assessment,
            })));
        }
        let is_odd = found
            .injection
            .as_ref()
            .is_some_and(|assessment| assessment.verdict == Opinion::Suspicious);
        let band = match (is_odd, source.trust) {
            (false, _) => Band::High,
            (true, Trust::Trusted) => Band::Medium,
            (true, Trust::Untrusted) => Band::Low,
        };
        Ok(Verdict::Admitted(Box::new(Admitted {
            source,
            found,
            is_json,
            band,
            citations: Vec::new(),
        })))
    }

    /// Looks at all that was retrieved as one text. What gives orders only together is left out, each piece that has a
    /// part in it; where the parts cannot be told, all of it.
    async fn judge_together(&self, all: &mut [Judged]) -> Result<(), AssembleError> {
        let mut text = String::new();
        let mut places: Vec<(usize, Range<usize>)> = Vec::new();
        for (number, judged) in all.iter().enumerate() {
            let is_data = judged.chunk.origin == Origin::TaskData;
            if is_data && matches!(judged.verdict, Verdict::Admitted(_)) {
                let start = text.len();
                text.push_str(&judged.chunk.text);
                places.push((number, start..text.len()));
                text.push('\n');
            }
        }
        if places.len() < 2 {
            return Ok(());
        }
        let Some(first) = all.first() else { return Ok(()) };
        let (found, _) = self.inspector.chunk(&first.chunk.source, &text, true).await?;
        let Some(assessment) = found.hostile() else {
            return Ok(());
        };
        let touches = |place: &Range<usize>| {
            let spans = assessment.findings.iter().map(|finding| &finding.span);
            spans
                .into_iter()
                .any(|span| span.start < place.end && place.start < span.end)
        };
        let touched: Vec<_> = places.iter().filter(|(_, place)| touches(place)).collect();
        let parts = if touched.is_empty() {
            places.iter().collect()
        } else {
            touched
        };
        for (number, _) in parts {
            if let Some(judged) = all.get_mut(*number)
                && let Verdict::Admitted(admitted) = &judged.verdict
            {
                judged.verdict = Verdict::Poisoned(Box::new(Poisoned {
                    source: admitted.source.clone(),
                    class: admitted.class(),
                    assessment: assessment.clone(),
                }));
            }
        }
        Ok(())
    }

    /// Puts a poisoned chunk away and gives its record.
    pub(super) async fn put_away(
        &self,
        id: &Ident,
        chunk: &Chunk,
        poisoned: &Poisoned,
    ) -> Result<Event, RecordError> {
        let raw = chunk.text.as_bytes().to_vec();
        let evidence = self
            .provenance
            .keep(id, Confined::new(poisoned.class, raw))
            .await?;
        let hit = self.hit(id, &chunk.text, &poisoned.assessment, Disposition::Quarantine);
        Ok(InjectionDetectionHit {
            source_id: Some(spelled(&poisoned.source.name)),
            evidence_pointer: Some(evidence),
            ..hit
        }
        .into())
    }

    /// That retrieved content was looked at and passed.
    pub(super) fn scanned_event(&self, id: &Ident, chunk: &Chunk, admitted: &Admitted) -> Option<Event> {
        let assessment = admitted.found.injection.as_ref()?;
        let hit = self.hit(id, &chunk.text, assessment, Disposition::Allow);
        Some(
            InjectionDetectionHit {
                source_id: Some(spelled(&admitted.source.name)),
                ..hit
            }
            .into(),
        )
    }

    pub(crate) fn hit(
        &self,
        id: &Ident,
        text: &str,
        assessment: &Assessment,
        disposition: Disposition,
    ) -> InjectionDetectionHit {
        let digest = self.provenance.digest(text.as_bytes()).to_string();
        let surest = assessment
            .findings
            .iter()
            .max_by_key(|finding| finding.confidence);
        let pattern = surest.map(|finding| tidegate_ledger::Name::or_unnameable(finding.rule.as_str()));
        InjectionDetectionHit {
            run_id: id.into(),
            chunk_id: tidegate_ledger::Name::or_unnameable(&digest),
            injection_pattern_matched: pattern.unwrap_or_else(|| word("none")),
            disposition,
            confidence_score: Score::new(f64::from(assessment.score)),
            source_id: None,
            evidence_pointer: None,
        }
    }
}
