//! Server processes: waited for until they answer, stopped when dropped.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How long a server may take until it answers, and until it has stopped.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server that runs.
pub struct Running {
    url: String,
    process: Child,
    /// What asks it to stop in order.
    stop: Signal,
}

impl Running {
    /// Starts `command` and waits until `answers` says that it does.
    pub(super) fn start(
        mut command: Command,
        url: String,
        stop: Signal,
        answers: impl Fn() -> bool,
    ) -> Result<Self, String> {
        let shown = command.get_program().to_string_lossy().into_owned();
        let process = command
            .stdin(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot run {shown}: {error}"))?;
        let mut running = Self { url, process, stop };
        let since = Instant::now();
        while !answers() {
            if let Ok(Some(status)) = running.process.try_wait() {
                return Err(format!("{shown} ended before it answered ({status})"));
            }
            if since.elapsed() > PATIENCE {
                return Err(format!("{shown} did not answer"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(running)
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Stops the server and its children where they are, as a machine that hangs.
    pub fn pause(&self) {
        self.signal_all(Signal::STOP);
    }

    /// Lets them go on.
    pub fn resume(&self) {
        self.signal_all(Signal::CONT);
    }

    /// Ends it at once, without a chance to tidy up.
    pub fn kill(mut self) {
        self.signal_all(Signal::KILL);
        let _ = self.process.wait();
    }

    fn signal_all(&self, signal: Signal) {
        let own = self.process.id();
        for id in children_of(own).into_iter().chain([own]) {
            let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
            if let Some(pid) = pid {
                let _ = kill_process(pid, signal);
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(Some(_))) {
            return;
        }
        self.signal_all(Signal::CONT);
        if let Some(pid) = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, self.stop);
        }
        let since = Instant::now();
        while since.elapsed() < PATIENCE {
            if matches!(self.process.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.signal_all(Signal::KILL);
        let _ = self.process.wait();
    }
}

/// The processes whose parent is this one; servers of several processes stop only when all of them do.
fn children_of(parent: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |id: &u32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // The name in parentheses may hold anything; the state and the parent follow it.
        let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        rest.split(' ').nth(1).and_then(|field| field.parse().ok()) == Some(parent)
    };
    ids.filter(is_child).collect()
}

/// Whether something listens on this port of the loopback address.
pub(super) fn listens(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// A directory for the state of servers, gone when dropped. It is not below the workspace, since a server that runs as
/// another user must be able to reach it.
pub struct Place(PathBuf);

impl Place {
    /// A new one.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new() -> Result<Self, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tidegate-services-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).map_err(|error| format!("cannot write in {}: {error}", path.display()))?;
        Ok(Self(path))
    }

    /// An empty directory in it, of a name that is not used yet.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn directory(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.0.join(name.to_ascii_lowercase());
        fs::create_dir(&path).map_err(|error| format!("cannot write in {}: {error}", path.display()))?;
        Ok(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The first of these that is a file.
pub(super) fn program(candidates: &[&Path]) -> Option<PathBuf> {
    let found = candidates.iter().find(|path| path.is_file());
    found.map(|path| path.to_path_buf())
}
