//! What is open when a label rises is cut, in a command and in what it started, and nothing opens again.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod run;
mod sandbox;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use run::Place;
use run::gateway::{Gateway, create_token};
use sandbox::{Cable, Listener, can_isolate, program, workspace};
use serde_json::{Value, json};

/// Sends through tunnels of its own and of a child, for as long as they let it; then tries again.
const SENDER: &str = r#"
import json, os, socket, subprocess, sys, time, urllib.parse
proxy = urllib.parse.urlparse(os.environ["https_proxy"])
def tunnel():
    import base64
    made = socket.create_connection((proxy.hostname, proxy.port), timeout=5)
    known = ""
    if proxy.username:
        words = urllib.parse.unquote(proxy.username) + ":" + urllib.parse.unquote(proxy.password)
        known = "Proxy-Authorization: Basic " + base64.b64encode(words.encode()).decode() + "\r\n"
    made.sendall(f"CONNECT {sys.argv[1]} HTTP/1.1\r\nHost: {sys.argv[1]}\r\n{known}\r\n".encode())
    answer = made.recv(4096).decode()
    assert answer.startswith("HTTP/1.1 200"), answer
    return made
made = tunnel()
child = len(sys.argv) < 3 and subprocess.Popen([sys.executable, __file__, sys.argv[1], "child"])
open("ready-child" if not child else "ready", "w").close()
def send():
    while True:
        made.sendall(b"x")
        time.sleep(0.002)
try:
    send()
except OSError as error:
    cut = type(error).__name__
try:
    tunnel()
    again = "reached"
except (OSError, AssertionError) as error:
    again = type(error).__name__
name = "child.json" if not child else "parent.json"
with open(name, "w") as file:
    json.dump({"cut": cut, "again": again}, file)
if child:
    child.wait()
"#;

const CONFIDENTIAL_WORKSPACE: &str = "[sandbox]\nworkspace_class = \"confidential\"\n";

/// A proxy through which public data reaches one address.
fn a_way_to(address: impl std::fmt::Display, port: u16) -> String {
    format!(
        "[egress]\nlisten = \"127.0.0.1:0\"\n[egress.destinations.\"{address}\"]\nceiling = \"public\"\nports = [{port}]\nprotocol = \"tcp\"\n"
    )
}

/// Knocks at the proxy until nobody opens.
const WATCHER: &str = r#"
import socket, time
while True:
    try:
        socket.create_connection(("127.0.0.1", 3128), timeout=5).close()
    except OSError:
        break
    open("ready", "w").close()
    time.sleep(0.02)
open("shut", "w").close()
"#;

#[test]
fn a_rise_cuts_what_is_open_and_nothing_opens_again() {
    if !can_isolate() {
        return;
    }
    let (place, cable) = (Place::new(), Cable::lay(2));
    let workspace = workspace(&place);
    let listener = Listener::at(cable.listed);
    let (address, port) = (cable.listed, listener.port);
    place.write("tidegate.toml", &a_way_to(address, port));
    let gateway = Gateway::start(&place, &[]);
    let token = create_token(&place, "agent", "alice");
    program(&workspace, "sender.py", SENDER);
    let mut command = place.command(&["run", "--workspace", "work", "--session", "shared"]);
    command.args(["--", "python3", "sender.py", &format!("{address}:{port}")]);
    command
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("TIDEGATE_URL", &gateway.url)
        .env("TIDEGATE_TOKEN", &token)
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    let running = command.spawn().unwrap();
    for name in ["ready", "ready-child"] {
        wait_for(&workspace.join(name));
    }
    // Let both tunnels carry something first.
    std::thread::sleep(Duration::from_millis(200));
    let asked = Instant::now();
    let raised = json!({"name": "patients", "sensitivity": "confidential"});
    let (status, answer) = gateway.send(&token, "/v1/session/shared/datasets", Some(raised));
    let answered = Instant::now();
    assert_eq!(status, 200, "{answer}");
    for _ in 0..2 {
        let (bytes, last, ended) = listener.ended.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(bytes > 0);
        println!(
            "after the rise was asked for: last byte {}, connection gone {}, asker answered {}",
            after(asked, last),
            after(asked, ended),
            after(asked, answered),
        );
    }
    let ended = running.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    assert!(said.contains("the network is closed"), "{said}");
    for name in ["parent.json", "child.json"] {
        let found: Value = serde_json::from_str(&fs::read_to_string(workspace.join(name)).unwrap()).unwrap();
        assert_ne!(found["again"], "reached", "{name}: {found}");
    }
    assert!(listener.ended.try_recv().is_err(), "nothing connected again");
    // A session that is private at the start has no network from the start.
    fs::remove_file(workspace.join("ready")).unwrap();
    let again = command.stderr(Stdio::null()).output().unwrap();
    assert!(!again.status.success());
    assert!(!workspace.join("ready").exists());
    assert!(listener.ended.try_recv().is_err());
    gateway.stop();
}

#[test]
fn a_gateway_that_is_gone_is_a_label_nobody_knows() {
    if !can_isolate() {
        return;
    }
    let place = Place::new();
    let workspace = workspace(&place);
    place.write("tidegate.toml", "[egress]\nlisten = \"127.0.0.1:0\"\n");
    let gateway = Gateway::start(&place, &[]);
    let token = create_token(&place, "agent", "alice");
    program(&workspace, "watch.py", WATCHER);
    let mut running = place
        .command(&[
            "run",
            "--workspace",
            "work",
            "--quiet",
            "--",
            "python3",
            "watch.py",
        ])
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("TIDEGATE_URL", &gateway.url)
        .env("TIDEGATE_TOKEN", &token)
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(&workspace.join("ready"));
    assert!(!workspace.join("shut").exists());
    gateway.kill();
    wait_for(&workspace.join("shut"));
    assert!(running.wait().unwrap().success());
}

#[test]
fn what_lies_in_the_workspace_labels_a_session_of_a_gateway_too() {
    if !can_isolate() {
        return;
    }
    let (place, cable) = (Place::new(), Cable::lay(3));
    let workspace = workspace(&place);
    let listener = Listener::at(cable.listed);
    let (address, port) = (cable.listed, listener.port);
    place.write(
        "tidegate.toml",
        &format!("{CONFIDENTIAL_WORKSPACE}{}", a_way_to(address, port)),
    );
    let gateway = Gateway::start(&place, &[]);
    let token = create_token(&place, "agent", "alice");
    program(&workspace, "sender.py", SENDER);
    let ran = of_gateway(&place, &gateway.url, &token)
        .args(["--", "python3", "sender.py", &format!("{address}:{port}")])
        .output()
        .unwrap();
    assert!(!ran.status.success());
    assert!(!workspace.join("ready").exists());
    assert!(listener.ended.try_recv().is_err(), "nothing connected");
    let (status, state) = gateway.send(&token, "/v1/session/mine", None);
    assert_eq!((status, &state["sensitivity"]), (200, &json!("confidential")));
    assert_eq!(state["datasets"][0]["name"], "workspace", "{state}");
    gateway.stop();
}

#[test]
fn nothing_runs_where_the_workspace_cannot_be_labelled() {
    if !can_isolate() {
        return;
    }
    let place = Place::new();
    let workspace = workspace(&place);
    place.write("tidegate.toml", CONFIDENTIAL_WORKSPACE);
    let low = r#"{"sensitivity": "internal", "halted": false, "ended": false}"#;
    for (status, answer) in [
        ("403 Forbidden", "{}"),
        ("500 Internal Server Error", "{}"),
        ("200 OK", low),
        ("200 OK", "{}"),
    ] {
        let url = gateway_that_answers(status, answer);
        let ran = of_gateway(&place, &url, "tg_any")
            .args(["--", "touch", "ran"])
            .output()
            .unwrap();
        assert!(!ran.status.success(), "{status}, {answer}");
        assert!(!workspace.join("ran").exists(), "{status}, {answer}");
    }
}

/// `tidegate run` in a gateway's session `mine`.
fn of_gateway(place: &Place, url: &str, token: &str) -> Command {
    let mut command = place.command(&["run", "--workspace", "work", "--session", "mine", "--quiet"]);
    command
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("TIDEGATE_URL", url)
        .env("TIDEGATE_TOKEN", token)
        .stdin(Stdio::null());
    command
}

/// A server that opens a session, gives this answer where a dataset is named, and has nothing else.
fn gateway_that_answers(status: &'static str, state: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut asked = BufReader::new(&stream);
            let (mut first, mut line, mut length) = (String::new(), String::new(), 0);
            asked.read_line(&mut first).unwrap();
            while asked.read_line(&mut line).is_ok_and(|read| read > 2) {
                let value = line.trim().to_lowercase();
                if let Some(value) = value.strip_prefix("content-length: ") {
                    length = value.parse().unwrap();
                }
                line.clear();
            }
            asked.read_exact(&mut vec![0; length]).unwrap();
            let (status, body) = match first.split(' ').nth(1) {
                Some("/v1/sessions") => ("200 OK", r#"{"session_id": "mine"}"#),
                Some("/v1/session/mine/datasets") => (status, state),
                _ => ("404 Not Found", "{}"),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close",
                body.len()
            );
            (&stream)
                .write_all(format!("{head}\r\n\r\n{body}").as_bytes())
                .unwrap();
        }
    });
    url
}

fn wait_for(path: &std::path::Path) {
    let since = Instant::now();
    while !path.exists() {
        assert!(since.elapsed() < Duration::from_secs(60), "{}", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn after(moment: Instant, later: Instant) -> String {
    match later.checked_duration_since(moment) {
        Some(after) => format!("{:.1} ms", after.as_secs_f64() * 1_000.0),
        None => "before".to_owned(),
    }
}
