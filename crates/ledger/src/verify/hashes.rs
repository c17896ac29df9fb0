//! The one thing about a segment that needs no order: whether each record has the hash it states. So all processors
//! do it together, and the walk that follows only links.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::bytes::Bytes;
use crate::record::RecordView;
use crate::segment::{Frame, FrameKind};

const MAX_THREADS: usize = 8;
/// What is hashed faster than threads are started.
const FEW_BYTES: usize = 256 << 10;

/// Whether every record of these frames has its hash. If not, the walk finds out which is the first.
pub(super) fn all_hold(frames: &[(usize, Frame<'_>)]) -> bool {
    let bytes: usize = frames.iter().map(|(_, frame)| frame.len()).sum();
    let threads = match std::thread::available_parallelism() {
        Ok(threads) if bytes > FEW_BYTES => usize::from(threads).min(MAX_THREADS),
        Ok(_) | Err(_) => 1,
    };
    let (next, hold) = (AtomicUsize::new(0), AtomicBool::new(true));
    let work = || {
        while let Some((_, frame)) = frames.get(next.fetch_add(1, Ordering::Relaxed)) {
            if !frame_holds(frame) {
                hold.store(false, Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // Where no thread can be had, this one does all the work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    hold.into_inner()
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
            let hold = |payloads: &[Vec<u8>]| {
                let frame = |payload| Frame {
                    kind: FrameKind::Records,
                    count: 1,
                    first_index: 0,
                    payload,
                };
                all_hold(
                    &payloads
                        .iter()
                        .map(|payload| (0, frame(payload)))
                        .collect::<Vec<_>>(),
                )
            };
            assert!(hold(&payloads));
            for bad in [0, payloads.len() / 2, payloads.len() - 1] {
                payloads[bad][100] ^= 1;
                assert!(!hold(&payloads), "frame {bad} of {frames}");
                payloads[bad][100] ^= 1;
            }
        }
    }
}
