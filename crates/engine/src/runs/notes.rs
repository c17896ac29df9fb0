//! The scratchpad of a run, and the memory of an agent from run to run.
//!
//! A note is of its run's label, or of the class found in it if that is higher. Reading raises the label by everything on the
//! shelf, whether or not the note that was asked for is there: otherwise the answer "no such note" would carry what
//! another run wrote. A full memory drops its oldest note for the same reason: a refusal would tell how much is in it.

use std::iter;
use std::sync::Arc;

use tidegate_core::{Class, Entry, Ident};
use tidegate_ledger::event::{Disposition, Event, MemoryAccess, MemoryAct, MemoryKind};
use tidegate_store::{MirrorError, Origin, Session, Shelf, StoreError, TurnError};

use super::page::{Note, class_of};
use super::{Runs, own_name};
use crate::access::{Act, Caller};
use crate::engine::now;
use crate::provenance::rise_event;
use crate::{AccessError, Engine, Interrupted, Payload, RecordError};

/// Where a note is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// For the run: destroyed when it ends.
    Scratchpad,
    /// From run to run of one agent of one user.
    Agent,
}

impl Memory {
    /// The name used on every wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scratchpad => "scratchpad",
            Self::Agent => "memory",
        }
    }

    const fn kind(self) -> MemoryKind {
        match self {
            Self::Scratchpad => MemoryKind::Scratchpad,
            Self::Agent => MemoryKind::Memory,
        }
    }

    fn shelf(self, session: &Session) -> Shelf {
        match self {
            Self::Scratchpad => Shelf::Run(session.id.clone()),
            Self::Agent => Shelf::Agent {
                user: session.user.clone(),
                agent: session.agent.clone(),
            },
        }
    }
}

/// A note was taken.
#[derive(Debug)]
pub struct Noted {
    /// The class it counts at.
    pub class: Class,
}

/// What was read.
#[derive(Debug)]
pub struct Recalled {
    /// The notes that were asked for; those that give orders are left out.
    pub notes: Vec<Note>,
    /// How many were left out for that.
    pub quarantined: usize,
    /// The session after it, durably.
    pub session: Arc<Session>,
}

/// Why a note was not taken or read.
#[derive(Debug, thiserror::Error)]
pub enum NoteError {
    /// The caller cannot have the session.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// This gateway keeps no notes.
    #[error("this gateway keeps no notes")]
    Off,
    /// Nothing passes in this session.
    #[error("the session is halted or has ended, so notes are neither taken nor read")]
    Halted,
    /// The memory is no authorized sink for this class.
    #[error(
        "the memory takes at most {ceiling} and this note counts as {class}; keep it in the scratchpad, or ask an \
         administrator to designate the memory as a sink"
    )]
    AboveCeiling {
        /// The class of the note.
        class: Class,
        /// What the memory takes.
        ceiling: Class,
    },
    /// The note or its key is empty or too long.
    #[error("a note has a key of 1 to 200 bytes and a text of at most {most} bytes")]
    Size {
        /// The most bytes of a text.
        most: usize,
    },
    /// There are as many notes as there may be.
    #[error("the scratchpad holds {most} notes, which is all it takes; write over one of them")]
    Full {
        /// The most notes.
        most: usize,
    },
    /// Others kept writing at the same time.
    #[error("the notes are being written by others; try again")]
    Contended,
    /// The mirror could not be written, so nothing is released.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
}

impl From<Interrupted> for NoteError {
    fn from(error: Interrupted) -> Self {
        Self::Access(error.into())
    }
}

impl From<RecordError> for NoteError {
    fn from(error: RecordError) -> Self {
        Self::Access(error.into())
    }
}

impl From<StoreError> for NoteError {
    fn from(error: StoreError) -> Self {
        Self::Access(error.into())
    }
}

const MOST_KEY_BYTES: usize = 200;
const MOST_TRIES: usize = 8;

impl Engine {
    /// Takes a note, in place of the one with the same key.
    ///
    /// # Errors
    /// When the caller may not, the class is above what the memory takes, or it cannot be kept or recorded.
    pub async fn note(
        &self,
        caller: &Caller,
        id: &Ident,
        memory: Memory,
        key: &str,
        text: String,
    ) -> Result<Noted, NoteError> {
        let runs = self.runs.as_ref().ok_or(NoteError::Off)?;
        self.session_for(caller, Act::Call, id).await?;
        let most = runs.rules.note_bytes;
        if key.is_empty() || key.len() > MOST_KEY_BYTES || text.len() > most {
            return Err(NoteError::Size { most });
        }
        let place = own_name(memory.as_str())?;
        let content = Payload::new(format!("{key}\n{text}").into());
        let found = self.inspector.arguments(&place, &content).await?;
        // Read again: a rise while it was looked into is in force.
        let session = self.store.current(id).await?.ok_or(AccessError::NoSession)?;
        if session.context.halted().is_some() {
            return Err(NoteError::Halted);
        }
        let class = session.context.label().class().join(found.class());
        let ceiling = match memory {
            Memory::Scratchpad => Class::Secret,
            Memory::Agent => runs.rules.memory_takes(),
        };
        let is_taken = class <= ceiling;
        let action = if is_taken {
            MemoryAct::Write
        } else {
            MemoryAct::Refuse
        };
        let access = self.access_event(id, memory, action, class);
        let events: Vec<_> = found.exit_events(id, &place).chain([access]).collect();
        self.provenance.note(id, events, now()).await?;
        if !is_taken {
            return Err(NoteError::AboveCeiling { class, ceiling });
        }
        let key = key.to_owned();
        self.keep_note(runs, &session, memory, Note { key, text, class })
            .await?;
        Ok(Noted { class })
    }

    async fn keep_note(
        &self,
        runs: &Runs,
        session: &Session,
        memory: Memory,
        note: Note,
    ) -> Result<(), NoteError> {
        let shelf = memory.shelf(session);
        for _ in 0..MOST_TRIES {
            let before = runs.store.page(&shelf).await?;
            let mut notes = self.open_page(before.as_ref()).await?;
            notes.retain(|known| known.key != note.key);
            if notes.len() >= runs.rules.notes {
                match memory {
                    Memory::Scratchpad => {
                        return Err(NoteError::Full {
                            most: runs.rules.notes,
                        });
                    }
                    Memory::Agent => drop(notes.drain(..notes.len() + 1 - runs.rules.notes)),
                }
            }
            notes.push(note.clone());
            let page = self.write_page(&session.id, &notes).await?;
            let pointer = before.as_ref().map(|page| page.pointer.as_str());
            let turned = runs.store.turn_page(&shelf, pointer, page.clone()).await;
            let unneeded = if turned.is_ok() { before } else { Some(page) };
            if let Some(page) = unneeded {
                self.burn_page(&page).await?;
            }
            match turned {
                Ok(()) => return Ok(()),
                Err(TurnError::Moved) => {}
                Err(TurnError::Closed) => return Err(NoteError::Halted),
                Err(TurnError::Store(error)) => return Err(error.into()),
            }
        }
        Err(NoteError::Contended)
    }

    /// Reads notes: the one with that key, or all. INVARIANT (durable before visible): what was read is given only after
    /// the rise it causes is on disk and on the record.
    ///
    /// # Errors
    /// When the caller may not, the session is halted, or the rise cannot be made durable.
    pub async fn recall(
        &self,
        caller: &Caller,
        id: &Ident,
        memory: Memory,
        key: Option<&str>,
    ) -> Result<Recalled, NoteError> {
        let runs = self.runs.as_ref().ok_or(NoteError::Off)?;
        let session = self.session_for(caller, Act::Bring, id).await?;
        if session.context.halted().is_some() {
            return Err(NoteError::Halted);
        }
        let page = runs.store.page(&memory.shelf(&session)).await?;
        let notes = self.open_page(page.as_ref()).await?;
        let class = class_of(&notes);
        let place = own_name(memory.as_str())?;
        let mut events = vec![self.access_event(id, memory, MemoryAct::Read, class)];
        let asked = notes
            .into_iter()
            .filter(|note| key.is_none_or(|key| note.key == key));
        let (mut shown, mut quarantined) = (Vec::new(), 0);
        for note in asked {
            let content = format!("{}\n{}", note.key, note.text);
            let (found, _) = self.inspector.chunk(&place, &content, true).await?;
            match found.hostile() {
                Some(assessment) => {
                    quarantined += 1;
                    events.push(self.hit(id, &content, assessment, Disposition::Quarantine).into());
                }
                None => shown.push(note),
            }
        }
        // What other runs wrote down may be what a page told them to; this run's own words are the agent's.
        let word = match memory {
            Memory::Scratchpad => Origin::Agent,
            Memory::Agent => Origin::Untrusted,
        };
        let said = shown.iter().flat_map(|note| [&note.key, &note.text]);
        let words = said.map(|said| (word, place.clone(), said.to_string()));
        self.remember_texts(id, words.collect::<Vec<_>>()).await?;
        let entry = Entry {
            class,
            kinds: class.kind().into_iter().collect(),
            source: place,
            at: now(),
        };
        let admitted = self.store.raise(id, entry).await?;
        let events = events.into_iter().chain(rise_event(&admitted));
        self.provenance.note(id, events, now()).await?;
        self.publish_admitted(&admitted).await?;
        if admitted.session.context.halted().is_some() {
            return Err(NoteError::Halted);
        }
        Ok(Recalled {
            notes: shown,
            quarantined,
            session: admitted.session,
        })
    }

    /// Destroys a run's scratchpad. The page is destroyed before it is taken off its shelf, so that a crash in between leaves
    /// nothing to read and something to tidy up.
    pub(super) async fn clear_scratchpad(&self, runs: &Runs, id: &Ident) -> Result<(), NoteError> {
        let shelf = Shelf::Run(id.clone());
        let Some(page) = runs.store.page(&shelf).await? else {
            return Ok(());
        };
        self.burn_page(&page).await?;
        let cleared = self.access_event(id, Memory::Scratchpad, MemoryAct::Clear, page.class);
        self.provenance.note(id, iter::once(cleared), now()).await?;
        runs.store.clear_shelf(&shelf).await?;
        Ok(())
    }

    fn access_event(&self, id: &Ident, memory: Memory, action: MemoryAct, class: Class) -> Event {
        let takes = self.runs.as_ref().map(|runs| &runs.rules);
        let is_sink = takes.is_some_and(|rules| rules.memory_sink && class <= rules.memory_takes());
        MemoryAccess {
            run_id: id.into(),
            memory: memory.kind(),
            action,
            data_class: class,
            authorized_sink_verified: memory == Memory::Agent && is_sink,
        }
        .into()
    }
}
