//! Where the state of a data directory is: in the file there, or on a server that only a configuration names. Programs that
//! are given the directory alone must not take an empty file for the state.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The file in a data directory that holds the embedded state.
const STATE_FILE: &str = "tidegate.db";

/// The file in a data directory that says that its state is on a server.
const MARK: &str = "state-on-server";

const SAID: &str =
    "The sessions of this directory's gateway are on the server that [store] in its configuration names.\n";

/// The state is not in the directory.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the sessions of {} are on a server: use the configuration that names it in [store], or a running gateway by its URL \
     ({} in the directory itself, remove {})",
    .directory.display(), if *.has_own { "to go back to the older state" } else { "to begin anew" }, .mark.display()
)]
pub struct Elsewhere {
    directory: PathBuf,
    mark: PathBuf,
    /// Whether a state lies in the directory all the same, of a time before the server.
    has_own: bool,
}

/// The file that holds the state of a data directory, there or to be made.
///
/// # Errors
/// When a gateway has said that the state is on a server.
pub fn state_file(directory: &Path) -> Result<PathBuf, Elsewhere> {
    let mark = directory.join(MARK);
    // Whoever cannot look into the directory cannot open the file in it either, and is told why there.
    if matches!(mark.try_exists(), Ok(true)) {
        return Err(Elsewhere {
            directory: directory.to_owned(),
            mark,
            has_own: directory.join(STATE_FILE).exists(),
        });
    }
    Ok(directory.join(STATE_FILE))
}

/// Says in a data directory, durably, that its state is on a server.
///
/// # Errors
/// When the system refuses.
pub fn note_server(directory: &Path) -> io::Result<()> {
    let mark = directory.join(MARK);
    if mark.try_exists()? {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(&mark)?;
    file.write_all(SAID.as_bytes())?;
    file.sync_all()?;
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_on_a_server_is_not_looked_for_in_the_directory() {
        let house = tempfile::tempdir().unwrap();
        let directory = house.path().join("data");
        assert_eq!(state_file(&directory), Ok(directory.join("tidegate.db")));
        for _ in 0..2 {
            note_server(&directory).unwrap();
            let refused = state_file(&directory).unwrap_err().to_string();
            assert!(refused.contains("[store]") && refused.contains(MARK), "{refused}");
        }
        let refused = |directory: &Path| state_file(directory).unwrap_err().to_string();
        assert!(refused(&directory).contains("begin anew"));
        std::fs::write(directory.join(STATE_FILE), "").unwrap();
        assert!(refused(&directory).contains("go back to the older state"));
        std::fs::remove_file(directory.join(MARK)).unwrap();
        assert_eq!(state_file(&directory), Ok(directory.join("tidegate.db")));
    }
}
