//! Scans a text that comes in chunks, with the findings of the whole.
//!
//! Every rule judges a place by itself from a bounded window around it. So it is enough to hold the window: a finding
//! is final once everything it could have looked at has arrived, wherever the chunks were cut.

use crate::candidates::{LOOK_AHEAD, LOOK_BEHIND};
use crate::scan::resolve::{Resolver, by_place};
use crate::{Detector, Finding};

/// Bytes before a finding that any rule may look at: its literal can stand as far before it as rules look ahead.
const BEHIND: usize = LOOK_AHEAD + 2 * LOOK_BEHIND;
/// Bytes after the start of a finding that any rule may look at.
const AHEAD: usize = LOOK_AHEAD + 2 * LOOK_BEHIND;
/// Scanning starts when this much is new, so that small chunks are not scanned over and over.
const WORTHWHILE: usize = 4 * AHEAD;

/// Scans chunk by chunk. Holds at most a fixed window of the text and gives findings with offsets into the whole.
pub struct StreamScanner<'a> {
    detector: &'a Detector,
    /// The window: what rules may still look back at, and what is not final yet.
    window: Vec<u8>,
    /// Where the window starts in the whole text.
    window_start: usize,
    /// Findings that start before this place in the whole text are done.
    done: usize,
    resolver: Resolver,
}

impl<'a> StreamScanner<'a> {
    /// A scanner at the start of a text.
    #[must_use]
    pub fn new(detector: &'a Detector) -> Self {
        Self {
            detector,
            window: Vec::new(),
            window_start: 0,
            done: 0,
            resolver: Resolver::default(),
        }
    }

    /// Takes the next chunk and gives back the findings that are final with it.
    pub fn push(&mut self, chunk: &[u8]) -> Vec<Finding> {
        let mut findings = Vec::new();
        for part in chunk.chunks(WORTHWHILE) {
            self.window.extend_from_slice(part);
            if self.window.len() >= BEHIND + AHEAD + WORTHWHILE {
                let final_to = self.window_start + self.window.len() - AHEAD;
                self.advance(final_to, &mut findings);
                self.forget(final_to);
            }
        }
        findings
    }

    /// Ends the text and gives back the rest of the findings.
    #[must_use]
    pub fn finish(mut self) -> Vec<Finding> {
        let mut findings = Vec::new();
        self.advance(usize::MAX, &mut findings);
        findings.extend(self.resolver.finish());
        findings
    }

    fn advance(&mut self, final_to: usize, findings: &mut Vec<Finding>) {
        let mut raw = self.detector.scan_unresolved(&self.window);
        for finding in &mut raw {
            finding.span = finding.span.start + self.window_start..finding.span.end + self.window_start;
        }
        raw.retain(|finding| (self.done..final_to).contains(&finding.span.start));
        raw.sort_unstable_by(by_place);
        for finding in raw {
            findings.extend(self.resolver.push(finding));
        }
        self.done = final_to;
    }

    fn forget(&mut self, final_to: usize) {
        let keep_from = final_to.saturating_sub(BEHIND).max(self.window_start);
        self.window.drain(..keep_from - self.window_start);
        self.window_start = keep_from;
    }
}

impl std::fmt::Debug for StreamScanner<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamScanner")
            .field("taken", &(self.window_start + self.window.len()))
            .finish()
    }
}
