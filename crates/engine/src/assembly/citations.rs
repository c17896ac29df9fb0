//! Citations are looked up before anyone relies on them.
//!
//! What counts as one is a pattern of the operator's. Asking a source of record carries the citation there, so a record has a
//! ceiling like a tool: what is above it is not asked, and stays unverified. INVARIANT (verified is earned): only a record
//! that answered yes makes a citation verified; silence, refusal and haste make it unverified.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use regex::Regex;
use tidegate_core::{Class, Ident, Name};
use tidegate_ledger::event::{CitationChecked, CitationOutcome, Event};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::access::{Act, Caller};
use crate::engine::now;
use crate::provenance::spelled;
use crate::{AccessError, Engine};

/// The most citations that are marked in one text; what lies beyond is counted as unverified by the caller's band.
const MOST_MARKED: usize = 256;
/// The most that are looked up for one text.
const MOST_ASKED: usize = 64;
/// How many lookups may be under way at once.
const AT_ONCE: usize = 16;
/// How long all lookups of one text may take together.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where one sort of citation can be looked up. Calls block, and must end within a time of their own.
pub trait SourceOfRecord: Send + Sync {
    /// Whether the record holds it.
    ///
    /// # Errors
    /// When the record did not answer that question.
    fn holds(&self, citation: &str) -> Result<bool, NoAnswer>;
}

/// The record could not be asked, or its answer says neither yes nor no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the source of record did not answer")]
pub struct NoAnswer;

/// One sort of citation.
pub struct CitationRule {
    /// What it is called.
    pub kind: Name,
    /// What it looks like. A group named `id` is what is looked up, or else all of it.
    pub pattern: Regex,
    /// The highest class of text whose citations may be carried to the record.
    pub ceiling: Class,
    /// Where it is looked up.
    pub record: Arc<dyn SourceOfRecord>,
}

/// Every sort of citation that is known.
pub struct Citations {
    rules: Vec<CitationRule>,
    places: Arc<Semaphore>,
}

/// One citation in a text and what its record said. It holds its place, not its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Citation {
    /// What sort it is.
    pub kind: Name,
    /// Where it stands.
    pub span: Range<usize>,
    /// What the record said.
    pub outcome: CitationOutcome,
}

/// A citation that was found, and the rule that found it.
struct Found {
    rule: usize,
    span: Range<usize>,
    id: String,
}

impl Citations {
    /// These sorts.
    #[must_use]
    pub fn new(rules: Vec<CitationRule>) -> Self {
        Self {
            rules,
            places: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// Looks up every citation of a text of that class, each once.
    pub(super) async fn check(&self, text: &str, class: Class) -> Vec<(Citation, String)> {
        let found = self.find(text);
        let mut asked: HashMap<(usize, &str), usize> = HashMap::new();
        let mut lookups = JoinSet::new();
        for citation in &found {
            let Some(rule) = self.rules.get(citation.rule).filter(|rule| class <= rule.ceiling) else {
                continue;
            };
            let key = (citation.rule, citation.id.as_str());
            if asked.len() >= MOST_ASKED || asked.contains_key(&key) {
                continue;
            }
            let number = asked.len();
            asked.insert(key, number);
            self.look_up(&mut lookups, number, rule, citation.id.clone());
        }
        let answers = settle(lookups, asked.len()).await;
        let outcome = |citation: &Found| {
            let number = asked.get(&(citation.rule, citation.id.as_str()));
            number.and_then(|number| answers.get(*number).copied())
        };
        let marked = found.iter().filter_map(|citation| {
            let mark = Citation {
                kind: self.rules.get(citation.rule)?.kind.clone(),
                span: citation.span.clone(),
                outcome: outcome(citation).unwrap_or(CitationOutcome::Unverified),
            };
            Some((mark, citation.id.clone()))
        });
        marked.collect()
    }

    fn find(&self, text: &str) -> Vec<Found> {
        let rules = self.rules.iter().enumerate();
        rules
            .flat_map(|(number, rule)| {
                rule.pattern.captures_iter(text).filter_map(move |captures| {
                    let whole = captures.get(0)?;
                    let id = captures.name("id").unwrap_or(whole);
                    Some(Found {
                        rule: number,
                        span: whole.range(),
                        id: id.as_str().to_owned(),
                    })
                })
            })
            .take(MOST_MARKED)
            .collect()
    }

    fn look_up(
        &self,
        lookups: &mut JoinSet<(usize, CitationOutcome)>,
        number: usize,
        rule: &CitationRule,
        id: String,
    ) {
        let (places, record) = (Arc::clone(&self.places), Arc::clone(&rule.record));
        lookups.spawn(async move {
            let Ok(place) = places.acquire_owned().await else {
                return (number, CitationOutcome::Unverified);
            };
            // The place is given back when the lookup ends, not when its caller gives up.
            let asking = tokio::task::spawn_blocking(move || {
                let answer = record.holds(&id);
                drop(place);
                answer
            });
            let outcome = match asking.await {
                // INVARIANT (verified is earned): the one arm that verifies.
                Ok(Ok(true)) => CitationOutcome::Verified,
                Ok(Ok(false)) => CitationOutcome::HallucinatedCitation,
                Ok(Err(NoAnswer)) | Err(_) => CitationOutcome::Unverified,
            };
            (number, outcome)
        });
    }
}

async fn settle(mut lookups: JoinSet<(usize, CitationOutcome)>, count: usize) -> Vec<CitationOutcome> {
    let mut answers = vec![CitationOutcome::Unverified; count];
    let deadline = Instant::now() + PATIENCE;
    while let Ok(Some(settled)) = timeout_at(deadline, lookups.join_next()).await {
        if let Ok((number, outcome)) = settled
            && let Some(answer) = answers.get_mut(number)
        {
            *answer = outcome;
        }
    }
    answers
}

impl Engine {
    /// Looks up the citations of a model's output. What the output says is of the session's class, so a record whose
    /// ceiling is below it is not asked.
    ///
    /// # Errors
    /// When the caller cannot have the session, or what was found cannot be recorded.
    pub async fn check_citations(
        &self,
        caller: &Caller,
        id: &Ident,
        text: &str,
    ) -> Result<Vec<Citation>, AccessError> {
        let session = self.session_for(caller, Act::Call, id).await?;
        let checked = self
            .rules
            .citations
            .check(text, session.context.label().class())
            .await;
        let events: Vec<_> = checked
            .iter()
            .map(|(citation, cited)| self.citation_event(id, citation, cited, None))
            .collect();
        self.provenance.note(id, events, now()).await?;
        Ok(checked.into_iter().map(|(citation, _)| citation).collect())
    }

    pub(super) fn citation_event(
        &self,
        run: &Ident,
        citation: &Citation,
        cited: &str,
        source: Option<&Name>,
    ) -> Event {
        CitationChecked {
            run_id: run.into(),
            citation_kind: spelled(&citation.kind),
            citation_hash: self.provenance.digest(cited.as_bytes()),
            outcome: citation.outcome,
            source_id: source.map(spelled),
        }
        .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Knows `P-1`, does not answer on `P-3`.
    struct Parcels;

    impl SourceOfRecord for Parcels {
        fn holds(&self, citation: &str) -> Result<bool, NoAnswer> {
            match citation {
                "P-3" => Err(NoAnswer),
                other => Ok(other == "P-1"),
            }
        }
    }

    fn citations(ceiling: Class) -> Citations {
        Citations::new(vec![CitationRule {
            kind: Name::parse("parcel").unwrap(),
            pattern: Regex::new(r"parcel (?<id>P-\d+)").unwrap(),
            ceiling,
            record: Arc::new(Parcels),
        }])
    }

    #[tokio::test]
    async fn verified_is_earned() {
        use CitationOutcome::{HallucinatedCitation, Unverified, Verified};
        let text = "parcel P-1, parcel P-2, parcel P-3 and parcel P-1 again, P-1";
        for (ceiling, expected) in [
            (
                Class::Internal,
                [Verified, HallucinatedCitation, Unverified, Verified],
            ),
            (Class::Public, [Unverified; 4]),
        ] {
            let checked = citations(ceiling).check(text, Class::Internal).await;
            let outcomes: Vec<_> = checked.iter().map(|(citation, _)| citation.outcome).collect();
            assert_eq!(outcomes, expected, "{ceiling}");
            assert_eq!(checked[0].0.span, 0..10);
        }
    }

    #[tokio::test]
    async fn more_than_can_be_asked_stay_unverified() {
        let text: String = (0..MOST_MARKED + 50)
            .map(|n| format!("parcel P-{}", 1000 + n) + " ")
            .collect();
        let checked = citations(Class::Secret).check(&text, Class::Public).await;
        assert_eq!(checked.len(), MOST_MARKED);
        let unverified =
            |(citation, _): &&(Citation, String)| citation.outcome == CitationOutcome::Unverified;
        assert_eq!(
            checked.iter().filter(unverified).count(),
            MOST_MARKED - MOST_ASKED
        );
    }
}
