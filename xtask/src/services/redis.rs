//! Redis, as durable as the gateway demands it: one server, one behind TLS, a cluster, or a pair under a sentinel.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use super::{Certified, Running, Service, debian, port, process};

/// Debian's redis-server.
pub struct Redis;

const SERVER: &str = "/usr/bin/redis-server";
const CLIENT: &str = "/usr/bin/redis-cli";

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
        run(durable(directory, port), port, "redis")
    }
}

impl Redis {
    /// A server that speaks nothing but TLS.
    ///
    /// # Errors
    /// Says what went wrong.
    pub fn start_tls(&self, directory: &Path, port: u16, certified: &Certified) -> Result<Running, String> {
        let mut command = durable(directory, 0);
        command
            .args(["--tls-port", &port.to_string(), "--tls-auth-clients", "no"])
            .arg("--tls-cert-file")
            .arg(&certified.certificate)
            .arg("--tls-key-file")
            .arg(&certified.key)
            .arg("--tls-ca-cert-file")
            .arg(&certified.certificate);
        run(command, port, "rediss")
    }

    /// A server that follows another.
    ///
    /// # Errors
    /// Says what went wrong.
    pub fn start_replica(&self, directory: &Path, port: u16, primary: u16) -> Result<Running, String> {
        let mut command = durable(directory, port);
        command.args(["--replicaof", &format!("127.0.0.1 {primary}")]);
        run(command, port, "redis")
    }

    /// A sentinel that watches over the server at `primary` by the name `main`, and decides alone.
    ///
    /// # Errors
    /// Says what went wrong.
    pub fn start_sentinel(&self, directory: &Path, port: u16, primary: u16) -> Result<Running, String> {
        let file = directory.join("sentinel.conf");
        let settings = format!(
            "port {port}\nbind 127.0.0.1\nsentinel monitor main 127.0.0.1 {primary} 1\n\
             sentinel down-after-milliseconds main 500\nsentinel failover-timeout main 2000\n"
        );
        fs::write(&file, settings).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        let mut command = Command::new(SERVER);
        command.arg(&file).arg("--sentinel").stdout(Stdio::null());
        let url = format!("redis+sentinel://127.0.0.1:{port}/main");
        Running::start(command, url, Signal::TERM, || process::listens(port))
    }
}

/// A cluster of three primaries.
pub struct RedisCluster {
    url: String,
    nodes: Vec<(u16, Running)>,
}

impl RedisCluster {
    /// Starts three nodes and joins them.
    ///
    /// # Errors
    /// Says what went wrong.
    pub fn start(directory: &Path) -> Result<Self, String> {
        Self::join(directory, 3, "0")
    }

    /// Starts three primaries with a replica each.
    ///
    /// # Errors
    /// Says what went wrong.
    pub fn start_with_replicas(directory: &Path) -> Result<Self, String> {
        Self::join(directory, 6, "1")
    }

    fn join(directory: &Path, count: usize, replicas: &str) -> Result<Self, String> {
        let (mut nodes, mut places) = (Vec::new(), Vec::new());
        for number in 0..count {
            let own = directory.join(number.to_string());
            fs::create_dir(&own).map_err(|error| format!("cannot write {}: {error}", own.display()))?;
            let (port, bus) = (port::free()?, port::free()?);
            let mut command = durable(&own, port);
            command
                .args(["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"])
                .args(["--cluster-port", &bus.to_string()]);
            nodes.push((port, run(command, port, "redis")?));
            places.push(format!("127.0.0.1:{port}"));
        }
        let mut join = Command::new(CLIENT);
        join.args(["--cluster", "create"]).args(&places).args([
            "--cluster-replicas",
            replicas,
            "--cluster-yes",
        ]);
        let joined = join.stdout(Stdio::null()).status();
        if !joined.is_ok_and(|status| status.success()) {
            return Err("the nodes cannot be joined to a cluster".to_owned());
        }
        let url = format!("redis+cluster://{}", places.join(","));
        let cluster = Self { url, nodes };
        cluster.wait(&places)?;
        Ok(cluster)
    }

    /// Where its servers listen.
    pub fn ports(&self) -> impl Iterator<Item = u16> {
        self.nodes.iter().map(|(port, _)| *port)
    }

    /// The server at this port.
    #[must_use]
    pub fn node(&self, port: u16) -> Option<&Running> {
        let node = self.nodes.iter().find(|(known, _)| *known == port);
        node.map(|(_, node)| node)
    }

    /// The server at this port, to do with as one likes.
    pub fn take(&mut self, port: u16) -> Option<Running> {
        let place = self.nodes.iter().position(|(known, _)| *known == port)?;
        Some(self.nodes.remove(place).1)
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits until every node knows that all slots are served.
    fn wait(&self, places: &[String]) -> Result<(), String> {
        let whole = |place: &String| {
            let address = place.rsplit_once(':').map_or("", |(_, port)| port);
            let said = Command::new(CLIENT)
                .args(["-p", address, "CLUSTER", "INFO"])
                .output();
            said.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains("cluster_state:ok"))
        };
        for _ in 0..200 {
            if places.iter().all(whole) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err("the cluster does not come together".to_owned())
    }
}

/// A server that keeps what it acknowledges.
fn durable(directory: &Path, port: u16) -> Command {
    let mut command = Command::new(SERVER);
    command
        .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
        .args(["--appendonly", "yes", "--appendfsync", "always"])
        .args(["--maxmemory-policy", "noeviction", "--save", ""])
        .arg("--dir")
        .arg(directory)
        .stdout(Stdio::null());
    command
}

fn run(command: Command, port: u16, scheme: &str) -> Result<Running, String> {
    let url = format!("{scheme}://127.0.0.1:{port}");
    Running::start(command, url, Signal::TERM, || process::listens(port))
}
