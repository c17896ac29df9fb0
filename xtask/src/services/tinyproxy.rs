//! tinyproxy: a plain forward proxy, to measure the egress proxy beside.

use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::{Running, Service, debian, process};

/// Debian's tinyproxy.
pub struct Tinyproxy;

const SERVER: &str = "/usr/bin/tinyproxy";

impl Service for Tinyproxy {
    fn name(&self) -> &'static str {
        "tinyproxy"
    }

    fn variable(&self) -> &'static str {
        "TIDEGATE_TEST_TINYPROXY"
    }

    fn install(&self) -> Result<(), String> {
        match process::program(&[Path::new(SERVER)]) {
            Some(_) => Ok(()),
            None => debian::install("tinyproxy-bin"),
        }
    }

    fn start(&self, directory: &Path, port: u16) -> Result<Running, String> {
        let file = directory.join("tinyproxy.conf");
        let text = format!(
            "Port {port}\nListen 127.0.0.1\nAllow 127.0.0.1\nMaxClients 256\nTimeout 600\nLogLevel Critical\n"
        );
        std::fs::write(&file, text).map_err(|error| format!("cannot write its configuration: {error}"))?;
        let mut command = Command::new(SERVER);
        command.arg("-d").arg("-c").arg(&file).stdout(Stdio::null());
        let url = format!("http://127.0.0.1:{port}");
        Running::start(command, url, Signal::TERM, || process::listens(port))
    }
}
