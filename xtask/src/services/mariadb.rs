//! MariaDB. It runs as the user that Debian's package makes when root starts it.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::process::{listens, program};
use super::{Running, Service, debian};

/// Debian's mariadb-server.
pub struct MariaDb;

const SERVERS: [&str; 3] = ["/usr/sbin/mariadbd", "/usr/sbin/mysqld", "/usr/bin/mariadbd"];
const INSTALLERS: [&str; 2] = ["/usr/bin/mariadb-install-db", "/usr/bin/mysql_install_db"];
const USER: &str = "tidegate";

impl Service for MariaDb {
    fn name(&self) -> &'static str {
        "MariaDB"
    }

    fn variable(&self) -> &'static str {
        "TIDEGATE_TEST_MARIADB"
    }

    fn install(&self) -> Result<(), String> {
        match program(&SERVERS.map(Path::new)) {
            Some(_) => Ok(()),
            None => debian::install("mariadb-server"),
        }
    }

    fn start(&self, directory: &Path, port: u16) -> Result<Running, String> {
        let server = program(&SERVERS.map(Path::new)).ok_or("mariadb-server is not installed")?;
        let data = directory.join("data");
        if !data.exists() {
            create(directory, &data)?;
        }
        let mut command = Command::new(server);
        command
            .arg("--no-defaults")
            .arg(argument("datadir", &data))
            .arg(argument("socket", &directory.join("socket")))
            .arg(argument("pid-file", &directory.join("pid")))
            .arg(argument("init-file", &directory.join("init.sql")))
            .args([format!("--port={port}"), "--bind-address=127.0.0.1".to_owned()])
            .args([
                "--skip-name-resolve",
                "--innodb-buffer-pool-size=32M",
                "--skip-log-bin",
            ])
            .args(as_user())
            .current_dir("/")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let url = format!("mysql://{USER}@127.0.0.1:{port}/{USER}");
        Running::start(command, url, Signal::TERM, || listens(port))
    }
}

/// Makes the system's own tables, and a user and a database for the tests.
fn create(directory: &Path, data: &Path) -> Result<(), String> {
    let installer = program(&INSTALLERS.map(Path::new)).ok_or("mariadb-install-db is not installed")?;
    let init = format!(
        "CREATE DATABASE IF NOT EXISTS {USER};\nCREATE USER IF NOT EXISTS '{USER}'@'%';\nGRANT ALL ON *.* TO '{USER}'@'%';\n"
    );
    let written = |error| format!("cannot write in {}: {error}", directory.display());
    fs::write(directory.join("init.sql"), init).map_err(written)?;
    fs::create_dir(data).map_err(written)?;
    if debian::is_root() {
        let owner = user_id()?;
        for path in [directory, data] {
            chown(path, Some(owner), None)
                .map_err(|error| format!("cannot hand over the directory: {error}"))?;
        }
    }
    let status = Command::new(installer)
        .args([
            "--no-defaults",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        ])
        .arg(argument("datadir", data))
        .args(as_user())
        .current_dir("/")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("mariadb-install-db failed ({status})")),
        Err(error) => Err(format!("cannot run mariadb-install-db: {error}")),
    }
}

fn argument(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}

fn as_user() -> Option<&'static str> {
    debian::is_root().then_some("--user=mysql")
}

fn user_id() -> Result<u32, String> {
    let answer = Command::new("id").args(["-u", "mysql"]).output();
    let text = answer
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok());
    text.and_then(|text| text.trim().parse().ok())
        .ok_or_else(|| "there is no user mysql".to_owned())
}
