//! Containers of Docker or Podman, through the API that both speak.
//!
//! A container of this program's own has no network at all, whatever the label: its way out is the same handed-out socket that a
//! command has ([`crate::door`]), so nothing in it changes when the valve shuts. A container that somebody else made with a
//! network of its own cannot be followed that way. It is stopped, kept as an image, and made anew without a network
//! ([`Containers::isolate`]).

mod around;
mod exec;
mod isolate;
mod left;
mod way_out;

use std::path::{Path, PathBuf};

use bollard::Docker;
use bollard::models::{ContainerCreateBody, HostConfig, MountPoint};
use bollard::query_parameters::{CreateContainerOptions, RemoveContainerOptions};

pub use exec::Said;
pub use isolate::Isolated;

use crate::room::proxy;

/// How long the engine may take for an answer, in seconds. Keeping a large container as an image takes a while.
const PATIENCE_SECONDS: u64 = 120;

/// The most processes in a container.
const MOST_PROCESSES: i64 = 512;

/// A container engine.
#[derive(Clone, Debug)]
pub struct Containers {
    docker: Docker,
}

/// A container to be made.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// What it is called.
    pub name: String,
    /// Out of which image.
    pub image: String,
    /// The directory that it shares with the host, at the same path.
    pub workspace: PathBuf,
    /// What of it cannot be changed.
    pub fixed: Vec<PathBuf>,
    /// Where programs in it find the proxy.
    pub proxy: String,
}

/// Why something could not be done with a container.
#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    /// No engine answers.
    #[error("no container engine answers at {}: {why}", socket.display())]
    NoEngine {
        /// Where it was looked for.
        socket: PathBuf,
        /// What came instead.
        why: Box<bollard::errors::Error>,
    },
    /// The engine did not do what it was asked.
    #[error("the container engine could not {act}: {why}")]
    Engine {
        /// What it was asked.
        act: &'static str,
        /// What it said.
        why: Box<bollard::errors::Error>,
    },
    /// The container reaches around its own network.
    #[error("the container cannot be isolated, so it stays paused: {0}")]
    Reaches(&'static str),
    /// Its network could not be taken and it could not be paused.
    #[error("the container could neither be isolated nor paused, so it was killed: {0}")]
    Killed(String),
    /// The same, and it could not be killed.
    #[error("the container may still run with its network, so end it: {why}; {then}")]
    StillRuns {
        /// Why it was to be killed.
        why: String,
        /// Why it was not.
        then: String,
    },
    /// It is not running.
    #[error("the container is not running")]
    NotRunning,
    /// The way out cannot be put into it.
    #[error(
        "the proxy cannot be put into the container: {0}; this works for engines of this machine and this user"
    )]
    WayOut(std::io::Error),
}

impl ContainerError {
    /// Whether the engine has no such container.
    fn is_unknown(&self) -> bool {
        let Self::Engine { why, .. } = self else {
            return false;
        };
        matches!(
            **why,
            bollard::errors::Error::DockerResponseServerError { status_code: 404, .. }
        )
    }
}

impl Containers {
    /// The engine at this socket.
    ///
    /// # Errors
    /// When none answers.
    pub async fn at(socket: &Path) -> Result<Self, ContainerError> {
        let failed = |why| ContainerError::NoEngine {
            socket: socket.to_owned(),
            why: Box::new(why),
        };
        let shown = socket.to_string_lossy();
        let docker = Docker::connect_with_socket(&shown, PATIENCE_SECONDS, bollard::API_DEFAULT_VERSION)
            .map_err(failed)?;
        let docker = docker.negotiate_version().await.map_err(failed)?;
        Ok(Self { docker })
    }

    /// Makes a container without a network that waits for commands, and starts it.
    ///
    /// # Errors
    /// When the engine does not.
    pub async fn make(&self, wanted: &Wanted) -> Result<(), ContainerError> {
        let workspace = wanted.workspace.display().to_string();
        let mut binds = vec![format!("{workspace}:{workspace}:rw")];
        binds.extend(
            wanted
                .fixed
                .iter()
                .map(|file| format!("{0}:{0}:ro", file.display())),
        );
        let host_config = HostConfig {
            binds: Some(binds),
            network_mode: Some("none".to_owned()),
            cap_drop: Some(vec!["ALL".to_owned()]),
            security_opt: Some(vec!["no-new-privileges".to_owned()]),
            pids_limit: Some(MOST_PROCESSES),
            ..HostConfig::default()
        };
        let body = ContainerCreateBody {
            image: Some(wanted.image.clone()),
            entrypoint: Some(vec!["sleep".to_owned(), "2147483647".to_owned()]),
            cmd: Some(Vec::new()),
            env: Some(variables(&wanted.proxy)),
            working_dir: Some(workspace),
            labels: Some(left::labels(&wanted.workspace)),
            host_config: Some(host_config),
            ..ContainerCreateBody::default()
        };
        self.create(&wanted.name, body).await?;
        self.start(&wanted.name).await
    }

    /// Whether a container has any network but its own loopback.
    ///
    /// # Errors
    /// When the engine does not say.
    pub async fn has_network(&self, name: &str) -> Result<bool, ContainerError> {
        let seen = self.inspect(name).await?;
        Ok(!isolate::is_isolated(&seen))
    }

    /// What of the host's a container may change: the directories and files that are mounted in it to be written.
    ///
    /// # Errors
    /// When the engine does not say.
    pub async fn changes(&self, name: &str) -> Result<Vec<PathBuf>, ContainerError> {
        let mounts = self.inspect(name).await?.mounts.unwrap_or_default();
        let mut sources = Vec::new();
        for mount in mounts.into_iter().filter(|mount| mount.rw != Some(false)) {
            sources.extend(self.stands_for(&mount).await?);
            sources.extend(mount.source.map(PathBuf::from));
        }
        // What is in memory has none.
        sources.retain(|source| source.is_absolute());
        let real = |source: PathBuf| source.canonicalize().unwrap_or(source);
        Ok(sources.into_iter().map(real).collect())
    }

    /// What a volume stands for, if it is not the engine's own directory.
    async fn stands_for(&self, mount: &MountPoint) -> Result<Option<PathBuf>, ContainerError> {
        let (Some("volume"), Some(name)) = (mount.typ.as_deref(), mount.name.as_deref()) else {
            return Ok(None);
        };
        let volume = self.docker.inspect_volume(name).await;
        let volume = volume.map_err(asked_to("show a volume of the container"))?;
        Ok(around::device(&volume).map(PathBuf::from))
    }

    /// Removes a container.
    ///
    /// # Errors
    /// When the engine does not.
    pub async fn remove(&self, name: &str) -> Result<(), ContainerError> {
        let options = RemoveContainerOptions {
            force: true,
            ..RemoveContainerOptions::default()
        };
        let removed = self.docker.remove_container(name, Some(options)).await;
        removed.map_err(asked_to("remove the container"))
    }

    async fn create(&self, name: &str, body: ContainerCreateBody) -> Result<(), ContainerError> {
        let options = CreateContainerOptions {
            name: Some(name.to_owned()),
            ..CreateContainerOptions::default()
        };
        let created = self.docker.create_container(Some(options), body).await;
        created.map(|_| ()).map_err(asked_to("make the container"))
    }

    async fn start(&self, name: &str) -> Result<(), ContainerError> {
        let options = None::<bollard::query_parameters::StartContainerOptions>;
        let started = self.docker.start_container(name, options).await;
        started.map_err(asked_to("start the container"))
    }

    async fn inspect(&self, name: &str) -> Result<bollard::models::ContainerInspectResponse, ContainerError> {
        let options = None::<bollard::query_parameters::InspectContainerOptions>;
        let seen = self.docker.inspect_container(name, options).await;
        seen.map_err(asked_to("show the container"))
    }
}

fn asked_to(act: &'static str) -> impl FnOnce(bollard::errors::Error) -> ContainerError {
    move |why| ContainerError::Engine {
        act,
        why: Box::new(why),
    }
}

/// The variables by which programs find the proxy.
fn variables(url: &str) -> Vec<String> {
    let own = ["NO_PROXY", "no_proxy"].map(|name| format!("{name}=localhost,127.0.0.1,::1"));
    let named = proxy(url).map(|(name, url)| format!("{}={}", name.to_string_lossy(), url.to_string_lossy()));
    named.chain(own).collect()
}
