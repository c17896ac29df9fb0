//! The end of a run: nothing passes any more, and its scratchpad is destroyed.
//!
//! The end is a halt that is no alarm, so it is durable, in force in every process, and decided in the one place where halts
//! are. It comes first; what is to be destroyed is destroyed after it, and what a crash left is destroyed at the next start.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use tidegate_core::{Halt, Ident};
use tidegate_ledger::event::{Event, SessionEnded};
use tidegate_store::{Session, StoreError};

use super::{NoteError, end_halt, own_name};
use crate::access::{Act, Caller};
use crate::engine::now;
use crate::{DeliverError, Engine};

/// How many runs are tidied up at a start.
const MOST_LEFT_BEHIND: usize = 10_000;

impl Engine {
    /// Ends a run and every run that it started. Asked again, it ends nothing and destroys what is left.
    ///
    /// # Errors
    /// When the caller may not, or the end cannot be made durable.
    pub async fn end_session(&self, caller: &Caller, id: &Ident) -> Result<Arc<Session>, NoteError> {
        let session = self.session_for(caller, Act::Call, id).await?;
        for descendant in self.descendants(id).await? {
            self.end_run(caller.principal.clone(), &descendant).await?;
        }
        self.end_run(caller.principal.clone(), &session.id).await
    }

    pub(super) async fn end_run(&self, by: Ident, id: &Ident) -> Result<Arc<Session>, NoteError> {
        let at = now();
        let halted = self.store.halt(id, end_halt(at)?).await?;
        if !matches!(halted.admission, tidegate_core::Admission::Unchanged) {
            let ended = SessionEnded {
                label: halted.session.context.label().class(),
                by: (&by).into(),
            };
            self.provenance.note(id, [Event::from(ended)], at).await?;
        }
        self.publish_admitted(&halted).await?;
        self.tidy_up(id).await?;
        Ok(halted.session)
    }

    /// Destroys what ended runs left when a process died before it had.
    ///
    /// # Errors
    /// When something cannot be read or destroyed.
    pub async fn tidy_up_ended(&self) -> Result<usize, NoteError> {
        let Some(runs) = &self.runs else { return Ok(0) };
        let ended = runs
            .store
            .left_behind(&own_name(Halt::END)?, MOST_LEFT_BEHIND)
            .await?;
        for id in &ended {
            self.tidy_up(id).await?;
        }
        Ok(ended.len())
    }

    async fn tidy_up(&self, id: &Ident) -> Result<(), NoteError> {
        if let Some(runs) = &self.runs {
            self.clear_scratchpad(runs, id).await?;
        }
        let session = id.clone();
        let ended = self
            .in_vault(move |vault| vault.end_session(&session, SystemTime::now()))
            .await;
        self.record_destroyed().await?;
        ended?;
        Ok(())
    }

    /// Passes a halt on to every run that this one started: nobody escapes it in a child.
    pub(crate) async fn halt_descendants(&self, id: &Ident, halt: &Halt) -> Result<(), DeliverError> {
        for descendant in self.descendants(id).await? {
            let halted = self.store.halt(&descendant, halt.clone()).await?;
            self.observer.halted(&halted.session);
            self.publish_admitted(&halted).await?;
        }
        Ok(())
    }

    /// Whether a run above this one is halted: then this one stays so, whatever is decided about its own halt.
    pub(crate) async fn is_halted_above(&self, id: &Ident) -> Result<bool, StoreError> {
        let Some(runs) = &self.runs else {
            return Ok(false);
        };
        let mut below = id.clone();
        while let Some(kin) = runs.store.kin(&below).await? {
            let parent = self.store.current(&kin.parent).await?;
            if parent.is_none_or(|parent| parent.context.halted().is_some()) {
                return Ok(true);
            }
            below = kin.parent;
        }
        Ok(false)
    }

    /// Every run below this one. Opening a child bounds how many there are.
    pub(crate) async fn descendants(&self, id: &Ident) -> Result<Vec<Ident>, StoreError> {
        let Some(runs) = &self.runs else {
            return Ok(Vec::new());
        };
        let (mut found, mut waiting) = (Vec::new(), VecDeque::from([id.clone()]));
        while let Some(parent) = waiting.pop_front() {
            for child in runs.store.children(&parent).await? {
                waiting.push_back(child.clone());
                found.push(child);
            }
        }
        Ok(found)
    }
}
