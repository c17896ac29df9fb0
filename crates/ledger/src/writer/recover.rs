//! Opening a ledger: find where it ends, and undo what a crash left unfinished.
//!
//! Only the newest segment is read: it begins with a signed checkpoint of everything before it.

use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use super::log::{Log, Segment};
use super::{OpenError, Options, heads::Heads, signer};
use crate::bytes::Bytes;
use crate::checkpoint::{self, SignedCheckpoint};
use crate::index::{Index, IndexError};
use crate::record::RecordView;
use crate::segment::{self, At, Frame, FrameKind, HEAD_FILE, Header};
use crate::tree::Frontier;

/// Everything the writer's thread owns.
pub(super) struct Opened {
    pub(super) log: Log,
    pub(super) heads: Heads,
    /// Held for as long as the ledger is open.
    pub(super) lock: File,
}

pub(super) fn open(dir: &Path, options: &Options) -> Result<Opened, OpenError> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let lock = File::open(dir)?;
    lock.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => OpenError::InUse,
        TryLockError::Error(error) => OpenError::Io(error),
    })?;
    remove_unfinished(dir)?;
    let key = signer::load(dir, &options.signing_key, &*options.disk)?;
    let mut log = Log {
        dir: dir.to_owned(),
        disk: options.disk.clone(),
        key,
        segment_bytes: options.segment_bytes,
        tree: Frontier::empty(),
        newest: None,
        file: None,
        checkpoint: None,
        head_is_stale: true,
    };
    if let Some(number) = segment::numbers(dir)?.last() {
        resume(&mut log, *number)?;
    }
    check_head(&log)?;
    // The segment that a crash may have torn is cut before the index looks at it.
    log.make_room(0)?;
    let index = Index::open(dir).map_err(index_failed)?;
    let heads = Heads::new(index, options.heads).map_err(index_failed)?;
    Ok(Opened { log, heads, lock })
}

fn index_failed(error: IndexError) -> OpenError {
    match error {
        IndexError::Io(error) => OpenError::Io(error),
        other @ (IndexError::Sqlite(_) | IndexError::Damaged { .. }) => OpenError::Index {
            reason: other.to_string(),
        },
    }
}

/// Files that were being put in place when the process died.
fn remove_unfinished(dir: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "new") {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Walks the newest segment to its last whole frame.
fn resume(log: &mut Log, number: u64) -> Result<(), OpenError> {
    let mut bytes = Vec::new();
    segment::read(&log.dir, number, &mut bytes)?;
    let damaged = |position: usize| OpenError::Damaged {
        segment: number,
        position: position as u64,
    };
    let header = Header::parse(&bytes)
        .filter(|header| header.number == number)
        .ok_or_else(|| damaged(0))?;
    let mut position = Header::LEN;
    loop {
        match segment::at(&bytes, position) {
            // Only room that was not given back may lie behind a closing checkpoint. What else is there was never recorded,
            // and must not be signed as if it were.
            At::Frame(_) | At::Broken if is_closed(log, number) => return Err(damaged(position)),
            At::Frame(frame) => {
                let first = position == Header::LEN;
                take_in(log, &frame, first).ok_or_else(|| damaged(position))?;
                position += frame.len();
            }
            // A segment is put in place with its first checkpoint: one without is no crash's doing.
            At::End | At::Broken if position == Header::LEN => return Err(damaged(position)),
            At::Broken if segment::whole_frame_after(&bytes, position) => return Err(damaged(position)),
            At::End | At::Broken => break,
        }
    }
    log.newest = Some(Segment {
        number,
        header: header.hash(),
        end: position as u64,
    });
    Ok(())
}

fn is_closed(log: &Log, segment: u64) -> bool {
    log.checkpoint
        .as_ref()
        .is_some_and(|signed| signed.checkpoint.closes(segment))
}

/// Continues the tree over one frame, if it continues what is there.
fn take_in(log: &mut Log, frame: &Frame<'_>, first: bool) -> Option<()> {
    match frame.kind {
        FrameKind::Checkpoint => {
            let (signed, frontier) = checkpoint::parse_payload(frame.payload)?;
            let holds = signed.is_signed_by(&log.public_key()) && (first || frontier == log.tree);
            holds.then(|| {
                log.tree = frontier;
                log.checkpoint = Some(signed);
            })
        }
        FrameKind::Records => {
            let mut rest = Bytes::new(frame.payload);
            for _ in 0..frame.count {
                let record = RecordView::take(&mut rest)?;
                let holds = !first && record.index == log.tree.size() && record.hash_holds();
                holds.then(|| log.tree.push(*record.hash))?;
            }
            rest.is_empty().then_some(())
        }
    }
}

/// The newest checkpoint on record must be among those found, or something was cut off.
fn check_head(log: &Log) -> Result<(), OpenError> {
    let newest = log.checkpoint.as_ref().map(|signed| signed.checkpoint.number);
    let on_record = match std::fs::read(log.dir.join(HEAD_FILE)) {
        Ok(bytes) => Some(
            SignedCheckpoint::parse(&bytes)
                .ok_or(OpenError::Shortened)?
                .checkpoint
                .number,
        ),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    match (on_record, newest) {
        (None, None | Some(0)) => Ok(()),
        (Some(on_record), Some(newest)) if on_record <= newest => Ok(()),
        _ => Err(OpenError::Shortened),
    }
}
