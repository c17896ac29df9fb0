//! Runs that a run starts, so that one contaminated step does not wedge all the others.
//!
//! A child has a label of its own. What it has seen comes back in one of two ways: as text, which raises its parent to the
//! child's label; or as values that its parent declared before the child saw anything, at most so many bits of them for
//! each child and for the whole tree. INVARIANT (a child lowers nothing): its parent's label only ever rises, a halted run starts
//! no children and takes no answers, and its halt is theirs.

use std::sync::Arc;

use serde_json::{Map, Value};
use tidegate_core::{Class, Confined, Entry, Ident, Name};
use tidegate_ledger::EvidencePointer;
use tidegate_ledger::event::{ChildOpened, ChildReturned, Disposition, Event, InjectionDetectionHit};
use tidegate_store::{Kin, Opening, Origin, Session, StoreError};

use super::schema::AnswerSchema;
use super::{ChildError, Runs, own_name};
use crate::access::{Act, Caller};
use crate::engine::now;
use crate::gates::Halted;
use crate::provenance::rise_event;
use crate::sessions::random_id;
use crate::{AccessError, Engine, Interrupted, Payload};

/// A child somebody asks for.
#[derive(Clone, Debug)]
pub struct ChildRequest {
    /// The session that starts it.
    pub parent: Ident,
    /// Whether it begins with its parent's label.
    pub inherit: bool,
    /// Under which id.
    pub id: Option<Ident>,
    /// What it may answer.
    pub answer: AnswerSchema,
}

/// What a child hands to its parent.
pub enum Answer {
    /// The declared values.
    Values(Map<String, Value>),
    /// Anything. It raises the parent to the child's label.
    Text(String),
}

/// A child's answer, as its parent may have it.
#[derive(Debug)]
pub struct Returned {
    /// The parent after it, durably.
    pub parent: Arc<Session>,
    /// The answer.
    pub answer: Payload,
    /// The bits that passed below the child's label.
    pub released_bits: u32,
    /// The bits that have passed so in the whole tree of the parent.
    pub run_bits: u32,
}

/// The most runs below one that was started by nobody.
const MOST_DESCENDANTS: usize = 256;

impl Engine {
    /// Opens a child of a session, for the same user and agent, and durably so.
    ///
    /// # Errors
    /// When the caller cannot have the parent, it is halted, or the child would be a way around a rule.
    pub async fn open_child(
        &self,
        caller: &Caller,
        request: ChildRequest,
    ) -> Result<Arc<Session>, ChildError> {
        let runs = self.runs.as_ref().ok_or(ChildError::Off)?;
        let parent = self.session_for(caller, Act::Open, &request.parent).await?;
        self.check_child(runs, &parent, &request).await?;
        let id = match request.id {
            Some(id) => id,
            None => random_id()?,
        };
        let opening = Opening {
            id,
            user: parent.user.clone(),
            agent: parent.agent.clone(),
            at: now(),
        };
        let child = self.add_session(opening).await?;
        self.note_opened(caller, &child).await?;
        let linked = self
            .link(runs, &parent, &child, request.inherit, &request.answer)
            .await;
        if linked.is_err() {
            // A child that nobody answers for must not be left behind as a clean session.
            self.end_run(caller.principal.clone(), &child.id).await?;
        }
        linked
    }

    async fn check_child(
        &self,
        runs: &Runs,
        parent: &Session,
        request: &ChildRequest,
    ) -> Result<(), ChildError> {
        if parent.context.halted().is_some() {
            return Err(ChildError::Halted);
        }
        let label = parent.context.label().class();
        if !request.inherit && label > runs.rules.clean_child_ceiling {
            return Err(ChildError::MustInherit { label });
        }
        let (bits, most) = (request.answer.bits(), runs.rules.answer_bits);
        if bits > most {
            return Err(ChildError::TooManyBits { bits, most });
        }
        let mut root = parent.id.clone();
        // Adoption makes trees only, so this ends.
        while let Some(kin) = runs.store.kin(&root).await? {
            root = kin.parent;
        }
        if self.descendants(&root).await?.len() >= MOST_DESCENDANTS {
            return Err(ChildError::TooMany);
        }
        Ok(())
    }

    /// Gives the child its parent's label where it inherits, then makes it the parent's own.
    async fn link(
        &self,
        runs: &Runs,
        parent: &Session,
        child: &Session,
        inherit: bool,
        answer: &AnswerSchema,
    ) -> Result<Arc<Session>, ChildError> {
        let label = parent.context.label().class();
        if inherit {
            let entry = Entry {
                class: label,
                kinds: parent.context.kinds(),
                source: Name::from(&parent.id),
                at: now(),
            };
            self.raise_for_kin(&child.id, entry, Vec::new()).await?;
        }
        let declared = Confined::new(label, answer.written());
        let pointer = self.provenance.keep(&child.id, declared).await?;
        let kin = Kin {
            child: child.id.clone(),
            parent: parent.id.clone(),
            answer: pointer.to_string(),
            answer_bits: answer.bits(),
            at: now(),
        };
        runs.store.adopt(kin, runs.rules.children).await?;
        let child = self
            .store
            .current(&child.id)
            .await?
            .ok_or(AccessError::NoSession)?;
        let opened = ChildOpened {
            child: (&child.id).into(),
            inherited: inherit,
            label: child.context.label().class(),
            answer_bits: answer.bits(),
        };
        self.provenance.note(&parent.id, [opened.into()], now()).await?;
        // Read again: a halt that came before the adoption did not find the child.
        let parent = self
            .store
            .current(&parent.id)
            .await?
            .ok_or(AccessError::NoSession)?;
        match parent.context.halted() {
            Some(_) => Err(ChildError::Halted),
            None => Ok(child),
        }
    }

    /// Hands a child's answer to its parent and ends the child.
    ///
    /// # Errors
    /// When the caller cannot have the child, either is halted, or the answer may not pass.
    pub async fn answer_parent(
        &self,
        caller: &Caller,
        id: &Ident,
        answer: Answer,
    ) -> Result<Returned, ChildError> {
        let runs = self.runs.as_ref().ok_or(ChildError::Off)?;
        let child = self.session_for(caller, Act::Call, id).await?;
        let kin = runs.store.kin(id).await?.ok_or(ChildError::NoChild)?;
        let parent = self
            .store
            .current(&kin.parent)
            .await?
            .ok_or(AccessError::NoSession)?;
        if child.context.halted().is_some() || parent.context.halted().is_some() {
            return Err(ChildError::Halted);
        }
        let returned = match answer {
            Answer::Values(values) => self.answer_values(runs, &kin, &parent, values).await?,
            Answer::Text(text) => self.answer_text(runs, &kin, text).await?,
        };
        self.end_run(caller.principal.clone(), id).await?;
        Ok(returned)
    }

    async fn answer_values(
        &self,
        runs: &Runs,
        kin: &Kin,
        parent: &Arc<Session>,
        values: Map<String, Value>,
    ) -> Result<Returned, ChildError> {
        let pointer = EvidencePointer::parse(&kin.answer).map_err(|_| Interrupted)?;
        let declared = self.evidence(pointer).await?;
        let declared = declared.and_then(|content| AnswerSchema::restored(content.expose()));
        if !declared.is_some_and(|declared| declared.takes(&values)) {
            return Err(ChildError::NotDeclared);
        }
        // Read now: whatever the child has seen until this moment may be in its answer.
        let child = self
            .store
            .current(&kin.child)
            .await?
            .ok_or(AccessError::NoSession)?;
        let label = child.context.label().class();
        let is_covered = label <= parent.context.label().class();
        if !is_covered && label > runs.rules.answer_ceiling {
            return Err(ChildError::AboveCeiling { label });
        }
        // What is covered costs nothing here: where it passed below a label further down, it was counted for the whole tree.
        let released_bits = if is_covered { 0 } else { kin.answer_bits };
        let run_bits = runs
            .store
            .take_answer(&kin.child, released_bits, runs.rules.run_bits)
            .await?;
        let words = Value::Object(values.clone()).to_string();
        self.remember_child(kin, words).await?;
        let event = returned_event(kin, label, released_bits);
        self.provenance.note(&kin.parent, [event], now()).await?;
        Ok(Returned {
            parent: Arc::clone(parent),
            answer: Payload::new(Value::Object(values)),
            released_bits,
            run_bits,
        })
    }

    async fn answer_text(&self, runs: &Runs, kin: &Kin, text: String) -> Result<Returned, ChildError> {
        let place = own_name("child-session")?;
        let (found, _) = self.inspector.chunk(&place, &text, true).await?;
        let child = self
            .store
            .current(&kin.child)
            .await?
            .ok_or(AccessError::NoSession)?;
        let class = child.context.label().class().join(found.class());
        if let Some(assessment) = found.hostile() {
            let evidence = self
                .provenance
                .keep(&kin.child, Confined::new(class, text.clone().into_bytes()))
                .await?;
            let hit = InjectionDetectionHit {
                evidence_pointer: Some(evidence),
                ..self.hit(&kin.child, &text, assessment, Disposition::Quarantine)
            };
            let halt = tidegate_core::Halt {
                source: place,
                at: now(),
            };
            let halted = self.store.halt(&kin.child, halt.clone()).await?;
            self.provenance.note(&kin.child, [hit.into()], now()).await?;
            self.observer.halted(&halted.session);
            self.publish_admitted(&halted).await?;
            self.halt_descendants(&kin.child, &halt).await?;
            self.ask_to_resume(Halted {
                session: &halted.session,
                class,
                pattern: None,
                evidence: Some(evidence),
            })
            .await?;
            return Err(ChildError::Hostile);
        }
        let run_bits = runs.store.take_answer(&kin.child, 0, runs.rules.run_bits).await?;
        self.remember_child(kin, text.clone()).await?;
        let entry = Entry {
            class,
            kinds: child.context.kinds().union(found.kinds()),
            source: Name::from(&kin.child),
            at: now(),
        };
        let events = vec![returned_event(kin, class, 0)];
        let parent = self.raise_for_kin(&kin.parent, entry, events).await?;
        if parent.context.halted().is_some() {
            return Err(ChildError::Halted);
        }
        Ok(Returned {
            parent,
            answer: Payload::new(text.into()),
            released_bits: 0,
            run_bits,
        })
    }

    /// What a child says may be what a page told it to say, so its parent's guards doubt it. The child itself begins without a
    /// memory of where values came from, which counts as a full one: what its parent told it was not seen.
    async fn remember_child(&self, kin: &Kin, words: String) -> Result<(), StoreError> {
        let word = (Origin::Untrusted, Name::from(&kin.child), words);
        self.remember_texts(&kin.parent, [word]).await
    }

    /// Raises a label for what came from kin, on the record and visibly so.
    async fn raise_for_kin(
        &self,
        id: &Ident,
        entry: Entry,
        mut events: Vec<Event>,
    ) -> Result<Arc<Session>, ChildError> {
        let at = entry.at;
        let admitted = self.store.raise(id, entry).await?;
        events.extend(rise_event(&admitted));
        self.provenance.note(id, events, at).await?;
        self.publish_admitted(&admitted).await?;
        Ok(admitted.session)
    }
}

fn returned_event(kin: &Kin, class: Class, released_bits: u32) -> Event {
    ChildReturned {
        child: (&kin.child).into(),
        data_class: class,
        released_bits,
    }
    .into()
}
