//! The console's first pages on a state that has grown: a hundred thousand sessions, ten thousand gates that wait.

#![allow(clippy::print_stdout, reason = "printing figures is what a benchmark is for")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use bench::HttpLoad;
use bench::stand::{Outcome, Stand};
use tidegate_core::{Class, Ident, Moment, Name, Role};
use tidegate_engine::OpenRequest;
use tidegate_gateway::new_token;
use tidegate_store::{Binding, Gate, GateKind, GateState, GateStore, TokenStore};
use tokio::task::JoinSet;

const SESSIONS: usize = 100_000;
const GATES: u32 = 10_000;
/// Changes that are under way at once while the state is filled.
const AT_ONCE: usize = 512;
const CALLS: usize = 200;

#[tokio::main]
async fn main() -> Outcome<()> {
    let directory = tempfile::tempdir()?;
    let stand = Arc::new(Stand::with_gates(directory.path()).await?);
    open_sessions(&stand).await?;
    open_gates(&stand).await?;
    let operator = new_token(Role::HumanOperator, Ident::parse("olga")?, None, Moment(0))?;
    stand.store.issue(operator.record).await?;
    let address = stand.serve().await?;
    let cookie = tokio::task::spawn_blocking(move || sign_in(address, &operator.text)).await??;
    println!("{SESSIONS} sessions, {GATES} gates that wait; one browser, {CALLS} times each");
    for path in [
        "/console/queue",
        "/console",
        "/console/sessions",
        "/console/sessions?order=id",
        "/console/sessions/s-50000",
        "/console/tools",
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: bench\r\ncookie: {cookie}\r\n\r\n");
        let load = HttpLoad {
            address,
            request: request.into_bytes(),
            connections: 1,
            calls: CALLS,
        };
        let spread = tokio::task::spawn_blocking(move || load.run()).await??;
        println!("{path:28} {spread}");
    }
    Ok(())
}

async fn open_sessions(stand: &Arc<Stand>) -> Outcome<()> {
    let mut opening = JoinSet::new();
    for number in 0..SESSIONS {
        if opening.len() >= AT_ONCE {
            opening.join_next().await.ok_or("nothing is under way")???;
        }
        let stand = Arc::clone(stand);
        opening.spawn(async move {
            let id = Some(Ident::parse(&format!("s-{number}"))?);
            let request = OpenRequest {
                user: None,
                agent: None,
                id,
            };
            stand.engine.open_session(&stand.caller, request).await?;
            Outcome::Ok(())
        });
    }
    while let Some(opened) = opening.join_next().await {
        opened??;
    }
    Ok(())
}

async fn open_gates(stand: &Arc<Stand>) -> Outcome<()> {
    let mut opening = JoinSet::new();
    for number in 0..GATES {
        if opening.len() >= AT_ONCE {
            opening.join_next().await.ok_or("nothing is under way")???;
        }
        let stand = Arc::clone(stand);
        opening.spawn(async move {
            stand.store.open_gate(gate(number)?, usize::MAX).await?;
            Outcome::Ok(())
        });
    }
    while let Some(opened) = opening.join_next().await {
        opened??;
    }
    Ok(())
}

fn gate(number: u32) -> Outcome<Gate> {
    let mut binding = [0; 32];
    for (to, from) in binding.iter_mut().zip(number.to_le_bytes()) {
        *to = from;
    }
    Ok(Gate {
        id: Ident::parse(&format!("gate-{number}"))?,
        kind: GateKind::ToolApproval,
        session: Ident::parse(&format!("s-{number}"))?,
        user: Ident::parse("alice")?,
        agent: Ident::parse("bot")?,
        asked_by: Ident::parse("alice")?,
        owner: Ident::parse("bench")?,
        binding: Binding(binding),
        tool: Some(Name::parse("web_1")?),
        class: Class::Internal,
        rule: "human-approval".to_owned(),
        policy: "bench".to_owned(),
        document: r#"{"label":"internal","reason":"each call to it needs a person's approval","arguments":{"to":"guest"}}"#.to_owned(),
        evidence: None,
        opened_at: Moment(i64::from(number)),
        expires_at: Moment(i64::MAX),
        needed: 1,
        state: GateState::Open,
        approvals: Vec::new(),
        end: None,
        place: 0,
        tick: 0,
    })
}

/// Signs in as a browser does, and gives the cookie.
fn sign_in(address: SocketAddr, token: &str) -> Outcome<String> {
    let door = exchange(
        address,
        "GET /console/sign-in HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\r\n",
    )?;
    let secret = between(&door, "name=\"csrf\" value=\"", "\"")?;
    let held = between(&door, "set-cookie: ", ";")?;
    let form = format!("csrf={secret}&token={token}");
    let entered = exchange(
        address,
        &format!(
            "POST /console/sign-in HTTP/1.1\r\nhost: bench\r\norigin: http://bench\r\ncookie: {held}\r\nconnection: close\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{form}",
            form.len()
        ),
    )?;
    Ok(between(&entered, "set-cookie: ", ";")?.to_owned())
}

fn exchange(address: SocketAddr, request: &str) -> Outcome<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Outcome<&'a str> {
    let (_, rest) = text.split_once(start).ok_or("the page is not as expected")?;
    Ok(rest.split_once(end).ok_or("the page is not as expected")?.0)
}
