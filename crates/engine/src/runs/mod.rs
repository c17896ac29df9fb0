//! What surrounds a run: its scratchpad, its agent's memory, the runs it starts, and its end.

mod child_error;
mod children;
mod end;
mod notes;
mod page;
mod schema;

use std::sync::Arc;

use tidegate_core::{Class, Halt, Name};
use tidegate_store::MemoryStore;

pub use child_error::ChildError;
pub use children::{Answer, ChildRequest, Returned};
pub use notes::{Memory, NoteError, Noted, Recalled};
pub use page::Note;
pub use schema::{AnswerSchema, BadSchema, Field};

use crate::{Engine, Interrupted};

/// What the operator said of memories and children.
#[derive(Clone, Debug)]
pub struct RunRules {
    /// The highest class that an agent's memory takes. Above internal it must be designated as a sink.
    pub memory_ceiling: Class,
    /// Whether the memory is designated as an authorized sink.
    pub memory_sink: bool,
    /// The most notes on one shelf.
    pub notes: usize,
    /// The most bytes of one note.
    pub note_bytes: usize,
    /// The highest label of a child whose declared values may pass below it.
    pub answer_ceiling: Class,
    /// The most bits that one child's declared values may carry below its label.
    pub answer_bits: u32,
    /// The most bits that declared values may carry below their labels in a run and everyone below it together.
    pub run_bits: u32,
    /// The highest label of a run that may start a child without passing its label on.
    pub clean_child_ceiling: Class,
    /// The most children of one run.
    pub children: usize,
}

impl RunRules {
    /// What serves when nothing is configured.
    pub const STANDARD: Self = Self {
        memory_ceiling: Class::Internal,
        memory_sink: false,
        notes: 64,
        note_bytes: 16 * 1024,
        answer_ceiling: Class::Pii,
        answer_bits: 32,
        run_bits: 128,
        clean_child_ceiling: Class::Public,
        children: 64,
    };

    /// The highest class that the memory takes by these rules.
    #[must_use]
    pub fn memory_takes(&self) -> Class {
        if self.memory_sink {
            self.memory_ceiling
        } else {
            self.memory_ceiling.min(Class::Internal)
        }
    }
}

/// Where pages and kinship are kept, and the rules for them.
pub(crate) struct Runs {
    pub(crate) store: Arc<dyn MemoryStore>,
    pub(crate) rules: RunRules,
}

impl Engine {
    /// The same engine with scratchpads, memories and child sessions.
    #[must_use]
    pub fn with_runs(self, store: Arc<dyn MemoryStore>, rules: RunRules) -> Self {
        Self {
            runs: Some(Runs { store, rules }),
            ..self
        }
    }
}

/// A name of this program's own.
fn own_name(text: &'static str) -> Result<Name, Interrupted> {
    Name::parse(text).map_err(|_| Interrupted)
}

/// The halt that stands for the end of a run.
fn end_halt(at: tidegate_core::Moment) -> Result<Halt, Interrupted> {
    Ok(Halt {
        source: own_name(Halt::END)?,
        at,
    })
}
