//! OpenFGA, from source by Go, with its data in memory: a server that is started again knows nothing.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use super::{Running, Service, free_port};

/// The version that tests run against, and that deploy/ names.
pub const VERSION: &str = "v1.18.1";

/// OpenFGA, asking for no credentials.
pub struct OpenFga;

impl OpenFga {
    /// The same asking for one of these keys.
    ///
    /// # Errors
    /// Says what went wrong.
    pub fn start_with_keys(port: u16, keys: &[&str]) -> Result<Running, String> {
        let keys = format!("--authn-preshared-keys={}", keys.join(","));
        start(port, &["--authn-method=preshared", &keys])
    }
}

impl Service for OpenFga {
    fn name(&self) -> &'static str {
        "OpenFGA"
    }

    fn variable(&self) -> &'static str {
        "TIDEGATE_TEST_OPENFGA"
    }

    fn install(&self) -> Result<(), String> {
        if program().is_file() {
            return Ok(());
        }
        let package = format!("github.com/openfga/openfga/cmd/openfga@{VERSION}");
        let status = Command::new("go")
            .args(["install", &package])
            .env("GOBIN", directory())
            .stdin(Stdio::null())
            .status();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("go install {package} failed ({status})")),
            Err(error) => Err(format!(
                "it is built by go install {package}, and go cannot be run: {error}"
            )),
        }
    }

    fn start(&self, _directory: &Path, port: u16) -> Result<Running, String> {
        start(port, &[])
    }
}

fn start(port: u16, more: &[&str]) -> Result<Running, String> {
    // It serves gRPC beside HTTP, whether anyone asks or not, and answers HTTP through it.
    let grpc = free_port()?;
    let mut command = Command::new(program());
    command
        .args([
            "run",
            "--datastore-engine=memory",
            "--metrics-enabled=false",
            "--playground-enabled=false",
        ])
        .arg(format!("--http-addr=127.0.0.1:{port}"))
        .arg(format!("--grpc-addr=127.0.0.1:{grpc}"))
        .args(more)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let url = format!("http://127.0.0.1:{port}");
    Running::start(command, url, Signal::TERM, || is_healthy(port))
}

/// One directory for each version, so that another version is built and not mistaken for this one.
fn directory() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = manifest.parent().unwrap_or(manifest);
    root.join("target/services").join(format!("openfga-{VERSION}"))
}

fn program() -> PathBuf {
    directory().join("openfga")
}

fn is_healthy(port: u16) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.contains("SERVING"))
}
