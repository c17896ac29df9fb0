//! Three gateways, three proxies, one server.

use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use xtask::services::{self, Running, Service};

use super::proxy::Proxy;
use crate::run::Place;
use crate::run::gateway::{Gateway, create_token};

pub(crate) struct Stand {
    pub(crate) gateways: Vec<Gateway>,
    pub(crate) proxies: Vec<Proxy>,
    pub(crate) token: String,
    server: Mutex<Option<Running>>,
    service: &'static dyn Service,
    state: PathBuf,
    port: u16,
    pub(crate) places: Vec<Place>,
    _server_place: services::Place,
}

impl Stand {
    pub(crate) fn start(service: &'static dyn Service) -> Self {
        Self::start_with(service, "")
    }

    /// With more tools.
    pub(crate) fn start_with(service: &'static dyn Service, tools: &str) -> Self {
        let server_place = services::Place::new().unwrap();
        let state = server_place.directory("state").unwrap();
        let port = services::free_port().unwrap();
        let server = service.start(&state, port).unwrap();
        let mut proxies = Vec::new();
        let mut places = Vec::new();
        for _ in 0..3 {
            let proxy = Proxy::to(port);
            let url = server.url().replace(&port.to_string(), &proxy.port.to_string());
            let place = Place::new();
            place.write("tidegate.toml", &(configuration(&url) + tools));
            share_key(&place);
            place.write("desk.py", DESK);
            proxies.push(proxy);
            places.push(place);
        }
        let token = create_token(&places[0], "agent", "alice");
        // All at once: migrations must be safe then.
        let gateways = std::thread::scope(|scope| {
            let starting: Vec<_> = places
                .iter()
                .map(|place| scope.spawn(|| Gateway::start(place, &["--data-dir", "data"])))
                .collect();
            starting
                .into_iter()
                .map(|gateway| gateway.join().unwrap())
                .collect()
        });
        Self {
            gateways,
            proxies,
            token,
            server: Mutex::new(Some(server)),
            service,
            state,
            port,
            places,
            _server_place: server_place,
        }
    }

    /// Stops the server where it is for a while.
    pub(crate) fn pause_server(&self, time: Duration) {
        let server = self.server.lock().unwrap();
        let server = server.as_ref().unwrap();
        server.pause();
        std::thread::sleep(time);
        server.resume();
    }

    /// Kills the server and starts it again on what it left.
    pub(crate) fn kill_server(&self) {
        let mut slot = self.server.lock().unwrap();
        slot.take().unwrap().kill();
        // What is left of the old one may still hold its memory for a moment.
        let started = (0..50).find_map(|_| {
            std::thread::sleep(Duration::from_millis(100));
            self.service.start(&self.state, self.port).ok()
        });
        *slot = Some(started.expect("the server starts again"));
    }

    pub(crate) fn stop(self) {
        for gateway in self.gateways {
            gateway.stop();
        }
    }
}

/// Gateways on one state have one key of the evidence.
fn share_key(place: &Place) {
    let data = place.path("data");
    std::fs::DirBuilder::new().mode(0o700).create(&data).unwrap();
    let file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(data.join("vault.key"));
    let key = format!("{} {}\n", "0a".repeat(8), "0b".repeat(32));
    file.unwrap().write_all(key.as_bytes()).unwrap();
}

fn configuration(url: &str) -> String {
    format!(
        "[store]\nurl = \"{url}\"\ntimeout_ms = 1000\n[telemetry]\ndecision_log = \"decisions.jsonl\"\n\
         [mcp]\nclosed_tools = \"hide\"\n[servers.desk]\ncommand = \"python3\"\nargs = [\"desk.py\"]\nbare_names = true\n\
         [tools.search_email]\npermissions = [\"read\"]\nreturns = \"internal\"\n[tools.web_search]\nexternal = true\n"
    )
}

/// An MCP server behind the gateways, with nothing but the two tools.
const DESK: &str = r#"
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        version = message["params"]["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "desk", "version": "1"}}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ["search_email", "web_search"]]}
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;
