//! Why a vault did not do what was asked.

use crate::EvidencePointer;
use crate::key_file::KeyFileError;

/// Why the vault did not do what was asked. Nothing in it comes from the evidence.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// The key file cannot be used.
    #[error(transparent)]
    KeyFile(#[from] KeyFileError),
    /// The keys that were given are none.
    #[error("the vault's keys have the form <16 hex digits> <64 hex digits>, one for each line or comma")]
    NotKeys,
    /// Evidence is encrypted under a key that is not there.
    #[error("the vault holds evidence under key {key_id}, which was not given")]
    UnknownKey {
        /// The key's public id.
        key_id: String,
    },
    /// The vault was put under another key by another process.
    #[error("the vault was put under another key meanwhile: give this gateway the new one and restart it")]
    KeyChanged,
    /// The evidence is not what was put away.
    #[error("the evidence behind {pointer} is damaged")]
    Damaged {
        /// The pointer.
        pointer: EvidencePointer,
    },
    /// It is held in the memory of another gateway.
    #[error(
        "what is behind {pointer} is held in the memory of the gateway that it came in through: ask there"
    )]
    Elsewhere {
        /// The pointer.
        pointer: EvidencePointer,
    },
    /// One piece is larger than [`MAX_EVIDENCE_BYTES`](super::MAX_EVIDENCE_BYTES).
    #[error("the evidence is too large to be kept")]
    TooLarge,
    /// It is destroyed, but another program that reads the file keeps an encrypted copy in its journal.
    #[error(
        "another program keeps the vault's journal in use: a copy of what was destroyed may still be in it"
    )]
    JournalInUse,
    /// Too much is held in memory already.
    #[error("the vault's memory is full")]
    Full,
    /// A token stands for another value already.
    #[error("a stub stands for another value already")]
    TokenTaken,
    /// A row does not read as what was written.
    #[error("the vault holds a row that cannot be read")]
    Unreadable,
    /// The database refused.
    #[error("the vault cannot be used: {0}")]
    Database(#[from] rusqlite::Error),
    /// The server that the vault is on refused or does not answer.
    #[error("the vault cannot be used: {reason}")]
    Server {
        /// What it reports; no payload.
        reason: String,
    },
    /// The system refused.
    #[error("the vault cannot be used: {0}")]
    Io(#[from] std::io::Error),
}
