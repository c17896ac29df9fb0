//! What servers say of themselves and beside their messages is logged without the values in it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod mcp_stand;
mod stand;

use std::fmt::{Debug, Write};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use mcp_stand::{Client, options, policy, scripted, server};
use serde_json::json;
use stand::{Setting, Stand};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

static LOGGED: Mutex<String> = Mutex::new(String::new());

/// Keeps everything that is logged.
struct Keep;

impl<S: Subscriber> Layer<S> for Keep {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let target = event.metadata().target();
        if !target.starts_with("tidegate") {
            return;
        }
        let mut line = Line(format!("{target}:"));
        event.record(&mut line);
        LOGGED.lock().unwrap().push_str(&format!("{}\n", line.0));
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

/// Everything that was logged, once a word was.
async fn logged_until(word: &str) -> String {
    for _ in 0..200 {
        let logged = LOGGED.lock().unwrap().clone();
        if logged.contains(word) {
            return logged;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{word} was not logged");
}

/// A gateway whose log is kept.
async fn gateway(arguments: &[String]) -> Stand {
    static KEPT: OnceLock<()> = OnceLock::new();
    KEPT.get_or_init(|| {
        tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Keep)).unwrap();
    });
    let servers = vec![server("scripted", true, scripted(arguments))];
    Stand::start_mcp(Setting::default(), policy(""), servers, options()).await
}

#[tokio::test]
async fn a_private_key_on_standard_error_is_not_logged() {
    let stand = gateway(&[]).await;
    let mut client = Client::greet(&stand).await;
    let long = "y".repeat(9_000) + "CANARYLINE";
    let mut lines = vec!["KEYTEST begins", "-----BEGIN RSA PRIVATE KEY-----"];
    lines.extend(["MIIEpAIBAAKCAQEAcanarykeycanarykeycanarykeycanarykeycanarykeycan"; 60]);
    lines.extend(["-----END RSA PRIVATE KEY-----", &long, "KEYTEST ends"]);
    client.call("say_aside", json!({"lines": lines})).await;
    let logged = logged_until("KEYTEST ends").await;
    assert!(logged.contains("KEYTEST begins"), "{logged}");
    for word in ["canarykey", "CANARYLINE"] {
        assert!(!logged.contains(word), "{logged}");
    }
}

#[tokio::test]
async fn a_held_definition_is_logged_without_values_in_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let changed = directory.path().join("changed").to_str().unwrap().to_owned();
    let stand = gateway(&[changed]).await;
    let mut client = Client::greet(&stand).await;
    client.ask("resources/list", json!({})).await;
    client.call("change", json!({})).await;
    client.ask("resources/list", json!({})).await;
    let logged = logged_until("mail://2").await;
    assert!(!logged.contains("bob@example.com"), "{logged}");
}
