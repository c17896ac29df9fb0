//! Real servers for tests and benchmarks.
//!
//! One file for each server says how it is installed and started; [`ALL`] is the list. `cargo xtask test` starts them all and
//! tells the tests where they are by environment variables; a test that needs one asks [`address`]. A test that stops, kills
//! or cuts off a server starts one of its own with [`Service::start`], so that nobody else misses it.

mod certificates;
mod debian;
mod mariadb;
mod openfga;
mod port;
mod postgres;
mod process;
mod redis;
mod skipped;
mod tinyproxy;

use std::path::Path;

pub use certificates::{Authority, Certified};
pub use debian::install as debian_package;
pub use mariadb::MariaDb;
pub use openfga::{OpenFga, VERSION as OPENFGA_VERSION};
pub use port::free as free_port;
pub use postgres::Postgres;
pub use process::{Place, Running};
pub use redis::{Redis, RedisCluster};
pub use tinyproxy::Tinyproxy;

/// Every server that some tests need. A new one is a file here and a line in this list.
pub const ALL: &[&dyn Service] = &[&MariaDb, &OpenFga, &Postgres, &Redis];

/// A server that can be installed and started.
pub trait Service: Sync {
    /// What people call it.
    fn name(&self) -> &'static str;

    /// The environment variable by which tests find it.
    fn variable(&self) -> &'static str;

    /// Installs it where it is missing.
    ///
    /// # Errors
    /// Says what is missing and why it could not be installed.
    fn install(&self) -> Result<(), String>;

    /// Starts it on a loopback port of its own, with its state in `directory`, which may hold the state of an earlier
    /// run. It answers when this returns, and stops when the value is dropped.
    ///
    /// # Errors
    /// Says what went wrong.
    fn start(&self, directory: &Path, port: u16) -> Result<Running, String>;
}

/// Servers that run until this is dropped.
pub struct Started {
    running: Vec<(&'static str, Running)>,
    _place: Place,
}

impl Started {
    /// How the tests find them.
    #[must_use]
    pub fn environment(&self) -> Vec<(&str, &str)> {
        let pairs = self.running.iter();
        pairs
            .map(|(variable, running)| (*variable, running.url()))
            .collect()
    }
}

/// Installs and starts every server. One that cannot be had is an error where `CI=true`; elsewhere `say` hears which tests
/// will be skipped, and why.
///
/// # Errors
/// When a server cannot be had and nothing may be skipped.
pub fn start_all(root: &Path, say: impl Fn(&str)) -> Result<Started, String> {
    let place = Place::new()?;
    let mut running = Vec::new();
    for service in ALL {
        let (name, variable) = (service.name(), service.variable());
        // One that somebody else runs is used as it is.
        if std::env::var_os(variable).is_some() {
            say(&format!("==> {name}: the one at ${variable}"));
            continue;
        }
        say(&format!("==> starting {name}"));
        let started = service
            .install()
            .and_then(|()| free_port())
            .and_then(|port| service.start(&place.directory(name)?, port));
        match started {
            Ok(server) => running.push((variable, server)),
            Err(why) if in_ci() => return Err(format!("{name} is needed: {why}")),
            Err(why) => {
                say(&format!("==> {name} cannot be used: {why}"));
                for test in skipped::tests(root, variable) {
                    say(&format!("    skipped: {test}"));
                }
            }
        }
    }
    Ok(Started {
        running,
        _place: place,
    })
}

/// Where the server is that this variable names; nothing when it was not started, and the test is to be skipped.
///
/// # Errors
/// When nothing may be skipped.
pub fn address(variable: &str) -> Result<Option<String>, String> {
    match std::env::var(variable) {
        Ok(url) => Ok(Some(url)),
        Err(_) if in_ci() => Err(format!("{variable} is not set, and nothing may be skipped in CI")),
        Err(_) => Ok(None),
    }
}

fn in_ci() -> bool {
    std::env::var("CI").as_deref() == Ok("true")
}
