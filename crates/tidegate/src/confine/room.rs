//! What a command inside sees, from the configuration.

use std::path::Path;

use tidegate_gateway::telemetry::LogTarget;
use tidegate_sandbox::{Rights, Room};
use tidegate_store::{Misplaced, refuse_inside};

use super::named::named_files;
use crate::config::Config;
use crate::failure::Failure;
use crate::source::STAND_IN;

/// A room around a workspace, with tidegate's own state out of reach and the configuration as it is, with every file that it names:
/// the next start reads those as well, a library among them that runs outside.
pub(crate) fn room(config: &Config, workspace: &Path, rights: Rights) -> Result<Room, Failure> {
    let mut room = loose_room(config, workspace)?;
    if let Some(file) = &config.file {
        room = room
            .with_fixed_name(file, STAND_IN, rights)
            .map_err(Failure::usage)?;
    }
    named_files(config)
        .try_fold(room, Room::with_fixed)
        .map_err(Failure::usage)
}

/// The same without a hold on the configuration, for a container that has other mounts than the workspace.
pub(super) fn loose_room(config: &Config, workspace: &Path) -> Result<Room, Failure> {
    let own = [Some(&config.data_dir), config.private_data_dir.as_ref()];
    let own: Vec<_> = own.into_iter().flatten().cloned().collect();
    for place in &own {
        keep_apart(place, workspace)?;
    }
    let log = match &config.telemetry.decision_log {
        LogTarget::File(path) => Some(path.clone()),
        LogTarget::Stderr | LogTarget::Off => None,
    };
    let room = Room::around(workspace).map_err(Failure::usage)?;
    Ok(room
        .with_readable(config.sandbox.readable.iter().cloned())
        .with_hidden(own.into_iter().chain(log))
        .with_variables(config.sandbox.env.iter().map(String::as_str))
        .with_unix_sockets(config.sandbox.unix_sockets))
}

/// State lies where nothing inside can reach it, so no workspace may hold it or lie in it.
fn keep_apart(place: &Path, workspace: &Path) -> Result<(), Failure> {
    let shown = place.display();
    refuse_inside(place, &[workspace.to_owned()]).map_err(|misplaced| {
        let why = match misplaced {
            Misplaced::Inside { .. } => "lies inside the workspace, where the command could change it",
            Misplaced::Around { .. } => "has the workspace inside it, so the command could reach it",
            Misplaced::Unresolved { .. } => "cannot be compared with the workspace",
        };
        Failure::usage(format_args!(
            "nothing was run: tidegate's own directory {shown} {why}; use another --workspace or --data-dir"
        ))
    })
}
