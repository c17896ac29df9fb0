//! What a vault keeps its rows in: a file of this machine, or a server that several gateways share.
//!
//! Rows hold ciphertext and names. Whatever is decided (what goes to disk, which key seals, what may be shown) is decided in
//! the vault; rows put away, find and destroy, each step whole or not at all. Every "must" here is a case of the
//! conformance suite.

use tidegate_core::{Class, Ident};

use super::{Issue, Issued, Owed, VaultError, Why};
use crate::EvidencePointer;

/// Where a vault's rows are. Its methods wait: they are called where blocking is allowed.
pub trait VaultRows: Send + Sync {
    /// The keys that something lies under.
    fn key_ids(&self) -> Result<Vec<[u8; 8]>, VaultError>;

    /// The secret that all vaults on these rows share: the one that is there, or `fresh` from now on. The key that it is
    /// under is the one in force.
    fn common(&self, fresh: &Sealed) -> Result<Sealed, VaultError>;

    /// Puts evidence away, together with the tokens of one session that lead to it, all or nothing. It must be durable when
    /// this returns. A token that is there must be refused unless it stands for the same value, which then has the new
    /// evidence. `key_id` is the key that seals: it must be refused when it is not the one in force.
    fn put(&self, key_id: &[u8; 8], rows: &[Row], tokens: Option<NewTokens<'_>>) -> Result<(), VaultError>;

    /// Where a piece is.
    fn find(&self, pointer: &EvidencePointer) -> Result<Option<Held>, VaultError>;

    /// Leaves tombstones and destroys the rest. It must say which pieces were there, each to one caller only. With a reason,
    /// what was there must be owed to the record from the same step on, also when this fails after it.
    fn bury(
        &self,
        pointers: &[EvidencePointer],
        at_ms: i64,
        why: Option<&Why>,
    ) -> Result<Vec<EvidencePointer>, VaultError>;

    /// What is owed to the record by this process and by those that are gone or have left it so for [`LEFT_MS`], at most so
    /// many. What another one is about to record must not be among it.
    fn owed(&self, most: usize, now_ms: i64) -> Result<Vec<Owed>, VaultError>;

    /// These are on the record and owed no more.
    fn settle(&self, pointers: &[EvidencePointer]) -> Result<(), VaultError>;

    /// Leaves tombstones for what is held in memory: of one session, wherever it is held, or what processes that are gone
    /// held. Of a session, it must be owed to the record from the same step on; what went with a process was nobody's decision.
    fn bury_memory(&self, session: Option<&Ident>, at_ms: i64) -> Result<(), VaultError>;

    /// Of these pieces, those that somebody else has destroyed.
    fn buried_elsewhere(&self, pointers: &[EvidencePointer]) -> Result<Vec<EvidencePointer>, VaultError>;

    /// What was put away before a time and is still there.
    fn stored_before(&self, class: Class, stored_ms: i64) -> Result<Vec<EvidencePointer>, VaultError>;

    /// Every token of a session, in the order of names and numbers.
    fn issued(&self, session: &Ident) -> Result<Vec<Issued>, VaultError>;

    /// A number that must grow with each change of a session's tokens.
    fn generation(&self, session: &Ident) -> Result<u64, VaultError>;

    /// Remembers that tokens were put into a call.
    fn mark_resolved(&self, session: &Ident, tokens: &[(String, u32)]) -> Result<(), VaultError>;

    /// Takes back what a session's tokens are known by. The rows must stay, so that no number is used for another value.
    fn withdraw(&self, session: &Ident) -> Result<(), VaultError>;

    /// Puts everything that lies under another key under this one, and makes it the one in force.
    fn rewrap(&self, key_id: &[u8; 8], rewrap: &Rewrap<'_>) -> Result<u64, VaultError>;
}

/// How long a destruction is left to whoever owes it to the record where nobody can tell whether they live.
pub const LEFT_MS: i64 = 2 * 60 * 60 * 1000;

/// What gives a piece's own key under the new key.
pub type Rewrap<'a> = dyn Fn(&EvidencePointer, &Sealed) -> Result<Vec<u8>, VaultError> + 'a;

/// Tokens to give out in a session, each with its evidence.
pub type NewTokens<'a> = (&'a Ident, &'a [(Issue, Vec<EvidencePointer>)]);

/// A piece of evidence to put away.
pub struct Row {
    /// Its pointer.
    pub pointer: EvidencePointer,
    /// The session it belongs to.
    pub session: Ident,
    /// When it was put away.
    pub stored_ms: i64,
    /// Where it is.
    pub held: Held,
}

/// Where a piece of evidence is.
pub enum Held {
    /// Among the rows, encrypted.
    Disk(Sealed),
    /// In the memory of the process that put it away.
    Memory,
    /// Nowhere any more.
    Destroyed {
        /// Since when.
        at_ms: i64,
    },
}

/// A piece of evidence as it lies on disk.
pub struct Sealed {
    /// The key it is under.
    pub key_id: [u8; 8],
    /// The content's key under the vault's key; nonce first.
    pub wrapped: Vec<u8>,
    /// The content under its own key; nonce first.
    pub content: Vec<u8>,
}

/// What the common secret is sealed for. No evidence has this pointer: theirs are random.
pub const COMMON: EvidencePointer = EvidencePointer::new(Class::Secret, [0; 16]);
