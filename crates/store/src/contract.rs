//! The contract every backend keeps.

use std::sync::Arc;

use async_trait::async_trait;
use tidegate_core::{Class, Entry, Halt, Ident, Moment, Name};
use tokio::sync::broadcast;

use crate::{Admitted, Opening, Reset, Resumption, Session, TokenDigest, TokenRecord};

/// Sessions that outlive a process.
///
/// Each change must be durable (it survives kill -9 of this process and a restart) before its future resolves, and must be
/// in force for every later [`SessionStore::current`], in this process and in every other on the same state. Changes
/// to one session are atomic: when they race, in any number of processes, the label is the maximum of all of them.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Opens a session. It must refuse an id that exists, whoever it belongs to.
    async fn open(&self, opening: Opening) -> Result<Arc<Session>, OpenError>;

    /// The session as it is now: it must show every change that was acknowledged anywhere before this call. It must not
    /// wait for the disk when the session is in memory.
    async fn current(&self, id: &Ident) -> Result<Option<Arc<Session>>, StoreError>;

    /// Records what enters the context, raising the label where it must rise. It must never lower it.
    async fn raise(&self, id: &Ident, entry: Entry) -> Result<Admitted, StoreError>;

    /// Registers a dataset. A known one at a lower class must change nothing.
    async fn add_dataset(
        &self,
        id: &Ident,
        name: Name,
        class: Class,
        at: Moment,
    ) -> Result<Admitted, StoreError>;

    /// Halts the session until it is resumed or reset. A halted session must keep its first halt.
    async fn halt(&self, id: &Ident, halt: Halt) -> Result<Admitted, StoreError>;

    /// Lifts this halt, because a person decided so. It must leave another halt, the end of a run and the label as they are.
    async fn resume(&self, id: &Ident, halt: &Halt, resumption: Resumption) -> Result<Admitted, StoreError>;

    /// Starts the context anew from a label of at most `covers`, for an administrator, and must keep the reason. The only way
    /// down there is. A label above `covers` must stand, as [`StoreError::Overtaken`]: compared in the same atomic step, so
    /// that a rise that nobody decided about is never wiped, however late it comes.
    async fn reset(&self, id: &Ident, covers: Class, reset: Reset) -> Result<Arc<Session>, StoreError>;

    /// Every reset of the session with who, why and when, oldest first; none when there is no such session.
    async fn resets(&self, id: &Ident) -> Result<Vec<Reset>, StoreError>;

    /// Sessions in the order of their ids, after `after`, at most `limit`.
    async fn list(&self, after: Option<&Ident>, limit: usize) -> Result<Vec<Arc<Session>>, StoreError>;

    /// How many sessions there are.
    async fn count(&self) -> Result<u64, StoreError>;

    /// Whether the store can be read and written now.
    async fn ready(&self) -> Result<(), StoreError>;

    /// Makes this handle the one that writes to a ledger. Whoever claimed it before must be refused from then on, in
    /// everything that it asks of sessions, as [`StoreError::Fenced`]. A store on one machine may leave this to the lock on
    /// the ledger's directory.
    async fn claim(&self, _ledger: &Ident) -> Result<(), StoreError> {
        Ok(())
    }

    /// Which sessions change, by whichever process, as it happens; none when the store cannot tell. A hint: what counts is
    /// what [`SessionStore::current`] says.
    fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        None
    }
}

/// What a store tells of changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// This session changed.
    Session(Ident),
    /// Some changes may not have been told: any session may have changed.
    Missed,
}

/// Tokens that outlive a process. Only digests are kept.
#[async_trait]
pub trait TokenStore: Send + Sync {
    /// Keeps a token durably. It must refuse an id or a digest that exists.
    async fn issue(&self, token: TokenRecord) -> Result<(), StoreError>;

    /// The token with that digest, revoked or not. It must show a revocation by any process at once.
    async fn find(&self, digest: &TokenDigest) -> Result<Option<Arc<TokenRecord>>, StoreError>;

    /// Revokes a token; `false` when there is none of that id. A revoked token must keep its first date.
    async fn revoke(&self, id: &Ident, at: Moment) -> Result<bool, StoreError>;

    /// Every token, oldest first.
    async fn tokens(&self) -> Result<Vec<Arc<TokenRecord>>, StoreError>;
}

/// Why a session could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The id exists.
    #[error("a session with this id exists already")]
    Taken,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why the store could not answer. Every one of these is a denial to whoever asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// There is no such session.
    #[error("there is no session with this id")]
    NoSession,
    /// The label is above what the reset covers.
    #[error("the label has risen above the one that was decided about")]
    Overtaken,
    /// The id or digest is in use.
    #[error("a token with this id exists already")]
    TokenTaken,
    /// More work is queued than the store takes.
    #[error("the store is busy: too many changes are waiting for the disk")]
    Overloaded,
    /// What is on disk does not read as what was written.
    #[error("the store holds {what} that cannot be read")]
    Corrupt {
        /// Which part.
        what: &'static str,
    },
    /// The file is of a newer version of this program.
    #[error("the store was written by a newer version (schema {found}, this program knows {known})")]
    TooNew {
        /// The version in the file.
        found: i64,
        /// The version this program writes.
        known: i64,
    },
    /// Another process writes to this process's ledger.
    #[error(
        "another gateway has taken over this gateway's record: nothing passes here any more; restart one of the two with a \
         data directory of its own"
    )]
    Fenced,
    /// The backend failed; its message names files and codes, never content.
    #[error("the store failed: {0}")]
    Backend(String),
}
