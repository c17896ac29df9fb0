//! A command in a container: one made for it, or one that is there already.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};

use tidegate_sandbox::container::{Containers, Said, Wanted};
use tidegate_sandbox::machine::{answering, docker_sockets, podman_sockets};
use tidegate_sandbox::{Flow, Room, Valve, leads_through};
use tokio::sync::watch;

use super::HAND_OUT;
use super::way::Way;
use crate::commands::run::Run;
use crate::failure::Failure;
use crate::terminal::{CARE, note, painted};

/// The engine at a socket, or the first that answers where engines are.
pub(super) async fn engine(socket: Option<&Path>) -> Result<Containers, Failure> {
    let usual = [podman_sockets(), docker_sockets()].concat();
    let Some(socket) = socket.or_else(|| answering(&usual).map(PathBuf::as_path)) else {
        return Err(Failure::environment(
            "nothing was run: no container engine answers; `tidegate doctor` says how to get one",
        ));
    };
    Containers::at(socket)
        .await
        .map_err(|error| Failure::environment(format_args!("nothing was run: {error}")))
}

/// Refuses a container that could change the configuration by which it is judged. Its mounts are somebody else's, so nothing
/// can be put over the file.
pub(super) async fn refuse_to_change(
    containers: &Containers,
    name: &str,
    file: &Path,
) -> Result<(), Failure> {
    let changes = containers.changes(name).await;
    for source in changes.map_err(|error| Failure::environment(format_args!("nothing was run: {error}")))? {
        let leads = leads_through(&source, file).map_err(|error| {
            let shown = file.display();
            Failure::environment(format_args!(
                "nothing was run: {shown} cannot be followed: {error}"
            ))
        });
        if leads? {
            return Err(Failure::usage(format_args!(
                "nothing was run: {} could be changed from inside the container, which has {} mounted to be written; move the \
                 file out of it, or name one elsewhere with --config",
                file.display(),
                source.display()
            )));
        }
    }
    Ok(())
}

/// A container that is ready for a command.
pub(super) struct Contained<'a> {
    containers: &'a Containers,
    name: String,
    /// Whether it was made for this command, and goes with it.
    is_own: bool,
    flow: watch::Receiver<Flow>,
    _valve: Option<Valve>,
}

impl<'a> Contained<'a> {
    /// Makes the container, or takes the network from one that must not have it.
    pub(super) async fn prepare(
        asked: &Run,
        room: &Room,
        containers: &'a Containers,
        way: Way,
    ) -> Result<Self, Failure> {
        let flow = way.flow.clone();
        if let Some(name) = &asked.container {
            let contained = Self {
                containers,
                name: name.clone(),
                is_own: false,
                flow,
                _valve: None,
            };
            if *contained.flow.borrow() == Flow::Shut {
                contained.isolate().await?;
            }
            return Ok(contained);
        }
        let name = format!("tidegate-{}", random_name()?);
        let wanted = Wanted {
            name: name.clone(),
            image: asked.image.clone().unwrap_or_default(),
            workspace: room.workspace().to_owned(),
            fixed: room.fixed().to_owned(),
            proxy: room.proxy(),
        };
        let mut contained = Self {
            containers,
            name,
            is_own: true,
            flow,
            _valve: None,
        };
        let made = contained.make(&wanted, room, way).await;
        if made.is_err() {
            contained.tidy_up(room).await;
        }
        made.map(|()| contained)
    }

    async fn make(&mut self, wanted: &Wanted, room: &Room, way: Way) -> Result<(), Failure> {
        let failed = |error| Failure::environment(format_args!("nothing was run: {error}"));
        let unmarked = |error| {
            Failure::environment(format_args!(
                "nothing was run: what stands in for the configuration cannot be kept: {error}"
            ))
        };
        self.containers.end_left(room).await.map_err(failed)?;
        self.containers.keep_stand_ins(room).map_err(unmarked)?;
        self.containers.make(wanted).await.map_err(failed)?;
        // Once more: another run that ended meanwhile may have seen no container and let go of them.
        self.containers.keep_stand_ins(room).map_err(unmarked)?;
        if *self.flow.borrow() == Flow::Open {
            let opened = self
                .containers
                .open_way_out(&self.name, HAND_OUT, way.outlet, way.flow);
            self._valve = Some(opened.await.map_err(failed)?);
        }
        Ok(())
    }

    /// Runs the command. A network of the container's own is taken from it when the flow shuts.
    pub(super) async fn run(&self, asked: &Run) -> Result<i32, Failure> {
        let words = asked.command.iter().map(|word| text(word));
        let command = words.collect::<Result<_, _>>()?;
        let running = self.containers.run(&self.name, command, pass_on);
        let mut flow = self.flow.clone();
        let shut = async {
            let _ = flow.wait_for(|flow| *flow == Flow::Shut).await;
            if self.is_own {
                std::future::pending::<()>().await;
            }
        };
        tokio::pin!(running);
        tokio::select! {
            code = &mut running => code.map_err(Failure::environment),
            () = shut => {
                self.isolate().await?;
                running.await.map_err(Failure::environment)
            }
        }
    }

    async fn isolate(&self) -> Result<(), Failure> {
        let isolated = self.containers.isolate(&self.name).await;
        if let Some(isolated) = isolated.map_err(Failure::environment)? {
            note(painted(
                CARE,
                format_args!(
                    "the container was made anew without a network, its files kept: paused after {} ms, back after {} ms",
                    isolated.paused_after.as_millis(),
                    isolated.back_after.as_millis()
                ),
            ));
        }
        Ok(())
    }

    /// Removes what was made for this command.
    pub(super) async fn tidy_up(&self, room: &Room) {
        if !self.is_own {
            return;
        }
        if let Err(error) = self.containers.remove(&self.name).await {
            note(format_args!(
                "the container {} is still there: {error}",
                self.name
            ));
        }
        self.containers.release_stand_ins(room).await;
    }
}

fn text(word: &OsStr) -> Result<String, Failure> {
    let word = word.to_str().map(str::to_owned);
    word.ok_or_else(|| Failure::usage("a command in a container must be UTF-8 text"))
}

fn random_name() -> Result<String, Failure> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(Failure::environment)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What the command says, where this process says it. A reader that went away has heard enough.
fn pass_on(said: Said) {
    let _ = match said {
        Said::Out(bytes) => {
            let mut out = std::io::stdout().lock();
            out.write_all(&bytes).and_then(|()| out.flush())
        }
        Said::Err(bytes) => std::io::stderr().lock().write_all(&bytes),
    };
}
