//! Destroying evidence. What is destroyed is owed to the record from the same step on; whoever records it says so with
//! [`Vault::settle`].

use std::time::SystemTime;

use tidegate_core::Ident;

use super::{Owed, Retention, Vault, VaultError, Why};
use crate::EvidencePointer;
use crate::record::to_ms;

impl Vault {
    /// Destroys one piece and owes that to the record. Says whether there was anything to destroy.
    ///
    /// # Errors
    /// When the vault cannot be written.
    pub fn destroy(&self, pointer: &EvidencePointer, why: &Why, now: SystemTime) -> Result<bool, VaultError> {
        let destroyed = self.bury(&[*pointer], now, Some(why))?;
        Ok(!destroyed.is_empty())
    }

    /// Destroys one piece that no record ever pointed to, such as a page of notes.
    ///
    /// # Errors
    /// When the vault cannot be written.
    pub fn discard(&self, pointer: &EvidencePointer, now: SystemTime) -> Result<(), VaultError> {
        self.bury(&[*pointer], now, None).map(drop)
    }

    /// Destroys what has outlived its class's retention, owes that to the record, and says what it was.
    ///
    /// # Errors
    /// When the vault cannot be written.
    pub fn destroy_expired(
        &self,
        now: SystemTime,
        retention: &Retention,
    ) -> Result<Vec<EvidencePointer>, VaultError> {
        self.forget_buried()?;
        let mut expired = Vec::new();
        for (class, limit) in retention.limits() {
            if let Some(oldest_kept) = now.checked_sub(limit) {
                expired.extend(self.rows.stored_before(class, to_ms(oldest_kept))?);
            }
        }
        self.bury(&expired, now, Some(&Why::RETENTION))
    }

    /// Destroys what is held in memory for a session's life, here and elsewhere, and owes that to the record. Says what of it
    /// was here.
    ///
    /// # Errors
    /// When the vault cannot be written; the memory is emptied all the same.
    pub fn end_session(&self, session: &Ident, now: SystemTime) -> Result<Vec<EvidencePointer>, VaultError> {
        let ended = {
            let mut memory = self.memory();
            let ended = memory.of_session(session);
            memory.forget(&ended);
            ended
        };
        self.rows.bury_memory(Some(session), to_ms(now))?;
        Ok(ended)
    }

    /// Destructions that no record says yet: this process's own, and those of processes that left them.
    ///
    /// # Errors
    /// When the vault cannot be read.
    pub fn owed(&self, most: usize, now: SystemTime) -> Result<Vec<Owed>, VaultError> {
        self.rows.owed(most, to_ms(now))
    }

    /// These destructions are on the record.
    ///
    /// # Errors
    /// When the vault cannot be written; they stay owed.
    pub fn settle(&self, pointers: &[EvidencePointer]) -> Result<(), VaultError> {
        self.rows.settle(pointers)
    }

    pub(super) fn bury(
        &self,
        pointers: &[EvidencePointer],
        now: SystemTime,
        why: Option<&Why>,
    ) -> Result<Vec<EvidencePointer>, VaultError> {
        let buried = self.rows.bury(pointers, to_ms(now), why);
        // With the journal in use they are destroyed all the same.
        if matches!(buried, Ok(_) | Err(VaultError::JournalInUse)) {
            self.memory().forget(pointers);
        }
        buried
    }

    /// Forgets what was destroyed by other processes on the same rows.
    pub(super) fn forget_buried(&self) -> Result<(), VaultError> {
        let held = self.memory().pointers();
        if !held.is_empty() {
            let buried = self.rows.buried_elsewhere(&held)?;
            self.memory().forget(&buried);
        }
        Ok(())
    }
}
