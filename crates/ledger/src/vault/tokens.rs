//! Giving out stubs and handles, and finding what is behind them.

use std::time::SystemTime;

use tidegate_core::Ident;

use super::issued::{self, Issue, Issued, MAX_ISSUED};
use super::{Vault, VaultError, Why};
use crate::EvidencePointer;

impl Vault {
    /// Gives out tokens of a session, all or none. They and what they stand for are durable when this returns, except
    /// what is held in memory.
    ///
    /// # Errors
    /// When nothing was given out.
    pub fn issue(
        &self,
        session: &Ident,
        issues: Vec<Issue>,
        now: SystemTime,
    ) -> Result<Vec<Issued>, VaultError> {
        if issues.len() > MAX_ISSUED {
            return Err(VaultError::Full);
        }
        let keys = self.keys();
        let (mut rows, mut to_memory, mut given) = (Vec::new(), Vec::new(), Vec::new());
        for mut issue in issues {
            let (pieces, held) = keys.prepare(issued::deposits(session, &mut issue), now)?;
            let pointers: Vec<EvidencePointer> = pieces.iter().map(|row| row.pointer).collect();
            rows.extend(pieces);
            to_memory.extend(held);
            given.push((issue, pointers));
        }
        self.hold(to_memory)?;
        let put = self.rows.put(&keys.in_force, &rows, Some((session, &given)));
        put.inspect_err(|_| self.memory().forget(rows.iter().map(|row| &row.pointer)))?;
        let issued = given.into_iter().map(|(issue, pieces)| Issued {
            name: issue.name,
            number: issue.number,
            kind: issue.kind,
            class: issue.class,
            digest: issue.digest,
            pieces,
            alive: true,
            resolved: false,
        });
        Ok(issued.collect())
    }

    /// Every token of a session.
    ///
    /// # Errors
    /// When the vault cannot be read.
    pub fn issued(&self, session: &Ident) -> Result<Vec<Issued>, VaultError> {
        self.rows.issued(session)
    }

    /// A number that is another one whenever another process may have changed a session's tokens. Read it before the tokens.
    ///
    /// # Errors
    /// When the vault cannot be read.
    pub fn generation(&self, session: &Ident) -> Result<u64, VaultError> {
        self.rows.generation(session)
    }

    /// Remembers that tokens were put into a call.
    ///
    /// # Errors
    /// When the vault cannot be written.
    pub fn mark_resolved(&self, session: &Ident, tokens: &[(String, u32)]) -> Result<(), VaultError> {
        self.rows.mark_resolved(session, tokens)
    }

    /// Destroys what a session's tokens stand for, owes that to the record, and says what it was. The tokens lead nowhere from then on.
    ///
    /// # Errors
    /// When the vault cannot be written.
    pub fn withdraw(&self, session: &Ident, now: SystemTime) -> Result<Vec<EvidencePointer>, VaultError> {
        let tokens = self.rows.issued(session)?;
        let alive = tokens.into_iter().filter(|token| token.alive);
        let pieces: Vec<_> = alive.flat_map(|token| token.pieces).collect();
        self.rows.withdraw(session)?;
        self.bury(&pieces, now, Some(&Why::SESSION_END))
    }
}
