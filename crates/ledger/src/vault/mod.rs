//! The evidence vault: what was said, encrypted, behind pointers that say nothing.
//!
//! Each piece of evidence has its own random key, kept beside it under the vault's key. So rotating the vault's key
//! rewrites a few bytes for each piece, and destroying a piece destroys the only key it was ever encrypted with. A
//! destroyed pointer keeps its row and answers when it was destroyed; the ledger, which holds pointers only, is
//! untouched.
//!
//! One SQLite file, since putting several pieces away together, leaving a tombstone and rewrapping keys must each
//! happen whole or not at all.

mod cipher;
mod issued;
mod keys;
mod rows;
mod tokens;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tidegate_core::{Class, Confined, Ident};
use zeroize::Zeroizing;

pub use issued::{Issue, Issued, MAX_ISSUED, TokenKind};
pub use keys::KeySource;

use crate::EvidencePointer;
use crate::key_file::{self, KeyFileError};
use crate::record::to_ms;
use keys::{KeyRing, shown_id};
use rows::{Held, Row, Rows};

/// The most bytes of one piece of evidence.
pub const MAX_EVIDENCE_BYTES: usize = 16 << 20;

/// The most bytes of evidence that may be held in memory, all sessions together.
const MAX_MEMORY_BYTES: usize = 64 << 20;

/// Where evidence goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// On disk, except a secret, which is held in memory for the session's life.
    ByClass,
    /// On disk, also a secret: its source opted in.
    OnDisk,
}

/// A piece of evidence to put away.
#[derive(Debug)]
pub struct Deposit {
    /// The session it belongs to.
    pub session: Ident,
    /// What it is.
    pub content: Confined<Vec<u8>>,
    /// Where it goes.
    pub keep: Keep,
}

/// What a pointer leads to.
#[derive(Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The content.
    Present(Confined<Vec<u8>>),
    /// It was destroyed.
    Destroyed {
        /// When.
        at: SystemTime,
    },
    /// This vault never gave out such a pointer.
    Unknown,
}

/// How long evidence of each class is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retention([Option<Duration>; Class::ALL.len()]);

impl Retention {
    /// No class is ever destroyed for its age.
    pub const FOREVER: Self = Self([None; Class::ALL.len()]);

    /// The same with a limit for one class.
    #[must_use]
    pub fn with(mut self, class: Class, keep_for: Duration) -> Self {
        if let Some(slot) = self.0.get_mut(usize::from(class.rank())) {
            *slot = Some(keep_for);
        }
        self
    }

    fn limits(&self) -> impl Iterator<Item = (Class, Duration)> {
        Class::ALL
            .into_iter()
            .zip(self.0)
            .filter_map(|(class, limit)| limit.map(|limit| (class, limit)))
    }
}

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
    /// The evidence is not what was put away.
    #[error("the evidence behind {pointer} is damaged")]
    Damaged {
        /// The pointer.
        pointer: EvidencePointer,
    },
    /// One piece is larger than [`MAX_EVIDENCE_BYTES`].
    #[error("the evidence is too large to be kept")]
    TooLarge,
    /// Another process or handle has it open.
    #[error("the vault is in use elsewhere")]
    InUse,
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
    /// The system refused.
    #[error("the vault cannot be used: {0}")]
    Io(#[from] std::io::Error),
}

/// The vault. Its methods wait for the disk: call them where blocking is allowed.
pub struct Vault {
    inside: Mutex<Inside>,
}

struct Inside {
    rows: Rows,
    keys: KeyRing,
    source: KeySource,
    memory: Memory,
}

/// A piece that stays in memory.
type InMemory = (EvidencePointer, Ident, Zeroizing<Vec<u8>>);

/// Secrets, for their session's life.
#[derive(Default)]
struct Memory {
    held: HashMap<EvidencePointer, (Ident, Zeroizing<Vec<u8>>)>,
    bytes: usize,
}

impl Vault {
    /// Opens a vault, creating it and its key on first start. What an earlier process held in memory only is
    /// destroyed from now on.
    ///
    /// # Errors
    /// When the keys are unusable, evidence lies under a key that is not there, or the file cannot be used.
    pub fn open(path: &Path, source: KeySource, now: SystemTime) -> Result<Self, VaultError> {
        let rows = Rows::open(path)?;
        let used = rows.key_ids()?;
        let keys = match keys::load(&source)? {
            Some(keys) => keys,
            // A fresh key would leave what is there unreadable without a word.
            None if !used.is_empty() => return Err(unknown_key(used.first())),
            None => keys::create(&source)?,
        };
        if let Some(unknown) = used.iter().find(|id| keys.find(id).is_none()) {
            return Err(unknown_key(Some(unknown)));
        }
        rows.bury_memory(None, to_ms(now))?;
        let inside = Inside {
            rows,
            keys,
            source,
            memory: Memory::default(),
        };
        Ok(Self {
            inside: Mutex::new(inside),
        })
    }

    /// Puts evidence away, all or none, and gives a pointer for each piece. It is durable when this returns, except
    /// what is held in memory.
    ///
    /// # Errors
    /// When nothing was put away.
    pub fn put_all(
        &self,
        deposits: Vec<Deposit>,
        now: SystemTime,
    ) -> Result<Vec<EvidencePointer>, VaultError> {
        let mut inside = self.inside();
        let (rows, to_memory) = inside.prepare(deposits, now)?;
        inside.rows.insert(&rows)?;
        inside.memory.hold(to_memory);
        Ok(rows.into_iter().map(|row| row.pointer).collect())
    }

    /// Puts one piece away.
    ///
    /// # Errors
    /// When it was not put away.
    pub fn put(&self, deposit: Deposit, now: SystemTime) -> Result<EvidencePointer, VaultError> {
        let pointers = self.put_all(vec![deposit], now)?;
        pointers.first().copied().ok_or(VaultError::Full)
    }

    /// What a pointer leads to.
    ///
    /// # Errors
    /// When the evidence is damaged or the vault cannot be read.
    pub fn get(&self, pointer: &EvidencePointer) -> Result<Evidence, VaultError> {
        let inside = self.inside();
        if let Some((_, content)) = inside.memory.held.get(pointer) {
            return Ok(Evidence::Present(Confined::new(
                pointer.class(),
                content.to_vec(),
            )));
        }
        match inside.rows.find(pointer)? {
            None => Ok(Evidence::Unknown),
            Some(Held::Destroyed { at_ms }) => Ok(Evidence::Destroyed { at: from_ms(at_ms) }),
            // In memory, and not found there: it went with another process.
            Some(Held::Memory) => Err(VaultError::Damaged { pointer: *pointer }),
            Some(Held::Disk(sealed)) => {
                let content = cipher::open(&inside.keys, pointer, &sealed)?;
                Ok(Evidence::Present(Confined::new(pointer.class(), content)))
            }
        }
    }

    /// Destroys one piece. Says whether there was anything to destroy.
    ///
    /// # Errors
    /// When the vault cannot be written.
    pub fn destroy(&self, pointer: &EvidencePointer, now: SystemTime) -> Result<bool, VaultError> {
        let mut inside = self.inside();
        let destroyed = inside.rows.bury(&[*pointer], to_ms(now))?;
        inside.memory.forget(pointer);
        Ok(destroyed > 0)
    }

    /// Destroys what has outlived its class's retention, and says what that was, for the record.
    ///
    /// # Errors
    /// When the vault cannot be written.
    pub fn destroy_expired(
        &self,
        now: SystemTime,
        retention: &Retention,
    ) -> Result<Vec<EvidencePointer>, VaultError> {
        let mut inside = self.inside();
        let mut expired = Vec::new();
        for (class, limit) in retention.limits() {
            if let Some(oldest_kept) = now.checked_sub(limit) {
                expired.extend(inside.rows.stored_before(class, to_ms(oldest_kept))?);
            }
        }
        inside.rows.bury(&expired, to_ms(now))?;
        expired.iter().for_each(|pointer| inside.memory.forget(pointer));
        Ok(expired)
    }

    /// Destroys what was held in memory for a session's life, and says what that was.
    ///
    /// # Errors
    /// When the vault cannot be written; the memory is emptied all the same.
    pub fn end_session(&self, session: &Ident, now: SystemTime) -> Result<Vec<EvidencePointer>, VaultError> {
        let mut inside = self.inside();
        let of_session =
            |(_, (owner, _)): &(&EvidencePointer, &(Ident, Zeroizing<Vec<u8>>))| owner == session;
        let ended: Vec<_> = inside
            .memory
            .held
            .iter()
            .filter(of_session)
            .map(|(pointer, _)| *pointer)
            .collect();
        ended.iter().for_each(|pointer| inside.memory.forget(pointer));
        inside.rows.bury_memory(Some(session), to_ms(now))?;
        Ok(ended)
    }

    /// Puts everything under a new key, or under the first of those given, and forgets the old ones. Says how many
    /// pieces were put under it.
    ///
    /// # Errors
    /// When it could not be finished. Old and new key are both kept then, and everything stays readable.
    pub fn rotate(&self) -> Result<u64, VaultError> {
        let mut inside = self.inside();
        inside.keys = keys::add(&inside.source, &inside.keys)?;
        let Inside { rows, keys, .. } = &mut *inside;
        let rewrapped = rows.rewrap(keys.current().id(), |pointer, sealed| {
            cipher::rewrap(keys, pointer, sealed)
        })?;
        inside.keys = keys::drop_old(&inside.source, &inside.keys)?;
        Ok(rewrapped)
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        // Whatever panicked did so between two statements that each hold by themselves.
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    /// Encrypts what goes to disk and sets aside what stays in memory. Nothing is kept yet.
    fn prepare(
        &self,
        deposits: Vec<Deposit>,
        now: SystemTime,
    ) -> Result<(Vec<Row>, Vec<InMemory>), VaultError> {
        let mut rows = Vec::with_capacity(deposits.len());
        let mut to_memory: Vec<InMemory> = Vec::new();
        for deposit in deposits {
            let class = deposit.content.class();
            let pointer = EvidencePointer::new(class, key_file::random()?);
            let content = Zeroizing::new(deposit.content.into_exposed());
            if content.len() > MAX_EVIDENCE_BYTES {
                return Err(VaultError::TooLarge);
            }
            let held = match (class, deposit.keep) {
                (Class::Secret, Keep::ByClass) => Held::Memory,
                _ => Held::Disk(cipher::seal(&self.keys, &pointer, &content)?),
            };
            if matches!(held, Held::Memory) {
                to_memory.push((pointer, deposit.session.clone(), content));
            }
            rows.push(Row {
                pointer,
                session: deposit.session,
                stored_ms: to_ms(now),
                held,
            });
        }
        self.check_memory(&to_memory)?;
        Ok((rows, to_memory))
    }

    fn check_memory(&self, to_memory: &[InMemory]) -> Result<(), VaultError> {
        let more: usize = to_memory.iter().map(|(_, _, content)| content.len()).sum();
        if self.memory.bytes + more > MAX_MEMORY_BYTES {
            return Err(VaultError::Full);
        }
        Ok(())
    }
}

impl Memory {
    fn hold(&mut self, pieces: Vec<InMemory>) {
        for (pointer, session, content) in pieces {
            self.bytes += content.len();
            self.held.insert(pointer, (session, content));
        }
    }

    fn forget(&mut self, pointer: &EvidencePointer) {
        if let Some((_, content)) = self.held.remove(pointer) {
            self.bytes -= content.len();
        }
    }
}

fn unknown_key(id: Option<&[u8; 8]>) -> VaultError {
    VaultError::UnknownKey {
        key_id: id.map(shown_id).unwrap_or_default(),
    }
}

fn from_ms(ms: i64) -> SystemTime {
    let span = Duration::from_millis(ms.unsigned_abs());
    if ms < 0 {
        SystemTime::UNIX_EPOCH - span
    } else {
        SystemTime::UNIX_EPOCH + span
    }
}
