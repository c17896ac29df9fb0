//! What is tried against the proxy: each is refused, each is on the record, and nothing of it reaches a destination.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod egress_stand;
mod stand;

use std::time::Duration;

use egress_stand::{Exit, answer, problem, roots_of, tls};
use tidegate_gateway::egress::Bounds;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Sends a request and checks that a rule refuses it, with a status, and that the record says so.
async fn refused(exit: &Exit, raw: &str, status: u16, rule: &str) {
    let before = exit.refusals(rule).await;
    let got = exit.send(raw.as_bytes()).await;
    assert!(got.starts_with(&format!("HTTP/1.1 {status} ")), "{raw:?}\n{got}");
    let problem = problem(&got);
    assert_eq!(problem["rule"], rule, "{raw:?}");
    assert_eq!(
        (&problem["decision"], &problem["allowed"]),
        (&"deny".into(), &false.into())
    );
    assert!(!problem["remedy"].as_str().unwrap().is_empty());
    assert_eq!(exit.refusals(rule).await, before + 1, "{raw:?} is on the record");
}

#[tokio::test]
async fn crooked_requests() {
    let exit = Exit::start().await;
    let (a, port) = (&exit.credential, exit.plain.address.port());
    let auth = format!("Proxy-Authorization: {a}\r\n");
    let host = format!("public.test:{port}");
    let good = format!("POST http://{host}/ HTTP/1.1\r\nHost: {host}\r\n{auth}");
    let smuggled = format!("GET http://{host}/smuggled HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let get = |url: &str, host: &str| format!("GET {url} HTTP/1.1\r\nHost: {host}\r\n{auth}\r\n");
    let connect = |target: &str| format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{auth}\r\n");
    exit.names
        .lead("rebound.test", &[&["93.184.216.34", "127.0.0.1"]]);
    let malformed = "malformed-request";
    let body = |text: &str| format!("{good}Content-Length: {}\r\n\r\n{text}", text.len());
    let cases: Vec<(String, u16, &str)> = vec![
        // Bodies that others read otherwise.
        (
            body(r#"{"a":"bob@example.com, ssn 536-22-1234","a":"x"}"#),
            413,
            "unreadable-body",
        ),
        (
            body("{\"x\":1}\n{\"a\":{\"b\":1,\"\\u0062\":2}}"),
            413,
            "unreadable-body",
        ),
        // Two requests in one.
        (
            format!("{good}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{smuggled}"),
            400,
            malformed,
        ),
        (
            format!("{good}Content-Length: 0\r\nContent-Length: 44\r\n\r\n{smuggled}"),
            400,
            malformed,
        ),
        (
            format!("{good}Content-Length: 0\r\nContent-Length: 0\r\n\r\n{smuggled}"),
            400,
            malformed,
        ),
        (
            format!("{good}Transfer-Encoding: chunked, identity\r\n\r\n{smuggled}"),
            400,
            malformed,
        ),
        (
            format!("{good}Transfer-Encoding: xchunked\r\n\r\n{smuggled}"),
            400,
            malformed,
        ),
        (
            format!("{good}X: a\r\n Content-Length: 9\r\n\r\n{smuggled}"),
            400,
            malformed,
        ),
        (
            format!("{good}X: a\nContent-Length: 9\r\n\r\n{smuggled}"),
            400,
            malformed,
        ),
        (
            format!("{good}Content-Length : 9\r\n\r\n{smuggled}"),
            400,
            malformed,
        ),
        (
            format!("{good}Upgrade: h2c\r\nConnection: Upgrade\r\n\r\n"),
            400,
            "upgrade",
        ),
        // One request that names two hosts.
        (
            get(&format!("http://{host}/"), "evil.example"),
            403,
            "name-mismatch",
        ),
        (
            get(&format!("http://evil.example:{port}/"), &host),
            403,
            "name-mismatch",
        ),
        (
            format!("CONNECT {host} HTTP/1.1\r\nHost: evil.example\r\n{auth}\r\n"),
            403,
            "name-mismatch",
        ),
        (
            get(&format!("http://public.test@evil.example:{port}/"), &host),
            400,
            malformed,
        ),
        (get(&format!("http://{host}@127.0.0.1/"), &host), 400, malformed),
        (get("/etc/passwd", &host), 400, malformed),
        (get("https://public.test/", "public.test"), 400, malformed),
        (get("file:///etc/passwd", "public.test"), 400, malformed),
        // Inner places, in every spelling.
        (connect("169.254.169.254:443"), 403, "reserved-address"),
        (connect("[fd00:ec2::254]:443"), 403, "reserved-address"),
        (connect("[::1]:443"), 403, "reserved-address"),
        (connect("[::ffff:127.0.0.1]:443"), 403, "reserved-address"),
        (connect("[64:ff9b::7f00:1]:443"), 403, "reserved-address"),
        (connect("10.0.0.1:443"), 403, "reserved-address"),
        (connect("0.0.0.0:443"), 403, "reserved-address"),
        (connect("2130706433:443"), 400, malformed),
        (connect("0x7f000001:443"), 400, malformed),
        (connect("0177.0.0.1:443"), 400, malformed),
        (connect("127.1:443"), 400, malformed),
        (connect("[fe80::1%25lo]:443"), 400, malformed),
        (
            get(
                "http://169.254.169.254:443/latest/meta-data/",
                "169.254.169.254:443",
            ),
            403,
            "reserved-address",
        ),
        // Names that lead inside, or lead both ways.
        (connect(&format!("inner.test:{port}")), 403, "reserved-address"),
        (connect(&format!("INNER.test.:{port}")), 403, "reserved-address"),
        (connect(&format!("rebound.test:{port}")), 403, "reserved-address"),
        (
            connect(&format!("nowhere.example:{port}")),
            403,
            "unresolvable-host",
        ),
        (connect(&format!("inn\u{e9}r.test:{port}")), 400, malformed),
        (connect(&format!("BLOCKED.TEST:{port}")), 403, "tool-blocked"),
        (connect(&format!("blocked.test.:{port}")), 403, "tool-blocked"),
        // The gateway itself, and ports that nobody listed.
        (
            connect(&format!("127.0.0.1:{}", exit.address.port())),
            403,
            "own-address",
        ),
        (
            connect(&format!("public.test:{}", exit.address.port())),
            403,
            "own-address",
        ),
        (connect("public.test:22"), 403, "port-not-listed"),
        (connect("public.test"), 400, malformed),
        (connect("public.test:0"), 400, malformed),
        // What cannot be looked into.
        (
            format!("{good}Content-Length: 3\r\nContent-Encoding: gzip\r\n\r\nabc"),
            413,
            "unreadable-body",
        ),
        (
            format!("{good}Content-Length: 2000000\r\n\r\n{}", "x".repeat(1_100_000)),
            413,
            "unreadable-body",
        ),
        (
            format!("{good}X: {}\r\n\r\n", "y".repeat(20_000)),
            431,
            "head-too-large",
        ),
        (
            format!("{good}{}\r\n", "X: y\r\n".repeat(200)),
            431,
            "head-too-large",
        ),
    ];
    for (raw, status, rule) in cases {
        refused(&exit, &raw, status, rule).await;
    }
    assert_eq!((exit.plain.connections(), exit.secure.connections()), (0, 0));
    let record = exit
        .stand
        .get(&exit.alice, &format!("/v1/session/{}", exit.session))
        .await;
    assert_eq!(record["sensitivity"], "public");
}

#[tokio::test]
async fn a_redirect_is_another_request_and_is_judged_as_one() {
    let exit = Exit::start().await;
    let host = format!("public.test:{}", exit.plain.address.port());
    let got = exit
        .request(&format!("GET http://{host}/redirect"), &host, "")
        .await;
    assert!(
        got.starts_with("HTTP/1.1 302 Found") && got.contains("169.254.169.254"),
        "{got}"
    );
    let (_, url) = got
        .to_lowercase()
        .split_once("location: ")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    let url = url.lines().next().unwrap().to_owned();
    let auth = format!("Proxy-Authorization: {}\r\n", exit.credential);
    let followed = format!("GET {url} HTTP/1.1\r\nHost: 169.254.169.254\r\n{auth}\r\n");
    refused(&exit, &followed, 403, "port-not-listed").await;
}

#[tokio::test]
async fn only_the_first_of_two_requests_is_taken() {
    let exit = Exit::start().await;
    let host = format!("public.test:{}", exit.plain.address.port());
    let one = format!(
        "GET http://{host}/first HTTP/1.1\r\nHost: {host}\r\nProxy-Authorization: {}\r\n\r\n",
        exit.credential
    );
    let two = one.replace("/first", "/second");
    let got = exit.send(format!("{one}{two}").as_bytes()).await;
    assert_eq!(got.matches("HTTP/1.1 200").count(), 1, "{got}");
    let seen = exit.plain.seen();
    assert!(seen.contains("/first") && !seen.contains("/second"), "{seen}");
}

#[tokio::test]
async fn what_a_tunnel_carries_is_what_it_was_asked_for() {
    let exit = Exit::start().await;
    let port = exit.secure.address.port();
    let nobody = || roots_of("");
    let cases: [(&str, Option<&str>, &str); 6] = [
        // A front: the tunnel is for one host, TLS is for another.
        ("public.test", Some("evil.example"), "name-mismatch"),
        ("scan.test", Some("evil.example"), "name-mismatch"),
        // No name at all, and a name where an address was asked for.
        ("public.test", Some("127.0.0.1"), "name-mismatch"),
        ("127.0.0.1", Some("evil.example"), "name-mismatch"),
        // Not TLS.
        ("public.test", None, "not-tls"),
        ("scan.test", None, "not-tls"),
    ];
    for (asked, named, rule) in cases {
        let before = exit.refusals(rule).await;
        let mut tunnel = exit.tunnel(&format!("{asked}:{port}")).await;
        match named {
            Some(named) => assert!(tls(tunnel, named, nobody()).await.is_err()),
            None => {
                tunnel
                    .write_all(b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
                    .await
                    .unwrap();
                assert!(!answer(&mut tunnel).await.contains("HTTP"));
            }
        }
        exit.until_refused(rule, before + 1).await;
    }
    assert_eq!(exit.secure.seen(), "");
    // An address that is listed is reached without a name.
    let tunnel = exit.tunnel(&format!("127.0.0.1:{port}")).await;
    let roots = std::fs::read_to_string(exit.stand.directory.path().join("roots.pem")).unwrap();
    assert!(tls(tunnel, "127.0.0.1", roots_of(&roots)).await.is_ok());
}

#[tokio::test]
async fn whoever_dawdles_is_refused() {
    let exit = Exit::start_with(Bounds {
        request_timeout: Duration::from_millis(300),
        ..Bounds::STANDARD
    })
    .await;
    let auth = format!("Proxy-Authorization: {}\r\n", exit.credential);
    let host = format!("public.test:{}", exit.plain.address.port());
    refused(&exit, "GET http://", 408, "too-slow").await;
    let body = format!("POST http://{host}/ HTTP/1.1\r\nHost: {host}\r\n{auth}Content-Length: 9\r\n\r\nabc");
    refused(&exit, &body, 408, "too-slow").await;
    // A tunnel whose TLS never comes.
    let target = format!("public.test:{}", exit.secure.address.port());
    let mut idle = exit.tunnel(&target).await;
    assert_eq!(answer(&mut idle).await, "");
    exit.until_refused("too-slow", 3).await;
}

#[tokio::test]
async fn whoever_crowds_is_refused() {
    let exit = Exit::start_with(Bounds {
        session_connections: 2,
        connections: 4,
        ..Bounds::STANDARD
    })
    .await;
    let auth = format!("Proxy-Authorization: {}\r\n", exit.credential);
    let target = format!("tcp.test:{}", exit.plain.address.port());
    let _open = [exit.tunnel(&target).await, exit.tunnel(&target).await];
    let connect = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{auth}\r\n");
    refused(&exit, &connect, 429, "too-many-connections").await;
    // Two places are left, so one of four who say nothing is told so at once.
    let mut crowd = JoinSet::new();
    for _ in 0..4 {
        let mut stream = TcpStream::connect(exit.address).await.unwrap();
        crowd.spawn(async move {
            let mut head = [0; 12];
            stream.read_exact(&mut head).await.unwrap();
            head
        });
    }
    let first = crowd.join_next().await.unwrap().unwrap();
    assert_eq!(&first, b"HTTP/1.1 503");
}
