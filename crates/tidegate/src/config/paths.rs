//! Where state lies, and that no agent's tool can reach it there.

use std::io;
use std::path::{Component, Path, PathBuf};

/// Where state is kept when nobody says: the user's data directory.
pub(super) fn default_data_dir() -> Option<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let base = absolute("XDG_DATA_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local").join("share")))
        .or_else(|| absolute("LOCALAPPDATA"))?;
    Some(base.join("tidegate"))
}

/// Whether a directory is another, or lies anywhere inside it, once links are followed. Neither has to exist.
pub(super) fn lies_inside(inner: &Path, outer: &Path) -> io::Result<bool> {
    Ok(resolved(inner)?.starts_with(resolved(outer)?))
}

/// The path with every link followed as far as it exists; what does not exist yet is taken as it is written.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    let mut real = PathBuf::new();
    for component in std::path::absolute(path)?.components() {
        match component {
            Component::ParentDir => {
                real.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                real.push(component);
                match real.canonicalize() {
                    Ok(canonical) => real = canonical,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
    Ok(real)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_dots_do_not_hide_a_place() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        std::fs::create_dir_all(at("work/deep")).unwrap();
        std::fs::create_dir_all(at("state")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(at("work/deep"), at("state/link")).unwrap();
        let inside = |path: &str| lies_inside(&at(path), &at("work")).unwrap();
        assert!(inside("work"));
        assert!(inside("work/deep/not/there/yet"));
        assert!(inside("state/../work/x"));
        #[cfg(unix)]
        assert!(inside("state/link/data"));
        assert!(!inside("state"));
        assert!(!inside("workshop"));
        assert!(!inside("work/../state"));
    }
}
