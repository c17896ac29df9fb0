//! The evidence vault: what was said, encrypted, behind pointers that say nothing.
//!
//! Each piece of evidence has its own random key, kept beside it under the vault's key. So rotating the vault's key
//! rewrites a few bytes for each piece, and destroying a piece destroys the only key it was ever encrypted with. A
//! destroyed pointer keeps its row and answers when it was destroyed; the ledger, which holds pointers only, is
//! untouched.
//!
//! The rows are in one SQLite file ([`file`]) or on a server that several gateways share ([`VaultRows`]): putting several pieces
//! away together, leaving a tombstone and rewrapping keys must each happen whole or not at all. The keys are never there. Several
//! processes may have one vault open, each with what it holds in memory.

mod cipher;
#[cfg(feature = "conformance")]
pub mod conformance;
mod contract;
mod destroy;
mod error;
mod file;
mod holders;
mod issued;
mod keys;
mod memory;
mod owed;
mod tokens;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, SystemTime};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tidegate_core::{Class, Confined, Ident};
use zeroize::Zeroizing;

pub use contract::{COMMON, Held, LEFT_MS, NewTokens, Rewrap, Row, Sealed, VaultRows};
pub use error::VaultError;
pub use issued::{Issue, Issued, MAX_ISSUED, TokenKind};
pub use keys::KeySource;
pub use owed::{Owed, Why};

use crate::EvidencePointer;
use crate::key_file;
use crate::record::to_ms;
use file::FileRows;
use keys::{KeyRing, shown_id};
use memory::{InMemory, Memory};

/// The most bytes of one piece of evidence.
pub const MAX_EVIDENCE_BYTES: usize = 16 << 20;

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

/// The vault. Its methods wait for the disk: call them where blocking is allowed.
pub struct Vault {
    rows: Box<dyn VaultRows>,
    keys: RwLock<Keys>,
    source: KeySource,
    memory: Mutex<Memory>,
    /// What all vaults on these rows know and the rows do not.
    common: Zeroizing<[u8; 32]>,
}

struct Keys {
    ring: KeyRing,
    /// The key that seals: the ring's first, except on shared rows that are not rotated yet.
    in_force: [u8; 8],
}

impl Vault {
    /// Opens a vault in a file, creating it and its key on first start. What an earlier process held in memory only is
    /// destroyed from now on.
    ///
    /// # Errors
    /// When the keys are unusable, evidence lies under a key that is not there, or the file cannot be used.
    pub fn open(path: &Path, source: KeySource, now: SystemTime) -> Result<Self, VaultError> {
        let _alone = file::alone(path)?;
        Self::over(Box::new(FileRows::open(path)?), source, now)
    }

    /// Opens a vault over rows that are somewhere else. Every vault on shared rows must have the same key.
    ///
    /// # Errors
    /// When the keys are unusable, evidence lies under a key that is not there, or the rows cannot be used.
    pub fn over(rows: Box<dyn VaultRows>, source: KeySource, now: SystemTime) -> Result<Self, VaultError> {
        let used = rows.key_ids()?;
        let ring = match keys::load(&source)? {
            Some(keys) => keys,
            // A fresh key would leave what is there unreadable without a word.
            None if !used.is_empty() => return Err(unknown_key(used.first())),
            None => keys::create(&source)?,
        };
        if let Some(unknown) = used.iter().find(|id| ring.find(id).is_none()) {
            return Err(unknown_key(Some(unknown)));
        }
        let secret = Zeroizing::new(key_file::random::<32>()?);
        let fresh = cipher::seal(ring.current(), &COMMON, &*secret)?;
        let sealed = rows.common(&fresh)?;
        let opened = Zeroizing::new(cipher::open(&ring, &COMMON, &sealed)?);
        let common = opened.as_slice().try_into().map_err(|_| VaultError::Unreadable)?;
        let in_force = sealed.key_id;
        rows.bury_memory(None, to_ms(now))?;
        Ok(Self {
            rows,
            keys: RwLock::new(Keys { ring, in_force }),
            source,
            memory: Mutex::default(),
            common: Zeroizing::new(common),
        })
    }

    /// A key that every vault on the same rows derives alike and nobody else can.
    #[must_use]
    pub fn common_key(&self, purpose: &[u8]) -> [u8; 32] {
        keyed(&self.common, purpose)
    }

    /// A digest that every vault on the same rows makes alike and nobody else can.
    #[must_use]
    pub fn common_digest(&self, content: &[u8]) -> [u8; 32] {
        keyed(&self.common_key(b"digests"), content)
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
        // Held until the rows are there: a rotation finds all of them or comes before them.
        let keys = self.keys();
        let (rows, to_memory) = keys.prepare(deposits, now)?;
        self.hold(to_memory)?;
        let pointers: Vec<_> = rows.iter().map(|row| row.pointer).collect();
        self.rows
            .put(&keys.in_force, &rows, None)
            .inspect_err(|_| self.memory().forget(&pointers))?;
        Ok(pointers)
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
    /// When the evidence is damaged, is held elsewhere, or the vault cannot be read.
    pub fn get(&self, pointer: &EvidencePointer) -> Result<Evidence, VaultError> {
        let content = match self.rows.find(pointer)? {
            None => return Ok(Evidence::Unknown),
            Some(Held::Destroyed { at_ms }) => {
                // Perhaps by another process.
                self.memory().forget([pointer]);
                return Ok(Evidence::Destroyed { at: from_ms(at_ms) });
            }
            Some(Held::Memory) => {
                let held = self.memory().get(pointer);
                held.ok_or(VaultError::Elsewhere { pointer: *pointer })?
            }
            Some(Held::Disk(sealed)) => cipher::open(&self.keys().ring, pointer, &sealed)?,
        };
        Ok(Evidence::Present(Confined::new(pointer.class(), content)))
    }

    /// Puts everything under a new key, or under the first of those given, and forgets the old ones. Says how many
    /// pieces were put under it.
    ///
    /// # Errors
    /// When it could not be finished. Old and new key are both kept then, and everything stays readable.
    pub fn rotate(&self) -> Result<u64, VaultError> {
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        keys.ring = keys::add(&self.source, &keys.ring)?;
        let Keys { ring, in_force } = &mut *keys;
        *in_force = *ring.current().id();
        let rewrapped = self
            .rows
            .rewrap(in_force, &|pointer, sealed| cipher::rewrap(ring, pointer, sealed))?;
        *ring = keys::drop_old(&self.source, ring)?;
        Ok(rewrapped)
    }

    /// Holds secrets before their rows are written: what nobody has a pointer to yet can be forgotten again.
    fn hold(&self, pieces: Vec<InMemory>) -> Result<(), VaultError> {
        if pieces.is_empty() {
            return Ok(());
        }
        let held = self.memory().hold(pieces);
        if held.is_err() {
            // Room for the next: what other processes have destroyed need not be held here.
            self.forget_buried()?;
        }
        held
    }

    fn keys(&self) -> RwLockReadGuard<'_, Keys> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        // Whatever panicked did so between two statements that each hold by themselves.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keys {
    /// Encrypts what goes to disk and sets aside what stays in memory. Nothing is kept yet.
    fn prepare(
        &self,
        deposits: Vec<Deposit>,
        now: SystemTime,
    ) -> Result<(Vec<Row>, Vec<InMemory>), VaultError> {
        let key = self
            .ring
            .find(&self.in_force)
            .ok_or_else(|| unknown_key(Some(&self.in_force)))?;
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
                _ => Held::Disk(cipher::seal(key, &pointer, &content)?),
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
        Ok((rows, to_memory))
    }
}

/// A key is filled up with zeros to the hash's block, as HMAC has it.
fn keyed(key: &[u8; 32], content: &[u8]) -> [u8; 32] {
    let mut block = Zeroizing::new([0; 64]);
    for (to, from) in block.iter_mut().zip(key) {
        *to = *from;
    }
    let mut mac = Hmac::<Sha256>::new((&*block).into());
    mac.update(content);
    mac.finalize().into_bytes().into()
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
