//! What can stand before a server: nothing, a plain reverse proxy, this gateway, and the proxies of others.
//!
//! Each is a process of its own. One that cannot be had is named with the reason, never left out in silence.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_core::Ident;
use tidegate_gateway::mcp::{Mcp, Options, Pins, Reach, Upstream};

use super::load::Target;
use crate::of_process;
use crate::stand::{Outcome, Stand};

/// How long a program may take to end.
const FAREWELL: Duration = Duration::from_secs(5);

const PACKAGES: [&str; 2] = ["mcp-proxy==0.13.0", "fastmcp==3.4.10"];
const FASTMCP: &str = "
import sys
from fastmcp.server import create_proxy
proxy = create_proxy(sys.argv[1])
proxy.run(transport='http', host='127.0.0.1', port=int(sys.argv[2]), path='/mcp', json_response=True,
          show_banner=False, log_level='error')
";

/// A process that ends with the benchmark.
pub struct Hop {
    process: Child,
    /// Where it takes calls.
    pub target: Target,
}

impl Hop {
    /// What it has used of the processors by now, where the system tells.
    #[must_use]
    pub fn processor(&self) -> Option<Duration> {
        of_process(self.process.id())
    }
}

impl Drop for Hop {
    fn drop(&mut self) {
        // Asked first: nginx and mcp-proxy have children, which only they can end.
        let id = self.process.id().to_string();
        let asked = Command::new("kill").arg(id).status();
        let began = Instant::now();
        while asked.as_ref().is_ok_and(ExitStatus::success) && began.elapsed() < FAREWELL {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The server itself.
///
/// # Errors
/// Says why it cannot be started.
pub fn server() -> Result<Hop, String> {
    let mut process = ourselves(&["server"])?
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let address = first_line(&mut process)?;
    let address = address.parse().map_err(|_| "it did not say where")?;
    let target = Target { address, token: None };
    Ok(Hop { process, target })
}

/// This gateway, with everything on: tokens, scanning, the durable record.
///
/// # Errors
/// Says why it cannot be started.
pub fn tidegate(server: SocketAddr, directory: &Path) -> Result<Hop, String> {
    let directory = directory.to_str().ok_or("the directory has no name")?;
    let mut process = ourselves(&["gateway", &server.to_string(), directory])?
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let said = first_line(&mut process)?;
    let (address, token) = said.split_once(' ').ok_or("it did not say where")?;
    let target = Target {
        address: address.parse().map_err(|_| "it did not say where")?,
        token: Some(token.to_owned()),
    };
    Ok(Hop { process, target })
}

/// nginx, as a plain reverse proxy that keeps its connections.
///
/// # Errors
/// Says why it cannot be had.
pub fn nginx(server: SocketAddr, directory: &Path) -> Result<Hop, String> {
    let address = free_address()?;
    let place = directory.display();
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {place}/{kind};"))
        .concat();
    let configuration = format!(
        "daemon off; worker_processes auto; pid {place}/nginx.pid; error_log stderr error;\n\
         events {{ worker_connections 1024; }}\n\
         http {{ access_log off; {temporary} client_max_body_size 16m; client_body_buffer_size 1m;\n\
           proxy_buffers 16 64k; proxy_buffer_size 64k; keepalive_requests 1000000;\n\
           upstream server {{ server {server}; keepalive 64; keepalive_requests 1000000; }}\n\
           server {{ listen {address}; location / {{ proxy_pass http://server; proxy_http_version 1.1;\n\
             proxy_set_header Connection \"\"; }} }} }}\n"
    );
    let file = directory.join("nginx.conf");
    std::fs::write(&file, configuration).map_err(|error| error.to_string())?;
    let command = &mut Command::new("nginx");
    command.arg("-p").arg(directory).arg("-c").arg(&file);
    listening(command, address).map_err(|why| format!("nginx: {why} (Debian has a package of that name)"))
}

/// mcp-proxy, before the same server on standard streams, which is what it is for.
///
/// # Errors
/// Says why it cannot be had.
pub fn mcp_proxy() -> Result<Hop, String> {
    let address = free_address()?;
    let program = environment()?.join("bin/mcp-proxy");
    let ourselves = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(["--host", "127.0.0.1", "--log-level", "ERROR", "--port"]);
    command.arg(address.port().to_string()).arg("--");
    command.arg(ourselves).arg("streams").stderr(Stdio::null());
    listening(&mut command, address)
}

/// FastMCP's proxy.
///
/// # Errors
/// Says why it cannot be had.
pub fn fastmcp(server: SocketAddr) -> Result<Hop, String> {
    let address = free_address()?;
    let mut command = Command::new(environment()?.join("bin/python"));
    command.args(["-c", FASTMCP, &format!("http://{server}/mcp")]);
    command.arg(address.port().to_string()).stderr(Stdio::null());
    listening(&mut command, address)
}

/// Serves the gateway in this process, and says where on standard output.
///
/// # Errors
/// When it cannot be started.
pub async fn serve_gateway(server: &str, directory: &Path) -> Outcome<()> {
    let mut stand = Stand::new(directory).await?;
    let upstream = Upstream {
        name: Ident::parse("echo")?,
        bare_names: true,
        reach: Reach::Url {
            url: format!("http://{server}/mcp"),
            headers_env: Vec::new(),
            ca_file: None,
        },
    };
    let pins = Pins::in_directory(directory);
    let mcp = Mcp::new(Arc::clone(&stand.engine), vec![upstream], pins, Options::STANDARD);
    stand.app = stand.app.with_mcp(mcp);
    let address = stand.serve().await?;
    let mut out = std::io::stdout();
    std::io::Write::write_all(&mut out, format!("{address} {}\n", stand.token).as_bytes())?;
    std::future::pending().await
}

fn ourselves(args: &[&str]) -> Result<Command, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(args);
    Ok(command)
}

fn first_line(process: &mut Child) -> Result<String, String> {
    let stdout = process.stdout.as_mut().ok_or("it has no standard output")?;
    let mut line = String::new();
    BufReader::new(stdout)
        .read_line(&mut line)
        .map_err(|error| error.to_string())?;
    Ok(line.trim().to_owned())
}

fn free_address() -> Result<SocketAddr, String> {
    let bound = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    bound.map_err(|error| error.to_string())
}

/// Starts a program and waits until it listens.
fn listening(command: &mut Command, address: SocketAddr) -> Result<Hop, String> {
    let process = command
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let target = Target { address, token: None };
    let mut hop = Hop { process, target };
    let began = Instant::now();
    while TcpStream::connect(address).is_err() {
        if let Ok(Some(status)) = hop.process.try_wait() {
            return Err(format!("it ended at once ({status})"));
        }
        if began.elapsed() > Duration::from_secs(60) {
            return Err("it does not listen".into());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(hop)
}

/// The Python environment that has the peers.
fn environment() -> Result<PathBuf, String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/mcp-peers");
    let (ready, wanted) = (directory.join("ready"), PACKAGES.join(" "));
    if !std::fs::read_to_string(&ready).is_ok_and(|installed| installed == wanted) {
        run(Command::new("python3").args(["-m", "venv"]).arg(&directory))?;
        let pip = directory.join("bin/pip");
        run(Command::new(pip).args(["install", "--quiet"]).args(PACKAGES))?;
        std::fs::write(ready, wanted).map_err(|error| error.to_string())?;
    }
    Ok(directory)
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command
        .output()
        .map_err(|error| format!("it cannot be installed: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let complaint = complaint.trim().lines().last().unwrap_or("it failed");
    Err(format!("it cannot be installed: {complaint}"))
}
