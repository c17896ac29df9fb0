//! A server that is a child process: one message a line, in and out; what it says on standard error is logged.
//!
//! The child gets a process group of its own, so that what it started goes when it goes, and of the environment only
//! what every program needs and what the configuration names.

use std::process::{ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidegate_core::Ident;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::UpstreamError;
use super::aside::Log;
use super::connection::{Incoming, Read, incoming};
use crate::mcp::message::Message;

/// What a program needs to run at all.
const NEEDED: [&str; 16] = [
    "APPDATA",
    "HOME",
    "LANG",
    "LC_ALL",
    "LOCALAPPDATA",
    "LOGNAME",
    "PATH",
    "PATHEXT",
    "SHELL",
    "SYSTEMROOT",
    "TEMP",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "USERPROFILE",
];

/// How long a child whose input was closed may take to leave.
const PARTING: Duration = Duration::from_secs(2);

/// A child's standard input. Dropping it ends the child.
pub(crate) struct Pipe {
    lines: Mutex<Option<mpsc::Sender<String>>>,
    child: Mutex<Option<JoinHandle<()>>>,
}

impl Pipe {
    /// Starts the program.
    pub(super) fn start(
        log: Log,
        command: &str,
        args: &[String],
        env: &[String],
        message_bytes: usize,
    ) -> Result<(Self, mpsc::Receiver<Read>), UpstreamError> {
        let mut child = command_for(command, args, env)?
            .spawn()
            .map_err(|_| UpstreamError::Unreachable("its program does not start"))?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            return Err(UpstreamError::Unreachable("its program has no standard streams"));
        };
        let (lines, to_write) = mpsc::channel(64);
        let (read, received) = incoming();
        let reader = tokio::spawn(read_lines(log.name.clone(), stdout, read, message_bytes));
        tokio::spawn(log.lines(stderr));
        let child = tokio::spawn(async move {
            // Ends when the connection is dropped, or when the child no longer reads.
            write_lines(stdin, to_write).await;
            part(child).await;
            reader.abort();
        });
        let pipe = Self {
            lines: Mutex::new(Some(lines)),
            child: Mutex::new(Some(child)),
        };
        Ok((pipe, received))
    }

    /// Writes a line.
    pub(super) async fn send(&self, line: String) -> Result<(), UpstreamError> {
        let lines = locked(&self.lines).clone().ok_or(UpstreamError::Gone)?;
        lines.send(line).await.map_err(|_| UpstreamError::Gone)
    }

    /// Closes the child's standard input once every line is written, and waits until the child is gone.
    pub(super) async fn part(&self) {
        drop(locked(&self.lines).take());
        let child = locked(&self.child).take();
        if let Some(child) = child {
            let _ = tokio::time::timeout(PARTING * 2, child).await;
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn command_for(program: &str, args: &[String], env: &[String]) -> Result<Command, UpstreamError> {
    let mut command = Command::new(program);
    command.args(args).env_clear();
    for name in NEEDED {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    for name in env {
        let value = std::env::var_os(name).ok_or_else(|| UpstreamError::NoVariable(name.clone()))?;
        command.env(name, value);
    }
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    Ok(command)
}

async fn write_lines(mut stdin: ChildStdin, mut lines: mpsc::Receiver<String>) {
    while let Some(line) = lines.recv().await {
        let written = async {
            stdin.write_all(line.as_bytes()).await?;
            stdin.write_all(b"\n").await?;
            stdin.flush().await
        };
        if written.await.is_err() {
            return;
        }
    }
}

/// Lets a child go by itself; one that does not is ended, with everything it started.
async fn part(mut child: Child) {
    let left = tokio::time::timeout(PARTING, child.wait()).await;
    if !matches!(left, Ok(Ok(ExitStatus { .. }))) {
        end_group(&child);
        let _ = child.kill().await;
    }
}

#[cfg(unix)]
fn end_group(child: &Child) {
    let group = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
const fn end_group(_child: &Child) {}

async fn read_lines(name: Ident, stdout: impl AsyncRead + Unpin, read: mpsc::Sender<Read>, most: usize) {
    let mut lines = BufReader::with_capacity(64 << 10, stdout);
    let mut line = Vec::new();
    loop {
        match next_line(&mut lines, &mut line, most).await {
            Line::Whole => {}
            Line::End => return,
            Line::TooLong => {
                tracing::warn!(server = %name, "the server sent a message larger than the gateway takes; its connection ends");
                let _ = read.send(Err(UpstreamError::TooLarge)).await;
                return;
            }
        }
        let message = std::str::from_utf8(&line).ok().map(Message::read);
        let Some(Ok(message)) = message else {
            if !line.trim_ascii().is_empty() {
                tracing::warn!(server = %name, "the server wrote a line that is no message; it is passed over");
            }
            continue;
        };
        let message = Incoming {
            message,
            related: None,
        };
        if read.send(Ok(message)).await.is_err() {
            return;
        }
    }
}

/// How a line was read.
pub(super) enum Line {
    Whole,
    End,
    TooLong,
}

/// The next line, without ever holding more than `most` bytes of it.
pub(super) async fn next_line<R: AsyncRead + Unpin>(
    lines: &mut BufReader<R>,
    line: &mut Vec<u8>,
    most: usize,
) -> Line {
    line.clear();
    loop {
        let Ok(chunk) = lines.fill_buf().await else {
            return Line::End;
        };
        if chunk.is_empty() {
            return Line::End;
        }
        let (part, used, whole) = match chunk.iter().position(|byte| *byte == b'\n') {
            Some(at) => (chunk.get(..at).unwrap_or_default(), at + 1, true),
            None => (chunk, chunk.len(), false),
        };
        if line.len() + part.len() > most {
            return Line::TooLong;
        }
        line.extend_from_slice(part);
        lines.consume(used);
        if whole {
            return Line::Whole;
        }
    }
}
