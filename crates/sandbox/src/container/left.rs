//! Containers of this program's own that nobody ended.
//!
//! A container goes on when the program that made it is killed. The mount over what stands in for a configuration lasts as long as
//! that file, so the file stays while such a container may be there, and the next that makes one in this workspace ends those
//! before it.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use bollard::query_parameters::ListContainersOptions;

use super::{ContainerError, Containers, asked_to};
use crate::Room;

/// By which a container is known for one of this program's own, with the workspace that it shares.
const WORKSPACE: &str = "tidegate.workspace";

impl Containers {
    /// Ends what was left behind in a room's workspace, unless another run is at work there: its containers look the same.
    ///
    /// # Errors
    /// When the engine does not say what is there, or does not end it.
    pub async fn end_left(&self, room: &Room) -> Result<(), ContainerError> {
        if !room.is_alone() {
            return Ok(());
        }
        for container in self.own_in(room.workspace()).await? {
            match self.remove(&container).await {
                Err(error) if !error.is_unknown() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Keeps what stands in for a file of the room from being removed as long as a container may have a mount on it.
    ///
    /// # Errors
    /// When the file cannot be marked.
    pub fn keep_stand_ins(&self, room: &Room) -> io::Result<()> {
        room.mark(true)
    }

    /// Lets it be removed again, if the engine says that there is no container.
    pub async fn release_stand_ins(&self, room: &Room) {
        // Before the engine is asked: who makes a container that it does not name yet marks them after this.
        let released = room.mark(false);
        let left = self.own_in(room.workspace()).await;
        if released.is_err() || !left.is_ok_and(|left| left.is_empty()) {
            let _ = room.mark(true);
        }
    }

    /// The ids of this program's own containers that share a workspace.
    async fn own_in(&self, workspace: &Path) -> Result<Vec<String>, ContainerError> {
        let wanted = format!("{WORKSPACE}={}", workspace.display());
        let options = ListContainersOptions {
            all: true,
            filters: Some(HashMap::from([("label".to_owned(), vec![wanted])])),
            ..ListContainersOptions::default()
        };
        let listed = self.docker.list_containers(Some(options)).await;
        let listed = listed.map_err(asked_to("list its containers"))?;
        Ok(listed.into_iter().filter_map(|container| container.id).collect())
    }
}

/// What makes a container known.
pub(super) fn labels(workspace: &Path) -> HashMap<String, String> {
    HashMap::from([(WORKSPACE.to_owned(), workspace.display().to_string())])
}
