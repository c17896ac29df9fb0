//! For backends that many gateways share: rows that are replaced only by whoever read them last.
//!
//! A session is one row with a version. A change reads the row, lets core's rule make the next state, and puts it in the
//! row's place if the version is still the one that was read; otherwise it starts anew from the row as it is then. So the rule
//! stands in one place whatever the server is, and the server's part is one atomic statement that compares and replaces.
//! A statement that arrives late (its gateway was paused, its packets were held up) finds another version and does nothing.
//!
//! INVARIANT (reads are linearizable): nothing is kept in memory. Each read asks the server for the row, and each change
//! is acknowledged only after the server has it on disk, so a read shows every change that was acknowledged before it began,
//! by whichever gateway. A memory that is believed without asking could not tell a quiet server from an unreachable one.

mod annex;
mod document;
mod gates;
mod remote;
mod reviews;

use std::sync::Arc;

use async_trait::async_trait;
use tidegate_core::{Admission, Class, ContextState, Entry, Halt, Ident, Moment, Name};
use tokio::sync::broadcast;

pub use remote::{Hidden, Remote};

use crate::session::refuse_above;
use crate::{
    Admitted, Change, OpenError, Opening, Reset, Resumption, Session, SessionStore, StoreError, TokenDigest,
    TokenRecord, TokenStore,
};

/// A session as a shared backend keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Grows by one with each change.
    pub version: i64,
    /// Grows by one with each reset.
    pub epoch: i64,
    /// The label, a second time, so that the server itself can refuse to lower it.
    pub label: Class,
    /// The session, as JSON.
    pub document: String,
}

/// What a shared server has to do. Each must be durable on the server before its future resolves.
#[async_trait]
pub trait Rows: Send + Sync {
    /// Adds a row; `false` when there is one of that id.
    async fn insert(&self, id: &Ident, row: &Row) -> Result<bool, StoreError>;

    /// The row as the server has it now.
    async fn read(&self, id: &Ident) -> Result<Option<Row>, StoreError>;

    /// Puts `after` in the place of the row with the version before it, in one atomic step; `false` when the row has
    /// another version by now. It must refuse a lower label unless a reset is written with it.
    async fn replace(&self, id: &Ident, after: &Row, reset: Option<&Reset>) -> Result<bool, StoreError>;

    /// The resets of a session, oldest first.
    async fn resets(&self, id: &Ident) -> Result<Vec<Reset>, StoreError>;

    /// Rows in the order of their ids, after `after`.
    async fn page(&self, after: &str, limit: usize) -> Result<Vec<(Ident, Row)>, StoreError>;

    /// How many rows there are.
    async fn count(&self) -> Result<u64, StoreError>;

    /// Whether the server can be read and written now.
    async fn ready(&self) -> Result<(), StoreError>;

    /// See [`SessionStore::claim`].
    async fn claim(&self, ledger: &Ident) -> Result<(), StoreError>;

    /// See [`SessionStore::changes`].
    fn changes(&self) -> broadcast::Receiver<Change>;
}

/// A store on a server that many gateways share.
pub struct Shared<R> {
    rows: Arc<R>,
}

/// The most sessions that one [`SessionStore::list`] gives.
const MAX_LISTED: usize = 1_000;

/// How often a change starts anew because others were faster. Each time one of them got through, and a session can
/// change only so often, so this is met by a flood of datasets at most.
const MAX_TRIES: usize = 64;

impl<R: Rows> Shared<R> {
    /// A store on these rows.
    #[must_use]
    pub fn new(rows: R) -> Self {
        Self { rows: Arc::new(rows) }
    }

    /// The rows, for what a server keeps beside sessions.
    #[must_use]
    pub fn rows(&self) -> Arc<R> {
        Arc::clone(&self.rows)
    }

    async fn read(&self, id: &Ident) -> Result<Option<(Row, Session)>, StoreError> {
        let Some(row) = self.rows.read(id).await? else {
            return Ok(None);
        };
        let session = document::read(id, &row)?;
        Ok(Some((row, session)))
    }

    async fn change(
        &self,
        id: &Ident,
        transition: impl Fn(&mut ContextState) -> Admission + Send + Sync,
    ) -> Result<Admitted, StoreError> {
        for _ in 0..MAX_TRIES {
            let (row, mut session) = self.read(id).await?.ok_or(StoreError::NoSession)?;
            let admission = transition(&mut session.context);
            // The state it would leave is durable already: what can be read is on the server's disk.
            if admission == Admission::Unchanged {
                let session = Arc::new(session);
                return Ok(Admitted { admission, session });
            }
            let after = Row {
                version: row.version + 1,
                epoch: row.epoch,
                label: session.context.label().class(),
                document: document::write(&session)?,
            };
            if self.rows.replace(id, &after, None).await? {
                let session = Arc::new(session);
                return Ok(Admitted { admission, session });
            }
        }
        Err(StoreError::Overloaded)
    }
}

#[async_trait]
impl<R: Rows> SessionStore for Shared<R> {
    async fn open(&self, opening: Opening) -> Result<Arc<Session>, OpenError> {
        let session = Session {
            id: opening.id,
            user: opening.user,
            agent: opening.agent,
            opened_at: opening.at,
            context: ContextState::clean(),
        };
        let row = Row {
            version: 1,
            epoch: 0,
            label: session.context.label().class(),
            document: document::write(&session)?,
        };
        if self.rows.insert(&session.id, &row).await? {
            Ok(Arc::new(session))
        } else {
            Err(OpenError::Taken)
        }
    }

    async fn current(&self, id: &Ident) -> Result<Option<Arc<Session>>, StoreError> {
        let found = self.read(id).await?;
        Ok(found.map(|(_, session)| Arc::new(session)))
    }

    async fn raise(&self, id: &Ident, entry: Entry) -> Result<Admitted, StoreError> {
        self.change(id, |context| context.admit(entry.clone())).await
    }

    async fn add_dataset(
        &self,
        id: &Ident,
        name: Name,
        class: Class,
        at: Moment,
    ) -> Result<Admitted, StoreError> {
        self.change(id, |context| context.admit_dataset(name.clone(), class, at))
            .await
    }

    async fn halt(&self, id: &Ident, halt: Halt) -> Result<Admitted, StoreError> {
        let transition = |context: &mut ContextState| match context.halt(halt.clone()) {
            true => Admission::Noted,
            false => Admission::Unchanged,
        };
        self.change(id, transition).await
    }

    /// Who decided and why is on the ledger; the row keeps only that the halt is gone.
    async fn resume(&self, id: &Ident, halt: &Halt, _resumption: Resumption) -> Result<Admitted, StoreError> {
        let transition = |context: &mut ContextState| match context.resume(halt) {
            true => Admission::Noted,
            false => Admission::Unchanged,
        };
        self.change(id, transition).await
    }

    async fn reset(&self, id: &Ident, covers: Class, reset: Reset) -> Result<Arc<Session>, StoreError> {
        for _ in 0..MAX_TRIES {
            let (row, mut session) = self.read(id).await?.ok_or(StoreError::NoSession)?;
            // Of the very row that is replaced: a rise that was faster is read, and compared, the next time round.
            refuse_above(covers, &session)?;
            session.context = ContextState::clean();
            let after = Row {
                version: row.version + 1,
                epoch: row.epoch + 1,
                label: session.context.label().class(),
                document: document::write(&session)?,
            };
            if self.rows.replace(id, &after, Some(&reset)).await? {
                return Ok(Arc::new(session));
            }
        }
        Err(StoreError::Overloaded)
    }

    async fn resets(&self, id: &Ident) -> Result<Vec<Reset>, StoreError> {
        self.rows.resets(id).await
    }

    async fn list(&self, after: Option<&Ident>, limit: usize) -> Result<Vec<Arc<Session>>, StoreError> {
        let limit = limit.min(MAX_LISTED);
        if limit == 0 {
            return Ok(Vec::new());
        }
        let page = self.rows.page(after.map_or("", Ident::as_str), limit).await?;
        page.iter()
            .map(|(id, row)| document::read(id, row).map(Arc::new))
            .collect()
    }

    async fn count(&self) -> Result<u64, StoreError> {
        self.rows.count().await
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.rows.ready().await
    }

    async fn claim(&self, ledger: &Ident) -> Result<(), StoreError> {
        self.rows.claim(ledger).await
    }

    fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        Some(self.rows.changes())
    }
}

#[async_trait]
impl<R: Rows + TokenStore> TokenStore for Shared<R> {
    async fn issue(&self, token: TokenRecord) -> Result<(), StoreError> {
        self.rows.issue(token).await
    }

    async fn find(&self, digest: &TokenDigest) -> Result<Option<Arc<TokenRecord>>, StoreError> {
        self.rows.find(digest).await
    }

    async fn revoke(&self, id: &Ident, at: Moment) -> Result<bool, StoreError> {
        self.rows.revoke(id, at).await
    }

    async fn tokens(&self) -> Result<Vec<Arc<TokenRecord>>, StoreError> {
        self.rows.tokens().await
    }
}
