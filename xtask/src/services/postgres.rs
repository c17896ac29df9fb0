//! PostgreSQL. It refuses to run as root, so root hands it to the user that Debian's package makes.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::{Certified, Running, Service, debian};

/// Debian's postgresql.
pub struct Postgres;

const VERSIONS: &str = "/usr/lib/postgresql";
const USER: &str = "tidegate";

impl Service for Postgres {
    fn name(&self) -> &'static str {
        "PostgreSQL"
    }

    fn variable(&self) -> &'static str {
        "TIDEGATE_TEST_POSTGRES"
    }

    fn install(&self) -> Result<(), String> {
        match programs() {
            Some(_) => Ok(()),
            None => debian::install("postgresql"),
        }
    }

    fn start(&self, directory: &Path, port: u16) -> Result<Running, String> {
        run(directory, port, &[])
    }
}

impl Postgres {
    /// A server that offers TLS.
    ///
    /// # Errors
    /// Says what went wrong.
    pub fn start_tls(&self, directory: &Path, port: u16, certified: &Certified) -> Result<Running, String> {
        if debian::is_root() {
            chown(&certified.key, Some(user_id()?), None)
                .map_err(|error| format!("cannot hand over the key: {error}"))?;
        }
        fs::set_permissions(&certified.key, fs::Permissions::from_mode(0o600))
            .map_err(|error| format!("cannot close the key to others: {error}"))?;
        let certificate = format!("ssl_cert_file={}", certified.certificate.display());
        let key = format!("ssl_key_file={}", certified.key.display());
        run(directory, port, &["-c", "ssl=on", "-c", &certificate, "-c", &key])
    }
}

fn run(directory: &Path, port: u16, more: &[&str]) -> Result<Running, String> {
    let programs = programs().ok_or("postgresql is not installed")?;
    if !directory.join("PG_VERSION").exists() {
        create(&programs, directory)?;
    }
    let mut command = unprivileged(&programs.join("postgres"));
    command
        .arg("-D")
        .arg(directory)
        .arg("-k")
        .arg(directory)
        .args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1"])
        .args(["-c", "max_connections=200"])
        .args(more)
        .current_dir("/")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let ready = || {
        let mut ask = Command::new(programs.join("pg_isready"));
        ask.args(["-q", "-h", "127.0.0.1", "-p", &port.to_string()]);
        ask.status().is_ok_and(|status| status.success())
    };
    let url = format!("postgres://{USER}@127.0.0.1:{port}/postgres");
    // SIGINT is its fast shutdown: connections are closed, what is committed is kept.
    Running::start(command, url, Signal::INT, ready)
}

/// The directory of the newest installed version's programs.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir(VERSIONS).ok()?.filter_map(Result::ok);
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    versions
        .map(|entry| entry.path())
        .filter(|path| path.join("bin/postgres").is_file())
        .max_by_key(|path| number(path))
        .map(|path| path.join("bin"))
}

fn create(programs: &Path, directory: &Path) -> Result<(), String> {
    if debian::is_root() {
        let uid = user_id()?;
        chown(directory, Some(uid), None)
            .map_err(|error| format!("cannot hand over the directory: {error}"))?;
    }
    let status = unprivileged(&programs.join("initdb"))
        .args(["-A", "trust", "-E", "UTF8", "--locale=C", "-N", "-U", USER, "-D"])
        .arg(directory)
        .current_dir("/")
        .stdout(Stdio::null())
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("initdb failed ({status})")),
        Err(error) => Err(format!("cannot run initdb: {error}")),
    }
}

fn unprivileged(program: &Path) -> Command {
    if !debian::is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"])
        .arg(program);
    command
}

fn user_id() -> Result<u32, String> {
    let answer = Command::new("id").args(["-u", "postgres"]).output();
    let text = answer
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok());
    text.and_then(|text| text.trim().parse().ok())
        .ok_or_else(|| "there is no user postgres".to_owned())
}
