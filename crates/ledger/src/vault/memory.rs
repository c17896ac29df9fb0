//! Secrets, for their session's life: in this process's memory and nowhere else.

use std::collections::HashMap;

use tidegate_core::Ident;
use zeroize::Zeroizing;

use super::VaultError;
use crate::EvidencePointer;

/// The most bytes of evidence that may be held in memory, all sessions together.
const MAX_MEMORY_BYTES: usize = 64 << 20;

/// A piece that stays in memory.
pub(super) type InMemory = (EvidencePointer, Ident, Zeroizing<Vec<u8>>);

#[derive(Default)]
pub(super) struct Memory {
    held: HashMap<EvidencePointer, (Ident, Zeroizing<Vec<u8>>)>,
    bytes: usize,
}

impl Memory {
    /// Holds all of it or nothing.
    pub(super) fn hold(&mut self, pieces: Vec<InMemory>) -> Result<(), VaultError> {
        let more: usize = pieces.iter().map(|(_, _, content)| content.len()).sum();
        if self.bytes + more > MAX_MEMORY_BYTES {
            return Err(VaultError::Full);
        }
        self.bytes += more;
        for (pointer, session, content) in pieces {
            self.held.insert(pointer, (session, content));
        }
        Ok(())
    }

    pub(super) fn get(&self, pointer: &EvidencePointer) -> Option<Vec<u8>> {
        self.held.get(pointer).map(|(_, content)| content.to_vec())
    }

    pub(super) fn forget<'a>(&mut self, pointers: impl IntoIterator<Item = &'a EvidencePointer>) {
        for pointer in pointers {
            if let Some((_, content)) = self.held.remove(pointer) {
                self.bytes -= content.len();
            }
        }
    }

    pub(super) fn pointers(&self) -> Vec<EvidencePointer> {
        self.held.keys().copied().collect()
    }

    pub(super) fn of_session(&self, session: &Ident) -> Vec<EvidencePointer> {
        let own = self.held.iter().filter(|(_, (owner, _))| owner == session);
        own.map(|(pointer, _)| *pointer).collect()
    }
}
