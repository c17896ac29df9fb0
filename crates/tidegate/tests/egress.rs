//! The way out of a gateway as an operator runs it: a credential over the API, a proxy beside it, a certificate to trust.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod run;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use run::gateway::{Gateway, create_token};
use run::{Place, tidegate};
use serde_json::json;

/// Answers one request and goes away.
fn serve_once(listener: TcpListener) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let _ = stream.read(&mut request).unwrap();
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            .unwrap();
    })
}

#[test]
fn a_session_reaches_what_the_configuration_lists_until_it_is_private() {
    let origin = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = origin.local_addr().unwrap().port();
    let place = Place::new();
    let listed = format!("[egress.destinations.\"127.0.0.1\"]\nports = [{port}]\n");
    place.write(
        "tidegate.toml",
        &format!("[egress]\nlisten = \"127.0.0.1:0\"\n{listed}[tools]\n"),
    );
    let gateway = Gateway::start(&place, &[]);
    let alice = create_token(&place, "agent", "alice");
    let opened = gateway.send(&alice, "/v1/sessions", Some(json!({"session_id": "s1"})));
    assert_eq!(opened.0, 201);
    let (status, issued) = gateway.send(&alice, "/v1/session/s1/egress", Some(json!({})));
    assert_eq!((status, &issued["username"]), (200, &json!("s1")), "{issued}");
    let bob = create_token(&place, "agent", "bob");
    assert_eq!(
        gateway.send(&bob, "/v1/session/s1/egress", Some(json!({}))).0,
        404
    );

    let get = || {
        let proxy = reqwest::Proxy::all(issued["proxy_url"].as_str().unwrap()).unwrap();
        let client = reqwest::blocking::Client::builder().proxy(proxy).build().unwrap();
        client.get(format!("http://127.0.0.1:{port}/")).send().unwrap()
    };
    let serving = serve_once(origin);
    assert_eq!(get().text().unwrap(), "hello");
    serving.join().unwrap();
    let dataset = json!({"name": "patients", "sensitivity": "pii"});
    assert_eq!(
        gateway.send(&alice, "/v1/session/s1/datasets", Some(dataset)).0,
        200
    );
    let denied = get();
    assert_eq!(denied.status().as_u16(), 403);
    let problem: serde_json::Value = denied.json().unwrap();
    assert_eq!(problem["rule"], "label-above-ceiling");
    assert!(
        problem["reason"].as_str().unwrap().contains("patients"),
        "{problem}"
    );

    // A connection to the gateway itself leads nowhere, and one that is open does not hold up a stop.
    let proxy = issued["proxy"].as_str().unwrap().strip_prefix("http://").unwrap();
    let idle = TcpStream::connect(proxy).unwrap();
    assert!(gateway.stop().contains("egress proxy on http://127.0.0.1:"));
    drop(idle);
}

#[test]
fn the_certificate_is_made_once_and_printed_without_its_key() {
    let place = Place::new();
    let first = tidegate(&place, &["egress", "ca"]);
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert!(first.stdout.starts_with("-----BEGIN CERTIFICATE-----") && !first.stdout.contains("PRIVATE"));
    assert_eq!(tidegate(&place, &["egress", "ca"]).stdout, first.stdout);
}
