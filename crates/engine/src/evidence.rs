//! Keeping evidence no longer than the policy says, and under a fresh key. What is destroyed is on the record.
//!
//! INVARIANT (destroyed and owed): a destruction and the debt of its record are one step in the vault, and the debt is settled only
//! when the record is durable. A crash between the two leaves one record too many at most, never one too few.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use tidegate_core::Ident;
use tidegate_ledger::event::{Event, EvidencePointer, TokenUsedByAdmin};
use tidegate_ledger::vault::{Owed, Retention, Vault, VaultError, Why};
use tidegate_ledger::{Chain, Ledger};

use crate::engine::now;
use crate::provenance::word;
use crate::{Engine, RecordError};

impl Engine {
    /// Destroys what has outlived its class's retention, and says how many pieces that were.
    ///
    /// # Errors
    /// When it cannot be destroyed or recorded. What was destroyed stays so, and is recorded when it can be.
    pub async fn expire_evidence(&self, retention: &Retention) -> Result<usize, RecordError> {
        let retention = retention.clone();
        let expired = self
            .in_vault(move |vault| vault.destroy_expired(SystemTime::now(), &retention))
            .await;
        // Whatever came of it: some of it may be destroyed, and an earlier destruction may still be owed.
        self.record_destroyed().await?;
        Ok(expired?.len())
    }

    /// Destroys one piece of evidence because somebody asked. Says whether there was anything to destroy.
    ///
    /// # Errors
    /// When it cannot be destroyed or recorded. What was destroyed stays so, and is recorded when it can be.
    pub async fn destroy_evidence(&self, pointer: EvidencePointer, by: &Ident) -> Result<bool, RecordError> {
        let why = Why::request(by.into());
        let destroyed = self
            .in_vault(move |vault| vault.destroy(&pointer, &why, SystemTime::now()))
            .await;
        self.record_destroyed().await?;
        destroyed
    }

    /// Puts on the record what was destroyed and is on none yet, also by a process that died before it could.
    ///
    /// # Errors
    /// When it cannot be recorded. It stays owed, and is tried again with the next destruction and at the next start.
    pub async fn record_destroyed(&self) -> Result<(), RecordError> {
        // One at a time: two would record the same.
        let _turn = self.settling.lock().await;
        loop {
            let owed = self
                .in_vault(|vault| vault.owed(Ledger::MAX_EVENTS, SystemTime::now()))
                .await?;
            if owed.is_empty() {
                return Ok(());
            }
            for (chain, pointers, events) in by_chain(&owed) {
                self.provenance.append(&chain, events, now()).await?;
                self.in_vault(move |vault| vault.settle(&pointers)).await?;
            }
        }
    }

    /// Puts all evidence under a new key and forgets the old one. Says how many pieces were put under it.
    ///
    /// # Errors
    /// When it could not be recorded or finished; old and new key are both kept then.
    pub async fn rotate_evidence_key(&self, by: &Ident) -> Result<u64, RecordError> {
        let used = TokenUsedByAdmin {
            token_id: by.into(),
            principal: by.into(),
            action: word("rotate-evidence-key"),
            session: None,
        };
        self.provenance.note_gateway(used.into(), now()).await?;
        self.in_vault(Vault::rotate).await
    }

    /// The vault waits for the disk, so it is asked where waiting is allowed.
    pub(crate) async fn in_vault<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Vault) -> Result<T, VaultError> + Send + 'static,
    ) -> Result<T, RecordError> {
        let vault = Arc::clone(self.provenance.vault());
        let done = tokio::task::spawn_blocking(move || work(&vault)).await;
        Ok(done.map_err(|_| RecordError::Interrupted)??)
    }
}

/// What is appended together: one chain at a time.
fn by_chain(owed: &[Owed]) -> Vec<(Chain, Vec<EvidencePointer>, Vec<Event>)> {
    let mut chains: HashMap<Chain, (Vec<_>, Vec<_>)> = HashMap::new();
    for destroyed in owed {
        let (pointers, events) = chains.entry(destroyed.chain()).or_default();
        pointers.push(destroyed.pointer);
        events.push(Event::from(destroyed.event()));
    }
    let chains = chains.into_iter();
    chains
        .map(|(chain, (pointers, events))| (chain, pointers, events))
        .collect()
}
