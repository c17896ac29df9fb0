//! The embedded backend: one SQLite file that an operator can open.
//!
//! Writes go through one thread that commits all that waits at once ([`writer`]); reads come from memory that is
//! checked to be level with the file on every read ([`reader`], [`cache`]). Any number of processes may use the file
//! at the same time: SQLite's locks order their writes, and each write starts from the row as it is, so the maximum
//! wins.

mod cache;
mod changes;
mod connect;
mod failure;
mod gates;
mod log;
mod memory;
mod origins;
mod reader;
mod reviews;
mod rows;
mod turn;
mod watch;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tidegate_core::{Admission, Class, ContextState, Entry, Halt, Ident, Moment, Name};

use crate::session::refuse_above;
use crate::{
    Admitted, OpenError, Opening, Reset, Resumption, Session, SessionStore, StoreError, TokenDigest,
    TokenRecord, TokenStore,
};
use cache::Cache;
use reader::Readers;
use writer::{Batch, Writer};

/// Sessions and tokens in one SQLite file.
pub struct SqliteStore {
    // They close in this order: the writer finishes what is queued, and the readers' watch outlives all connections.
    writer: Writer,
    readers: Readers,
}

/// The bounds of a [`SqliteStore`].
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    /// How many changes may wait for the disk; more are refused as [`StoreError::Overloaded`].
    pub queue: usize,
    /// The most changes in one transaction.
    pub batch: usize,
    /// How many connections read at the same time.
    pub readers: usize,
    /// About how much memory sessions and tokens may take.
    pub cache_bytes: usize,
    /// How long to wait for another process that holds the file.
    pub busy: Duration,
    /// The largest the file may grow, in pages of 4 KiB.
    pub max_pages: Option<u32>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            queue: 4_096,
            batch: 256,
            readers: std::thread::available_parallelism().map_or(4, |cores| (2 * cores.get()).min(32)),
            cache_bytes: 256 << 20,
            busy: Duration::from_secs(5),
            max_pages: None,
        }
    }
}

impl SqliteStore {
    /// The most sessions that one [`SessionStore::list`] gives.
    pub const MAX_LISTED: usize = 1_000;

    /// Opens the file, creating it (mode 0600) and its directory (mode 0700) when they are not there.
    ///
    /// # Errors
    /// When the file cannot be written, is in a directory that others can write to, or is of a newer version.
    pub fn open(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, StoreError> {
        let mut opening = watch::opening();
        let (path, conn) = connect::create(path.as_ref(), &options)?;
        let cache = Arc::new(Cache::new(options.cache_bytes, changes::revision(&conn)?));
        let readers = Readers::open(&path, &options, cache.clone(), &mut opening)?;
        drop(opening);
        Ok(Self {
            readers,
            writer: Writer::start(conn, &path, &options, cache)?,
        })
    }

    /// Applies a transition. One that changes nothing is answered from memory: the state it would leave is durable already.
    async fn change(
        &self,
        id: &Ident,
        transition: impl Fn(&mut ContextState) -> Admission + Send + 'static,
    ) -> Result<Admitted, StoreError> {
        let settled = |session: &Session| transition(&mut session.context.clone()) == Admission::Unchanged;
        // What is remembered may be old. When it would change, so the writer will look anyway; only when it would not is
        // it worth making sure.
        if self
            .readers
            .remembered(id)
            .is_none_or(|session| settled(&session))
        {
            let session = self.readers.session(id)?.ok_or(StoreError::NoSession)?;
            if settled(&session) {
                let admission = Admission::Unchanged;
                return Ok(Admitted { admission, session });
            }
        }
        let id = id.clone();
        self.writer.run(move |batch| apply(batch, &id, transition)).await
    }
}

#[async_trait]
impl SessionStore for SqliteStore {
    async fn open(&self, opening: Opening) -> Result<Arc<Session>, OpenError> {
        let open = move |batch: &Batch<'_>| {
            if rows::session(batch.conn, &opening.id)?.is_some() {
                return Err(OpenError::Taken);
            }
            let session = Arc::new(Session {
                id: opening.id,
                user: opening.user,
                agent: opening.agent,
                opened_at: opening.at,
                context: ContextState::clean(),
            });
            rows::insert_session(batch.conn, &session, batch.revision)?;
            batch.wrote_session(&session);
            Ok(session)
        };
        self.writer.run(open).await
    }

    async fn current(&self, id: &Ident) -> Result<Option<Arc<Session>>, StoreError> {
        self.readers.session(id)
    }

    async fn raise(&self, id: &Ident, entry: Entry) -> Result<Admitted, StoreError> {
        self.change(id, move |context| context.admit(entry.clone())).await
    }

    async fn add_dataset(
        &self,
        id: &Ident,
        name: Name,
        class: Class,
        at: Moment,
    ) -> Result<Admitted, StoreError> {
        self.change(id, move |context| context.admit_dataset(name.clone(), class, at))
            .await
    }

    async fn halt(&self, id: &Ident, halt: Halt) -> Result<Admitted, StoreError> {
        let transition = move |context: &mut ContextState| match context.halt(halt.clone()) {
            true => Admission::Noted,
            false => Admission::Unchanged,
        };
        self.change(id, transition).await
    }

    async fn resume(&self, id: &Ident, halt: &Halt, resumption: Resumption) -> Result<Admitted, StoreError> {
        let (id, halt) = (id.clone(), halt.clone());
        let lift = move |batch: &Batch<'_>| {
            let before = rows::session(batch.conn, &id)?.ok_or(StoreError::NoSession)?;
            if before.value.context.clone().resume(&halt) {
                rows::insert_resumption(batch.conn, &before, &halt, &resumption)?;
            }
            apply(batch, &id, |context| resumed(context, &halt))
        };
        self.writer.run(lift).await
    }

    async fn reset(&self, id: &Ident, covers: Class, reset: Reset) -> Result<Arc<Session>, StoreError> {
        let id = id.clone();
        let start_anew = move |batch: &Batch<'_>| {
            let before = rows::session(batch.conn, &id)?.ok_or(StoreError::NoSession)?;
            refuse_above(covers, &before.value)?;
            rows::reset_session(batch.conn, &before, &reset, batch.revision)?;
            let session = Arc::new(Session {
                context: ContextState::clean(),
                ..before.value
            });
            batch.wrote_session(&session);
            Ok(session)
        };
        self.writer.run(start_anew).await
    }

    async fn resets(&self, id: &Ident) -> Result<Vec<Reset>, StoreError> {
        self.readers.snapshot(|conn| rows::resets(conn, id))
    }

    async fn list(&self, after: Option<&Ident>, limit: usize) -> Result<Vec<Arc<Session>>, StoreError> {
        let limit = i64::try_from(limit.min(Self::MAX_LISTED)).unwrap_or(0);
        let after = after.map_or("", Ident::as_str);
        self.readers
            .snapshot(|conn| rows::sessions_after(conn, after, limit))
    }

    async fn count(&self) -> Result<u64, StoreError> {
        self.readers.snapshot(rows::count_of_sessions)
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.readers.snapshot(changes::revision)?;
        self.writer.run(|batch: &Batch<'_>| batch.probe()).await
    }
}

#[async_trait]
impl TokenStore for SqliteStore {
    async fn issue(&self, token: TokenRecord) -> Result<(), StoreError> {
        let issue = move |batch: &Batch<'_>| {
            let known = rows::token(batch.conn, &token.digest)?.is_some();
            if known || rows::token_by_id(batch.conn, &token.id)?.is_some() {
                return Err(StoreError::TokenTaken);
            }
            rows::insert_token(batch.conn, &token, batch.revision)?;
            batch.wrote_token(token);
            Ok(())
        };
        self.writer.run(issue).await
    }

    async fn find(&self, digest: &TokenDigest) -> Result<Option<Arc<TokenRecord>>, StoreError> {
        self.readers.token(digest)
    }

    async fn revoke(&self, id: &Ident, at: Moment) -> Result<bool, StoreError> {
        let id = id.clone();
        let revoke = move |batch: &Batch<'_>| {
            let Some(mut token) = rows::token_by_id(batch.conn, &id)?.map(|stored| stored.value) else {
                return Ok(false);
            };
            if token.revoked_at.is_none() {
                rows::revoke_token(batch.conn, &id, at, batch.revision)?;
                token.revoked_at = Some(at);
                batch.wrote_token(token);
            }
            Ok::<_, StoreError>(true)
        };
        self.writer.run(revoke).await
    }

    async fn tokens(&self) -> Result<Vec<Arc<TokenRecord>>, StoreError> {
        self.readers.snapshot(rows::tokens)
    }
}

/// Lifts a halt, where it is this one.
fn resumed(context: &mut ContextState, halt: &Halt) -> Admission {
    match context.resume(halt) {
        true => Admission::Noted,
        false => Admission::Unchanged,
    }
}

/// One change of a session: from its row, by core's rule, back to its row.
fn apply(
    batch: &Batch<'_>,
    id: &Ident,
    transition: impl Fn(&mut ContextState) -> Admission,
) -> Result<Admitted, StoreError> {
    let before = rows::session(batch.conn, id)?.ok_or(StoreError::NoSession)?;
    let mut context = before.value.context.clone();
    let admission = transition(&mut context);
    if admission == Admission::Unchanged {
        let session = Arc::new(before.value);
        return Ok(Admitted { admission, session });
    }
    rows::update_session(batch.conn, &before, &context, batch.revision)?;
    let session = Arc::new(Session {
        context,
        ..before.value
    });
    batch.wrote_session(&session);
    Ok(Admitted { admission, session })
}
