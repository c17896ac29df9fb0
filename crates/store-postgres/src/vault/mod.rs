//! The vault's rows in PostgreSQL: a stub that one gateway gave out resolves on every other.
//!
//! The server holds ciphertext and names; the key is with the gateways. A vault's methods wait, and may be called inside an
//! asynchronous runtime or outside of one, so the connections live on a runtime of their own, and who asks waits on a channel.

mod put;
mod query;
mod read;

use std::sync::{Arc, mpsc};

use tidegate_core::{Class, Ident};
use tidegate_ledger::EvidencePointer;
use tidegate_ledger::vault::{
    COMMON, Held, Issued, LEFT_MS, NewTokens, Owed, Rewrap, Row, Sealed, VaultError, VaultRows, Why,
};
use tidegate_store::{Remote, StoreError};
use tokio::runtime::{Builder, Runtime};

use crate::lanes::{Lanes, Refused, Values};
use crate::migrate;
use crate::query::Query;
use crate::server::Server;
pub(crate) use query::VaultQuery;

/// How many connections there are, and how many questions may wait on them.
const CONNECTIONS: (usize, usize) = (4, 4_096);

/// Pieces that are put under a new key at once.
const AT_ONCE: usize = 1000;

/// The vault's rows in PostgreSQL.
pub struct PostgresVault {
    lanes: Arc<Lanes>,
    /// Whose memory holds what is not written.
    holder: String,
    /// Taken when this is dropped.
    runtime: Option<Runtime>,
}

impl PostgresVault {
    /// Connects and brings the tables to this version. `holder` is the ledger of the gateway that asks.
    ///
    /// # Errors
    /// When the server cannot be reached, does not keep what it acknowledges, only reads, or is of a newer version.
    pub fn connect(remote: &Remote, holder: &Ident) -> Result<Self, StoreError> {
        let server = Arc::new(Server::new(remote)?);
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("vault")
            .enable_all()
            .build()
            .map_err(|_| StoreError::Backend("the system has no thread for the vault".to_owned()))?;
        let lanes = Lanes::new(Arc::clone(&server), &Query::VAULT, CONNECTIONS.0, CONNECTIONS.1);
        let vault = Self {
            lanes: Arc::new(lanes),
            holder: holder.to_string(),
            runtime: Some(runtime),
        };
        vault
            .wait(async move { migrate::run(&server).await })
            .unwrap_or_else(|| Err(interrupted()))?;
        Ok(vault)
    }

    /// Runs on the vault's own runtime and waits, wherever this is called.
    fn wait<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Option<T> {
        let (done, waiting) = mpsc::sync_channel(1);
        self.runtime.as_ref()?.spawn(async move {
            let _ = done.send(work.await);
        });
        waiting.recv().ok()
    }

    fn ask<T, F>(&self, work: impl FnOnce(Arc<Lanes>) -> F) -> Result<T, VaultError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Refused>> + Send + 'static,
    {
        let answer = self.wait(work(Arc::clone(&self.lanes)));
        answer
            .unwrap_or_else(|| Err(Refused::Store(interrupted())))
            .map_err(failed)
    }
}

impl Drop for PostgresVault {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Also where waiting is not allowed; whoever asked has been answered.
            runtime.shutdown_background();
        }
    }
}

impl VaultRows for PostgresVault {
    fn key_ids(&self) -> Result<Vec<[u8; 8]>, VaultError> {
        let rows = self.ask(async |lanes| lanes.rows(Query::Vault(VaultQuery::KeyIds), &[]).await)?;
        rows.iter().map(|row| read::bytes(row, 0)).collect()
    }

    fn common(&self, fresh: &Sealed) -> Result<Sealed, VaultError> {
        let (key_id, wrapped, content) = (fresh.key_id, fresh.wrapped.clone(), fresh.content.clone());
        let rows = self.ask(async move |lanes| {
            let values: Values<'_> = &[&key_id.as_slice(), &wrapped, &content];
            lanes
                .execute(Query::Vault(VaultQuery::KeepCommon), values)
                .await?;
            lanes.rows(Query::Vault(VaultQuery::Common), &[]).await
        })?;
        read::sealed(rows.first().ok_or(VaultError::Unreadable)?)
    }

    fn put(&self, key_id: &[u8; 8], rows: &[Row], tokens: Option<NewTokens<'_>>) -> Result<(), VaultError> {
        let putting = put::Putting::new(*key_id, self.holder.clone(), rows, tokens);
        let rows = self.ask(async move |lanes| putting.run(&lanes).await)?;
        match read::text(rows.first().ok_or(VaultError::Unreadable)?, 0)? {
            "done" => Ok(()),
            _ => Err(VaultError::KeyChanged),
        }
    }

    fn find(&self, pointer: &EvidencePointer) -> Result<Option<Held>, VaultError> {
        let pointer = *pointer;
        let rows = self.ask(async move |lanes| {
            let values: Values<'_> = &[&pointer.id().as_slice(), &rank(pointer.class())];
            lanes.rows(Query::Vault(VaultQuery::Find), values).await
        })?;
        rows.first().map(read::held).transpose()
    }

    fn bury(
        &self,
        pointers: &[EvidencePointer],
        at_ms: i64,
        why: Option<&Why>,
    ) -> Result<Vec<EvidencePointer>, VaultError> {
        if pointers.is_empty() {
            return Ok(Vec::new());
        }
        let (ids, classes) = put::columns(pointers);
        let cause = why.map(|why| i16::from(why.number()));
        let by = why.and_then(|why| why.by.as_ref()).map(ToString::to_string);
        let holder = self.holder.clone();
        let rows = self.ask(async move |lanes| {
            let values: Values<'_> = &[&ids, &classes, &at_ms, &cause, &by, &holder];
            lanes.rows(Query::Vault(VaultQuery::Bury), values).await
        })?;
        rows.iter().map(read::pointer).collect()
    }

    fn bury_memory(&self, session: Option<&Ident>, at_ms: i64) -> Result<(), VaultError> {
        let (session, holder) = (session.map(ToString::to_string), self.holder.clone());
        let cause = i16::from(Why::SESSION_END.number());
        self.ask(async move |lanes| match session {
            Some(session) => {
                let values: Values<'_> = &[&session, &at_ms, &cause, &holder];
                lanes.execute(Query::Vault(VaultQuery::EndSession), values).await
            }
            None => {
                let values: Values<'_> = &[&holder, &at_ms];
                lanes.execute(Query::Vault(VaultQuery::BuryMemory), values).await
            }
        })?;
        Ok(())
    }

    fn owed(&self, most: usize, now_ms: i64) -> Result<Vec<Owed>, VaultError> {
        let (holder, left) = (self.holder.clone(), now_ms.saturating_sub(LEFT_MS));
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = self.ask(async move |lanes| {
            let values: Values<'_> = &[&holder, &left, &most];
            lanes.rows(Query::Vault(VaultQuery::Owed), values).await
        })?;
        rows.iter().map(read::owed).collect()
    }

    fn settle(&self, pointers: &[EvidencePointer]) -> Result<(), VaultError> {
        let (ids, _) = put::columns(pointers);
        self.ask(async move |lanes| lanes.execute(Query::Vault(VaultQuery::Settle), &[&ids]).await)?;
        Ok(())
    }

    fn buried_elsewhere(&self, pointers: &[EvidencePointer]) -> Result<Vec<EvidencePointer>, VaultError> {
        let (ids, classes) = put::columns(pointers);
        let rows = self.ask(async move |lanes| {
            let values: Values<'_> = &[&ids, &classes];
            lanes.rows(Query::Vault(VaultQuery::Buried), values).await
        })?;
        rows.iter().map(read::pointer).collect()
    }

    fn stored_before(&self, class: Class, stored_ms: i64) -> Result<Vec<EvidencePointer>, VaultError> {
        let rows = self.ask(async move |lanes| {
            let values: Values<'_> = &[&rank(class), &stored_ms];
            lanes.rows(Query::Vault(VaultQuery::StoredBefore), values).await
        })?;
        rows.iter().map(read::pointer).collect()
    }

    fn issued(&self, session: &Ident) -> Result<Vec<Issued>, VaultError> {
        let session = session.to_string();
        let rows =
            self.ask(async move |lanes| lanes.rows(Query::Vault(VaultQuery::Issued), &[&session]).await)?;
        rows.iter().map(read::issued).collect()
    }

    fn generation(&self, session: &Ident) -> Result<u64, VaultError> {
        let session = session.to_string();
        let rows = self.ask(async move |lanes| {
            lanes
                .rows(Query::Vault(VaultQuery::Generation), &[&session])
                .await
        })?;
        let generation = rows.first().map(|row| read::column::<i64>(row, 0)).transpose()?;
        Ok(generation.unwrap_or_default().unsigned_abs())
    }

    fn mark_resolved(&self, session: &Ident, tokens: &[(String, u32)]) -> Result<(), VaultError> {
        let session = session.to_string();
        let (names, numbers): (Vec<_>, Vec<_>) = tokens
            .iter()
            .map(|(name, number)| (name.clone(), i64::from(*number)))
            .unzip();
        self.ask(async move |lanes| {
            let values: Values<'_> = &[&session, &names, &numbers];
            lanes
                .execute(Query::Vault(VaultQuery::MarkResolved), values)
                .await
        })?;
        Ok(())
    }

    fn withdraw(&self, session: &Ident) -> Result<(), VaultError> {
        let session = session.to_string();
        self.ask(async move |lanes| {
            lanes
                .execute(Query::Vault(VaultQuery::Withdraw), &[&session])
                .await
        })?;
        Ok(())
    }

    fn rewrap(&self, key_id: &[u8; 8], rewrap: &Rewrap<'_>) -> Result<u64, VaultError> {
        // First the key in force: from here on nothing more is put under the old one.
        self.rewrap_common(*key_id, rewrap)?;
        let mut rewrapped = 0;
        loop {
            let others = self.under_other_keys(*key_id)?;
            let mut columns = (Vec::new(), Vec::new(), Vec::new());
            for (pointer, sealed) in &others {
                columns.0.push(pointer.id().to_vec());
                columns.1.push(sealed.key_id.to_vec());
                columns.2.push(rewrap(pointer, sealed)?);
            }
            let key = *key_id;
            self.ask(async move |lanes| {
                let (ids, keys, wrapped) = columns;
                let values: Values<'_> = &[&key.as_slice(), &ids, &keys, &wrapped];
                lanes.execute(Query::Vault(VaultQuery::Rewrap), values).await
            })?;
            rewrapped += others.len() as u64;
            if others.len() < AT_ONCE {
                return Ok(rewrapped);
            }
        }
    }
}

impl PostgresVault {
    fn rewrap_common(&self, key_id: [u8; 8], rewrap: &Rewrap<'_>) -> Result<(), VaultError> {
        let rows = self.ask(async |lanes| lanes.rows(Query::Vault(VaultQuery::Common), &[]).await)?;
        let sealed = read::sealed(rows.first().ok_or(VaultError::Unreadable)?)?;
        if sealed.key_id == key_id {
            return Ok(());
        }
        let (wrapped, before) = (rewrap(&COMMON, &sealed)?, sealed.key_id);
        let changed = self.ask(async move |lanes| {
            let values: Values<'_> = &[&before.as_slice(), &key_id.as_slice(), &wrapped];
            lanes
                .execute(Query::Vault(VaultQuery::RewrapCommon), values)
                .await
        })?;
        match changed {
            1 => Ok(()),
            // Somebody else rotates.
            _ => Err(VaultError::KeyChanged),
        }
    }

    fn under_other_keys(&self, key_id: [u8; 8]) -> Result<Vec<(EvidencePointer, Sealed)>, VaultError> {
        let most = i64::try_from(AT_ONCE).unwrap_or(i64::MAX);
        let rows = self.ask(async move |lanes| {
            let values: Values<'_> = &[&key_id.as_slice(), &most];
            lanes.rows(Query::Vault(VaultQuery::UnderOtherKeys), values).await
        })?;
        rows.iter().map(read::wrapped).collect()
    }
}

fn rank(class: Class) -> i16 {
    i16::from(class.rank())
}

/// The tokens' rows raise this when a token stands for another value.
const TAKEN: &str = "TG001";

fn failed(refused: Refused) -> VaultError {
    if let Refused::Sql(error) = &refused
        && error.code().is_some_and(|code| code.code() == TAKEN)
    {
        return VaultError::TokenTaken;
    }
    VaultError::Server {
        reason: StoreError::from(refused).to_string(),
    }
}

fn interrupted() -> StoreError {
    StoreError::Backend("the vault's work was interrupted".to_owned())
}
