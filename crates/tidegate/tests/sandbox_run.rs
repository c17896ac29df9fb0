//! `tidegate run` with real namespaces, real servers and a network of the test's own: what a command reaches, what it does
//! not, and that it does not run at all where it cannot be isolated.
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
use std::net::{Ipv4Addr, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{Command, Stdio};

use run::{Place, Ran};
use sandbox::{Cable, Greeter, can_isolate, has, program, wait_until, workspace};
use serde_json::{Value, json};

/// What leads somewhere, and nothing else may.
const LEADS: [&str; 4] = [
    "listed through the proxy",
    "workspace changed",
    "own loopback",
    "child processes",
];

#[test]
fn only_the_listed_host_is_reached_and_only_through_the_proxy() {
    if !can_isolate() {
        return;
    }
    let (place, cable) = (Place::new(), Cable::lay(1));
    let workspace = workspace(&place);
    let (listed, other) = (Greeter::at(cable.listed), Greeter::at(cable.other));
    let loopback = Greeter::at(Ipv4Addr::UNSPECIFIED);
    let udp = UdpSocket::bind((cable.listed, 0)).unwrap();
    udp.set_nonblocking(true).unwrap();
    let (near, far) = (workspace.join("host.sock"), place.path("host.sock"));
    let abstracted = format!("tidegate-test-{}", std::process::id());
    let name = SocketAddr::from_abstract_name(&abstracted).unwrap();
    let unix = [
        UnixListener::bind(&near).unwrap(),
        UnixListener::bind(&far).unwrap(),
        UnixListener::bind_addr(&name).unwrap(),
    ];
    fs::write(place.path("home/secret"), "a key of the host's").unwrap();
    let configuration = format!(
        "[egress.destinations.\"{}\"]\nceiling = \"public\"\nports = [{}]\n",
        cable.listed, listed.port
    );
    fs::write(workspace.join("tidegate.toml"), &configuration).unwrap();
    program(&workspace, "probe.py", include_str!("sandbox/probe.py"));
    let asked = json!({
        "listed": cable.listed, "port": listed.port, "other": cable.other, "other_port": other.port,
        "loopback": loopback.port, "udp": udp.local_addr().unwrap().port(),
        "unix": far, "abstract": abstracted, "state": place.path("state"), "secret": place.path("home/secret"),
        "process": std::process::id(),
    });
    let mut command = sandbox::run(&place, &["--config", "work/tidegate.toml", "--quiet", "--"]);
    command.args(["python3", "probe.py", &asked.to_string()]);
    command.env("TIDEGATE_TOKEN", "tg_not_for_commands");
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let found: Value = serde_json::from_str(ran.stdout.trim()).unwrap();
    let found = found.as_object().unwrap();
    assert!(found.len() > 25, "{found:?}");
    for (way, result) in found {
        let leads = !result.as_str().unwrap().starts_with("no: ");
        assert_eq!(leads, LEADS.contains(&way.as_str()), "{way}: {result}");
    }
    assert_eq!(found["listed through the proxy"], "hello");
    assert_eq!(listed.count(), 1, "through the proxy, once");
    assert_eq!((other.count(), loopback.count()), (0, 0));
    assert!(udp.recv(&mut [0; 16]).is_err());
    for listener in unix {
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err());
    }
    assert_eq!(fs::read_to_string(workspace.join("kept.txt")).unwrap(), "kept");
    let kept = fs::read_to_string(workspace.join("tidegate.toml")).unwrap();
    assert_eq!(kept, configuration);
}

#[test]
fn the_exit_code_is_the_commands() {
    if !has("bwrap") {
        return;
    }
    let place = Place::new();
    workspace(&place);
    for (command, code) in [
        (&["true"][..], 0),
        (&["sh", "-c", "exit 7"], 7),
        (&["sh", "-c", "kill -9 $$"], 137),
        (&["no-such-program"], 127),
        (&["/etc/passwd"], 126),
    ] {
        let ran: Ran = sandbox::run(&place, &["--quiet", "--"])
            .args(command)
            .output()
            .unwrap()
            .into();
        assert_eq!(ran.code, code, "{command:?}: {}", ran.stderr);
    }
}

#[test]
fn a_signal_reaches_the_command_and_nothing_outlives_it() {
    if !has("bwrap") {
        return;
    }
    let place = Place::new();
    let workspace = workspace(&place);
    let waiting = "trap 'exit 9' TERM; sleep 4321.5 & touch ready; while :; do sleep 0.05; done";
    for (signal, code) in [("-TERM", Some(9)), ("-KILL", None)] {
        let mut started = sandbox::run(&place, &["--quiet", "--", "sh", "-c", waiting])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("the command runs", || workspace.join("ready").exists());
        let pid = started.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &pid])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(started.wait().unwrap().code(), code);
        wait_until("its child is gone", || !is_running("4321.5"));
        fs::remove_file(workspace.join("ready")).unwrap();
    }
}

#[test]
fn nothing_runs_where_it_cannot_be_isolated() {
    let place = Place::new();
    let workspace = workspace(&place);
    let broken = place.path("broken");
    fs::create_dir(&broken).unwrap();
    let script = "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n";
    fs::write(broken.join("bwrap"), script).unwrap();
    fs::set_permissions(broken.join("bwrap"), fs::Permissions::from_mode(0o755)).unwrap();
    let empty = place.path("empty");
    fs::create_dir(&empty).unwrap();
    for (path, code, why) in [
        (&empty, 3, "bubblewrap (bwrap) is not installed"),
        (&broken, 3, "the isolation could not be set up"),
    ] {
        let mut command = sandbox::run(&place, &["--", "/bin/sh", "-c", "touch ran"]);
        let ran: Ran = command.env("PATH", path).output().unwrap().into();
        assert_eq!(ran.code, code, "{}", ran.stderr);
        assert!(
            ran.stderr.contains("nothing was run") && ran.stderr.contains(why),
            "{}",
            ran.stderr
        );
        assert!(!workspace.join("ran").exists());
    }
}

#[test]
fn a_workspace_is_kept_apart_from_the_state_and_the_system() {
    let place = Place::new();
    workspace(&place);
    fs::create_dir_all(place.path("work/state")).unwrap();
    for (workspace, state, why) in [
        ("work", "work/state", "lies inside the workspace"),
        ("work/state", "work", "has the workspace inside it"),
        ("/etc", "state", "part of the system"),
        ("/", "state", "lies inside the workspace"),
        ("missing", "state", "cannot be used"),
    ] {
        let mut command =
            place.command(&["run", "--workspace", workspace, "--data-dir", state, "--", "true"]);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let ran: Ran = command.output().unwrap().into();
        assert_eq!(ran.code, 2, "{workspace}: {}", ran.stderr);
        assert!(ran.stderr.contains(why), "{workspace}: {}", ran.stderr);
    }
}

#[test]
fn doctor_says_what_is_missing_and_how_to_get_it() {
    let place = Place::new();
    let look = |path: &std::ffi::OsStr| -> (i32, Value) {
        let mut command = place.command(&["doctor", "--format", "json"]);
        let ran: Ran = command.env("PATH", path).output().unwrap().into();
        (ran.code, serde_json::from_str(&ran.stdout).unwrap())
    };
    let (code, bare) = look("/nowhere".as_ref());
    assert_eq!(bare["commands"], false);
    assert_eq!(code, i32::from(bare["containers"] == false));
    let missing = bare["pieces"].as_array().unwrap().iter();
    let missing: Vec<_> = missing.filter(|piece| piece["standing"] == "missing").collect();
    assert!(
        missing
            .iter()
            .all(|piece| piece["remedy"].as_str().is_some_and(|text| !text.is_empty()))
    );
    for name in ["bubblewrap", "nsenter"] {
        assert!(missing.iter().any(|piece| piece["name"] == name), "{name}");
    }
    let mut command = place.command(&["doctor"]);
    let ran: Ran = command.env("PATH", "/nowhere").output().unwrap().into();
    let lines: Vec<_> = ran.stdout.lines().collect();
    let bwrap = lines
        .iter()
        .position(|line| line.contains("bubblewrap  bwrap is nowhere"));
    let below = lines[bwrap.unwrap() + 1];
    let remedy = below.find("install the package").unwrap();
    assert_eq!(
        lines[bwrap.unwrap()].find("bwrap is"),
        Some(remedy),
        "{}",
        ran.stdout
    );
    if has("bwrap") {
        let (code, here) = look(&std::env::var_os("PATH").unwrap());
        assert_eq!((code, &here["commands"]), (0, &json!(true)), "{here}");
    }
}

/// Whether a process with this argument exists.
fn is_running(argument: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .any(|line| {
            line.split(|byte| *byte == 0)
                .any(|word| word == argument.as_bytes())
        })
}
