//! The words that tell bubblewrap what a room looks like.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Room;

/// Where the door is, seen from inside.
const DOOR: &str = "/run/tidegate/door";
/// The program that enters, seen from inside.
const ENTER: &str = "/run/tidegate/enter";

/// Where Git finds what it leaves alone in every repository, from a home.
const GIT_IGNORE: &str = ".config/git/ignore";

/// How much the private directories may hold, each, in bytes: they are memory.
const PRIVATE_BYTES: &str = "1073741824";

/// Everything that is separated, in all cases.
pub(crate) const APART: [&str; 11] = [
    "--unshare-user",
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--cap-drop",
    "ALL",
    "--hostname",
    "sandbox",
];

/// The arguments for a room, up to the program that is run in it. `own` is the program that enters; `word` makes it do so.
pub(crate) fn arguments(room: &Room, door: &Path, own: &Path, word: &str) -> Vec<OsString> {
    let mut words = Words(APART.map(OsString::from).into());
    words.system();
    words.add(["--proc", "/proc"]).add(["--dev", "/dev"]);
    let mut writable = vec![PathBuf::from("/tmp"), PathBuf::from("/var/tmp")];
    writable.extend(room.home().map(Path::to_owned));
    for path in &writable {
        words.add(["--size", PRIVATE_BYTES]).on("--tmpfs", path);
    }
    words.ignore(room);
    for path in &room.readable {
        words.over("--ro-bind", path, path);
    }
    words.over("--bind", &room.workspace, &room.workspace);
    for path in &room.fixed {
        words.over("--ro-bind", path, path);
    }
    words.hide(room);
    words.over("--ro-bind", door, Path::new(DOOR));
    words.over("--ro-bind", own, Path::new(ENTER));
    words.on("--chdir", &room.start);
    words.add(["--", ENTER, word, "--door", DOOR]);
    writable.push(room.workspace.clone());
    writable.extend(["/proc", "/dev"].map(PathBuf::from));
    for path in Room::system().chain(room.readable.iter().map(PathBuf::as_path)) {
        words.on("--readable", path);
    }
    for path in &writable {
        words.on("--writable", path);
    }
    words.limits(room);
    words.add(["--"]);
    words.0
}

struct Words(Vec<OsString>);

impl Words {
    fn add<const N: usize>(&mut self, words: [&str; N]) -> &mut Self {
        self.0.extend(words.map(OsString::from));
        self
    }

    fn on(&mut self, word: &str, path: &Path) {
        self.0.extend([word.into(), path.into()]);
    }

    fn over(&mut self, word: &str, from: &Path, to: &Path) {
        self.0.extend([word.into(), from.into(), to.into()]);
    }

    /// Where /bin and its like are links into /usr, they are inside too.
    fn system(&mut self) {
        for path in Room::system() {
            match fs::read_link(path) {
                Ok(target) => self.over("--symlink", &target, path),
                Err(_) => self.over("--ro-bind", path, path),
            }
        }
    }

    /// What stands in for a file is no part of what a command commits. Before anything else that may lie in the home.
    fn ignore(&mut self, room: &Room) {
        if let (Some(home), Some(stand_in)) = (room.home(), room.stand_ins().next()) {
            self.over("--ro-bind", stand_in, &home.join(GIT_IGNORE));
        }
    }

    fn hide(&mut self, room: &Room) {
        for path in &room.hidden {
            let visible = Room::system()
                .chain(room.readable.iter().map(PathBuf::as_path))
                .chain([room.workspace.as_path()])
                .any(|root| path.starts_with(root));
            match fs::symlink_metadata(path) {
                Ok(there) if visible && there.is_dir() => {
                    self.on("--tmpfs", path);
                    self.on("--remount-ro", path);
                }
                Ok(_) if visible => self.over("--ro-bind", Path::new("/dev/null"), path),
                _ => {}
            }
        }
    }

    fn limits(&mut self, room: &Room) {
        for (word, most) in [
            ("--memory-bytes", room.limits.memory_bytes),
            ("--cpu-seconds", room.limits.cpu_seconds),
            ("--file-bytes", room.limits.file_bytes),
        ] {
            if let Some(most) = most {
                self.add([word, &most.to_string()]);
            }
        }
        if room.unix_sockets {
            self.add(["--unix-sockets"]);
        }
    }
}
