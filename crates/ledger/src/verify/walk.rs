//! One walk over all segments, in order.

use std::collections::HashMap;

use super::bad::{FirstBad, What};
use super::{Report, hashes};
use crate::bytes::Bytes;
use crate::checkpoint::{self, PublicKey, SignedCheckpoint};
use crate::record::{Hash, NO_HASH, RecordView};
use crate::segment::{self, At, FRAME_HEADER_LEN, Frame, FrameKind, Header};
use crate::tree::Frontier;

pub(super) struct Walk {
    key: PublicKey,
    seen: Option<SignedCheckpoint>,
    tree: Frontier,
    /// For each chain, as encoded: the number and the hash its next record must name.
    chains: HashMap<Box<[u8]>, (u64, Hash)>,
    /// The hash of every checkpoint, to compare with those named outside the segments.
    checkpoints: Vec<Hash>,
    newest: Option<SignedCheckpoint>,
    previous: Option<Previous>,
    bytes: u64,
    unfinished: u64,
    /// Where the segments end.
    end: (u64, usize),
    /// Whether the newest checkpoint is the very last thing in the ledger.
    ends_with_checkpoint: bool,
}

struct Previous {
    header: Hash,
    len: u64,
}

impl Walk {
    pub(super) fn new(key: PublicKey, seen: Option<SignedCheckpoint>) -> Self {
        Self {
            key,
            seen,
            tree: Frontier::empty(),
            chains: HashMap::new(),
            checkpoints: Vec::new(),
            newest: None,
            previous: None,
            bytes: 0,
            unfinished: 0,
            end: (0, 0),
            ends_with_checkpoint: false,
        }
    }

    pub(super) fn segment(&mut self, number: u64, bytes: &[u8], last: bool) -> Result<(), FirstBad> {
        let header = self.header(number, bytes)?;
        let (frames, position) = whole_frames(bytes);
        hashes::beside(&frames, |hashes| {
            frames
                .iter()
                .enumerate()
                .try_for_each(|(nth, (position, frame))| {
                    self.frame(number, *position, &header, frame, bytes, hashes.hold(nth))
                })
        })?;
        match segment::at(bytes, position) {
            At::End | At::Broken | At::Frame(_) if frames.is_empty() => {
                return Err(FirstBad::at(number, position, What::FrameChanged));
            }
            At::End if last || position == bytes.len() => {}
            At::End | At::Frame(_) => return Err(FirstBad::at(number, position, What::WrongLength)),
            At::Broken if self.is_closed(number) => {
                return Err(FirstBad::at(number, position, What::WrongLength));
            }
            At::Broken if last && !segment::whole_frame_after(bytes, position) => {
                self.unfinished = (bytes.len() - position) as u64;
            }
            At::Broken => return Err(self.name_broken(number, position, bytes)),
        }
        self.bytes += bytes.len() as u64;
        self.end = (number, position);
        self.previous = Some(Previous {
            header: header.hash(),
            len: position as u64,
        });
        // Room that is still reserved was not given back: the ledger is open, or a crash left it so.
        self.ends_with_checkpoint &= position == bytes.len();
        Ok(())
    }

    pub(super) fn finish(self, head: Option<&[u8]>) -> Result<Report, FirstBad> {
        self.check_head(head)?;
        if let Some(seen) = &self.seen {
            let hash = usize::try_from(seen.checkpoint.number)
                .ok()
                .and_then(|number| self.checkpoints.get(number));
            if hash.is_none_or(|found| *found != seen.hash()) {
                return Err(FirstBad::of_ledger(What::SeenCheckpointMissing));
            }
        }
        let signed = self.newest.as_ref().map_or(0, |newest| newest.checkpoint.size);
        let closed = self.is_closed(self.end.0) && self.ends_with_checkpoint;
        Ok(Report {
            records: self.tree.size(),
            chains: self.chains.len() as u64,
            segments: self.end.0,
            checkpoints: self.checkpoints.len() as u64,
            bytes: self.bytes,
            unsigned: self.tree.size() - signed,
            closed,
            unfinished_bytes: self.unfinished,
            newest: self.newest,
            root: self.tree.root(),
        })
    }

    /// Whether a closing checkpoint was found in this segment. Nothing is ever written behind one: who opens the ledger again
    /// begins another segment.
    fn is_closed(&self, segment: u64) -> bool {
        self.newest
            .as_ref()
            .is_some_and(|newest| newest.checkpoint.closes(segment))
    }

    fn header(&self, number: u64, bytes: &[u8]) -> Result<Header, FirstBad> {
        let header = Header::parse(bytes).ok_or(FirstBad::at(number, 0, What::HeaderChanged))?;
        let (prev_header, prev_len) = self
            .previous
            .as_ref()
            .map_or((NO_HASH, 0), |previous| (previous.header, previous.len));
        if header.prev_len != prev_len {
            return Err(FirstBad::in_segment(number.saturating_sub(1), What::WrongLength));
        }
        let continues = header.number == number
            && header.writer == self.key.writer_id()
            && header.prev_header == prev_header
            && header.first_index == self.tree.size();
        if continues {
            Ok(header)
        } else {
            Err(FirstBad::at(number, 0, What::HeaderChanged))
        }
    }

    fn frame(
        &mut self,
        number: u64,
        position: usize,
        header: &Header,
        frame: &Frame<'_>,
        segment: &[u8],
        hashed: bool,
    ) -> Result<(), FirstBad> {
        match frame.kind {
            // Whoever has no key can still make a frame whose sums hold.
            _ if self.is_closed(number) => Err(FirstBad::at(number, position, What::WrongLength)),
            FrameKind::Checkpoint => self.checkpoint(number, position, header, frame),
            FrameKind::Records if position == Header::LEN => {
                Err(FirstBad::at(number, position, What::FrameChanged))
            }
            FrameKind::Records => {
                self.ends_with_checkpoint = false;
                self.records(number, position, frame, segment, hashed)
            }
        }
    }

    fn records(
        &mut self,
        number: u64,
        position: usize,
        frame: &Frame<'_>,
        segment: &[u8],
        hashed: bool,
    ) -> Result<(), FirstBad> {
        let mut rest = Bytes::new(frame.payload);
        let mut at = position + FRAME_HEADER_LEN;
        for _ in 0..frame.count {
            let index = self.tree.size();
            let bad = |what| FirstBad::at(number, at, what).record(index);
            let record = RecordView::take(&mut rest).ok_or_else(|| bad(What::Changed))?;
            if !hashed && !record.hash_holds() {
                return Err(bad(What::Changed).named(&record));
            }
            if record.index != index {
                return Err(bad(misplaced(index, &record, segment, at)).named(&record));
            }
            self.link(&record)
                .ok_or_else(|| bad(What::Unlinked).named(&record))?;
            self.tree.push(*record.hash);
            at += 4 + record.body.len() + record.hash.len();
        }
        let first = self.tree.size() - u64::from(frame.count);
        if rest.is_empty() && frame.first_index == first {
            Ok(())
        } else {
            Err(FirstBad::at(number, position, What::FrameChanged).record(first))
        }
    }

    /// Continues the record's chain, if the record does.
    fn link(&mut self, record: &RecordView<'_>) -> Option<()> {
        match self.chains.get_mut(record.chain) {
            Some((seq, hash)) => {
                (record.seq == *seq && record.prev == hash).then_some(())?;
                (*seq, *hash) = (*seq + 1, *record.hash);
            }
            None => {
                (record.seq == 0 && *record.prev == NO_HASH).then_some(())?;
                self.chains.insert(record.chain.into(), (1, *record.hash));
            }
        }
        Some(())
    }

    fn checkpoint(
        &mut self,
        number: u64,
        position: usize,
        header: &Header,
        frame: &Frame<'_>,
    ) -> Result<(), FirstBad> {
        let forged = || FirstBad::at(number, position, What::ForgedCheckpoint);
        let (signed, frontier) = checkpoint::parse_payload(frame.payload).ok_or_else(forged)?;
        let stated = &signed.checkpoint;
        let continues = signed.is_signed_by(&self.key)
            && stated.number == self.checkpoints.len() as u64
            && stated.previous == self.newest.as_ref().map_or(NO_HASH, SignedCheckpoint::hash)
            && stated.segment == number
            && stated.header == header.hash();
        if !continues || frame.count != 0 || frame.first_index != stated.size {
            return Err(forged());
        }
        if stated.size > self.tree.size() {
            return Err(FirstBad::at(number, position, What::Missing).record(self.tree.size()));
        }
        if frontier != self.tree {
            let first = self.newest.as_ref().map_or(0, |newest| newest.checkpoint.size);
            return Err(FirstBad::at(number, position, What::NotAsSigned).record(first));
        }
        self.checkpoints.push(signed.hash());
        self.newest = Some(signed);
        self.ends_with_checkpoint = true;
        Ok(())
    }

    /// The newest checkpoint is also kept apart from the segments, so that cutting these off shows.
    fn check_head(&self, head: Option<&[u8]>) -> Result<(), FirstBad> {
        let changed = FirstBad::of_ledger(What::HeadChanged);
        let Some(head) = head else {
            // Before the second checkpoint a crash can leave the ledger without it.
            return if self.checkpoints.len() < 2 {
                Ok(())
            } else {
                Err(changed)
            };
        };
        let head = SignedCheckpoint::parse(head)
            .filter(|head| head.is_signed_by(&self.key))
            .ok_or(changed.clone())?;
        let found = usize::try_from(head.checkpoint.number)
            .ok()
            .and_then(|number| self.checkpoints.get(number));
        match found {
            None => Err(FirstBad::at(self.end.0, self.end.1, What::Truncated).record(self.tree.size())),
            Some(found) if *found == head.hash() => Ok(()),
            Some(_) => Err(changed),
        }
    }

    /// A frame's checksum failed, and there is more behind it: find the record that does not hold.
    fn name_broken(&self, number: u64, position: usize, bytes: &[u8]) -> FirstBad {
        let mut rest = Bytes::new(segment::claimed_payload(bytes, position));
        let mut at = position + FRAME_HEADER_LEN;
        let mut index = self.tree.size();
        while let Some(record) = RecordView::take(&mut rest) {
            if !record.hash_holds() {
                return FirstBad::at(number, at, What::Changed)
                    .record(index)
                    .named(&record);
            }
            at += 4 + record.body.len() + record.hash.len();
            index += 1;
        }
        FirstBad::at(number, position, What::FrameChanged).record(self.tree.size())
    }
}

/// The frames from the front of a segment on, with where they lie, and where the first thing begins that is none.
fn whole_frames(bytes: &[u8]) -> (Vec<(usize, Frame<'_>)>, usize) {
    let (mut frames, mut position) = (Vec::new(), Header::LEN);
    while let At::Frame(frame) = segment::at(bytes, position) {
        frames.push((position, frame));
        position += frame.len();
    }
    (frames, position)
}

/// A whole record stands where another should: is that one further behind, or gone?
fn misplaced(expected: u64, found: &RecordView<'_>, segment: &[u8], at: usize) -> What {
    if found.index < expected {
        return What::Reordered;
    }
    let behind = segment.get(at..).unwrap_or_default();
    let further = (0..behind.len()).any(|start| {
        let mut rest = Bytes::new(behind.get(start..).unwrap_or_default());
        RecordView::take(&mut rest).is_some_and(|record| record.index == expected && record.hash_holds())
    });
    if further { What::Reordered } else { What::Missing }
}
