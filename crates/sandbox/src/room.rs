//! What a program inside can see: a list of what is there, not of what is not.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::fixed::at_top_of;
use crate::stand_in::StandIn;
use crate::{Limits, PROXY_PORT};

/// Where programs, libraries and their settings are. What of it exists is there to be read; nothing else of the host's is.
const SYSTEM: [&str; 10] = [
    "/usr", "/etc", "/opt", "/nix", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
];

/// What of it holds secrets of the machine. Whoever runs this as root could read them.
const SECRET: [&str; 12] = [
    "/etc/NetworkManager/system-connections",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/krb5.keytab",
    "/etc/security/opasswd",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/wireguard",
];

/// What is the kernel's, or everybody's.
const NO_WORKSPACE: [&str; 7] = ["/proc", "/sys", "/dev", "/run", "/boot", "/tmp", "/var"];

/// The variables that are passed on where they are set.
const PASSED: [&str; 11] = [
    "PATH",
    "LANG",
    "LANGUAGE",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "TZ",
    "USER",
    "LOGNAME",
    "SHELL",
    "HOME",
];

/// What a program inside can see and use.
#[derive(Clone, Debug)]
pub struct Room {
    /// Where it works, and what stays.
    pub(crate) workspace: PathBuf,
    /// Where it starts.
    pub(crate) start: PathBuf,
    /// What it can read beside the system.
    pub(crate) readable: Vec<PathBuf>,
    /// What it cannot reach though it lies in something that it can.
    pub(crate) hidden: Vec<PathBuf>,
    /// What it cannot change though it lies in the workspace.
    pub(crate) fixed: Vec<PathBuf>,
    /// What of it is there for this room alone.
    stand_ins: Vec<Arc<StandIn>>,
    /// Its variables.
    pub(crate) environment: BTreeMap<OsString, OsString>,
    /// The bounds of each process.
    pub(crate) limits: Limits,
    /// Whether it may make unix sockets.
    pub(crate) unix_sockets: bool,
}

/// With whose rights programs inside act on files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Those of the user that runs this program, and no more.
    ThisUsers,
    /// Those that a container engine gives them, which may be root's.
    AnEngines,
}

/// A workspace that cannot be one.
#[derive(Debug, thiserror::Error)]
pub enum RoomError {
    /// It is not there.
    #[error("the workspace {} cannot be used: {why}", path.display())]
    Workspace {
        /// Which.
        path: PathBuf,
        /// Why not.
        why: io::Error,
    },
    /// It is not a workspace.
    #[error("{} cannot be a workspace: it is {what}; name a directory of the project's own", path.display())]
    NoWorkspace {
        /// Which.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// A file that must stay as it is could be changed from inside.
    #[error(
        "{} could be changed from inside: {} on the way to it lies in the workspace; move the file out of the workspace, or to its \
         top", file.display(), place.display()
    )]
    Loose {
        /// Which.
        file: PathBuf,
        /// What a program inside could put something else in the place of.
        place: PathBuf,
    },
    /// A file that is not there could be made from inside.
    #[error(
        "there is no {}, and one could be made from inside: {} on the way to it lies in the workspace; start at the workspace's \
         top, or name a file out of the workspace (a configuration with --config)", file.display(), place.display()
    )]
    Makeable {
        /// Which.
        file: PathBuf,
        /// What a program inside could make it in.
        place: PathBuf,
    },
    /// The same, at the workspace's top, with nothing to stand in.
    #[error(
        "there is no {}, and one could be made from inside: put it there, or name a file out of the workspace", file.display()
    )]
    Missing {
        /// Which.
        file: PathBuf,
    },
    /// The same, by another name.
    #[error(
        "{} could be changed from inside: it has a second name (a hard link), which may lie in the workspace; use a copy of it", file.display()
    )]
    SecondName {
        /// Which.
        file: PathBuf,
    },
    /// Its name cannot be kept from programs inside.
    #[error(
        "{} could be made from inside, and its name cannot be taken: {why}; name another with --config, or let this user \
         write there", file.display()
    )]
    Untaken {
        /// Which.
        file: PathBuf,
        /// Why not.
        why: io::Error,
    },
    /// It cannot be told where a file that must stay as it is lies.
    #[error("it cannot be told whether {} could be changed from inside: {why}", file.display())]
    Unseen {
        /// Which.
        file: PathBuf,
        /// Why not.
        why: io::Error,
    },
}

impl Room {
    /// A room around a workspace. The variables are those of this process that nobody minds.
    ///
    /// # Errors
    /// When the directory is not one, or is the system's.
    pub fn around(workspace: &Path) -> Result<Self, RoomError> {
        let failed = |why| RoomError::Workspace {
            path: workspace.to_owned(),
            why,
        };
        let workspace = workspace.canonicalize().map_err(failed)?;
        if !workspace.is_dir() {
            return Err(failed(io::ErrorKind::NotADirectory.into()));
        }
        refuse_system(&workspace)?;
        let start = std::env::current_dir().ok();
        let start = start.filter(|start| start.starts_with(&workspace));
        Ok(Self {
            start: start.unwrap_or_else(|| workspace.clone()),
            workspace,
            readable: Vec::new(),
            hidden: SECRET.map(PathBuf::from).into(),
            fixed: Vec::new(),
            stand_ins: Vec::new(),
            environment: environment(),
            limits: Limits::default(),
            unix_sockets: false,
        })
    }

    /// Where it works.
    #[must_use]
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The same, with this to be read as well.
    #[must_use]
    pub fn with_readable(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let there = paths.into_iter().filter_map(|path| path.canonicalize().ok());
        self.readable.extend(there);
        self
    }

    /// The same, with this out of reach wherever it lies.
    #[must_use]
    pub fn with_hidden(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let there = paths.into_iter().filter_map(|path| path.canonicalize().ok());
        self.hidden.extend(there);
        self
    }

    /// The same, with this file as it is for as long as the program runs.
    ///
    /// # Errors
    /// When it lies in the workspace so that a program inside could put another in its place, or should and is not there.
    pub fn with_fixed(mut self, file: &Path) -> Result<Self, RoomError> {
        let Some(place) = at_top_of(&self.workspace, file)? else {
            return Ok(self);
        };
        match fs::symlink_metadata(&place) {
            // Engines refuse to mount the same twice.
            Ok(_) if self.fixed.contains(&place) => {}
            Ok(_) => self.fixed.push(place),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(RoomError::Missing { file: place });
            }
            Err(why) => return Err(RoomError::Unseen { file: place, why }),
        }
        Ok(self)
    }

    /// The same, where the file need not be there: a file with the text of a stand-in has its name then. The text is also what Git
    /// inside is told to leave alone.
    ///
    /// # Errors
    /// When it lies in the workspace so that a program inside could put another in its place, or its name cannot be taken.
    pub fn with_fixed_name(mut self, file: &Path, stand_in: &str, rights: Rights) -> Result<Self, RoomError> {
        let Some(place) = at_top_of(&self.workspace, file)? else {
            return Ok(self);
        };
        match StandIn::take(&place, stand_in) {
            Ok(taken) => {
                self.stand_ins.extend(taken.map(Arc::new));
                self.fixed.push(place);
                Ok(self)
            }
            Err(error) if nobody_makes(&place, &error, rights) => Ok(self),
            Err(why) => Err(RoomError::Untaken { file: place, why }),
        }
    }

    /// What of the workspace cannot be changed.
    #[must_use]
    pub fn fixed(&self) -> &[PathBuf] {
        &self.fixed
    }

    /// Whether something stands in here that nobody else held when it was taken: whatever else is mounted on it was left behind.
    pub(crate) fn is_alone(&self) -> bool {
        self.stand_ins.iter().any(|stand_in| stand_in.is_alone)
    }

    /// Says that a container may have mounts on what stands in here, or that none has any more.
    pub(crate) fn mark(&self, is_contained: bool) -> io::Result<()> {
        self.stand_ins
            .iter()
            .try_for_each(|stand_in| stand_in.mark(is_contained))
    }

    /// What is in the workspace for this room alone.
    pub(crate) fn stand_ins(&self) -> impl Iterator<Item = &Path> {
        self.stand_ins.iter().map(|stand_in| stand_in.place())
    }

    /// The same, with these variables of this process passed on.
    #[must_use]
    pub fn with_variables<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let set = names
            .into_iter()
            .filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
        self.environment.extend(set);
        self
    }

    /// The same, with a variable of its own.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.insert(name.into(), value.into());
        self
    }

    /// The same, with this bound for each process.
    #[must_use]
    pub const fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The same, with unix sockets or without. With them, one that a program of the host keeps in the workspace can be
    /// reached from inside.
    #[must_use]
    pub const fn with_unix_sockets(mut self, allowed: bool) -> Self {
        self.unix_sockets = allowed;
        self
    }

    /// The same, started in this directory of the workspace; nothing where it is not in it.
    #[must_use]
    pub fn entered_at(mut self, directory: &Path) -> Option<Self> {
        let start = self.workspace.join(directory).canonicalize().ok()?;
        self.start = Some(start).filter(|start| start.is_dir() && start.starts_with(&self.workspace))?;
        Some(self)
    }

    /// The same, with a proxy that wants to be told who asks.
    #[must_use]
    pub fn with_proxy(mut self, url: &str) -> Self {
        self.environment.extend(proxy(url));
        self
    }

    /// Where programs inside find their proxy.
    #[must_use]
    pub fn proxy(&self) -> String {
        let proxy = self.environment.get(std::ffi::OsStr::new("HTTP_PROXY"));
        proxy
            .map(|url| url.to_string_lossy().into_owned())
            .unwrap_or_default()
    }

    /// The system's directories that this machine has.
    pub(crate) fn system<'a>() -> impl Iterator<Item = &'a Path> {
        SYSTEM.iter().map(Path::new).filter(|path| path.exists())
    }

    /// Where files of the program's own are kept for as long as it runs.
    pub(crate) fn home(&self) -> Option<&Path> {
        let home = Path::new(self.environment.get(std::ffi::OsStr::new("HOME"))?);
        let usable = home.is_absolute() && home != Path::new("/") && !home.starts_with(&self.workspace);
        usable.then_some(home)
    }
}

/// Whether a name that could not be taken cannot be made from inside either.
fn nobody_makes(place: &Path, error: &io::Error, rights: Rights) -> bool {
    match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem => true,
        // Who owns a directory can let himself write there.
        io::ErrorKind::PermissionDenied => {
            let is_absent =
                fs::symlink_metadata(place).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
            let directory = place.parent().and_then(|directory| fs::metadata(directory).ok());
            let user = rustix::process::geteuid().as_raw();
            rights == Rights::ThisUsers
                && is_absent
                && directory.is_some_and(|directory| directory.uid() != user)
        }
        _ => false,
    }
}

fn refuse_system(workspace: &Path) -> Result<(), RoomError> {
    let refuse = |what| {
        Err(RoomError::NoWorkspace {
            path: workspace.to_owned(),
            what,
        })
    };
    if workspace == Path::new("/") {
        return refuse("the whole machine");
    }
    if SYSTEM.iter().any(|system| workspace.starts_with(system)) {
        return refuse("part of the system");
    }
    // Directories below /tmp and /var are somebody's own; those below the others are the kernel's.
    let is_theirs = |path: &&str| match *path {
        "/tmp" | "/var" => workspace == Path::new(path),
        _ => workspace.starts_with(path),
    };
    if NO_WORKSPACE.iter().any(is_theirs) {
        return refuse("everybody's or the kernel's");
    }
    let home = std::env::var_os("HOME").and_then(|home| PathBuf::from(home).canonicalize().ok());
    if home.is_some_and(|home| home.starts_with(workspace)) {
        return refuse("a home directory, with keys and settings in it");
    }
    Ok(())
}

/// The variables by which programs find a proxy.
pub(crate) fn proxy(url: &str) -> impl Iterator<Item = (OsString, OsString)> {
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].into_iter();
    names
        .flat_map(|name| [name.to_owned(), name.to_ascii_lowercase()])
        .map(move |name| (name.into(), url.into()))
}

fn environment() -> BTreeMap<OsString, OsString> {
    let passed = |name: &OsString| {
        let name = name.to_str().unwrap_or_default();
        PASSED.contains(&name) || name.starts_with("LC_")
    };
    let mut environment: BTreeMap<_, _> = std::env::vars_os().filter(|(name, _)| passed(name)).collect();
    let path = OsString::from("PATH");
    environment
        .entry(path)
        .or_insert_with(|| "/usr/local/bin:/usr/bin:/bin".into());
    environment.extend(proxy(&format!("http://127.0.0.1:{PROXY_PORT}")));
    // Its own loopback is its own.
    for name in ["NO_PROXY", "no_proxy"] {
        environment.insert(name.into(), "localhost,127.0.0.1,::1".into());
    }
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_directory_of_ones_own_is_a_workspace() {
        let own = tempfile::tempdir().unwrap();
        let file = own.path().join("file");
        std::fs::write(&file, "").unwrap();
        let inside = own.path().join("inside");
        std::os::unix::fs::symlink("/etc", &inside).unwrap();
        for (path, usable) in [
            (own.path(), true),
            (&file, false),
            (&inside, false),
            (Path::new("/"), false),
            (Path::new("/etc"), false),
            (Path::new("/usr/share"), false),
            (Path::new("/proc/self"), false),
            (Path::new("/tmp"), false),
            (Path::new("/tmp/../tmp/."), false),
            (Path::new("/nowhere"), false),
        ] {
            assert_eq!(Room::around(path).is_ok(), usable, "{}", path.display());
        }
    }

    #[test]
    fn variables_are_passed_by_name_and_a_token_never_is() {
        let own = tempfile::tempdir().unwrap();
        let room = Room::around(own.path()).unwrap();
        let names: Vec<_> = room.environment.keys().filter_map(|name| name.to_str()).collect();
        assert!(
            names.contains(&"PATH") && names.contains(&"https_proxy"),
            "{names:?}"
        );
        let known = |name: &str| {
            PASSED.contains(&name) || name.starts_with("LC_") || name.to_lowercase().ends_with("_proxy")
        };
        assert!(names.iter().all(|name| known(name)), "{names:?}");
    }
}
