//! Taking the network from a container that has one: stopped, kept as an image, made anew with network none.
//!
//! It is paused first, so nothing leaves from then on; whatever fails afterwards leaves it paused. One that cannot be paused is
//! killed.

use std::fmt::Display;
use std::time::{Duration, Instant};

use bollard::models::{
    ContainerConfig, ContainerCreateBody, ContainerInspectResponse, ContainerState, HostConfig, MountPoint,
};
use bollard::query_parameters::CommitContainerOptions;

use super::{ContainerError, Containers, asked_to};

/// What taking the network took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isolated {
    /// Until nothing in the container ran any more.
    pub paused_after: Duration,
    /// Until it ran again, without a network.
    pub back_after: Duration,
}

impl Containers {
    /// Takes a container's network. Its files, its mounts and its name stay; its processes begin anew. Nothing is done to one
    /// that has no network.
    ///
    /// # Errors
    /// When the engine fails, or the container reaches around any network; it stays paused then, and one that could not be
    /// paused is killed.
    pub async fn isolate(&self, name: &str) -> Result<Option<Isolated>, ContainerError> {
        let since = Instant::now();
        // Before anything is asked: what has no network loses a moment, what has one sends no more.
        let paused = self.docker.pause_container(name).await;
        let paused_after = since.elapsed();
        let seen = match self.inspect(name).await {
            Ok(seen) => seen,
            Err(error) if paused.is_ok() || error.is_unknown() => return Err(error),
            Err(error) => return Err(self.kill(name, &error).await),
        };
        let state = seen.state.clone().unwrap_or_default();
        let running = state.running.unwrap_or(false) || state.paused.unwrap_or(false);
        let is_still = is_still(&state);
        if let Some(how) = self.reaches_around(&seen).await {
            return Err(match is_still {
                true => ContainerError::Reaches(how),
                false => self.kill(name, &how).await,
            });
        }
        if is_isolated(&seen) {
            if paused.is_ok() {
                let unpaused = self.docker.unpause_container(name).await;
                unpaused.map_err(asked_to("let the container go on"))?;
            }
            return Ok(None);
        }
        if !is_still {
            let why = paused.map_err(asked_to("pause the container")).err();
            let why = why.map_or_else(|| "it did not stay paused".to_owned(), |why| why.to_string());
            return Err(self.kill(name, &why).await);
        }
        let image = self.keep(name).await?;
        self.remove(name).await?;
        self.create(name, anew(&seen, image)).await?;
        if running {
            self.start(name).await?;
        }
        Ok(Some(Isolated {
            paused_after,
            back_after: since.elapsed(),
        }))
    }

    /// Ends a container that nothing else keeps from its network, and says what came of it.
    async fn kill(&self, name: &str, why: &(dyn Display + Sync)) -> ContainerError {
        let why = why.to_string();
        let killed = self.docker.kill_container(name, None).await;
        match killed.map_err(asked_to("kill the container")) {
            Ok(()) => ContainerError::Killed(why),
            Err(error) => ContainerError::StillRuns {
                why,
                then: error.to_string(),
            },
        }
    }

    /// The container's files as an image.
    async fn keep(&self, name: &str) -> Result<String, ContainerError> {
        let options = CommitContainerOptions {
            container: Some(name.to_owned()),
            repo: Some(format!("localhost/tidegate-kept/{}", name.to_ascii_lowercase())),
            tag: Some("latest".to_owned()),
            pause: false,
            ..CommitContainerOptions::default()
        };
        let kept = self
            .docker
            .commit_container(options, ContainerConfig::default())
            .await;
        Ok(kept.map_err(asked_to("keep the container's files"))?.id)
    }
}

/// Whether a container has no network but its own loopback.
pub(super) fn is_isolated(seen: &ContainerInspectResponse) -> bool {
    let mode = seen
        .host_config
        .as_ref()
        .and_then(|host| host.network_mode.as_deref());
    let networks = seen
        .network_settings
        .as_ref()
        .and_then(|settings| settings.networks.as_ref());
    let connected = networks.is_some_and(|networks| networks.keys().any(|name| name != "none"));
    mode == Some("none") && !connected
}

/// Whether it is known that nothing in a container runs, or will by itself.
fn is_still(state: &ContainerState) -> bool {
    let is_stopped = state.running == Some(false) && state.restarting != Some(true);
    is_stopped || state.paused == Some(true)
}

/// The same container out of its own files, without a network.
fn anew(seen: &ContainerInspectResponse, image: String) -> ContainerCreateBody {
    let config = seen.config.clone().unwrap_or_default();
    let host = seen.host_config.clone().unwrap_or_default();
    ContainerCreateBody {
        image: Some(image),
        hostname: config.hostname,
        user: config.user,
        tty: config.tty,
        open_stdin: config.open_stdin,
        env: config.env,
        cmd: config.cmd,
        entrypoint: config.entrypoint,
        working_dir: config.working_dir,
        labels: config.labels,
        stop_signal: config.stop_signal,
        host_config: Some(HostConfig {
            network_mode: Some("none".to_owned()),
            binds: Some(binds(seen)),
            cap_add: host.cap_add,
            cap_drop: host.cap_drop,
            security_opt: host.security_opt,
            readonly_rootfs: host.readonly_rootfs,
            tmpfs: host.tmpfs,
            memory: host.memory,
            nano_cpus: host.nano_cpus,
            pids_limit: host.pids_limit.filter(|most| *most > 0),
            shm_size: host.shm_size.filter(|bytes| *bytes > 0),
            restart_policy: host.restart_policy,
            init: host.init,
            ..HostConfig::default()
        }),
        ..ContainerCreateBody::default()
    }
}

/// Every directory and volume that was mounted, volumes without a name among them.
fn binds(seen: &ContainerInspectResponse) -> Vec<String> {
    let mounts = seen.mounts.as_deref().unwrap_or_default();
    let bind = |mount: &MountPoint| {
        let from = match mount.typ.as_deref() {
            Some("volume") => mount.name.as_ref()?,
            Some("bind") => mount.source.as_ref()?,
            _ => return None,
        };
        let to = mount.destination.as_ref()?;
        let mode = if mount.rw == Some(false) { "ro" } else { "rw" };
        Some(format!("{from}:{to}:{mode}"))
    };
    mounts.iter().filter_map(bind).collect()
}

#[cfg(test)]
#[path = "isolate_tests.rs"]
mod tests;
