//! Keeping evidence no longer than the policy says, and under a fresh key. What is destroyed is on the record.

use std::sync::Arc;
use std::time::SystemTime;

use tidegate_core::Ident;
use tidegate_ledger::event::{DestructionCause, Event, EvidenceDestroyed, EvidencePointer, TokenUsedByAdmin};
use tidegate_ledger::vault::{Retention, Vault, VaultError};

use crate::engine::now;
use crate::provenance::word;
use crate::{Engine, RecordError};

impl Engine {
    /// Destroys what has outlived its class's retention, and says how many pieces that were.
    ///
    /// # Errors
    /// When it cannot be destroyed or recorded. What was destroyed stays so, and its pointer says when.
    pub async fn expire_evidence(&self, retention: &Retention) -> Result<usize, RecordError> {
        let retention = retention.clone();
        let expired = self
            .in_vault(move |vault| vault.destroy_expired(SystemTime::now(), &retention))
            .await?;
        for pointer in &expired {
            self.note_destroyed(*pointer, DestructionCause::Retention, None)
                .await?;
        }
        Ok(expired.len())
    }

    /// Destroys one piece of evidence because somebody asked. Says whether there was anything to destroy.
    ///
    /// # Errors
    /// When it cannot be destroyed or recorded. What was destroyed stays so, and its pointer says when.
    pub async fn destroy_evidence(&self, pointer: EvidencePointer, by: &Ident) -> Result<bool, RecordError> {
        let destroyed = self
            .in_vault(move |vault| vault.destroy(&pointer, SystemTime::now()))
            .await?;
        if destroyed {
            self.note_destroyed(pointer, DestructionCause::Request, Some(by))
                .await?;
        }
        Ok(destroyed)
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

    async fn note_destroyed(
        &self,
        evidence_pointer: EvidencePointer,
        cause: DestructionCause,
        by: Option<&Ident>,
    ) -> Result<(), RecordError> {
        let destroyed = EvidenceDestroyed {
            evidence_pointer,
            cause,
            by: by.map(Into::into),
        };
        self.provenance.note_gateway(Event::from(destroyed), now()).await
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
