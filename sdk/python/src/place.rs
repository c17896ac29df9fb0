//! A data directory, used in process: the same sessions as the gateway's, through the same engine.
//!
//! INVARIANT (nothing open is forked): SQLite's locks belong to a process and its bookkeeping of them to its memory, so a
//! child that inherits an open file believes in locks it does not hold. Python closes every place before it forks and opens
//! it again on both sides; a process that was forked without Python's knowledge finds another process's number here and is
//! refused.
//!
//! Whoever asks takes a share of what is open and keeps no lock meanwhile, so nobody waits for the interpreter while someone
//! else waits for them.

use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use tidegate_core::{Class, ControlList, Ident, Rise};
use tidegate_detect::exits::Exits;
use tidegate_detect::{Detector, DetectorConfig};
use tidegate_engine::{
    AccessError, DecisionRecord, DeliverError, Engine, Observer, OpenSessionError, Parts, Policy, Provenance,
};
use tidegate_ledger::vault::{KeySource, Vault};
use tidegate_ledger::{Ledger, OpenError, Options, Reader};
use tidegate_store::{Mirror, Session, SqliteOptions, SqliteStore, state_file};
use tokio::runtime::{Builder, Runtime};

use crate::tool::{Refusal, Tool, class, name};
use crate::who::Who;

create_exception!(
    tidegate,
    StateError,
    PyException,
    "The state of sessions cannot be used, so nothing passes."
);
create_exception!(
    tidegate,
    NotReady,
    PyException,
    "The data directory or the session has to be opened first."
);

/// The most processes at once that use one data directory in process.
const MOST_PROCESSES: usize = 1_024;

/// What a process keeps of sessions in memory.
const CACHE_BYTES: usize = 16 << 20;

/// A data directory.
#[pyclass(frozen, module = "tidegate._native")]
pub(crate) struct Place {
    data_dir: PathBuf,
    private_data_dir: Option<PathBuf>,
    open: Mutex<Option<Arc<Open>>>,
}

/// What is open while it is open.
struct Open {
    engine: Engine,
    runtime: Runtime,
    process: u32,
}

/// A session as Python sees it.
#[pyclass(frozen, get_all, module = "tidegate._native")]
pub(crate) struct State {
    sensitivity: &'static str,
    has_private_data: bool,
    private_datasets: Vec<String>,
}

#[pymethods]
impl Place {
    #[new]
    #[pyo3(signature = (data_dir, private_data_dir=None))]
    fn new(data_dir: PathBuf, private_data_dir: Option<PathBuf>) -> Self {
        Self {
            data_dir,
            private_data_dir,
            open: Mutex::new(None),
        }
    }

    /// Opens the state and a record of this process's own. Asked again, it changes nothing.
    fn open(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if open.is_none() {
                let opened = Open::new(&self.data_dir, self.private_data_dir.as_ref());
                *open = Some(Arc::new(opened.map_err(StateError::new_err)?));
            }
            Ok(())
        })
    }

    /// Closes everything, after whoever is using it has finished.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            let taken = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(mut shared) = taken else { return };
            loop {
                match Arc::try_unwrap(shared) {
                    Ok(open) => return drop(open),
                    Err(still) => shared = still,
                }
                std::thread::sleep(Duration::from_micros(100));
            }
        });
    }

    /// Opens the session when it is not there yet.
    fn open_session(&self, py: Python<'_>, who: &Bound<'_, Who>) -> PyResult<()> {
        let (open, who) = (self.share()?, who.get());
        py.detach(|| {
            open.runtime.block_on(async {
                match open.engine.context(&who.caller, &who.session).await {
                    Err(AccessError::NoSession) => {}
                    outcome => return outcome.map(drop).map_err(refused),
                }
                let opened = open.engine.open_session(&who.caller, who.opening()).await;
                match opened {
                    Ok(_) => Ok(()),
                    // Another process may have opened it for the same user meanwhile, and for another agent.
                    Err(OpenSessionError::Taken) => {
                        let ours = open.engine.context(&who.caller, &who.session).await;
                        ours.map(drop)
                            .map_err(|_| StateError::new_err("this session id belongs to another user"))
                    }
                    Err(error) => Err(StateError::new_err(error.to_string())),
                }
            })
        })
    }

    /// Whether the function may run now; a refusal is on the record when this returns.
    fn check(
        &self,
        py: Python<'_>,
        tool: &Bound<'_, Tool>,
        who: &Bound<'_, Who>,
    ) -> PyResult<Option<Refusal>> {
        let (open, tool, who) = (self.share()?, tool.get(), who.get());
        let mut deciding = pin!(open.engine.guard(&who.caller, &who.session, &tool.0));
        // An allowance is there at once; giving up the interpreter for it could cost a thousand times as much.
        let decision = match deciding.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(decision) => decision,
            Poll::Pending => py.detach(|| open.runtime.block_on(deciding)),
        };
        decision
            .map(|decision| Refusal::of(decision, tool))
            .map_err(refused)
    }

    /// The session as it is now.
    fn state(&self, py: Python<'_>, who: &Bound<'_, Who>) -> PyResult<State> {
        let (open, who) = (self.share()?, who.get());
        let view = py.detach(|| {
            let asking = open.engine.context(&who.caller, &who.session);
            open.runtime.block_on(asking)
        });
        view.map(|view| State::of(&view.session)).map_err(refused)
    }

    /// Registers a dataset; the rise is durable and on the record when this returns.
    fn add_dataset(
        &self,
        py: Python<'_>,
        who: &Bound<'_, Who>,
        dataset: &str,
        sensitivity: &str,
    ) -> PyResult<()> {
        let (open, who) = (self.share()?, who.get());
        let (dataset, class) = (name(dataset)?, class(sensitivity)?);
        let added = py.detach(|| {
            let adding = open.engine.add_dataset(&who.caller, &who.session, dataset, class);
            open.runtime.block_on(adding)
        });
        match added {
            Ok(_) => Ok(()),
            Err(DeliverError::Access(error)) => Err(refused(error)),
            Err(error) => Err(StateError::new_err(error.to_string())),
        }
    }
}

impl Place {
    fn share(&self) -> PyResult<Arc<Open>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let open = open.as_ref().ok_or_else(|| NotReady::new_err("closed"))?;
        // INVARIANT (nothing open is forked): what another process opened is not touched.
        if open.process != std::process::id() {
            return Err(StateError::new_err(
                "this process was forked while the state was open and without Python's hooks; use tidegate only after the \
                 fork, or start processes with spawn",
            ));
        }
        Ok(Arc::clone(open))
    }
}

impl Open {
    fn new(data_dir: &std::path::Path, private_data_dir: Option<&PathBuf>) -> Result<Self, String> {
        let shown = data_dir.display();
        let failed = |error: &dyn std::fmt::Display| format!("the state in {shown} cannot be used: {error}");
        let options = SqliteOptions {
            readers: 2,
            cache_bytes: CACHE_BYTES,
            ..SqliteOptions::default()
        };
        // Where the sessions are on a server, this process does not know which: an empty file would be no label at all.
        let file = state_file(data_dir).map_err(|elsewhere| format!("{elsewhere}; set TIDEGATE_URL"))?;
        let store = SqliteStore::open(file, options).map_err(|error| failed(&error))?;
        let runtime = Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|error| failed(&error))?;
        let engine = Engine::new(Parts {
            store: Arc::new(store),
            policy: Policy::new(ControlList::new([]).map_err(|error| failed(&error))?),
            mirror: private_data_dir
                .map(Mirror::new)
                .transpose()
                .map_err(|error| failed(&error))?,
            provenance: free_record(data_dir).map_err(|error| failed(&error))?,
            detector: Detector::new(&DetectorConfig::default()).map_err(|error| failed(&error))?,
            exits: Exits::new(Vec::new()).map_err(|error| failed(&error))?,
            observer: Arc::new(Unwatched),
        });
        Ok(Self {
            engine,
            runtime,
            process: std::process::id(),
        })
    }
}

/// Why there is no record to write to.
#[derive(Debug, thiserror::Error)]
enum NoRecord {
    #[error("{0}")]
    Directory(#[from] std::io::Error),
    #[error(transparent)]
    Ledger(#[from] OpenError),
    #[error(transparent)]
    Reader(#[from] tidegate_ledger::ReadError),
    #[error(transparent)]
    Vault(#[from] tidegate_ledger::vault::VaultError),
    #[error("{MOST_PROCESSES} processes use it already")]
    TooMany,
}

/// The first record in the data directory that no other process writes to.
fn free_record(data_dir: &std::path::Path) -> Result<Provenance, NoRecord> {
    for place in 1..=MOST_PROCESSES {
        let directory = data_dir.join("ledgers").join(format!("sdk-{place}"));
        std::fs::create_dir_all(&directory)?;
        let ledger = match Ledger::open(&directory, Options::new(&directory)) {
            Ok(ledger) => ledger,
            Err(OpenError::InUse) => continue,
            Err(error) => return Err(error.into()),
        };
        let reader = Reader::open(&directory)?;
        // Nothing that is done here keeps evidence, so this vault stays empty, and nobody who works on the gateway's has to
        // wait for this process. It lies beside the record, which holds no secret.
        let key = KeySource::File(directory.with_extension("vault.key"));
        let vault = Vault::open(&directory.with_extension("vault.db"), key, SystemTime::now())?;
        return Ok(Provenance::new(ledger, reader, vault));
    }
    Err(NoRecord::TooMany)
}

fn refused(error: AccessError) -> PyErr {
    match error {
        AccessError::NoSession => NotReady::new_err("no session"),
        error => StateError::new_err(error.to_string()),
    }
}

impl State {
    fn of(session: &Session) -> Self {
        let context = &session.context;
        let private = context.datasets().iter().filter(|set| set.class > Class::Public);
        Self {
            sensitivity: context.label().class().as_str(),
            has_private_data: context.label().is_private(),
            private_datasets: private.map(|set| set.name.to_string()).collect(),
        }
    }
}

/// In process nobody counts or logs; the record says what happened.
struct Unwatched;

impl Observer for Unwatched {
    fn decided(&self, _record: &DecisionRecord<'_>) {}
    fn rose(&self, _session: &Session, _rise: &Rise) {}
    fn opened(&self, _session: &Session) {}
    fn reset(&self, _session: &Session) {}
    fn halted(&self, _session: &Session) {}
    fn unheard(&self, _session: &Ident, _reason: &'static str) {}
}
