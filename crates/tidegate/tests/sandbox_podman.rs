//! The same with containers, on a Podman that the test starts: no network but the proxy, and a network that somebody gave one
//! is taken from it when the label rises.
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
use std::os::unix::net::UnixListener;
use std::process::Stdio;

use run::gateway::{Gateway, create_token};
use run::{Place, Ran};
use sandbox::podman::{IMAGE, Podman};
use sandbox::{Cable, Greeter, has, wait_until, workspace};
use serde_json::json;

fn can_contain() -> bool {
    has("podman") && has("runc") && has("busybox") && has("ip") && has("nsenter")
}

#[test]
fn a_container_reaches_the_listed_host_through_the_proxy_and_nothing_else() {
    if !can_contain() {
        return;
    }
    let (place, cable) = (Place::new(), Cable::lay(5));
    let workspace = workspace(&place);
    let podman = Podman::start(&place.path("podman"));
    let greeter = Greeter::at(cable.listed);
    let (address, port) = (cable.listed, greeter.port);
    let configuration =
        format!("[egress.destinations.\"{address}\"]\nceiling = \"public\"\nports = [{port}]\n");
    place.write("work/tidegate.toml", &configuration);
    let script = format!(
        "echo kept > kept; ! echo changed >> tidegate.toml && ! mv -f kept tidegate.toml \
         && wget -q -O- http://{address}:{port}/ && ! wget -q -Y off -O- http://{address}:{port}/ \
         && ! ls {} && exit 5",
        place.path("state").display()
    );
    let socket = podman.socket();
    let args = [
        "--quiet",
        "--config",
        "work/tidegate.toml",
        "--image",
        IMAGE,
        "--engine",
        socket.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        &script,
    ];
    let ran: Ran = sandbox::run(&place, &args).output().unwrap().into();
    assert_eq!((ran.code, ran.stdout.as_str()), (5, "hello"), "{}", ran.stderr);
    assert_eq!(greeter.count(), 1);
    assert_eq!(fs::read_to_string(workspace.join("kept")).unwrap(), "kept\n");
    let found = fs::read_to_string(workspace.join("tidegate.toml")).unwrap();
    assert_eq!(found, configuration);
    assert_eq!(
        podman.ask(&["ps", "--all", "--quiet"]),
        "",
        "it went with its command"
    );
}

#[test]
fn a_rise_takes_the_network_of_a_container_that_has_one_and_keeps_its_files() {
    if !can_contain() {
        return;
    }
    let (place, cable) = (Place::new(), Cable::lay(6));
    let workspace = workspace(&place);
    let podman = Podman::start(&place.path("podman"));
    let greeter = Greeter::at(cable.listed);
    let (address, port) = (cable.listed, greeter.port);
    let mount = format!("{0}:{0}", workspace.display());
    podman.ask(&[
        "run",
        "--detach",
        "--name",
        "box",
        "--network",
        "host",
        "--volume",
        &mount,
        IMAGE,
        "sleep",
        "9999",
    ]);
    podman.ask(&["exec", "box", "sh", "-c", "echo own > /own"]);
    place.write("tidegate.toml", "[egress]\nlisten = \"127.0.0.1:0\"\n");
    let gateway = Gateway::start(&place, &[]);
    let token = create_token(&place, "agent", "alice");
    let fetch = format!("wget -q -Y off -O- http://{address}:{port}/");
    let script = format!(
        "cd {}; while {fetch} > /dev/null; do touch ready; sleep 0.05; done",
        workspace.display()
    );
    let socket = podman.socket();
    let prepared = |script: &str| {
        let mut command = place.command(&[
            "run",
            "--workspace",
            "work",
            "--session",
            "shared",
            "--container",
            "box",
        ]);
        command
            .args(["--engine", socket.to_str().unwrap(), "--", "sh", "-c", script])
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TIDEGATE_URL", &gateway.url)
            .env("TIDEGATE_TOKEN", &token)
            .stdin(Stdio::null());
        command
    };
    let running = prepared(&script).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the container reaches something", || {
        workspace.join("ready").exists()
    });
    let raised = json!({"name": "patients", "sensitivity": "confidential"});
    let (status, answer) = gateway.send(&token, "/v1/session/shared/datasets", Some(raised));
    assert_eq!(status, 200, "{answer}");
    let ended = running.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("made anew without a network"), "{said}");
    println!("{}", said.trim());
    let mode = podman.ask(&["inspect", "--format", "{{.HostConfig.NetworkMode}}", "box"]);
    assert_eq!(mode, "none");
    greeter.count();
    // The container is there, with its files and its workspace; what it tries leads nowhere.
    let ran: Ran = prepared(&format!(
        "cat /own; {fetch} || echo shut > {}/after",
        workspace.display()
    ))
    .output()
    .unwrap()
    .into();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "own\n"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(workspace.join("after")).unwrap(), "shut\n");
    assert_eq!(greeter.count(), 0);
    gateway.stop();
}

#[test]
fn a_container_without_a_network_that_reaches_around_it_stays_paused() {
    if !can_contain() {
        return;
    }
    let place = Place::new();
    let workspace = workspace(&place);
    place.write("tidegate.toml", "[sandbox]\nworkspace_class = \"confidential\"\n");
    let podman = Podman::start(&place.path("podman"));
    let (mount, engine) = (
        format!("{}:/work", workspace.display()),
        format!("{}:/engine", place.path("podman").display()),
    );
    let desktop = place.path("home/.docker/desktop");
    fs::create_dir_all(&desktop).unwrap();
    let _desktop = UnixListener::bind(desktop.join("docker.sock")).unwrap();
    let home = format!("{}:/home", place.path("home").display());
    podman.ask(&["volume", "create", "plain"]);
    let device = format!("device={}", workspace.display());
    podman.ask(&["volume", "create", "--opt", "o=bind", "--opt", &device, "of-host"]);
    for (name, options, says) in [
        ("plain", &["--volume", &mount][..], ""),
        ("volume", &["--volume", "plain:/plain"], ""),
        (
            "of-host",
            &["--volume", "of-host:/of-host"],
            "stays paused: a volume is mounted in it that stands for something else",
        ),
        (
            "beside",
            &["--pid", "container:plain"],
            "stays paused: it sees processes of others",
        ),
        ("home", &["--volume", &home], "stays paused: a socket of the host"),
        ("privileged", &["--privileged"], "stays paused: it is privileged"),
        (
            "host",
            &["--pid", "host"],
            "stays paused: it sees the host's processes",
        ),
        (
            "engine",
            &["--volume", &engine],
            "stays paused: a socket of the host",
        ),
    ] {
        let begin = ["run", "--detach", "--network", "none", "--name", name];
        podman.ask(&[&begin[..], options, &[IMAGE, "sleep", "9999"]].concat());
        let ran = in_container(&place, &podman, name, &["echo", "ran"]);
        let paused = podman.ask(&["inspect", "--format", "{{.State.Paused}}", name]);
        if says.is_empty() {
            assert_eq!(
                (ran.code, ran.stdout.as_str(), paused.as_str()),
                (0, "ran\n", "false"),
                "{}",
                ran.stderr
            );
        } else {
            assert!(ran.stderr.contains(says), "{name}: {}", ran.stderr);
            assert_eq!(
                (ran.code, ran.stdout.as_str(), paused.as_str()),
                (3, "", "true"),
                "{name}"
            );
        }
    }
}

#[test]
fn a_container_that_outlived_its_run_makes_no_configuration_and_goes_with_the_next() {
    if !can_contain() {
        return;
    }
    let place = Place::new();
    let workspace = workspace(&place);
    let podman = Podman::start(&place.path("podman"));
    let (socket, stand_in) = (podman.socket(), workspace.join("tidegate.toml"));
    let contained = ["--image", IMAGE, "--engine", socket.to_str().unwrap()];
    let run = |options: &[&str], script: &str| {
        let mut command = place.command(&["run", "--quiet", "--data-dir"]);
        command
            .arg(place.path("state"))
            .args(options)
            .args(["--", "sh", "-c", script])
            .current_dir(&workspace)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::null());
        command
    };
    let mut killed = run(&contained, "touch ready; sleep 9999").spawn().unwrap();
    wait_until("the command runs", || workspace.join("ready").exists());
    killed.kill().unwrap();
    killed.wait().unwrap();
    let left = podman.ask(&["ps", "--quiet"]);
    assert!(!left.is_empty() && stand_in.exists());

    // A command knows of no engine, so what the container has a mount on stays.
    let ran: Ran = run(&[], "true").output().unwrap().into();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let made = format!("echo '[sandbox]' > {}", stand_in.display());
    let tried = podman.ask(&["exec", &left, "sh", "-c", &format!("{made} || echo no")]);
    assert_eq!(tried, "no");
    assert!(fs::read_to_string(&stand_in).unwrap().starts_with("# This is no"));

    // While another run is at work here, nobody's container is ended.
    let mut beside = run(&[], "touch beside; sleep 9999").spawn().unwrap();
    wait_until("the other runs", || workspace.join("beside").exists());
    let ran: Ran = run(&contained, "true").output().unwrap().into();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(podman.ask(&["ps", "--quiet"]), left);
    beside.kill().unwrap();
    beside.wait().unwrap();
    assert!(stand_in.exists());

    let ran: Ran = run(&contained, "true").output().unwrap().into();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(podman.ask(&["ps", "--all", "--quiet"]), "");
    assert!(!stand_in.exists());
}

#[test]
fn a_container_that_could_change_the_configuration_runs_nothing() {
    if !can_contain() {
        return;
    }
    let place = Place::new();
    let workspace = workspace(&place);
    place.write("tidegate.toml", "");
    let podman = Podman::start(&place.path("podman"));
    let (all, all_to_read) = (
        format!("{}:/all", place.path(".").canonicalize().unwrap().display()),
        format!("{}:/all:ro", place.path(".").canonicalize().unwrap().display()),
    );
    let file = format!("{}:/file", place.path("tidegate.toml").display());
    let other = format!("{}:/work", workspace.display());
    let device = format!("device={}", place.path(".").canonicalize().unwrap().display());
    podman.ask(&["volume", "create", "--opt", "o=bind", "--opt", &device, "of-all"]);
    let volume = "of-all:/all".to_owned();
    for (name, mount, may) in [
        ("all", &all, false),
        ("volume", &volume, false),
        ("file", &file, false),
        ("other", &other, true),
        ("read", &all_to_read, true),
    ] {
        podman.ask(&[
            "run",
            "--detach",
            "--name",
            name,
            "--network",
            "none",
            "--volume",
            mount,
            IMAGE,
            "sleep",
            "9999",
        ]);
        let ran = in_container(&place, &podman, name, &["echo", "ran"]);
        let refused = ran.code == 2 && ran.stderr.contains("could be changed from inside the container");
        assert_eq!(refused, !may, "{name}: {} {}", ran.code, ran.stderr);
    }
}

/// Runs a command in a container that is there, in a session of its own.
fn in_container(place: &Place, podman: &Podman, name: &str, words: &[&str]) -> Ran {
    let socket = podman.socket();
    let mut args = vec![
        "--quiet",
        "--container",
        name,
        "--engine",
        socket.to_str().unwrap(),
        "--",
    ];
    args.extend(words);
    sandbox::run(place, &args).output().unwrap().into()
}
