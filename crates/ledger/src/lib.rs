//! The provenance log: format, append, read, verify; and the evidence vault.
//!
//! Records say what happened in names and classes; what was said stays in the vault, behind pointers. The log proves
//! itself: each session's records are linked by hashes, all records together form a Merkle tree, and the tree's root
//! is signed again and again. `docs/ledger-format.md` describes every byte.

mod bytes;
mod checkpoint;
pub mod disk;
pub mod event;
mod export;
mod index;
mod key_file;
mod name;
mod pooled;
mod proof;
mod read;
mod record;
mod segment;
mod tree;
pub mod vault;
mod verify;
mod writer;

pub use checkpoint::{Checkpoint, PublicKey, SignedCheckpoint};
pub use event::{Event, EvidencePointer};
pub use export::{CsvExport, write_json_lines};
pub use key_file::KeyFileError;
pub use name::{BadName, DigestKey, KeyedDigest, Name, PublicDigest, Reason};
pub use pooled::{PooledIndex, Published};
pub use proof::{BadProof, Proof, ProveError, Proved};
pub use read::{Cursor, Filter, Page, ReadError, Reader, Record};
pub use record::{Chain, FORMAT_VERSION, Hash};
pub use verify::{FirstBad, Report, Trust, VerifyError, What, verify};
pub use writer::{AppendError, CloseError, Ledger, OpenError, Options, Receipt};
