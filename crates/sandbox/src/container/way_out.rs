//! Putting the handed-out socket into the network of a container.
//!
//! Nothing is added to the container: `nsenter` takes this program's own binary into the container's network, where it makes
//! the socket and hands it out as every sandbox does.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::watch;

use super::{ContainerError, Containers};
use crate::door::Door;
use crate::{Flow, Outlet, Valve};

/// How long that may take.
const PATIENCE: Duration = Duration::from_secs(20);

impl Containers {
    /// Gives a container without a network the way out through a proxy. `word` makes this program's own binary call
    /// [`crate::enter::hand_out`].
    ///
    /// # Errors
    /// When the container's network cannot be entered.
    pub async fn open_way_out(
        &self,
        name: &str,
        word: &str,
        outlet: Arc<dyn Outlet>,
        flow: watch::Receiver<Flow>,
    ) -> Result<Valve, ContainerError> {
        let state = self.inspect(name).await?.state.unwrap_or_default();
        let process = state
            .pid
            .filter(|pid| *pid > 0)
            .ok_or(ContainerError::NotRunning)?;
        open(process, word, outlet, flow)
            .await
            .map_err(ContainerError::WayOut)
    }
}

async fn open(
    process: i64,
    word: &str,
    outlet: Arc<dyn Outlet>,
    flow: watch::Receiver<Flow>,
) -> io::Result<Valve> {
    let door = Door::new()?;
    let mut nsenter = Command::new("nsenter");
    nsenter.arg("--target").arg(process.to_string()).arg("--net");
    if !same_users(process) {
        nsenter.args(["--user", "--preserve-credentials"]);
    }
    nsenter
        .arg(std::env::current_exe()?)
        .args([word, "--door"])
        .arg(door.path())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let mut inside = nsenter.spawn()?;
    let mut arrival = tokio::select! {
        arrival = door.wait() => arrival?,
        ended = inside.wait() => {
            let ended = ended?;
            return Err(io::Error::other(format!("its network cannot be entered ({ended})")));
        }
        () = tokio::time::sleep(PATIENCE) => return Err(io::ErrorKind::TimedOut.into()),
    };
    arrival.go()?;
    inside.wait().await?;
    Valve::open(arrival.listener, outlet, flow)
}

/// Whether a process has the same users as this one, as containers of root have.
fn same_users(process: i64) -> bool {
    let of = |process: &str| std::fs::read_link(Path::new("/proc").join(process).join("ns/user")).ok();
    of(&process.to_string()) == of("self")
}
