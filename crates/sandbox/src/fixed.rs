//! What a program cannot change though it lies in its workspace: a file at the workspace's top.
//!
//! Mounted over itself, to be read alone, a file cannot be written, moved or removed from inside. What leads to it can: a
//! directory is renamed and made anew, a link is pointed elsewhere. So of all that is looked up on the way to the file, nothing
//! but the file itself may lie in the workspace.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use crate::RoomError;

/// How many links the kernel follows.
const MOST_LINKS: usize = 40;

/// Where a file lies at the top of a workspace; nothing where it is no part of the workspace.
pub(crate) fn at_top_of(workspace: &Path, file: &Path) -> Result<Option<PathBuf>, RoomError> {
    let file = || file.to_owned();
    let places = looked_up(&file()).map_err(|why| RoomError::Unseen { file: file(), why })?;
    let is_inside = |place: &&PathBuf| is_below(place, workspace);
    let loose = |place: &PathBuf| loose(file(), place.clone());
    let Some((last, way)) = places.split_last() else {
        return Ok(None);
    };
    if let Some(place) = way.iter().find(is_inside) {
        return Err(loose(place));
    }
    if !is_inside(&last) {
        return Ok(None);
    }
    match fs::symlink_metadata(last) {
        Ok(there) if !there.is_file() => Err(loose(last)),
        Ok(there) if there.nlink() > 1 => Err(RoomError::SecondName { file: file() }),
        _ => Ok(Some(last.clone())),
    }
}

/// What could become of a file: a change, or where there is none, its making.
fn loose(file: PathBuf, place: PathBuf) -> RoomError {
    match fs::metadata(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => RoomError::Makeable { file, place },
        _ => RoomError::Loose { file, place },
    }
}

/// Whether anything that is looked up on the way to a file lies in a directory, or the file is what is named as one.
///
/// # Errors
/// When the way cannot be followed to its end.
pub fn leads_through(directory: &Path, file: &Path) -> io::Result<bool> {
    let places = looked_up(file)?;
    let is_it = places.last().is_some_and(|last| last == directory);
    Ok(is_it || places.iter().any(|place| is_below(place, directory)))
}

fn is_below(place: &Path, directory: &Path) -> bool {
    place.starts_with(directory) && place != directory
}

/// Every name that is looked up on the way to a file, where it really lies. What is not there is taken for a plain name.
fn looked_up(file: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut at, mut places, mut links) = (PathBuf::from("/"), Vec::new(), 0);
    let mut ahead = steps(&std::path::absolute(file)?);
    while let Some(step) = ahead.pop_front() {
        let name = match step {
            Step::Root => {
                at = PathBuf::from("/");
                continue;
            }
            Step::Up => {
                at.pop();
                continue;
            }
            Step::Down(name) => name,
        };
        let next = at.join(name);
        places.push(next.clone());
        match fs::read_link(&next) {
            Ok(target) => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(io::Error::other("too many links lead to it"));
                }
                let mut target = steps(&target);
                target.append(&mut ahead);
                ahead = target;
            }
            // No link, or not there.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidInput | io::ErrorKind::NotFound
                ) =>
            {
                at = next;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(places)
}

enum Step {
    Root,
    Up,
    Down(OsString),
}

fn steps(path: &Path) -> VecDeque<Step> {
    let step = |component| match component {
        Component::RootDir => Some(Step::Root),
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Down(name.to_owned())),
        Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(step).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_on_the_way_to_a_fixed_file_lies_in_the_workspace() {
        let own = tempfile::tempdir().unwrap();
        let own = own.path().canonicalize().unwrap();
        let workspace = own.join("work");
        fs::create_dir_all(workspace.join("conf")).unwrap();
        for name in ["work/top", "work/conf/deep", "outside", "work/twice"] {
            fs::write(own.join(name), "").unwrap();
        }
        for (link, target) in [
            ("work/to-deep", "conf/deep"),
            ("work/to-outside", "../outside"),
            ("work/to-nothing", "nothing"),
            ("work/up", ".."),
            ("to-top", "work/top"),
            ("to-work", "work"),
            ("to-link", "work/to-outside"),
            ("round", "round"),
        ] {
            symlink(target, own.join(link)).unwrap();
        }
        fs::hard_link(workspace.join("twice"), workspace.join("second")).unwrap();
        for (file, expected) in [
            ("outside", Ok(None)),
            ("missing", Ok(None)),
            ("work/top", Ok(Some("work/top"))),
            ("work/./top", Ok(Some("work/top"))),
            ("work/../work/top", Ok(Some("work/top"))),
            ("work/missing", Ok(Some("work/missing"))),
            ("to-top", Ok(Some("work/top"))),
            ("to-work/top", Ok(Some("work/top"))),
            ("work/conf/deep", Err("could be changed from inside")),
            ("work/conf/missing", Err("could be made from inside")),
            ("work/conf/../top", Err("lies in the workspace")),
            ("work/to-deep", Err("lies in the workspace")),
            ("work/to-outside", Err("lies in the workspace")),
            ("work/to-nothing", Err("could be made from inside")),
            ("work/up/outside", Err("lies in the workspace")),
            ("to-link", Err("lies in the workspace")),
            ("work/twice", Err("second name")),
            ("round", Err("too many links")),
        ] {
            let found = at_top_of(&workspace, &own.join(file)).map_err(|error| error.to_string());
            match (found, expected) {
                (Ok(found), Ok(expected)) => {
                    assert_eq!(found, expected.map(|place| own.join(place)), "{file}");
                }
                (Err(said), Err(expected)) => assert!(said.contains(expected), "{file}: {said}"),
                (found, _) => panic!("{file}: {found:?}"),
            }
        }
    }
}
