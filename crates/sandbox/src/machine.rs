//! What this machine can isolate, and what is missing.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Serialize;

use crate::{Room, bwrap, walls};

/// A program, where a search path finds it.
pub(crate) fn find(program: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let mut places = path.map(std::env::split_paths)?;
    places.find_map(|place| Some(place.join(program)).filter(|found| found.is_file()))
}

/// How something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It is there and works.
    Ready,
    /// It is not there, and something is less for it.
    Missing,
}

/// One thing that isolation can be made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Piece {
    /// What it is called.
    pub name: &'static str,
    /// How it stands.
    pub standing: Standing,
    /// What was found.
    pub found: String,
    /// How to get it, where it is missing.
    pub remedy: Option<&'static str>,
}

/// What there is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// Whether `tidegate run` can isolate a command.
    pub commands: bool,
    /// Whether a container engine answers.
    pub containers: bool,
    /// Everything that was looked for.
    pub pieces: Vec<Piece>,
}

impl Machine {
    /// Looks. Programs are searched for in `path`.
    #[must_use]
    pub fn look(path: Option<&OsStr>) -> Self {
        let bwrap = find("bwrap", path);
        let pieces = vec![
            bubblewrap(bwrap.as_deref()),
            namespaces(bwrap.as_deref()),
            filter(),
            landlock(),
            nsenter(path),
            engine("podman", &podman_sockets()),
            engine("docker", &docker_sockets()),
        ];
        let ready = |name| {
            pieces
                .iter()
                .any(|piece: &Piece| piece.name == name && piece.standing == Standing::Ready)
        };
        Self {
            commands: ["bubblewrap", "namespaces", "seccomp"].into_iter().all(ready),
            containers: ["podman", "docker"].into_iter().any(ready),
            pieces,
        }
    }

    /// Whether nothing can be isolated at all.
    #[must_use]
    pub const fn is_bare(&self) -> bool {
        !self.commands && !self.containers
    }
}

fn piece(name: &'static str, found: Result<String, String>, remedy: &'static str) -> Piece {
    let (standing, found, remedy) = match found {
        Ok(found) => (Standing::Ready, found, None),
        Err(missing) => (Standing::Missing, missing, Some(remedy)),
    };
    Piece {
        name,
        standing,
        found,
        remedy,
    }
}

fn bubblewrap(bwrap: Option<&Path>) -> Piece {
    let found = bwrap.map(|path| path.display().to_string());
    let missing = "bwrap is nowhere in PATH".to_owned();
    piece(
        "bubblewrap",
        found.ok_or(missing),
        "install the package bubblewrap (apt install bubblewrap)",
    )
}

/// Tried, not guessed: what may be done differs by kernel, distribution and container.
fn namespaces(bwrap: Option<&Path>) -> Piece {
    let tried = bwrap
        .ok_or_else(|| "cannot be tried without bubblewrap".to_owned())
        .and_then(|bwrap| {
            let mut command = Command::new(bwrap);
            command.args(bwrap::APART);
            for path in Room::system() {
                command.arg("--ro-bind").arg(path).arg(path);
            }
            // The one program that every system has there.
            command.args(["--proc", "/proc", "--dev", "/dev", "--", "/bin/sh", "-c", ":"]);
            let output = command.env_clear().stdin(Stdio::null()).output();
            let output = output.map_err(|error| format!("bubblewrap cannot be started: {error}"))?;
            if output.status.success() {
                return Ok("user, mount, pid, network, ipc and uts namespaces can be made".to_owned());
            }
            let said = String::from_utf8_lossy(&output.stderr);
            Err(said.lines().next().unwrap_or("bubblewrap failed").to_owned())
        });
    piece(
        "namespaces",
        tried,
        "let users make namespaces: sysctl user.max_user_namespaces=65536, and where they are restricted \
         kernel.unprivileged_userns_clone=1 or kernel.apparmor_restrict_unprivileged_userns=0; in a container, run it with \
         a seccomp profile that allows them",
    )
}

fn filter() -> Piece {
    let found = if walls::can_filter() {
        Ok("the kernel takes filters of system calls".to_owned())
    } else {
        Err("the kernel takes no filter of system calls".to_owned())
    };
    piece(
        "seccomp",
        found,
        "use a kernel with CONFIG_SECCOMP_FILTER, on x86_64 or aarch64",
    )
}

fn landlock() -> Piece {
    let found = walls::landlock_version().map(|version| format!("version {version}"));
    piece(
        "landlock",
        found.ok_or_else(|| "the kernel has no Landlock; mounts alone keep files apart".to_owned()),
        "use a kernel from 5.13 on that has landlock in its lsm= list",
    )
}

fn nsenter(path: Option<&OsStr>) -> Piece {
    let found = find("nsenter", path).map(|path| path.display().to_string());
    piece(
        "nsenter",
        found.ok_or_else(|| "nsenter is nowhere in PATH".to_owned()),
        "for a proxy in new containers (--image): install the package util-linux",
    )
}

/// Where Podman listens, most likely first.
#[must_use]
pub fn podman_sockets() -> Vec<PathBuf> {
    let user = std::env::var_os("XDG_RUNTIME_DIR").map(|run| PathBuf::from(run).join("podman/podman.sock"));
    user.into_iter()
        .chain(["/run/podman/podman.sock".into()])
        .collect()
}

/// Where Docker listens, most likely first.
#[must_use]
pub fn docker_sockets() -> Vec<PathBuf> {
    let user = std::env::var_os("XDG_RUNTIME_DIR").map(|run| PathBuf::from(run).join("docker.sock"));
    let desktop = std::env::var_os("HOME").map(|home| desktop_sockets(Path::new(&home)));
    user.into_iter()
        .chain(["/run/docker.sock".into(), "/var/run/docker.sock".into()])
        .chain(desktop.into_iter().flatten())
        .collect()
}

/// Where Docker Desktop listens, for the user with this home.
fn desktop_sockets(home: &Path) -> [PathBuf; 2] {
    [".docker/desktop/docker.sock", ".docker/run/docker.sock"].map(|socket| home.join(socket))
}

/// The first of these at which somebody answers.
#[must_use]
pub fn answering(sockets: &[PathBuf]) -> Option<&PathBuf> {
    sockets.iter().find(|socket| UnixStream::connect(socket).is_ok())
}

fn engine(name: &'static str, sockets: &[PathBuf]) -> Piece {
    let answering = answering(sockets);
    let there = || sockets.iter().any(|socket| fs::symlink_metadata(socket).is_ok());
    let found = match answering {
        Some(socket) => Ok(socket.display().to_string()),
        None if there() => {
            Err("its socket is there, and nobody answers or it is not for this user".to_owned())
        }
        None => Err("no socket of it is there".to_owned()),
    };
    let remedy = match name {
        "podman" => {
            "for containers: install podman and start its API (systemctl --user start podman.socket, as root without --user)"
        }
        _ => "for containers: install docker, start it, and give this user its socket",
    };
    piece(name, found, remedy)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_socket_that_somebody_left_behind_is_passed_over() {
        let own = tempfile::tempdir().unwrap();
        let sockets = ["nowhere", "left", "live"].map(|name| own.path().join(name));
        let [_, left, live] = &sockets;
        drop(UnixListener::bind(left).unwrap());
        assert_eq!(answering(&sockets), None);
        let _listener = UnixListener::bind(live).unwrap();
        assert_eq!(answering(&sockets), Some(live));
    }
}
