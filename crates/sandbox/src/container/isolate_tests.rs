//! An engine that fails at the wrong moment.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

use super::super::ContainerError;
use super::*;

/// What an engine answers to a pause and to a look, with a status each.
#[derive(Clone)]
struct Answers {
    pause: u16,
    look: (u16, String),
    kill: u16,
}

/// An engine that answers so, and what it was asked to do, in order.
async fn isolated_by(answers: Answers) -> (Result<Option<Isolated>, ContainerError>, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("engine.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, answers.clone(), Arc::clone(&heard)));
        }
    });
    let done = Containers::at(&socket).await.unwrap().isolate("box").await;
    let asked = asked.lock().unwrap().clone();
    (done, asked)
}

/// Answers what comes over one connection.
async fn answer(mut stream: UnixStream, answers: Answers, asked: Arc<Mutex<Vec<String>>>) {
    let (mut request, mut chunk) = (Vec::new(), [0; 4_096]);
    while let Ok(read @ 1..) = stream.read(&mut chunk).await {
        request.extend(chunk.iter().take(read));
        if !request.ends_with(b"\r\n\r\n") {
            continue;
        }
        let text = String::from_utf8(std::mem::take(&mut request)).unwrap();
        let path = text.split(' ').nth(1).unwrap();
        let act = path.rsplit('/').next().unwrap().split('?').next().unwrap();
        let (status, body) = match act {
            "version" => (200, r#"{"ApiVersion": "1.41"}"#.to_owned()),
            "pause" => (answers.pause, "{}".to_owned()),
            "json" => answers.look.clone(),
            "kill" => (answers.kill, "{}".to_owned()),
            "plain" => volume("local", ""),
            "of-host" => volume("local", r#""o": "bind", "device": "/run""#),
            "of-others" => volume("plugin", ""),
            "unknown" => (404, "{}".to_owned()),
            _ => (204, "{}".to_owned()),
        };
        asked.lock().unwrap().push(act.to_owned());
        let body = if status == 204 { String::new() } else { body };
        let answer = format!(
            "HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(answer.as_bytes()).await.unwrap();
    }
}

fn volume(driver: &str, options: &str) -> (u16, String) {
    let rest = r#""Name": "v", "Mountpoint": "/v", "Labels": {}, "Scope": "local""#;
    let volume = format!(r#"{{"Driver": "{driver}", "Options": {{{options}}}, {rest}}}"#);
    (200, volume)
}

/// A container without a network and with a volume.
fn seen_with(volume: &str) -> (u16, String) {
    let (status, seen) = seen("none", true, true, "");
    let mount = r#"{"Type": "volume", "Source": "/nowhere/to/look", "Destination": "/v", "Name": "#;
    let mounts = format!(r#", "Mounts": [{mount}"{volume}"}}]}}"#);
    (status, format!("{}{mounts}", seen.strip_suffix('}').unwrap()))
}

fn seen(network: &str, running: bool, paused: bool, more: &str) -> (u16, String) {
    let state = format!(r#"{{"Running": {running}, "Paused": {paused}}}"#);
    let host = format!(r#"{{"NetworkMode": "{network}"{more}}}"#);
    (200, format!(r#"{{"State": {state}, "HostConfig": {host}}}"#))
}

#[tokio::test]
async fn what_cannot_be_paused_is_killed_and_what_reaches_around_is_not_let_go_on() {
    let privileged = r#", "Privileged": true"#;
    let broken = || (500, "{}".to_owned());
    let unknown = || (404, "{}".to_owned());
    for (name, pause, look, kill, acts, says) in [
        (
            "no pause",
            500,
            seen("bridge", true, false, ""),
            204,
            "pause json kill",
            "it was killed",
        ),
        (
            "no pause, no look",
            500,
            broken(),
            204,
            "pause json kill",
            "it was killed",
        ),
        (
            "no kill either",
            500,
            broken(),
            500,
            "pause json kill",
            "may still run",
        ),
        ("no look", 204, broken(), 204, "pause json", "show the container"),
        (
            "no container",
            404,
            unknown(),
            404,
            "pause json",
            "show the container",
        ),
        (
            "let go on by another",
            204,
            seen("bridge", true, false, ""),
            204,
            "pause json kill",
            "did not stay paused",
        ),
        (
            "around",
            204,
            seen("none", true, true, privileged),
            204,
            "pause json",
            "stays paused: it is privileged",
        ),
        (
            "around, no pause",
            500,
            seen("none", true, false, privileged),
            204,
            "pause json kill",
            "killed: it is privileged",
        ),
        (
            "isolated",
            204,
            seen("none", true, true, ""),
            204,
            "pause json unpause",
            "",
        ),
        (
            "isolated, no pause",
            500,
            seen("none", true, false, ""),
            204,
            "pause json",
            "",
        ),
        (
            "a volume",
            204,
            seen_with("plain"),
            204,
            "pause json plain unpause",
            "",
        ),
        (
            "a volume of the host's",
            204,
            seen_with("of-host"),
            204,
            "pause json of-host",
            "stands for something else",
        ),
        (
            "a volume of others",
            204,
            seen_with("of-others"),
            204,
            "pause json of-others",
            "cannot be looked at",
        ),
        (
            "a volume that nobody knows",
            204,
            seen_with("unknown"),
            204,
            "pause json unknown",
            "cannot be looked at",
        ),
    ] {
        let (done, asked) = isolated_by(Answers { pause, look, kill }).await;
        let asked: Vec<_> = asked.into_iter().filter(|act| act != "version").collect();
        assert_eq!(asked.join(" "), acts, "{name}");
        let said = done.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(
            said.contains(says) && said.is_empty() == says.is_empty(),
            "{name}: {said}"
        );
    }
}
