//! The files of a ledger being written: where the next frame goes, and what to do when the disk refuses.
//!
//! INVARIANT (durable or undone): every field describes the ledger as of the last successful `fdatasync`. A write that
//! fails changes none of them; it only takes the segment out of use. The next write first cuts that segment back to
//! its last durable byte and begins another, so a frame whose caller was refused can never be read as recorded.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use ed25519_dalek::SigningKey;

use crate::checkpoint::{self, Checkpoint, PublicKey, SignedCheckpoint};
use crate::disk::{self, Disk, DiskFile};
use crate::name::DigestKey;
use crate::record::{self, Hash};
use crate::segment::{self, FRAME_HEADER_LEN, FrameKind, HEAD_FILE, Header, MAX_SEGMENT_BYTES};
use crate::tree::Frontier;

/// The smallest room a segment may reserve on a nearly full disk.
const MIN_RESERVE: u64 = 64 << 10;

/// Zeros are written this far ahead of the records. Reserved room that nobody wrote to is marked so in the file system's
/// own books, and the first write to each part of it makes the disk wait for those books too.
static AHEAD: [u8; 256 << 10] = [0; 256 << 10];

pub(super) struct Log {
    pub(super) dir: PathBuf,
    pub(super) disk: Arc<dyn Disk>,
    pub(super) key: SigningKey,
    pub(super) segment_bytes: u64,
    pub(super) tree: Frontier,
    /// The newest segment, in use or not.
    pub(super) newest: Option<Segment>,
    /// The segment's file while it is in use.
    pub(super) file: Option<OpenFile>,
    pub(super) checkpoint: Option<SignedCheckpoint>,
    /// Whether `head` names an older checkpoint.
    pub(super) head_is_stale: bool,
}

/// What the next header must say about this segment.
#[derive(Clone, Copy)]
pub(super) struct Segment {
    pub(super) number: u64,
    pub(super) header: Hash,
    /// The first byte after the last durable frame.
    pub(super) end: u64,
}

pub(super) struct OpenFile {
    file: Box<dyn DiskFile>,
    /// Writing past this would need room that is not reserved.
    capacity: u64,
    /// The first byte that was never written to.
    untouched: u64,
}

impl OpenFile {
    /// Writes a frame and waits for the disk, then says how far the durable part reaches.
    fn write_durably(&mut self, frame: &[u8], position: u64) -> io::Result<u64> {
        disk::write_all_at(&mut *self.file, frame, position)?;
        let end = position + frame.len() as u64;
        if end > self.untouched {
            let room = usize::try_from(self.capacity.saturating_sub(end)).unwrap_or(usize::MAX);
            let zeros = AHEAD.get(..room).unwrap_or(&AHEAD);
            disk::write_all_at(&mut *self.file, zeros, end)?;
            self.untouched = end + zeros.len() as u64;
        }
        self.file.sync_data()?;
        Ok(end)
    }
}

impl Log {
    pub(super) fn digest_key(&self) -> DigestKey {
        DigestKey::derive(self.key.as_bytes())
    }

    pub(super) fn public_key(&self) -> PublicKey {
        PublicKey::of(&self.key)
    }

    /// Makes sure there is a segment with room for a payload, beginning one if need be. Says whether it did.
    pub(super) fn make_room(&mut self, payload: usize) -> io::Result<bool> {
        if self.has_room(payload) {
            return Ok(false);
        }
        self.file = None;
        self.begin_segment((FRAME_HEADER_LEN + payload) as u64)?;
        Ok(true)
    }

    /// Whether the segment in use has room for a payload.
    pub(super) fn has_room(&self, payload: usize) -> bool {
        let needed = (FRAME_HEADER_LEN + payload) as u64;
        match (&self.file, &self.newest) {
            (Some(open), Some(segment)) => segment.end + needed <= open.capacity,
            _ => false,
        }
    }

    /// Writes records as one frame and waits until they are durable. There must be room.
    pub(super) fn commit(&mut self, count: u32, payload: &[u8], leaves: &[Hash]) -> io::Result<()> {
        self.write_frame(FrameKind::Records, count, payload)?;
        leaves.iter().for_each(|leaf| self.tree.push(*leaf));
        Ok(())
    }

    /// Signs everything recorded so far.
    pub(super) fn write_checkpoint(&mut self, closing: bool) -> io::Result<()> {
        // A new segment begins with a checkpoint of everything before it.
        let begun = self.make_room(SignedCheckpoint::LEN + 32 * self.tree.nodes().len())?;
        if closing || !begun {
            let Some(segment) = self.newest else {
                return Err(io::ErrorKind::NotFound.into());
            };
            let signed = self.sign(segment.number, segment.header, closing);
            let payload = checkpoint::encode_payload(&signed, &self.tree);
            self.write_frame(FrameKind::Checkpoint, 0, &payload)?;
            self.checkpoint = Some(signed);
            self.head_is_stale = true;
        }
        self.refresh_head()
    }

    /// The number of the newest segment.
    pub(super) fn segment(&self) -> Option<u64> {
        self.newest.map(|segment| segment.number)
    }

    /// How many records no checkpoint covers.
    pub(super) fn unsigned(&self) -> u64 {
        self.tree.size()
            - self
                .checkpoint
                .as_ref()
                .map_or(0, |signed| signed.checkpoint.size)
    }

    /// Signs a last checkpoint and leaves no reserved room behind.
    pub(super) fn close(&mut self) -> io::Result<()> {
        self.write_checkpoint(true)?;
        self.file = None;
        match self.newest {
            Some(segment) => self
                .disk
                .shorten_durably(&segment::path(&self.dir, segment.number), segment.end),
            None => Ok(()),
        }
    }

    fn write_frame(&mut self, kind: FrameKind, count: u32, payload: &[u8]) -> io::Result<()> {
        let (Some(open), Some(segment)) = (&mut self.file, &mut self.newest) else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let mut frame = Vec::with_capacity(FRAME_HEADER_LEN + payload.len());
        segment::encode_frame(kind, count, self.tree.size(), payload, &mut frame);
        match open.write_durably(&frame, segment.end) {
            Ok(end) => segment.end = end,
            Err(error) => {
                // INVARIANT (durable or undone): after a failed sync nobody knows what the disk holds behind `end`.
                self.file = None;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Cuts the newest segment to its durable length and puts another in place, beginning with a checkpoint.
    fn begin_segment(&mut self, needed: u64) -> io::Result<()> {
        let previous = self.newest;
        if let Some(segment) = previous {
            self.disk
                .shorten_durably(&segment::path(&self.dir, segment.number), segment.end)?;
        }
        let header = Header {
            writer: self.public_key().writer_id(),
            number: previous.map_or(1, |segment| segment.number + 1),
            created_ms: record::to_ms(SystemTime::now()),
            first_index: self.tree.size(),
            prev_len: previous.map_or(0, |segment| segment.end),
            prev_header: previous.map_or(record::NO_HASH, |segment| segment.header),
        };
        let signed = self.sign(header.number, header.hash(), false);
        let mut front = header.encode();
        let payload = checkpoint::encode_payload(&signed, &self.tree);
        segment::encode_frame(FrameKind::Checkpoint, 0, self.tree.size(), &payload, &mut front);

        let path = segment::path(&self.dir, header.number);
        let fresh = path.with_extension("new");
        let mut file = self.disk.create(&fresh)?;
        let capacity = self.reserve(&mut *file, front.len() as u64 + needed)?;
        let mut open = OpenFile {
            file,
            capacity,
            untouched: 0,
        };
        let end = open.write_durably(&front, 0)?;
        self.disk.rename(&fresh, &path)?;
        self.disk.sync_dir(&self.dir)?;

        self.newest = Some(Segment {
            number: header.number,
            header: header.hash(),
            end,
        });
        self.file = Some(open);
        self.checkpoint = Some(signed);
        self.head_is_stale = true;
        // The records are safe without it; the next checkpoint tries again.
        let _ = self.refresh_head();
        Ok(())
    }

    /// Reserves the usual room, or as much of it as the disk has left.
    fn reserve(&self, file: &mut dyn DiskFile, at_least: u64) -> io::Result<u64> {
        let mut room = self.segment_bytes.max(at_least).min(MAX_SEGMENT_BYTES);
        loop {
            match file.reserve(room) {
                Ok(_) => return Ok(room),
                Err(error) if room / 2 < at_least.max(MIN_RESERVE.min(self.segment_bytes)) => {
                    return Err(error);
                }
                Err(_) => room /= 2,
            }
        }
    }

    fn sign(&self, segment: u64, header: Hash, closing: bool) -> SignedCheckpoint {
        let previous = self.checkpoint.as_ref();
        Checkpoint {
            writer: self.public_key().writer_id(),
            number: previous.map_or(0, |signed| signed.checkpoint.number + 1),
            at_ms: record::to_ms(SystemTime::now()),
            size: self.tree.size(),
            root: self.tree.root(),
            previous: previous.map_or(record::NO_HASH, SignedCheckpoint::hash),
            segment,
            header,
            closing,
        }
        .sign(&self.key)
    }

    fn refresh_head(&mut self) -> io::Result<()> {
        if let (true, Some(signed)) = (self.head_is_stale, &self.checkpoint) {
            disk::overwrite_durably(&*self.disk, &self.dir, HEAD_FILE, &signed.encode())?;
            self.head_is_stale = false;
        }
        Ok(())
    }
}
