//! The shell that agents get: a sandbox for each command, in one workspace.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tidegate_core::{Class, Cleared, Name};
use tidegate_engine::Engine;
use tidegate_gateway::egress::Proxy;
use tidegate_gateway::mcp::{NotRun, Ran, Shell, Wanted};
use tidegate_sandbox::machine::Machine;
use tidegate_sandbox::{Bounds, Flow, Launch, Limits, Rights, Room, Running, Streams};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::Semaphore;

use super::trust::Trust;
use super::way::Way;
use super::{ENTER, WORKSPACE, room};
use crate::config::{Config, Sandbox};
use crate::failure::Failure;

/// A sandbox for each command.
pub(crate) struct SandboxShell {
    launch: Launch,
    room: Room,
    settings: Sandbox,
    engine: Arc<Engine>,
    proxy: Proxy,
    places: Semaphore,
    _trust: Trust,
}

impl SandboxShell {
    /// A shell for the sessions of an engine. Where nothing can be isolated there is none, and the gateway does not start.
    pub(crate) fn open(config: &Config, engine: &Arc<Engine>, proxy: Proxy) -> Result<Self, Failure> {
        let settings = config.sandbox.clone();
        let workspace = settings.workspace.clone().unwrap_or_default();
        let launch = Launch::find(ENTER).map_err(Failure::environment)?;
        if !Machine::look(std::env::var_os("PATH").as_deref()).commands {
            return Err(Failure::environment(
                "sandbox.enabled: nothing can be isolated on this machine; `tidegate doctor` says what is missing",
            ));
        }
        let limits = Limits {
            memory_bytes: Some(settings.memory_bytes),
            cpu_seconds: Some(settings.timeout.as_secs().saturating_add(1)),
            file_bytes: Some(settings.file_bytes),
        };
        let trust = Trust::of(config)?;
        let room = trust.in_room(room(config, &workspace, Rights::ThisUsers)?.with_limits(limits));
        Ok(Self {
            launch,
            room,
            places: Semaphore::new(settings.commands),
            settings,
            engine: Arc::clone(engine),
            proxy,
            _trust: trust,
        })
    }

    /// Commands see the workspace, so their session does.
    async fn enter_workspace(&self, wanted: &Wanted) -> Result<(), NotRun> {
        let class = self.settings.workspace_class;
        let failed = |error: &dyn std::fmt::Display| not_run(error, true);
        let view = self.engine.context(&wanted.caller, &wanted.session).await;
        let label = view
            .map_err(|error| failed(&error))?
            .session
            .context
            .label()
            .class();
        if class == Class::Public || class <= label {
            return Ok(());
        }
        let name = Name::parse(WORKSPACE).map_err(|error| failed(&error))?;
        let added = self
            .engine
            .add_dataset(&wanted.caller, &wanted.session, name, class);
        added.await.map(|_| ()).map_err(|error| failed(&error))
    }

    /// Waits for a command's end, or ends it at a bound.
    async fn wait(&self, mut running: Running, timeout: Duration, network: bool) -> Ran {
        let most = self.settings.output_bytes;
        let stdout = collect(running.stdout.take(), most);
        let stderr = collect(running.stderr.take(), most);
        let bounds = Bounds {
            memory_bytes: self.settings.memory_bytes,
            processes: self.settings.processes,
        };
        let guard = async {
            let ended = {
                let passed = bounds.passed(running.id);
                tokio::select! {
                    ended = running.ended() => return (ended.ok(), None),
                    passed = passed => passed.to_string(),
                    () = tokio::time::sleep(timeout) => "it took longer than it may".to_owned(),
                }
            };
            running.kill();
            let _ = running.ended().await;
            (None, Some(ended))
        };
        let ((exit_code, ended), (stdout, less), (stderr, fewer)) = tokio::join!(guard, stdout, stderr);
        Ran {
            exit_code,
            stdout,
            stderr,
            truncated: less || fewer,
            ended,
            network,
        }
    }
}

#[async_trait]
impl Shell for SandboxShell {
    async fn run(&self, wanted: Cleared<Wanted>) -> Result<Ran, NotRun> {
        let wanted = wanted.into_inner();
        let Ok(_place) = self.places.try_acquire() else {
            return Err(not_run("too many commands are running", true));
        };
        self.enter_workspace(&wanted).await?;
        let way = Way::through(&self.proxy, &self.engine, &wanted.caller, &wanted.session).await;
        let way = way.map_err(|error| not_run(error, true))?;
        let network = *way.flow.borrow() == Flow::Open;
        let mut room = self.room.clone();
        if let Some(directory) = &wanted.directory {
            room = room
                .entered_at(Path::new(directory))
                .ok_or_else(|| not_run("the directory is not in the workspace", false))?;
        }
        let command = ["/bin/sh", "-c", wanted.command.as_str()].map(OsString::from);
        let started = self
            .launch
            .start(&room, &command, Streams::Collected, (way.outlet, way.flow))
            .await;
        let running = started.map_err(|error| not_run(error, false))?;
        let most = self.settings.timeout;
        let timeout = wanted.timeout.map_or(most, |asked| asked.min(most));
        Ok(self.wait(running, timeout, network).await)
    }
}

fn not_run(reason: impl std::fmt::Display, retryable: bool) -> NotRun {
    NotRun {
        reason: reason.to_string(),
        retryable,
    }
}

/// What a stream says, up to a bound, and whether there was more. The rest is read and left out, so that nobody waits.
async fn collect(stream: Option<impl AsyncRead + Unpin>, most: usize) -> (String, bool) {
    let Some(mut stream) = stream else {
        return (String::new(), false);
    };
    let (mut said, mut more) = (Vec::new(), false);
    let mut chunk = [0; 8_192];
    while let Ok(read @ 1..) = stream.read(&mut chunk).await {
        let room = most.saturating_sub(said.len());
        more |= read > room;
        said.extend(chunk.iter().take(read.min(room)));
    }
    (String::from_utf8_lossy(&said).into_owned(), more)
}
