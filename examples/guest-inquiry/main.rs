//! A guest's inquiry, from the booking system's webhook to a draft that waits for a person.
//!
//! Start a gateway with the configuration beside this file, then run
//! `TIDEGATE_URL=... TIDEGATE_TOKEN=... guest-inquiry inquiry.json`. It prints one line of JSON for each step.
#![allow(
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "the steps are the example's result, and a field of JSON that is not there reads as null"
)]

use std::error::Error;

use reqwest::blocking::Client;
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("give the path of an inquiry")?;
    let inquiry: Value = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let gateway = Gateway {
        client: Client::builder().no_proxy().build()?,
        url: std::env::var("TIDEGATE_URL")?,
        token: std::env::var("TIDEGATE_TOKEN")?,
    };
    let opened = gateway.post("/v1/sessions", &json!({}))?;
    let session = opened["session_id"].as_str().ok_or("no session")?.to_owned();

    // The framework assembles: it hands over what it got, and the gateway decides what of it the model sees.
    let context = gateway.step(&session, "context", &json!({"chunks": [
        {"source": "house_rules", "origin": "agent-instruction", "text": "Draft a short, friendly reply to the inquiry."},
        {"source": "inquiry_dates", "origin": "task-data", "text": inquiry["dates"].to_string()},
        {"source": "inquiry_guest", "origin": "task-data", "text": inquiry["guest"].to_string()},
        {"source": "inquiry_message", "origin": "task-data", "text": inquiry["message"]},
    ]}))?;

    // Nothing that the model could look up elsewhere leaves the session now.
    gateway.step(
        &session,
        "authorize",
        &json!({"tool": "web_search", "arguments": {"query": "pet rules"}}),
    )?;

    let draft = model(context["context"].as_str().unwrap_or_default(), &inquiry["dates"]);
    let shown = json!({"text": draft, "recipient_role": "human-operator", "verify_citations": true});
    let checked = gateway.step(&session, "output", &shown)?;
    let arguments = json!({"to": "{EMAIL_1}", "body": checked["text"]});
    gateway.step(
        &session,
        "authorize",
        &json!({"tool": "gmail_guest_draft", "arguments": arguments}),
    )?;
    gateway.step(
        &session,
        "authorize",
        &json!({"tool": "gmail_send", "arguments": {}}),
    )?;
    gateway.step(&session, "end", &json!({}))?;
    Ok(())
}

/// Stands for the model: it sees the context and nothing else, and writes a reply to whoever is behind the stub.
fn model(context: &str, dates: &Value) -> String {
    let greeting = if context.contains("{FIRST_NAME_1}") {
        "Dear {FIRST_NAME_1}"
    } else {
        "Dear guest"
    };
    let (from, to) = (&dates["from"], &dates["to"]);
    format!("{greeting}, the house is free from {from} to {to}, and one dog is welcome.")
}

struct Gateway {
    client: Client,
    url: String,
    token: String,
}

impl Gateway {
    /// One request in a session, printed with its answer.
    fn step(&self, session: &str, name: &str, body: &Value) -> Result<Value, Box<dyn Error>> {
        let answer = self.post(&format!("/v1/session/{session}/{name}"), body)?;
        println!(
            "{}",
            json!({"step": name, "tool": body["tool"], "answer": answer})
        );
        Ok(answer)
    }

    fn post(&self, path: &str, body: &Value) -> Result<Value, Box<dyn Error>> {
        let request = self.client.post(format!("{}{path}", self.url));
        let answer = request.bearer_auth(&self.token).json(body).send()?;
        Ok(answer.error_for_status()?.json()?)
    }
}
