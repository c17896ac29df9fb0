//! Letting an agent work with data it does not see.
//!
//! What may not enter a context raw is taken out on the way in and put back on the way to an authorized sink. [`split`]
//! takes out declared fields, [`rewrite`] what a detector found ([`adopt`] in contexts), [`echo`] what was taken out elsewhere; [`seal`] withholds
//! a result whole and shows its [`shape`]; [`resolve`] puts values back. The values are in the vault, and the
//! [`table`] of a session is written together with them before anyone is shown a stub.

mod adopt;
mod draw;
mod echo;
mod form;
mod resolve;
mod rewrite;
mod seal;
mod shape;
mod split;
mod table;
mod tabular;
mod text;
mod token;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde_json::Value;
use tidegate_core::Ident;
use tidegate_ledger::event::EvidencePointer;
use tidegate_ledger::vault::{Evidence, Issued, Vault, VaultError};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

pub use draw::Bringing;
pub(crate) use draw::Drawn;
pub use form::Form;
pub use resolve::{Resolved, Unveiling};
pub use seal::{Handle, SelectError};
use table::Table;

use crate::{Engine, Provenance};

/// The most sessions whose tables are kept in memory; the others are read again when they are needed.
const MOST_TABLES: usize = 256;

/// Why values could not be taken out or put back. Nothing is released and no call is made then.
#[derive(Debug, thiserror::Error)]
pub enum VeilError {
    /// The vault failed.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// What a stub or handle stood for is not there any more.
    #[error("what a stub or handle stands for is gone; call the tool that gave it again")]
    Gone,
    /// More would be put into the call than any call may hold.
    #[error("the values behind the stubs and handles of this call are too large together")]
    TooLarge,
    /// The thread that was to do it is gone.
    #[error("resolving stubs was interrupted")]
    Interrupted,
}

/// The tables of the sessions that are at work.
pub(crate) struct Veils {
    tables: Mutex<HashMap<Ident, Arc<AsyncMutex<Option<Table>>>>>,
}

impl Veils {
    pub(crate) fn new() -> Self {
        Self {
            tables: Mutex::new(HashMap::new()),
        }
    }

    /// The session's table, for one user at a time.
    async fn of(&self, id: &Ident, provenance: &Provenance) -> Result<Held, VeilError> {
        let mut held = Held {
            table: self.slot(id).lock_owned().await,
            session: id.clone(),
        };
        let known = held.table().map(|table| table.generation);
        let (vault, session) = (Arc::clone(provenance.vault()), id.clone());
        let read = tokio::task::spawn_blocking(move || news(&vault, &session, known)).await;
        if let Some((generation, issued)) = read.map_err(|_| VeilError::Interrupted)?? {
            let table = Table::restored(id.clone(), provenance.clone(), generation, issued);
            *held.table = Some(table);
        }
        Ok(held)
    }

    fn slot(&self, id: &Ident) -> Arc<AsyncMutex<Option<Table>>> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = tables.get(id) {
            return Arc::clone(slot);
        }
        if tables.len() >= MOST_TABLES {
            // One that is in use stays: there must never be two tables of one session.
            tables.retain(|_, slot| Arc::strong_count(slot) > 1);
        }
        Arc::clone(tables.entry(id.clone()).or_default())
    }
}

/// The tokens of a session, unless they are those of the generation that is known. Other processes may give out tokens too.
fn news(
    vault: &Vault,
    session: &Ident,
    known: Option<u64>,
) -> Result<Option<(u64, Vec<Issued>)>, VaultError> {
    // First the number: what changes after it is read again next time.
    let generation = vault.generation(session)?;
    if known == Some(generation) {
        return Ok(None);
    }
    Ok(Some((generation, vault.issued(session)?)))
}

/// A session's table while it is used.
struct Held {
    table: OwnedMutexGuard<Option<Table>>,
    session: Ident,
}

impl Held {
    fn table(&self) -> Option<&Table> {
        self.table.as_ref()
    }

    /// Works on the table. When that fails, nothing of it is kept.
    fn with<T, E: From<VeilError>>(&mut self, work: impl FnOnce(&mut Table) -> Result<T, E>) -> Result<T, E> {
        let table = self.table.as_mut().ok_or(VeilError::Gone)?;
        let done = work(table);
        if done.is_err() && table.has_waiting() {
            self.forget();
        }
        done
    }

    /// Has the table read anew by its next user.
    fn forget(&mut self) {
        *self.table = None;
    }

    /// After a change of its own, the table is as new as the rows, unless somebody else changed them too.
    fn take_note_of_change(&mut self, reading: &Reading) -> Result<(), VeilError> {
        let generation = reading.vault.generation(&self.session)?;
        if let Some(table) = self
            .table
            .as_mut()
            .filter(|table| table.generation + 1 == generation)
        {
            table.generation = generation;
        }
        Ok(())
    }

    /// INVARIANT (durable before visible): a stub and what it stands for are on disk before anyone is shown it.
    fn make_durable(&mut self, reading: &Reading) -> Result<(), VeilError> {
        let Some(table) = self.table.as_mut() else {
            return Err(VeilError::Gone);
        };
        let waiting = table.take_waiting();
        if waiting.is_empty() {
            return Ok(());
        }
        match reading.vault.issue(&self.session, waiting, SystemTime::now()) {
            Ok(issued) => {
                table.settle(issued);
                self.take_note_of_change(reading)
            }
            Err(error) => {
                self.forget();
                Err(error.into())
            }
        }
    }
}

/// Reads what is behind tokens. It waits for the disk.
#[derive(Clone)]
struct Reading {
    vault: Arc<Vault>,
}

impl Reading {
    fn bytes(&self, pieces: &[EvidencePointer]) -> Result<Vec<u8>, VeilError> {
        let mut bytes = Vec::new();
        for piece in pieces {
            match self.vault.get(piece)? {
                Evidence::Present(content) => bytes.append(&mut content.into_exposed()),
                Evidence::Destroyed { .. } | Evidence::Unknown => return Err(VeilError::Gone),
            }
        }
        Ok(bytes)
    }

    fn json(&self, piece: Option<EvidencePointer>) -> Result<Value, VeilError> {
        let bytes = self.bytes(&[piece.ok_or(VeilError::Gone)?])?;
        serde_json::from_slice(&bytes).map_err(|_| VeilError::Gone)
    }
}

impl Engine {
    fn reading(&self) -> Reading {
        Reading {
            vault: Arc::clone(self.provenance.vault()),
        }
    }

    /// Destroys what a session's stubs and handles stand for, as at the end of its run. They never resolve again.
    ///
    /// # Errors
    /// When the vault cannot be written.
    pub async fn withdraw_stubs(&self, id: &Ident) -> Result<Vec<EvidencePointer>, VeilError> {
        let mut held = self.veils.of(id, &self.provenance).await?;
        let (reading, session) = (self.reading(), id.clone());
        let withdrawn = tokio::task::spawn_blocking(move || {
            let withdrawn = reading.vault.withdraw(&session, SystemTime::now());
            held.forget();
            withdrawn
        });
        Ok(withdrawn.await.map_err(|_| VeilError::Interrupted)??)
    }
}
