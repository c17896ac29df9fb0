//! Reading the record back, for those who may.

use std::sync::Arc;

use tidegate_core::Role;
use tidegate_ledger::{
    Chain, Cursor, Filter, FirstBad, Page, Proof, ProveError, PublicKey, ReadError, Report, Trust,
    VerifyError,
};

use crate::access::{Act, Caller, may_audit};
use crate::{AccessError, Engine};

/// Why the record could not be read back.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The role may not.
    #[error("the role {0} may not read the record; an auditor or an administrator may")]
    Forbidden(Role),
    /// The use of an administrator's token could not be recorded.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The ledger cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// There is no proof.
    #[error(transparent)]
    Prove(#[from] ProveError),
    /// The thread that was to read is gone.
    #[error("reading the record was interrupted")]
    Interrupted,
}

impl Engine {
    /// The next records that pass a filter: of this gateway, or of all that share an index.
    ///
    /// # Errors
    /// When the caller may not, or the ledger cannot be read.
    pub async fn audit(
        &self,
        caller: &Caller,
        filter: Filter,
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Page, AuditError> {
        self.admit_auditor(caller).await?;
        if let Some(pooled) = &self.pooled {
            return pooled.page(self.provenance.reader(), &filter, after, limit).await;
        }
        let reader = Arc::clone(self.provenance.reader());
        let page = tokio::task::spawn_blocking(move || reader.page(&filter, after, limit)).await;
        Ok(page.map_err(|_| AuditError::Interrupted)??)
    }

    /// The newest records that pass a filter, or those before a cursor, newest first.
    ///
    /// # Errors
    /// When the caller may not, or the ledger cannot be read.
    pub async fn audit_back(
        &self,
        caller: &Caller,
        filter: Filter,
        before: Option<Cursor>,
        limit: usize,
    ) -> Result<Page, AuditError> {
        self.admit_auditor(caller).await?;
        let reader = Arc::clone(self.provenance.reader());
        let page = tokio::task::spawn_blocking(move || reader.page_back(&filter, before, limit)).await;
        Ok(page.map_err(|_| AuditError::Interrupted)??)
    }

    /// Checks the whole record from its files, against the key that this process signs with.
    ///
    /// # Errors
    /// When the caller may not, or the files cannot be read. That something is not as it was written is an answer.
    pub async fn verify_record(&self, caller: &Caller) -> Result<Result<Report, FirstBad>, AuditError> {
        self.admit_auditor(caller).await?;
        let reader = Arc::clone(self.provenance.reader());
        let key = self.provenance.ledger().public_key();
        let verified = tokio::task::spawn_blocking(move || {
            reader.verify(Trust {
                key: Some(&key),
                seen: None,
            })
        });
        match verified.await.map_err(|_| AuditError::Interrupted)? {
            Ok(report) => Ok(Ok(report)),
            Err(VerifyError::Bad(bad)) => Ok(Err(bad)),
            Err(VerifyError::Io(error)) => Err(ReadError::Io(error).into()),
        }
    }

    /// The proof that one record was recorded, and the key that checks it.
    ///
    /// # Errors
    /// When the caller may not, there is no such record, or no checkpoint covers it yet.
    pub async fn prove(
        &self,
        caller: &Caller,
        chain: Chain,
        seq: u64,
    ) -> Result<(Proof, PublicKey), AuditError> {
        self.admit_auditor(caller).await?;
        let reader = Arc::clone(self.provenance.reader());
        let proof = tokio::task::spawn_blocking(move || reader.prove(&chain, seq)).await;
        let proof = proof.map_err(|_| AuditError::Interrupted)??;
        Ok((proof, self.provenance.ledger().public_key()))
    }

    async fn admit_auditor(&self, caller: &Caller) -> Result<(), AuditError> {
        if !may_audit(caller.role) {
            return Err(AuditError::Forbidden(caller.role));
        }
        Ok(self.note_admin(caller, Act::Look, None).await?)
    }
}
