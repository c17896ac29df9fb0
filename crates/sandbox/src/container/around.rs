//! Whether a container could do what it likes whatever its network is.
//!
//! Whoever reaches a container engine has another container made, with any network; so do those who see the host's processes.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use bollard::models::{ContainerInspectResponse, MountPoint, Volume};

use super::Containers;
use crate::machine::{docker_sockets, podman_sockets};

/// What the sockets of container engines are called, wherever they are.
const ENGINES: [&str; 6] = [
    "docker.sock",
    "podman.sock",
    "containerd.sock",
    "crio.sock",
    "buildkitd.sock",
    "cri-dockerd.sock",
];

/// Where the host's programs keep their sockets.
const RUN: [&str; 2] = ["/run", "/var/run"];

/// What is said of a mount that may be anything.
const UNSEEN: &str = "what is mounted in it cannot be looked at";

impl Containers {
    /// How a container reaches around every network, if it does.
    pub(super) async fn reaches_around(&self, seen: &ContainerInspectResponse) -> Option<&'static str> {
        if let Some(how) = reaches_around(seen) {
            return Some(how);
        }
        for mount in mounts(seen).iter().filter(|mount| is_volume(mount)) {
            let how = match mount.name.as_deref() {
                Some(name) => self.volume_brings(name).await,
                None => Some(UNSEEN),
            };
            if how.is_some() {
                return how;
            }
        }
        None
    }

    /// What a volume brings that leads around a network. It is empty when the engine makes it, unless it is made of a part of the
    /// host, or not by the engine.
    async fn volume_brings(&self, name: &str) -> Option<&'static str> {
        match self.docker.inspect_volume(name).await {
            Ok(volume) if device(&volume).is_some() => {
                Some("a volume is mounted in it that stands for something else (device)")
            }
            Ok(volume) if volume.driver == "local" => None,
            Ok(_) | Err(_) => Some(UNSEEN),
        }
    }
}

/// What a volume stands for, if it is not the engine's own directory.
pub(super) fn device(volume: &Volume) -> Option<&str> {
    let mut options = volume.options.iter();
    let device = options.find(|(key, _)| key.eq_ignore_ascii_case("device"));
    device.map(|(_, device)| device.as_str())
}

/// What the engine need not be asked for.
fn reaches_around(seen: &ContainerInspectResponse) -> Option<&'static str> {
    let host = seen.host_config.clone().unwrap_or_default();
    if host.privileged == Some(true) {
        return Some("it is privileged");
    }
    match host.pid_mode.as_deref() {
        None | Some("" | "private") => {}
        Some("host") => return Some("it sees the host's processes"),
        Some(_) => return Some("it sees processes of others"),
    }
    mounts(seen).iter().find_map(brings)
}

fn mounts(seen: &ContainerInspectResponse) -> &[MountPoint] {
    seen.mounts.as_deref().unwrap_or_default()
}

fn is_volume(mount: &MountPoint) -> bool {
    mount.typ.as_deref() == Some("volume")
}

/// What a mount brings into a container that leads around its network.
fn brings(mount: &MountPoint) -> Option<&'static str> {
    let source = Path::new(mount.source.as_deref().filter(|source| !source.is_empty())?);
    match has_socket(source) {
        Ok(true) => Some("a socket of the host is mounted in it"),
        Ok(false) => None,
        // The engine keeps volumes where only it may look, and is asked what they are made of. What else is mounted was there
        // before.
        Err(_) if is_volume(mount) => None,
        Err(_) => Some(UNSEEN),
    }
}

fn has_socket(source: &Path) -> io::Result<bool> {
    let kind = fs::metadata(source)?.file_type();
    if !kind.is_dir() {
        return Ok(kind.is_socket());
    }
    let source = source.canonicalize()?;
    let run = RUN.map(|run| Path::new(run).canonicalize().unwrap_or_else(|_| run.into()));
    let sockets = podman_sockets().into_iter().chain(docker_sockets());
    let known = sockets.filter_map(|socket| socket.canonicalize().ok());
    if run
        .iter()
        .cloned()
        .chain(known)
        .any(|place| place.starts_with(&source))
    {
        return Ok(true);
    }
    // A program's socket in a workspace is nobody's business. Below /run every one is the host's.
    let is_hosts = run.iter().any(|run| source.starts_with(run));
    let counts = |name: &OsStr| is_hosts || ENGINES.iter().any(|engine| name == *engine);
    let mut below = Vec::new();
    if holds_socket(&source, counts, &mut below)? {
        return Ok(true);
    }
    // What this user may not look into there is somebody else's business as well.
    let holds = |place: &PathBuf| holds_socket(place, counts, &mut Vec::new()).unwrap_or(is_hosts);
    Ok(below.iter().any(holds))
}

/// Whether a directory holds a socket that counts. Directories in it are added to those below.
fn holds_socket(
    directory: &Path,
    counts: impl Fn(&OsStr) -> bool,
    below: &mut Vec<PathBuf>,
) -> io::Result<bool> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_socket() && counts(&entry.file_name()) {
            return Ok(true);
        }
        if kind.is_dir() {
            below.push(entry.path());
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use bollard::models::HostConfig;

    use super::*;

    fn with_mount(source: &Path, typ: &str) -> ContainerInspectResponse {
        let mount = MountPoint {
            typ: Some(typ.to_owned()),
            source: Some(source.display().to_string()),
            ..MountPoint::default()
        };
        ContainerInspectResponse {
            host_config: Some(HostConfig::default()),
            mounts: Some(vec![mount]),
            ..ContainerInspectResponse::default()
        }
    }

    #[test]
    fn only_processes_of_its_own_are_nobody_elses() {
        for (mode, reaches) in [
            (None, false),
            (Some(""), false),
            (Some("private"), false),
            (Some("host"), true),
            (Some("container:other"), true),
            (Some("ns:/proc/1/ns/pid"), true),
        ] {
            let mut seen = with_mount(Path::new(""), "tmpfs");
            let host = seen.host_config.as_mut().unwrap();
            host.pid_mode = mode.map(str::to_owned);
            assert_eq!(reaches_around(&seen).is_some(), reaches, "{mode:?}");
        }
    }

    #[test]
    fn a_mount_that_leads_to_an_engine_is_seen_and_a_workspace_is_none() {
        let own = tempfile::tempdir().unwrap();
        let mut bound = Vec::new();
        for name in [
            "beside/docker.sock",
            "below/podman/podman.sock",
            "work/tmp/server.sock",
            "alone/any",
        ] {
            let socket = own.path().join(name);
            fs::create_dir_all(socket.parent().unwrap()).unwrap();
            bound.push(UnixListener::bind(socket).unwrap());
        }
        fs::write(own.path().join("file"), "").unwrap();
        let own = |name: &str| own.path().join(name);
        for (source, typ, reaches) in [
            (own("work"), "bind", false),
            (own("file"), "bind", false),
            (own("beside"), "bind", true),
            (own("beside/docker.sock"), "bind", true),
            (own("below"), "bind", true),
            (own("alone/any"), "bind", true),
            (own("nowhere"), "bind", true),
            (own("nowhere"), "volume", false),
            ("/".into(), "bind", true),
            ("/run".into(), "bind", true),
            ("/var/run".into(), "bind", true),
            ("".into(), "tmpfs", false),
        ] {
            let found = reaches_around(&with_mount(&source, typ));
            assert_eq!(found.is_some(), reaches, "{}: {found:?}", source.display());
        }
    }
}
