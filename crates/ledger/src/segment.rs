//! Segment files: a header, then frames. A frame is what one commit wrote, or one checkpoint.
//!
//! A whole commit shares one checksum because it shares one fate: it is written at once and made durable by one
//! `fdatasync`, and nothing is written after it before that returns. So after a crash only the last frame can be
//! broken, in any of its bytes, and a broken frame with a whole one behind it is damage, never a torn write.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::bytes::Bytes;
use crate::checkpoint::WriterId;
use crate::record::{FORMAT_VERSION, Hash};

/// The public key's file in a ledger's directory.
pub(crate) const PUBLIC_KEY_FILE: &str = "public.key";
/// The newest checkpoint, kept apart from the segments so that a shortened segment is noticed.
pub(crate) const HEAD_FILE: &str = "head";

/// The largest segment that is read.
pub(crate) const MAX_SEGMENT_BYTES: u64 = 1 << 30;
/// The largest payload of a frame.
pub(crate) const MAX_PAYLOAD: usize = 8 << 20;

/// The fixed front of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) writer: WriterId,
    pub(crate) number: u64,
    pub(crate) created_ms: i64,
    /// How many records all earlier segments hold.
    pub(crate) first_index: u64,
    /// The exact length of the segment before.
    pub(crate) prev_len: u64,
    /// The hash of the header of the segment before.
    pub(crate) prev_header: Hash,
}

impl Header {
    const MAGIC: &'static [u8; 8] = b"TGLEDGER";
    pub(crate) const LEN: usize = 96;

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Self::LEN);
        bytes.extend(Self::MAGIC);
        bytes.extend(u16::from(FORMAT_VERSION).to_le_bytes());
        bytes.extend([0; 2]);
        bytes.extend(self.writer);
        bytes.extend(self.number.to_le_bytes());
        bytes.extend(self.created_ms.to_le_bytes());
        bytes.extend(self.first_index.to_le_bytes());
        bytes.extend(self.prev_len.to_le_bytes());
        bytes.extend(self.prev_header);
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }

    pub(crate) fn parse(segment: &[u8]) -> Option<Self> {
        let bytes = segment.get(..Self::LEN)?;
        let mut rest = Bytes::new(bytes);
        (rest.array()? == Self::MAGIC && rest.u16()? == u16::from(FORMAT_VERSION) && rest.u16()? == 0)
            .then_some(())?;
        let header = Self {
            writer: *rest.array()?,
            number: rest.u64()?,
            created_ms: rest.i64()?,
            first_index: rest.u64()?,
            prev_len: rest.u64()?,
            prev_header: *rest.array()?,
        };
        let (covered, _) = bytes.split_last_chunk::<4>()?;
        (rest.u32()? == crc32fast::hash(covered)).then_some(header)
    }

    pub(crate) fn hash(&self) -> Hash {
        Sha256::digest(self.encode()).into()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    Records,
    Checkpoint,
}

/// One frame whose checksum held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) kind: FrameKind,
    /// How many records it holds.
    pub(crate) count: u32,
    /// How many records precede it in the ledger.
    pub(crate) first_index: u64,
    pub(crate) payload: &'a [u8],
}

/// What lies at a position of a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum At<'a> {
    Frame(Frame<'a>),
    /// Nothing was written from here on: the end of the file, or zeroes up to it.
    End,
    /// Bytes that are no frame.
    Broken,
}

const MAGIC: &[u8; 4] = b"TGF1";
pub(crate) const FRAME_HEADER_LEN: usize = 28;

/// Writes a frame.
pub(crate) fn encode_frame(
    kind: FrameKind,
    count: u32,
    first_index: u64,
    payload: &[u8],
    into: &mut Vec<u8>,
) {
    let start = into.len();
    into.extend(MAGIC);
    into.extend([
        match kind {
            FrameKind::Records => 1,
            FrameKind::Checkpoint => 2,
        },
        0,
        0,
        0,
    ]);
    into.extend(u32::try_from(payload.len()).unwrap_or(u32::MAX).to_le_bytes());
    into.extend(count.to_le_bytes());
    into.extend(first_index.to_le_bytes());
    let mut crc = crc32fast::Hasher::new();
    crc.update(into.get(start..).unwrap_or_default());
    crc.update(payload);
    into.extend(crc.finalize().to_le_bytes());
    into.extend(payload);
}

/// Looks at a position of a segment.
pub(crate) fn at(segment: &[u8], position: usize) -> At<'_> {
    let rest = segment.get(position..).unwrap_or_default();
    match frame(rest) {
        Some(frame) => At::Frame(frame),
        None if rest.iter().all(|byte| *byte == 0) => At::End,
        None => At::Broken,
    }
}

/// Whether a whole frame begins anywhere behind a broken one. If so, the broken one had been durable.
pub(crate) fn whole_frame_after(segment: &[u8], broken: usize) -> bool {
    let rest = segment.get(broken + 1..).unwrap_or_default();
    (0..rest.len())
        .filter_map(|start| rest.get(start..))
        .any(|rest| rest.starts_with(MAGIC) && frame(rest).is_some())
}

impl Frame<'_> {
    /// How many bytes it takes in the segment.
    pub(crate) const fn len(&self) -> usize {
        FRAME_HEADER_LEN + self.payload.len()
    }
}

/// What a frame's header claims, and its payload as far as the file reaches. For naming what is wrong in it.
pub(crate) fn claimed_payload(segment: &[u8], position: usize) -> &[u8] {
    segment
        .get(position.saturating_add(FRAME_HEADER_LEN)..)
        .unwrap_or_default()
}

fn frame(bytes: &[u8]) -> Option<Frame<'_>> {
    let mut rest = Bytes::new(bytes);
    (rest.array()? == MAGIC).then_some(())?;
    let kind = match rest.array()? {
        [1, 0, 0, 0] => FrameKind::Records,
        [2, 0, 0, 0] => FrameKind::Checkpoint,
        _ => return None,
    };
    let len = rest.len32().filter(|len| *len <= MAX_PAYLOAD)?;
    let (count, first_index, checksum) = (rest.u32()?, rest.u64()?, rest.u32()?);
    let payload = rest.take(len)?;
    let mut crc = crc32fast::Hasher::new();
    crc.update(bytes.get(..FRAME_HEADER_LEN - 4)?);
    crc.update(payload);
    (crc.finalize() == checksum).then_some(Frame {
        kind,
        count,
        first_index,
        payload,
    })
}

/// The file of a segment.
pub(crate) fn path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:010}.tgl"))
}

/// The numbers of the segments in a directory, lowest first.
pub(crate) fn numbers(dir: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let name = entry?.file_name();
        let number = name
            .to_str()
            .and_then(|name| name.strip_suffix(".tgl"))
            .and_then(|stem| stem.parse().ok());
        numbers.extend(number.filter(|number| path(dir, *number).file_name() == Some(&name)));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Reads a segment whole into a buffer that is used again and again.
pub(crate) fn read(dir: &Path, number: u64, into: &mut Vec<u8>) -> io::Result<()> {
    into.clear();
    let file = File::open(path(dir, number))?;
    if file.metadata()?.len() > MAX_SEGMENT_BYTES {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    file.take(MAX_SEGMENT_BYTES).read_to_end(into)?;
    Ok(())
}

/// Reads the header of an open segment, if it is whole.
pub(crate) fn read_header(file: &File) -> io::Result<Option<Header>> {
    let mut bytes = [0; Header::LEN];
    Ok(read_fully(file, &mut bytes, 0)?
        .then(|| Header::parse(&bytes))
        .flatten())
}

/// Reads the frame at a position of an open segment and nothing else. Gives nothing where no whole frame lies.
pub(crate) fn read_frame<'a>(
    file: &File,
    position: u64,
    into: &'a mut Vec<u8>,
) -> io::Result<Option<Frame<'a>>> {
    into.resize(FRAME_HEADER_LEN, 0);
    if !read_fully(file, into, position)? || !into.starts_with(MAGIC) {
        return Ok(None);
    }
    let len = into
        .get(8..12)
        .and_then(|field| Bytes::new(field).len32())
        .filter(|len| *len <= MAX_PAYLOAD);
    let Some(len) = len else { return Ok(None) };
    into.resize(FRAME_HEADER_LEN + len, 0);
    Ok(if read_fully(file, into, position)? {
        frame(into)
    } else {
        None
    })
}

/// Fills the buffer, or says that the file ends before it is full.
fn read_fully(file: &File, into: &mut [u8], position: u64) -> io::Result<bool> {
    match file.read_exact_at(into, position) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header() -> Header {
        Header {
            writer: [1; 16],
            number: 3,
            created_ms: 5,
            first_index: 9,
            prev_len: 400,
            prev_header: [2; 32],
        }
    }

    #[test]
    fn every_flipped_byte_of_a_header_breaks_it() {
        let bytes = header().encode();
        assert_eq!(bytes.len(), Header::LEN);
        assert_eq!(Header::parse(&bytes), Some(header()));
        for position in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[position] ^= 1;
            assert_eq!(Header::parse(&flipped), None, "byte {position}");
        }
    }

    #[test]
    fn every_flipped_byte_of_a_frame_breaks_it() {
        let mut bytes = Vec::new();
        encode_frame(FrameKind::Records, 1, 7, b"payload", &mut bytes);
        let first = bytes.len();
        encode_frame(FrameKind::Records, 1, 8, b"behind", &mut bytes);
        for position in 0..first {
            let mut flipped = bytes.clone();
            flipped[position] ^= 0x80;
            assert!(matches!(at(&flipped, 0), At::Broken), "byte {position}");
            assert!(whole_frame_after(&flipped, 0));
            assert!(!whole_frame_after(&flipped[..first], 0));
        }
        assert!(matches!(at(&bytes, first), At::Frame(frame) if frame.payload == b"behind"));
        assert!(matches!(at(&bytes, bytes.len()), At::End));
        bytes.extend([0; 40]);
        assert!(matches!(at(&bytes, bytes.len() - 40), At::End));
    }

    proptest! {
        #[test]
        fn any_bytes_are_no_panic(bytes: Vec<u8>, position in 0..64usize) {
            let _ = at(&bytes, position);
            let _ = whole_frame_after(&bytes, position);
            let _ = Header::parse(&bytes);
        }
    }
}
