//! Letting a tool's answer into a session: look, classify, raise durably, record, then release.

use std::borrow::Cow;
use std::sync::Arc;

use tidegate_core::{
    Admission, Class, Confined, ControlList, Entry, Halt, Ident, Moment, Name, Refusal, Tool,
};
use tidegate_detect::Finding;
use tidegate_detect::injection::Assessment;
use tidegate_ledger::event::{ContextAssembly, Disposition, Event, InjectionDetectionHit, Origin, Score};
use tidegate_store::{Admitted, Gate, Session};

use crate::access::{Act, Caller};
use crate::engine::now;
use crate::gates::Halted;
use crate::inspect::Found;
use crate::provenance::{rise_event, spelled, word};
use crate::veil::Drawn;
use crate::{AccessError, Bringing, DeliverError, Engine, Payload};

/// What the agent may see, and what letting it in did.
#[derive(Debug)]
pub struct Delivered {
    /// The class of what was brought.
    pub class: Class,
    /// The session after it, durably.
    pub session: Arc<Session>,
    /// What changed.
    pub admission: Admission,
    /// What was found in it: places and rules, never values.
    pub findings: Vec<Finding>,
    /// What the agent may see; nothing when it was withheld.
    pub content: Option<Payload>,
    /// Whether anything was taken out of it.
    pub redacted: bool,
    /// Whether the content is what was brought, in everything.
    pub untouched: bool,
    /// The gate where a person decides whether a run that was halted by it goes on.
    pub gate: Option<Gate>,
}

/// A tool's answer on its way in.
struct Arrival<'a> {
    session: &'a Ident,
    tool: &'a Tool,
    found: Found,
    text: Vec<u8>,
    at: Moment,
}

/// A tool, or any of the others. One that nobody knows has the strict end of everything.
fn any_of<'a>(control: &ControlList, tool: &'a Tool, others: &[Name]) -> Cow<'a, Tool> {
    others.iter().fold(Cow::Borrowed(tool), |tool, other| {
        let unknown = || Cow::Owned(Tool::undeclared(other.clone()));
        let other = control.find(other.as_str()).map_or_else(unknown, Cow::Borrowed);
        Cow::Owned(tool.into_owned().or(&other))
    })
}

impl Engine {
    /// Lets a tool's answer in. INVARIANT (durable before visible): the content is given back only after the rise it
    /// causes is on disk, on the record, in the mirror, and told to whoever watches. Content that gives orders is put
    /// away as evidence and halts the session instead.
    ///
    /// # Errors
    /// When the caller may not, the tool is unknown, or the rise cannot be made durable; nothing is released then.
    pub async fn deliver(
        &self,
        caller: &Caller,
        id: &Ident,
        tool: &Name,
        content: Payload,
    ) -> Result<Delivered, DeliverError> {
        self.bring(caller, id, tool, Bringing::plain(content)).await
    }

    /// Lets a tool's answer in as [`Engine::deliver`] does, in the shape it comes in, and sealed if that is asked for.
    ///
    /// # Errors
    /// When the caller may not, the tool is unknown, or the rise cannot be made durable; nothing is released then.
    pub async fn bring(
        &self,
        caller: &Caller,
        id: &Ident,
        tool: &Name,
        mut bringing: Bringing,
    ) -> Result<Delivered, DeliverError> {
        bringing.perhaps.retain(|other| other != tool);
        self.session_for(caller, Act::Bring, id).await?;
        let standing = self.standing().await?;
        let Some(known) = standing.control.find(tool.as_str()) else {
            return Err(DeliverError::UnknownTool(Box::new(Refusal::unknown_tool(
                tool.clone(),
            ))));
        };
        let known = match &bringing.catalogued {
            Some(catalogued) => &catalogued.seen_in(known),
            None => known,
        };
        let known = &any_of(&standing.control, known, &bringing.perhaps);
        let only = bringing.only(&known.name);
        let (found, text) = self.inspector.answer(only, &bringing.content).await?;
        let found = self.hear_model(id, found, &bringing.content, text.len()).await;
        let arrival = Arrival {
            session: id,
            tool: known,
            found,
            text,
            at: now(),
        };
        match arrival.found.hostile().cloned() {
            Some(assessment) => self.quarantine(arrival, &assessment).await,
            None => self.let_in(caller, arrival, bringing).await,
        }
    }

    /// The class that words of one of these tools have at least, where nobody knows whose they are.
    ///
    /// # Errors
    /// When nobody can say how the tools stand.
    pub async fn class_of_any(&self, tools: &[Name]) -> Result<Class, AccessError> {
        let standing = self.standing().await?;
        let returns = |tool: &Name| {
            let known = standing.control.find(tool.as_str());
            known.map_or(Class::UNCLASSIFIED, |known| known.returns)
        };
        Ok(tools.iter().map(returns).fold(Class::Public, Class::join))
    }

    async fn let_in(
        &self,
        caller: &Caller,
        arrival: Arrival<'_>,
        bringing: Bringing,
    ) -> Result<Delivered, DeliverError> {
        let Arrival {
            session: id,
            tool,
            found,
            text,
            at,
        } = arrival;
        let dataset = bringing
            .catalogued
            .as_ref()
            .map(|catalogued| catalogued.dataset.clone());
        // The values themselves: a stub that comes back in a guarded argument has the origin of what it stands for.
        self.remember_answer(id, tool, &bringing.content).await?;
        let Drawn {
            content,
            class,
            kinds,
            findings,
            redacted,
            untouched,
            evidence,
        } = self.draw(id, tool, bringing, &found, &text).await?;
        let assembled = ContextAssembly {
            run_id: id.into(),
            data_class: class,
            source_id: spelled(&tool.name),
            redaction_applied: redacted,
            chunk_hash: self.provenance.digest(&text),
            origin: Origin::TaskData,
            evidence_pointer: evidence,
        };
        let entry = Entry {
            class,
            kinds,
            source: tool.name.clone(),
            at,
        };
        let admitted = self.store.raise(id, entry).await?;
        let events = found
            .exit_events(id, &tool.name)
            .chain([assembled.into()])
            .chain(rise_event(&admitted));
        self.provenance.note(id, events, at).await?;
        self.publish_admitted(&admitted).await?;
        let Admitted { admission, session } = admitted;
        let session = match dataset {
            Some(dataset) => self.tag(caller, id, &dataset, class).await?.session,
            None => session,
        };
        // INVARIANT (durable before visible): store, ledger and mirror have answered, so the rise is on disk.
        let content = content.filter(|_| session.context.halted().is_none());
        Ok(Delivered {
            class,
            session,
            admission,
            findings,
            content,
            redacted,
            untouched,
            gate: None,
        })
    }

    /// Puts hostile content away and halts the session until a person decides. It does not enter the context, so the
    /// label stays where it is.
    async fn quarantine(
        &self,
        arrival: Arrival<'_>,
        assessment: &Assessment,
    ) -> Result<Delivered, DeliverError> {
        let Arrival {
            session: id,
            tool,
            found,
            text,
            at,
        } = arrival;
        let class = tool.returns.join(found.class());
        let chunk_id = tidegate_ledger::Name::or_unnameable(&self.provenance.digest(&text).to_string());
        let evidence = self.provenance.keep(id, Confined::new(class, text)).await?;
        let pattern = assessment
            .findings
            .iter()
            .max_by_key(|finding| finding.confidence);
        let pattern_name = pattern.map(|finding| finding.rule.as_str().to_owned());
        let pattern = pattern.map(|finding| tidegate_ledger::Name::or_unnameable(finding.rule.as_str()));
        let hit = InjectionDetectionHit {
            run_id: id.into(),
            chunk_id,
            injection_pattern_matched: pattern.unwrap_or_else(|| word("score")),
            disposition: Disposition::Quarantine,
            confidence_score: Score::new(f64::from(assessment.score)),
            source_id: Some(spelled(&tool.name)),
            evidence_pointer: Some(evidence),
        };
        let halt = Halt {
            source: tool.name.clone(),
            at,
        };
        let halted = self.store.halt(id, halt.clone()).await?;
        self.provenance.note(id, [Event::from(hit)], at).await?;
        self.observer.halted(&halted.session);
        self.publish_admitted(&halted).await?;
        self.halt_descendants(id, &halt).await?;
        let Admitted { admission, session } = halted;
        let gate = self.ask_to_resume(Halted {
            session: &session,
            class,
            pattern: pattern_name.as_deref(),
            evidence: Some(evidence),
        });
        let gate = gate.await?;
        let findings = [assessment.findings.clone(), found.findings].concat();
        Ok(Delivered {
            class,
            session,
            admission,
            findings,
            content: None,
            redacted: true,
            untouched: false,
            gate,
        })
    }
}
