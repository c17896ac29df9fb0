//! Putting a context together from chunks, each under the tag of where it came from.
//!
//! The order is the one of every way in: look, decide, put away what must not pass, raise durably, record, release. A
//! poisoned chunk is left out and the rest goes on with a lower band of confidence: retrieval brings what anybody may have
//! written, and one bad document must not stop a run. All other ways in halt (see [`Engine::deliver`]).

mod citations;
mod frame;
mod judge;
mod leaves;
mod report;
mod sources;

use std::sync::Arc;

use tidegate_core::{Class, Confined, Entry, Ident, Kinds, Name};
use tidegate_detect::redact::Redactor;
use tidegate_ledger::event::{ChunkBlocked, ContextAssembly, Event, Origin};
use tidegate_store::Session;

pub use citations::{Citation, CitationRule, Citations, NoAnswer, SourceOfRecord};
pub use report::{AssembleError, Assembled, Band, ChunkReport, Disposition};
pub use sources::{Source, SourceKind, Sources};

use crate::access::{Act, Caller};
use crate::engine::now;
use crate::provenance::{rise_event, spelled, word};
use crate::{AccessError, Engine, Interrupted};
use frame::Piece;
use judge::{Admitted, Judged, Verdict};
use report::{band, notice};

/// What the operator said of contexts: the sources, and the citations that are checked.
pub struct ContextRules {
    /// Who may bring what.
    pub sources: Sources,
    /// What is looked up.
    pub citations: Citations,
}

impl ContextRules {
    /// No source but the declared tools, no citation.
    #[must_use]
    pub fn none() -> Self {
        Self {
            sources: Sources::new([]),
            citations: Citations::new(Vec::new()),
        }
    }
}

/// A piece of content that somebody wants in a context.
pub struct Chunk {
    /// Where it is said to come from.
    pub source: Name,
    /// What it is to be used as.
    pub origin: Origin,
    /// Its text.
    pub text: String,
}

/// The most chunks of one context.
const MOST_CHUNKS: usize = 256;

/// A chunk after everything was decided about it, on its way into the context.
struct Entering {
    text: String,
    class: Class,
    kinds: Kinds,
}

impl Engine {
    /// The same engine with rules for contexts.
    #[must_use]
    pub fn with_context(self, rules: ContextRules) -> Self {
        Self { rules, ..self }
    }

    /// Puts a context together. INVARIANT (durable before visible): what enters is given back only after the rise it causes is
    /// on disk, on the record, in the mirror, and told to whoever watches.
    ///
    /// # Errors
    /// When the caller may not, the session is halted, or something cannot be made durable; nothing is released then.
    pub async fn assemble(
        &self,
        caller: &Caller,
        id: &Ident,
        chunks: Vec<Chunk>,
    ) -> Result<Assembled, AssembleError> {
        let session = self.session_for(caller, Act::Bring, id).await?;
        if chunks.len() > MOST_CHUNKS {
            return Err(AssembleError::TooMany);
        }
        if session.context.halted().is_some() {
            return Err(AssembleError::Halted);
        }
        let chunks = chunks.into_iter().map(spelled_out).collect();
        let judged = self.judge_all(id, chunks).await?;
        let entering = judged.iter().filter_map(|judged| judged.word(caller.role));
        // All of it before any of it can be acted on. What is redacted counts too: a stub may come back as its value.
        self.remember_texts(id, entering.collect::<Vec<_>>()).await?;
        let mut redactor = new_redactor()?;
        let (mut events, mut entering, mut reports) = (Vec::new(), Vec::new(), Vec::new());
        for judged in judged {
            let (entered, report) = self.settle(id, judged, &mut redactor, &mut events).await?;
            entering.push(entered);
            reports.push(report);
        }
        let session = self.admit(id, &entering, &reports, events).await?;
        if session.context.halted().is_some() {
            return Err(AssembleError::Halted);
        }
        let (nonce, text) = framed(&entering, &reports)?;
        let class = reports.iter().filter_map(|report| report.class).max();
        Ok(Assembled {
            text: Confined::new(class.unwrap_or(Class::Public), text),
            nonce,
            band: band(&reports),
            session,
            chunks: reports,
        })
    }

    /// Does with one chunk what was decided, up to the point where it would be let in.
    async fn settle(
        &self,
        id: &Ident,
        judged: Judged,
        redactor: &mut Redactor,
        events: &mut Vec<Event>,
    ) -> Result<(Option<Entering>, ChunkReport), AssembleError> {
        let Judged { chunk, verdict } = judged;
        let mut report = ChunkReport {
            source: chunk.source.clone(),
            origin: chunk.origin,
            disposition: Disposition::Blocked,
            rule: None,
            class: None,
            band: None,
            findings: Vec::new(),
            citations: Vec::new(),
        };
        match verdict {
            Verdict::Blocked(rule) => {
                report.rule = Some(rule);
                events.push(self.blocked_event(id, &chunk, rule));
                Ok((None, report))
            }
            Verdict::Poisoned(poisoned) => {
                report.disposition = Disposition::Quarantined;
                report.rule = Some("prompt-injection-detected");
                report.findings.clone_from(&poisoned.assessment.findings);
                events.push(self.put_away(id, &chunk, &poisoned).await?);
                Ok((None, report))
            }
            Verdict::Admitted(admitted) => {
                let admitted = *admitted;
                let entered = self.redact(id, &chunk, &admitted, redactor, events).await?;
                let is_redacted = entered.text != chunk.text;
                report.disposition = match is_redacted {
                    true => Disposition::Redacted,
                    false => Disposition::Admitted,
                };
                report.class = Some(entered.class);
                report.band = Some(admitted.band);
                report.findings = admitted.found.findings;
                report.citations = admitted.citations.into_iter().map(|(mark, _)| mark).collect();
                Ok((Some(entered), report))
            }
        }
    }

    /// Takes out what must not be seen and puts the raw chunk away when anything was.
    async fn redact(
        &self,
        id: &Ident,
        chunk: &Chunk,
        admitted: &Admitted,
        redactor: &mut Redactor,
        events: &mut Vec<Event>,
    ) -> Result<Entering, AssembleError> {
        let withheld = admitted.withheld(&chunk.text);
        let raw = chunk.text.as_bytes();
        let redacted = match admitted.is_json {
            true => redactor.redact_json(raw, &withheld),
            false => redactor.redact(raw, &withheld),
        };
        let redacted = redacted.map_err(|_| Interrupted)?;
        let (class, kinds) = admitted.in_the_clear();
        let is_redacted = !redacted.replacements.is_empty();
        let adopted = self.adopt(id, redacted, admitted.is_json).await;
        let text = adopted.map_err(AccessError::from)?;
        let evidence_pointer = if is_redacted {
            let content = Confined::new(admitted.class(), raw.to_vec());
            Some(self.provenance.keep(id, content).await?)
        } else {
            None
        };
        events.extend(admitted.found.exit_events(id, &admitted.source.name));
        events.push(
            ContextAssembly {
                run_id: id.into(),
                data_class: class,
                source_id: spelled(&admitted.source.name),
                redaction_applied: is_redacted,
                chunk_hash: self.provenance.digest(raw),
                origin: chunk.origin,
                evidence_pointer,
            }
            .into(),
        );
        events.extend(self.scanned_event(id, chunk, admitted));
        let source = Some(&admitted.source.name);
        let cited = admitted.citations.iter();
        events.extend(cited.map(|(mark, text)| self.citation_event(id, mark, text, source)));
        Ok(Entering { text, class, kinds })
    }

    fn blocked_event(&self, id: &Ident, chunk: &Chunk, rule: &'static str) -> Event {
        // The name is the caller's own text: it is shown only when no rule knows it for a value.
        let named = self.inspector.is_plain(chunk.source.as_str());
        ChunkBlocked {
            run_id: id.into(),
            source_id: if named { spelled(&chunk.source) } else { word("") },
            chunk_hash: self.provenance.digest(chunk.text.as_bytes()),
            blocking_rule: word(rule),
        }
        .into()
    }

    /// Raises the label for all that enters, and records everything.
    async fn admit(
        &self,
        id: &Ident,
        entering: &[Option<Entering>],
        reports: &[ChunkReport],
        mut events: Vec<Event>,
    ) -> Result<Arc<Session>, AssembleError> {
        let at = now();
        let entered = entering.iter().zip(reports);
        let entered = entered.filter_map(|(entered, report)| Some((entered.as_ref()?, &report.source)));
        // The first of the highest class is what the rise is put down to.
        let highest = entered.clone().rev().max_by_key(|(entered, _)| entered.class);
        let Some((top, source)) = highest else {
            self.provenance.note(id, events, at).await?;
            return Ok(self.store.current(id).await?.ok_or(AccessError::NoSession)?);
        };
        let entry = Entry {
            class: top.class,
            kinds: entered.fold(Kinds::NONE, |kinds, (entered, _)| kinds.union(entered.kinds)),
            source: source.clone(),
            at,
        };
        let admitted = self.store.raise(id, entry).await?;
        events.extend(rise_event(&admitted));
        self.provenance.note(id, events, at).await?;
        self.publish_admitted(&admitted).await?;
        // INVARIANT (durable before visible): store, ledger and mirror have answered, so the rise is on disk.
        Ok(admitted.session)
    }
}

/// JSON may write a letter in four digits, and so a stub that no rule would see but a reader would. It is written out.
fn spelled_out(chunk: Chunk) -> Chunk {
    if !chunk.text.contains("\\u") {
        return chunk;
    }
    match serde_json::from_str::<serde_json::Value>(&chunk.text) {
        Ok(value) => Chunk {
            text: value.to_string(),
            ..chunk
        },
        Err(_) => chunk,
    }
}

/// Its stubs last for one assembly; the session's own take their place.
fn new_redactor() -> Result<Redactor, Interrupted> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|_| Interrupted)?;
    Ok(Redactor::new(key))
}

fn framed(entering: &[Option<Entering>], reports: &[ChunkReport]) -> Result<(String, String), AssembleError> {
    let pieces: Vec<_> = entering
        .iter()
        .zip(reports)
        .filter_map(|(entered, report)| {
            Some(Piece {
                origin: report.origin,
                source: report.source.as_str(),
                text: &entered.as_ref()?.text,
                notice: notice(report),
            })
        })
        .collect();
    let nonce = frame::nonce(&pieces)?;
    let text = frame::assemble(&pieces, &nonce);
    Ok((nonce, text))
}
