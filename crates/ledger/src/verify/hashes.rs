//! The one thing about a segment that needs no order: whether each record has the hash it states. So all processors
//! do it together, while the walk, which links records in their order, follows behind; where it catches up with them, it
//! takes a share of the hashing.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use crate::bytes::Bytes;
use crate::record::RecordView;
use crate::segment::{Frame, FrameKind};

const MAX_THREADS: usize = 8;
/// What is hashed faster than threads are started.
const FEW_BYTES: usize = 256 << 10;

const UNKNOWN: u8 = 0;
const HOLDS: u8 = 1;
const FAILS: u8 = 2;

/// The frames of a segment, and what is known of the hashes in each.
pub(super) struct Hashes<'a> {
    frames: &'a [(usize, Frame<'a>)],
    next: AtomicUsize,
    known: Vec<AtomicU8>,
}

/// Runs the walk with the hashes of these frames. When the walk ends, so does the hashing.
pub(super) fn beside<'a, T>(frames: &'a [(usize, Frame<'a>)], walk: impl FnOnce(&Hashes<'a>) -> T) -> T {
    let bytes: usize = frames.iter().map(|(_, frame)| frame.len()).sum();
    let threads = match std::thread::available_parallelism() {
        Ok(threads) if bytes > FEW_BYTES => usize::from(threads).min(MAX_THREADS),
        Ok(_) | Err(_) => 1,
    };
    let hashes = Hashes {
        frames,
        next: AtomicUsize::new(0),
        known: frames.iter().map(|_| AtomicU8::new(UNKNOWN)).collect(),
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // Where no thread can be had, the walk does all the work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, || while hashes.look_at_next() {});
        }
        let _stop = Stop(&hashes);
        walk(&hashes)
    })
}

impl Hashes<'_> {
    /// Whether every record of this frame has the hash it states.
    pub(super) fn hold(&self, frame: usize) -> bool {
        loop {
            match self.known.get(frame).map(|known| known.load(Ordering::Acquire)) {
                Some(HOLDS) => return true,
                // Another thread is at this very frame when there is no other left to look at.
                Some(UNKNOWN) if !self.look_at_next() => std::thread::yield_now(),
                Some(UNKNOWN) => {}
                Some(_) | None => return false,
            }
        }
    }

    /// Looks at one frame that nobody looked at, if there is one.
    fn look_at_next(&self) -> bool {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        let (Some((_, frame)), Some(known)) = (self.frames.get(next), self.known.get(next)) else {
            return false;
        };
        let verdict = if frame_holds(frame) { HOLDS } else { FAILS };
        known.store(verdict, Ordering::Release);
        true
    }
}

/// Leaves nothing to look at: a walk that found something bad does not wait for the rest.
struct Stop<'h, 'a>(&'h Hashes<'a>);

impl Drop for Stop<'_, '_> {
    fn drop(&mut self) {
        self.0.next.store(self.0.frames.len(), Ordering::Relaxed);
    }
}

fn frame_holds(frame: &Frame<'_>) -> bool {
    match frame.kind {
        FrameKind::Checkpoint => true,
        FrameKind::Records => {
            let mut rest = Bytes::new(frame.payload);
            while !rest.is_empty() {
                if !RecordView::take(&mut rest).is_some_and(|record| record.hash_holds()) {
                    return false;
                }
            }
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{self, Chain, NO_HASH, Place};

    /// Many frames, one of them with a record that does not hold: found wherever it is, with threads and without.
    #[test]
    fn one_bad_record_among_many_is_noticed() {
        for frames in [3, 2000] {
            let mut payloads: Vec<Vec<u8>> = Vec::new();
            for index in 0..frames {
                let mut payload = Vec::new();
                let place = Place {
                    index,
                    seq: index,
                    prev: NO_HASH,
                };
                record::encode(&Chain::Gateway, place, 0, &[b'x'; 300], &mut payload);
                payloads.push(payload);
            }
            let failing = |payloads: &[Vec<u8>]| {
                let frame = |payload| Frame {
                    kind: FrameKind::Records,
                    count: 1,
                    first_index: 0,
                    payload,
                };
                let framed: Vec<_> = payloads.iter().map(|payload| (0, frame(payload))).collect();
                beside(&framed, |hashes| {
                    (0..framed.len())
                        .filter(|&frame| !hashes.hold(frame))
                        .collect::<Vec<_>>()
                })
            };
            assert!(failing(&payloads).is_empty());
            for bad in [0, payloads.len() / 2, payloads.len() - 1] {
                payloads[bad][100] ^= 1;
                assert_eq!(failing(&payloads), [bad], "of {frames}");
                payloads[bad][100] ^= 1;
            }
        }
    }

    /// A walk that stops early ends, and a frame that does not exist does not hold.
    #[test]
    fn a_walk_may_stop_before_the_end() {
        assert!(beside(&[], |hashes| !hashes.hold(0)));
        let payload = vec![0_u8; 1 << 20];
        let frame = Frame {
            kind: FrameKind::Records,
            count: 1,
            first_index: 0,
            payload: &payload,
        };
        let framed = vec![(0, frame); 100];
        assert!(!beside(&framed, |hashes| hashes.hold(3)));
    }
}
