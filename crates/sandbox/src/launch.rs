//! Starting a program in its room, and ending it with everything it started.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{oneshot, watch};

use crate::door::{Arrival, Door};
use crate::machine::find;
use crate::{Flow, Outlet, Room, RoomError, Valve, bwrap};

/// How long the walls may take to be put up.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is needed to start programs.
#[derive(Clone, Debug)]
pub struct Launch {
    bwrap: PathBuf,
    enter: PathBuf,
    word: &'static str,
}

/// Why a program was not started. It did not run, not even without isolation.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// Bubblewrap is not there.
    #[error(
        "nothing was run: bubblewrap (bwrap) is not installed, and without it nothing can be isolated; install the package \
         bubblewrap, and see `tidegate doctor`"
    )]
    NoBwrap,
    /// The program that enters is not there.
    #[error("nothing was run: tidegate's own program file cannot be found: {0}")]
    NoProgram(io::Error),
    /// The room cannot be had.
    #[error(transparent)]
    Room(#[from] RoomError),
    /// The way out cannot be prepared.
    #[error("nothing was run: the way out cannot be prepared: {0}")]
    Door(io::Error),
    /// Bubblewrap cannot be started.
    #[error("nothing was run: bubblewrap cannot be started: {0}")]
    Start(io::Error),
    /// It ended before the isolation was in place.
    #[error(
        "nothing was run: the isolation could not be set up ({status}); `tidegate doctor` says what is missing"
    )]
    NotIsolated {
        /// How it ended.
        status: ExitStatus,
    },
    /// It did not get ready.
    #[error("nothing was run: the isolation was not ready in time")]
    TooSlow,
}

/// Where the program's streams lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// Where this process's own lead.
    Inherited,
    /// Nothing comes in; what goes out is collected.
    Collected,
}

/// A program that runs. Dropping this ends it, and everything it started.
#[derive(Debug)]
pub struct Running {
    /// What it says, where that is collected.
    pub stdout: Option<ChildStdout>,
    /// What it complains of, where that is collected.
    pub stderr: Option<ChildStderr>,
    /// Its id, as seen from here.
    pub id: u32,
    /// The version of Landlock that holds for it; zero for none.
    pub landlock: u8,
    outer: OwnedFd,
    program: OwnedFd,
    ended: oneshot::Receiver<io::Result<ExitStatus>>,
    _valve: Valve,
}

impl Launch {
    /// Finds what is needed. `word` is the argument that makes this program's own binary call [`crate::enter::enter`].
    ///
    /// # Errors
    /// When bubblewrap or this program's own file cannot be found.
    pub fn find(word: &'static str) -> Result<Self, LaunchError> {
        let path = std::env::var_os("PATH");
        let bwrap = find("bwrap", path.as_deref()).ok_or(LaunchError::NoBwrap)?;
        let enter = std::env::current_exe().map_err(LaunchError::NoProgram)?;
        Ok(Self { bwrap, enter, word })
    }

    /// Starts a program. When this returns it runs, behind every wall there is.
    ///
    /// # Errors
    /// When it cannot be isolated; it was not started then.
    pub async fn start(
        &self,
        room: &Room,
        command: &[OsString],
        streams: Streams,
        (outlet, flow): (Arc<dyn Outlet>, watch::Receiver<Flow>),
    ) -> Result<Running, LaunchError> {
        let door = Door::new().map_err(LaunchError::Door)?;
        let mut bwrap = Command::new(&self.bwrap);
        bwrap
            .args(bwrap::arguments(room, &door.path(), &self.enter, self.word))
            .args(command)
            .env_clear()
            .envs(&room.environment);
        let mut begun = begin(bwrap, streams).await.map_err(LaunchError::Start)?;
        let arrival = tokio::select! {
            arrival = door.wait() => arrival.map_err(LaunchError::Door),
            status = &mut begun.ended => Err(match status {
                Ok(Ok(status)) => LaunchError::NotIsolated { status },
                Ok(Err(error)) => LaunchError::Start(error),
                Err(_) => LaunchError::Start(io::ErrorKind::BrokenPipe.into()),
            }),
            () = tokio::time::sleep(PATIENCE) => Err(LaunchError::TooSlow),
        };
        let started = arrival.and_then(|mut arrival| {
            let listener = arrival.listener.try_clone().map_err(LaunchError::Door)?;
            let valve = Valve::open(listener, outlet, flow).map_err(LaunchError::Door)?;
            arrival.go().map_err(LaunchError::Door)?;
            Ok((valve, arrival))
        });
        match started {
            Ok((valve, arrival)) => Ok(begun.into_running(valve, arrival)),
            Err(error) => {
                let _ = pidfd_send_signal(&begun.outer, Signal::KILL);
                Err(error)
            }
        }
    }
}

impl Running {
    /// Waits for the program's end. What it started ends with it.
    ///
    /// # Errors
    /// When it cannot be told how it ended.
    pub async fn ended(&mut self) -> io::Result<i32> {
        let ended = (&mut self.ended).await;
        let status = ended.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))??;
        let signalled = || status.signal().map_or(1, |signal| 128 + signal);
        Ok(status.code().unwrap_or_else(signalled))
    }

    /// Sends the program a signal.
    pub fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.program, signal);
    }

    /// Ends it at once, with everything it started.
    pub fn kill(&self) {
        let _ = pidfd_send_signal(&self.outer, Signal::KILL);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Bubblewrap, not ready yet.
struct Begun {
    outer: OwnedFd,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    ended: oneshot::Receiver<io::Result<ExitStatus>>,
}

impl Begun {
    fn into_running(self, valve: Valve, arrival: Arrival) -> Running {
        Running {
            stdout: self.stdout,
            stderr: self.stderr,
            id: arrival.id,
            landlock: arrival.landlock,
            outer: self.outer,
            program: arrival.process,
            ended: self.ended,
            _valve: valve,
        }
    }
}

/// Starts bubblewrap on a thread that lives as long as it does: it dies with the thread that started it, not with the
/// process.
async fn begin(mut command: Command, streams: Streams) -> io::Result<Begun> {
    if streams == Streams::Collected {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }
    let (tell_begun, begun) = oneshot::channel();
    let (tell_ended, ended) = oneshot::channel();
    std::thread::Builder::new()
        .name("sandbox".into())
        .spawn(move || match spawn(&mut command) {
            Ok((mut child, outer)) => {
                let pipes = (child.stdout.take(), child.stderr.take());
                if tell_begun.send(Ok((outer, pipes))).is_err() {
                    let _ = child.kill();
                }
                let _ = tell_ended.send(child.wait());
            }
            Err(error) => {
                let _ = tell_begun.send(Err(error));
            }
        })?;
    let (outer, (stdout, stderr)) = begun.await.map_err(|_| io::ErrorKind::BrokenPipe)??;
    Ok(Begun {
        outer,
        stdout: stdout.map(ChildStdout::from_std).transpose()?,
        stderr: stderr.map(ChildStderr::from_std).transpose()?,
        ended,
    })
}

fn spawn(command: &mut Command) -> io::Result<(Child, OwnedFd)> {
    let mut child = command.spawn()?;
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let outer = id
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
        .and_then(|id| Ok(pidfd_open(id, PidfdFlags::empty())?));
    match outer {
        Ok(outer) => Ok((child, outer)),
        Err(error) => {
            let _ = child.kill();
            let _ = child.wait();
            Err(error)
        }
    }
}
