//! Where state may lie: never where an agent's tools can reach it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Why a directory may not hold state. Paths come from the operator's own configuration, so they may be shown to him.
#[derive(Debug, thiserror::Error)]
pub enum Misplaced {
    /// Tools that work in the workspace could read and change it.
    #[error("the directory {} lies inside the workspace {}", .directory.display(), .workspace.display())]
    Inside {
        /// The directory, with links resolved.
        directory: PathBuf,
        /// The workspace, with links resolved.
        workspace: PathBuf,
    },
    /// The workspace is part of the state.
    #[error("the workspace {} lies inside the directory {}", .workspace.display(), .directory.display())]
    Around {
        /// The directory, with links resolved.
        directory: PathBuf,
        /// The workspace, with links resolved.
        workspace: PathBuf,
    },
    /// It cannot be told where the path leads, so it may lead anywhere.
    #[error("it cannot be told where {} leads: {kind}", .path.display())]
    Unresolved {
        /// The path as it was given.
        path: PathBuf,
        /// Why not.
        kind: ErrorKind,
    },
}

/// Refuses a state directory that lies inside one of the workspaces, or has one of them inside it. Links are resolved; a
/// directory that is not there yet counts as where it would be created.
///
/// # Errors
/// When it does, or when it cannot be told.
pub fn refuse_inside(directory: impl AsRef<Path>, workspaces: &[impl AsRef<Path>]) -> Result<(), Misplaced> {
    let directory = resolved(directory.as_ref())?;
    for workspace in workspaces {
        let workspace = resolved(workspace.as_ref())?;
        if directory.starts_with(&workspace) {
            return Err(Misplaced::Inside { directory, workspace });
        }
        if workspace.starts_with(&directory) {
            return Err(Misplaced::Around { directory, workspace });
        }
    }
    Ok(())
}

fn resolved(path: &Path) -> Result<PathBuf, Misplaced> {
    let unresolved = |kind| Misplaced::Unresolved {
        path: path.to_owned(),
        kind,
    };
    let whole = std::path::absolute(path).map_err(|error| unresolved(error.kind()))?;
    let mut there = whole.as_path();
    let mut missing = Vec::new();
    loop {
        match there.canonicalize() {
            Ok(real) => return Ok(missing.iter().rev().fold(real, |path, name| path.join(name))),
            // A link that leads nowhere yet could lead anywhere later.
            Err(error) if error.kind() != ErrorKind::NotFound || there.symlink_metadata().is_ok() => {
                return Err(unresolved(error.kind()));
            }
            Err(error) => {
                let (Some(parent), Some(name)) = (there.parent(), there.file_name()) else {
                    return Err(unresolved(error.kind()));
                };
                missing.push(name);
                there = parent;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::create_dir_all;
    use std::os::unix::fs::symlink;

    fn check(directory: &str, workspace: &str, allowed: bool) {
        let base = tempfile::tempdir().unwrap();
        let base = base.path();
        create_dir_all(base.join("work/deep")).unwrap();
        create_dir_all(base.join("workshop")).unwrap();
        create_dir_all(base.join("state")).unwrap();
        symlink(base.join("work/deep"), base.join("link")).unwrap();
        symlink(base.join("nowhere"), base.join("dangling")).unwrap();
        let outcome = refuse_inside(base.join(directory), &[base.join(workspace)]);
        assert_eq!(
            outcome.is_ok(),
            allowed,
            "{directory} and {workspace}: {outcome:?}"
        );
    }

    #[test]
    fn state_stays_out_of_workspaces() {
        check("state", "work", true);
        check("workshop", "work", true);
        check("work", "work", false);
        check("work/state", "work", false);
        check("work/not/there/yet", "work", false);
        check("not/there/yet", "work", true);
        check("link", "work", false);
        check("link/state", "work", false);
        check("state", "link", true);
        check("work", "link", false);
        check("state/../work/x", "work", false);
        check("not/../work", "work", false);
        check("dangling", "work", false);
        check("dangling/x", "work", false);
        check("state", "state/inner", false);
        check(".", "work", false);
    }
}
