//! A network made for a test, real servers in it, and programs that try every way to them from inside a sandbox.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

pub(crate) mod podman;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::run::Place;

/// Whether a program is there. Where nothing may be skipped it must be.
pub(crate) fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|place| place.join(program).is_file());
    let must = std::env::var("CI").as_deref() == Ok("true");
    assert!(
        found || !must,
        "{program} is not installed, and nothing may be skipped in CI"
    );
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

/// Waits for something that comes soon if it comes at all.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < Duration::from_secs(60), "waited for: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether this test can make networks and namespaces.
pub(crate) fn can_isolate() -> bool {
    has("bwrap") && has("ip") && has("python3")
}

/// Two ends of a cable, the near one with two addresses of this machine's own.
pub(crate) struct Cable {
    name: String,
    /// The address that tests list.
    pub(crate) listed: Ipv4Addr,
    /// One that nobody lists.
    pub(crate) other: Ipv4Addr,
}

impl Cable {
    /// `number` tells cables of tests that run at the same time apart.
    pub(crate) fn lay(number: u8) -> Self {
        let process = std::process::id();
        let name = format!("tg{number}x{}", process % 1_000_000);
        let third = u8::try_from(process % 250).unwrap();
        let address = |last| Ipv4Addr::new(10, 200 + number, third, last);
        let cable = Self {
            listed: address(1),
            other: address(2),
            name,
        };
        let (near, far) = (&cable.name, format!("{}f", cable.name));
        ip(&["link", "add", near, "type", "veth", "peer", "name", &far]);
        for address in [cable.listed, cable.other] {
            ip(&["addr", "add", &format!("{address}/24"), "dev", near]);
        }
        ip(&["link", "set", near, "up"]);
        ip(&["link", "set", &far, "up"]);
        cable
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["link", "del", &self.name]).status();
    }
}

fn ip(args: &[&str]) {
    let done = Command::new("ip").args(args).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "ip {args:?}: {said}");
}

/// A server that greets whoever connects, and notes it.
pub(crate) struct Greeter {
    pub(crate) port: u16,
    greeted: Receiver<()>,
}

impl Greeter {
    pub(crate) fn at(address: Ipv4Addr) -> Self {
        let listener = TcpListener::bind((address, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (tell, greeted) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                if tell.send(()).is_err() {
                    return;
                }
                let _ = stream.read(&mut [0; 4_096]);
                let _ = stream
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
            }
        });
        Self { port, greeted }
    }

    /// How many connections came until now.
    pub(crate) fn count(&self) -> usize {
        self.greeted.try_iter().count()
    }
}

/// A server that notes when the last byte of each connection came.
pub(crate) struct Listener {
    pub(crate) port: u16,
    /// For each connection that ended: how many bytes came, when the last of them did, and when it ended.
    pub(crate) ended: Receiver<(usize, Instant, Instant)>,
}

impl Listener {
    pub(crate) fn at(address: Ipv4Addr) -> Self {
        let listener = TcpListener::bind((address, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (tell, ended) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let tell = tell.clone();
                std::thread::spawn(move || {
                    let (bytes, last) = hear(stream);
                    let _ = tell.send((bytes, last, Instant::now()));
                });
            }
        });
        Self { port, ended }
    }
}

fn hear(mut stream: TcpStream) -> (usize, Instant) {
    let (mut bytes, mut last) = (0, Instant::now());
    let mut chunk = [0; 4_096];
    while let Ok(read @ 1..) = stream.read(&mut chunk) {
        bytes += read;
        last = Instant::now();
    }
    (bytes, last)
}

/// A workspace in the test's place.
pub(crate) fn workspace(place: &Place) -> std::path::PathBuf {
    let workspace = place.path("work");
    std::fs::create_dir_all(&workspace).unwrap();
    std::fs::create_dir_all(place.path("home")).unwrap();
    workspace
}

/// `tidegate run` with the machine's own search path.
pub(crate) fn run(place: &Place, args: &[&str]) -> Command {
    let mut command = place.command(&["run", "--workspace", "work", "--data-dir", "state"]);
    command.args(args);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

/// Writes a program for Python into the workspace.
pub(crate) fn program(workspace: &Path, name: &str, text: &str) {
    std::fs::write(workspace.join(name), text).unwrap();
}
