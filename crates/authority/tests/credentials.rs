//! Client credentials: a small token server gives out the keys that a real OpenFGA server takes.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod stand;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use stand::{NO_CACHE, Store, may_use, server};
use tidegate_authority::{ClientCredentials, Credentials, OpenFga, Settings};
use tidegate_core::{Class, Confined};
use tidegate_engine::Unanswered;
use xtask::services;

const SERVER: &str = "TIDEGATE_TEST_OPENFGA";
const ALICE: (&str, &str, &str) = ("alice", "bot", "s1");

/// Gives the token that it is told to give, and keeps what it was asked.
struct TokenServer {
    url: String,
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    answer: (u16, String),
    asked: Vec<String>,
}

impl TokenServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/oauth/token", listener.local_addr().unwrap());
        let shared = Arc::new(Mutex::new(Shared {
            answer: (500, String::new()),
            asked: Vec::new(),
        }));
        let seen = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let form = form_of(&stream);
                let mut shared = seen.lock().unwrap();
                shared.asked.push(form);
                let (status, body) = &shared.answer;
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
                );
                let _ = (&stream).write_all(answer.as_bytes());
            }
        });
        Self { url, shared }
    }

    fn give(&self, token: &str, seconds: u64) {
        let answer =
            serde_json::json!({"access_token": token, "token_type": "Bearer", "expires_in": seconds});
        self.shared.lock().unwrap().answer = (200, answer.to_string());
    }

    fn fail(&self, status: u16, body: &str) {
        self.shared.lock().unwrap().answer = (status, body.to_owned());
    }

    fn asked(&self) -> Vec<String> {
        self.shared.lock().unwrap().asked.clone()
    }
}

fn form_of(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut form = vec![0; length];
    reader.read_exact(&mut form).unwrap();
    String::from_utf8(form).unwrap()
}

#[tokio::test]
async fn tokens_are_fetched_kept_and_renewed() {
    if server(SERVER).is_none() {
        return;
    }
    let running =
        services::OpenFga::start_with_keys(services::free_port().unwrap(), &["token-1", "token-2"]).unwrap();
    let tokens = TokenServer::start();
    let settings = Settings {
        cache_ttl: NO_CACHE,
        credentials: Credentials::ClientCredentials(ClientCredentials {
            token_url: tokens.url.clone(),
            client_id: "gate&way".into(),
            client_secret: Confined::new(Class::Secret, "canary=1".into()),
            audience: Some("https://fga.example/".into()),
            scopes: Some("read write".into()),
        }),
        ..Settings::new(running.url(), "tidegate")
    };
    assert!(!format!("{settings:?}").contains("canary"));
    tokens.give("token-1", 3_600);
    Store::prepared_by(settings.clone(), &["user:alice"]);
    let asked = tokens.asked();
    assert_eq!(
        asked,
        [
            "grant_type=client_credentials&client_id=gate%26way&client_secret=canary%3D1&audience=https%3A%2F%2Ffga.example%2F&scope=read+write"
        ]
    );

    let authority = OpenFga::new(settings.clone());
    let may = async || may_use(&authority, ALICE, &["web_search"]).await;
    for _ in 0..3 {
        assert_eq!(may().await.unwrap(), [true]);
    }
    assert_eq!(tokens.asked().len(), 2, "one token serves many questions");

    // A token that ends at once is fetched for every question.
    tokens.give("token-2", 0);
    let short = OpenFga::new(settings.clone());
    for _ in 0..2 {
        assert_eq!(may_use(&short, ALICE, &["web_search"]).await.unwrap(), [true]);
    }
    assert!(tokens.asked().len() > 4);

    // A token that the server refuses is thrown away, and the next one is tried at once.
    tokens.give("revoked", 3_600);
    let revoked = OpenFga::new(settings);
    let why = |answer: Result<Vec<bool>, Unanswered>| answer.unwrap_err().why;
    let refused = why(may_use(&revoked, ALICE, &["web_search"]).await);
    assert_eq!(refused, "OpenFGA refused the gateway's credentials");
    tokens.give("token-1", 3_600);
    assert_eq!(may_use(&revoked, ALICE, &["web_search"]).await.unwrap(), [true]);

    for (status, body) in [(500, ""), (401, "{}"), (200, "garbage"), (200, "{}"), (302, "")] {
        tokens.fail(status, body);
        assert_eq!(
            why(may_use(&short, ALICE, &["web_search"]).await),
            "no access token could be had for OpenFGA"
        );
    }
    tokens.give("token-2", 3_600);
    assert_eq!(may_use(&short, ALICE, &["web_search"]).await.unwrap(), [true]);
}
