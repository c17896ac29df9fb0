//! Keeps the index beside the ledger from falling far behind.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::index::Index;

/// How long the index is left to others after each catching up. Whoever waits for SQLite's lock asks for it again every
/// tenth of a second, and would never find it free while segments fill faster than they are taken in.
const INDEX_PAUSE: Duration = Duration::from_millis(150);

/// How nice the thread is: of a processor that all want it gets about a tenth, of an idle one all.
#[cfg(target_os = "linux")]
const COURTESY: i32 = 10;

/// Keeps the index at most a segment or two behind, so that opening stays quick. It is a convenience: whoever needs
/// the index catches up first, so its failures are not its own to report.
pub(super) struct Indexer {
    pokes: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Indexer {
    pub(super) fn start(dir: &Path) -> Self {
        let (pokes, poked) = sync_channel(1);
        let dir = dir.to_owned();
        let thread = std::thread::Builder::new()
            .name("ledger-index".to_owned())
            .spawn(move || {
                stand_back();
                let mut wanted = poked.recv().is_ok();
                while wanted {
                    let _ = Index::open(&dir).and_then(|mut index| index.catch_up());
                    wanted =
                        pause(&poked).is_some_and(|poked_meanwhile| poked_meanwhile || poked.recv().is_ok());
                }
            });
        Self {
            pokes: Some(pokes),
            thread: thread.ok(),
        }
    }

    /// A poke that finds another waiting adds nothing to it.
    pub(super) fn poke(&self) {
        if let Some(pokes) = &self.pokes {
            let _ = pokes.try_send(());
        }
    }

    pub(super) fn stop(&mut self) {
        self.pokes = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Lets the threads of calls go first: nobody waits for this one. Where the system does not let it, it works as they do.
fn stand_back() {
    // Elsewhere than on Linux this would be said of the whole program.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, COURTESY);
}

/// Leaves the index to others for a while. Says whether there was a poke meanwhile; nothing when the ledger closes.
fn pause(poked: &Receiver<()>) -> Option<bool> {
    let end = Instant::now() + INDEX_PAUSE;
    let mut poked_meanwhile = false;
    loop {
        match poked.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(()) => poked_meanwhile = true,
            Err(RecvTimeoutError::Timeout) => return Some(poked_meanwhile),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}
