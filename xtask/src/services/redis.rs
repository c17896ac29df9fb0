//! Redis, as durable as the gateway demands it.

use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::{Running, Service, debian, process};

/// Debian's redis-server.
pub struct Redis;

const SERVER: &str = "/usr/bin/redis-server";

impl Service for Redis {
    fn name(&self) -> &'static str {
        "Redis"
    }

    fn variable(&self) -> &'static str {
        "TIDEGATE_TEST_REDIS"
    }

    fn install(&self) -> Result<(), String> {
        match process::program(&[Path::new(SERVER)]) {
            Some(_) => Ok(()),
            None => debian::install("redis-server"),
        }
    }

    fn start(&self, directory: &Path, port: u16) -> Result<Running, String> {
        let mut command = Command::new(SERVER);
        command
            .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
            .args(["--appendonly", "yes", "--appendfsync", "always"])
            .args(["--maxmemory-policy", "noeviction", "--save", ""])
            .arg("--dir")
            .arg(directory)
            .stdout(Stdio::null());
        let url = format!("redis://127.0.0.1:{port}");
        Running::start(command, url, Signal::TERM, || process::listens(port))
    }
}
