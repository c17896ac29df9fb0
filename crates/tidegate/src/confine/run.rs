//! One command, from its session to its end.

use std::io::IsTerminal;

use rustix::process::Signal;
use tidegate_core::Ident;
use tidegate_gateway::telemetry::LogTarget;
use tidegate_sandbox::container::Containers;
use tidegate_sandbox::{Flow, Launch, Rights, Room, Running, Streams};
use tokio::signal::unix::{Signal as Heard, SignalKind, signal};
use tokio::sync::watch;

use super::contain::{self, Contained};
use super::named::named_files;
use super::room::loose_room;
use super::trust::Trust;
use super::way::Way;
use super::{ENTER, LocalSession, RemoteSession, room};
use crate::commands::remote::token_of;
use crate::commands::run::Run;
use crate::config::{Config, is_own_variable};
use crate::failure::Failure;
use crate::terminal::{CARE, FAINT, note, painted};

/// Runs the command and ends as it does.
pub(crate) fn run(asked: Run) -> Result<(), Failure> {
    if let Some(own) = asked.env.iter().find(|name| is_own_variable(name)) {
        return Err(Failure::usage(format_args!(
            "{own} is for tidegate alone and is not passed on"
        )));
    }
    if asked.gateway.is_some() {
        token_of(asked.token.as_deref())?;
    }
    let mut config = asked.places.load(None)?;
    if asked.quiet && config.telemetry.decision_log == LogTarget::Stderr {
        // What was decided is on the record.
        config.telemetry.decision_log = LogTarget::Off;
    }
    let room = room_for(&asked, &config)?;
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|error| Failure::environment(format_args!("cannot start: {error}")))?;
    let code = runtime.block_on(async {
        // First of all: where nothing can be isolated, nothing else is begun either.
        let cell = Cell::find(&asked, &config).await?;
        run_in_session(&asked, &config, room, &cell).await
    })?;
    match u8::try_from(code).unwrap_or(1) {
        0 => Ok(()),
        code => Err(Failure::passed_on(code)),
    }
}

fn room_for(asked: &Run, config: &Config) -> Result<Room, Failure> {
    let workspace = match &asked.workspace {
        Some(workspace) => workspace.clone(),
        None => std::env::current_dir().map_err(Failure::environment)?,
    };
    let room = match (&asked.container, &asked.image) {
        (Some(_), _) => loose_room(config, &workspace)?,
        (None, Some(_)) => room(config, &workspace, Rights::AnEngines)?,
        (None, None) => room(config, &workspace, Rights::ThisUsers)?,
    };
    Ok(room.with_variables(asked.env.iter().map(String::as_str)))
}

/// Where a command runs.
enum Cell {
    /// In namespaces of its own.
    Namespaces(Launch),
    /// In a container.
    Container(Containers),
}

impl Cell {
    async fn find(asked: &Run, config: &Config) -> Result<Self, Failure> {
        if asked.image.is_some() || asked.container.is_some() {
            let containers = contain::engine(asked.engine.as_deref()).await?;
            if let Some(name) = &asked.container {
                for file in config.file.as_deref().into_iter().chain(named_files(config)) {
                    contain::refuse_to_change(&containers, name, file).await?;
                }
            }
            return Ok(Self::Container(containers));
        }
        Launch::find(ENTER)
            .map(Self::Namespaces)
            .map_err(Failure::environment)
    }
}

async fn run_in_session(asked: &Run, config: &Config, room: Room, cell: &Cell) -> Result<i32, Failure> {
    let signals = Signals::listen()?;
    match &asked.gateway {
        Some(gateway) => {
            let token = token_of(asked.token.as_deref())?;
            let class = config.sandbox.workspace_class;
            let session = RemoteSession::open(gateway.clone(), token, asked.session.clone(), class).await?;
            introduce(asked, &session.id, session.is_known);
            match session.way().await? {
                Some((way, proxy)) => start(asked, &room.with_proxy(&proxy), cell, way, signals).await,
                None => {
                    if !asked.quiet {
                        note("this gateway has no egress proxy, so the command has no network");
                    }
                    start(asked, &room, cell, Way::none(), signals).await
                }
            }
        }
        None => {
            let owner = (asked.principal.clone(), asked.agent.clone());
            let session = LocalSession::open(config, asked.session.clone(), owner).await?;
            introduce(asked, &session.id, session.is_known);
            let way = session.way(config).await?;
            let trust = Trust::of(config)?;
            let code = start(asked, &trust.in_room(room), cell, way, signals).await;
            session.close().await?;
            code
        }
    }
}

fn introduce(asked: &Run, session: &Ident, is_known: bool) {
    if asked.quiet {
        return;
    }
    note(painted(FAINT, format_args!("session {session}")));
    if asked.session.is_some() && !is_known {
        note(painted(
            CARE,
            format_args!("there was no session {session}: it was opened now, and has seen nothing"),
        ));
    }
}

async fn start(asked: &Run, room: &Room, cell: &Cell, way: Way, signals: Signals) -> Result<i32, Failure> {
    if !asked.quiet {
        tokio::spawn(tell_of_end(way.flow.clone()));
    }
    match cell {
        Cell::Namespaces(launch) => {
            let started = launch.start(room, &asked.command, Streams::Inherited, (way.outlet, way.flow));
            let running = started.await.map_err(Failure::environment)?;
            signals.pass_on(running).await
        }
        Cell::Container(containers) => {
            let contained = Contained::prepare(asked, room, containers, way).await?;
            let code = signals.end_early(contained.run(asked)).await;
            contained.tidy_up(room).await;
            code
        }
    }
}

async fn tell_of_end(mut flow: watch::Receiver<Flow>) {
    if flow.wait_for(|flow| *flow == Flow::Shut).await.is_ok() {
        note(painted(
            CARE,
            "the network is closed: no destination may be given what this session has seen",
        ));
    }
}

/// The signals that are meant for the command.
struct Signals {
    terminate: Heard,
    hang_up: Heard,
    interrupt: Heard,
}

impl Signals {
    fn listen() -> Result<Self, Failure> {
        let hear = |kind| {
            signal(kind)
                .map_err(|error| Failure::environment(format_args!("cannot listen for signals: {error}")))
        };
        Ok(Self {
            terminate: hear(SignalKind::terminate())?,
            hang_up: hear(SignalKind::hangup())?,
            interrupt: hear(SignalKind::interrupt())?,
        })
    }

    /// Waits for a command that no signal can be passed to; each ends it.
    async fn end_early(
        mut self,
        running: impl Future<Output = Result<i32, Failure>>,
    ) -> Result<i32, Failure> {
        tokio::select! {
            code = running => code,
            _ = self.terminate.recv() => Ok(143),
            _ = self.hang_up.recv() => Ok(129),
            _ = self.interrupt.recv() => Ok(130),
        }
    }

    /// Waits for the command's end. What a terminal sends, it sends to the command as well.
    async fn pass_on(mut self, mut running: Running) -> Result<i32, Failure> {
        let from_terminal = std::io::stdin().is_terminal();
        loop {
            let heard = tokio::select! {
                ended = running.ended() => return ended.map_err(Failure::environment),
                _ = self.terminate.recv() => Signal::TERM,
                _ = self.hang_up.recv() => Signal::HUP,
                _ = self.interrupt.recv() => Signal::INT,
            };
            if heard != Signal::INT || !from_terminal {
                running.signal(heard);
            }
        }
    }
}
