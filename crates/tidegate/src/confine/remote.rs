//! A session of a running gateway: its label by the gateway's stream, its way out by the gateway's proxy.
//!
//! A stream that ends, or says something else than a state, is a label nobody knows: the way out closes for good.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use tidegate_core::{Class, Ident};
use tidegate_sandbox::{Address, Flow, PROXY_PORT};
use tokio::sync::watch;
use url::Url;

use super::WORKSPACE;
use super::way::{Way, flow_of};
use crate::commands::remote::unanswered;
use crate::failure::Failure;

/// How long the stream may be silent. The gateway says something at least every fifteen seconds.
const SILENCE: Duration = Duration::from_secs(40);

/// The largest event that is read.
const MOST_EVENT_BYTES: usize = 4 << 20;

/// A session of a running gateway.
pub(crate) struct RemoteSession {
    client: Client,
    gateway: Url,
    token: String,
    /// The session.
    pub(crate) id: Ident,
    /// Whether it was there before.
    pub(crate) is_known: bool,
}

#[derive(Deserialize)]
struct Exit {
    proxy: String,
    username: String,
    password: String,
    highest_ceiling: Option<String>,
}

#[derive(Deserialize)]
struct State {
    sensitivity: String,
    halted: bool,
    ended: bool,
}

impl RemoteSession {
    /// Opens a session, or goes on with one of the token's own, and says what lies in the workspace.
    pub(crate) async fn open(
        gateway: Url,
        token: &str,
        asked: Option<Ident>,
        workspace: Class,
    ) -> Result<Self, Failure> {
        let client = Client::builder()
            .no_proxy()
            .build()
            .map_err(Failure::environment)?;
        let body = match &asked {
            Some(id) => json!({"session_id": id.as_str()}),
            None => json!({}),
        };
        let is_known = match &asked {
            Some(id) => is_there(&client, &gateway, token, id).await?,
            None => false,
        };
        let url = gateway.join("v1/sessions").map_err(Failure::usage)?;
        let request = client.post(url).bearer_auth(token.trim()).json(&body);
        let answer = request.send().await;
        let answer = answer.map_err(|error| unanswered(&gateway, &error))?;
        let opened: Value = answered(Ok(answer))
            .await?
            .json()
            .await
            .map_err(Failure::environment)?;
        let id = opened
            .get("session_id")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let id = Ident::parse(id).map_err(Failure::environment)?;
        let remote = Self {
            client,
            gateway,
            token: token.trim().to_owned(),
            id,
            is_known,
        };
        remote.enter_workspace(workspace).await?;
        Ok(remote)
    }

    /// A command sees the workspace, so its session does. A label that is lower afterwards is no label to run anything under.
    async fn enter_workspace(&self, class: Class) -> Result<(), Failure> {
        if class == Class::Public {
            return Ok(());
        }
        let dataset = json!({"name": WORKSPACE, "sensitivity": class.as_str()});
        let request = self.client.post(self.url("datasets")?).bearer_auth(&self.token);
        let answer = answered(request.json(&dataset).send().await).await?;
        let state: State = answer.json().await.map_err(Failure::environment)?;
        match state.sensitivity.parse::<Class>() {
            Ok(label) if label >= class => Ok(()),
            Ok(_) | Err(_) => Err(Failure::environment(
                "nothing was run: the gateway did not label the session with the class of the workspace",
            )),
        }
    }

    /// Its way out, and the proxy's address for programs inside. Nothing where the gateway has no proxy.
    pub(crate) async fn way(&self) -> Result<Option<(Way, String)>, Failure> {
        let request = self.client.post(self.url("egress")?).bearer_auth(&self.token);
        let answer = request.send().await.map_err(Failure::environment)?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let exit: Exit = answered(Ok(answer))
            .await?
            .json()
            .await
            .map_err(Failure::environment)?;
        let proxy = Url::parse(&exit.proxy).map_err(Failure::environment)?;
        let address = address_of(&proxy).await?;
        let request = self.client.get(self.url("events")?).bearer_auth(&self.token);
        let stream = answered(request.send().await).await?;
        let highest = exit.highest_ceiling.and_then(|class| class.parse().ok());
        let flow = follow(stream, highest).await;
        let inside = Url::parse(&format!("http://127.0.0.1:{PROXY_PORT}"))
            .map(|mut url| {
                let named = url.set_username(&exit.username);
                let _ = named.and_then(|()| url.set_password(Some(&exit.password)));
                url
            })
            .map_err(Failure::environment)?;
        let way = Way {
            outlet: Arc::new(Address(address)),
            flow,
        };
        Ok(Some((way, inside.as_str().trim_end_matches('/').to_owned())))
    }

    fn url(&self, what: &str) -> Result<Url, Failure> {
        let path = format!("v1/session/{}/{what}", self.id);
        self.gateway.join(&path).map_err(Failure::usage)
    }
}

/// Whether the token has such a session.
async fn is_there(client: &Client, gateway: &Url, token: &str, id: &Ident) -> Result<bool, Failure> {
    let url = gateway
        .join(&format!("v1/session/{id}"))
        .map_err(Failure::usage)?;
    let answer = client.get(url).bearer_auth(token.trim()).send().await;
    let answer = answer.map_err(|error| unanswered(gateway, &error))?;
    Ok(answer.status().is_success())
}

async fn address_of(proxy: &Url) -> Result<SocketAddr, Failure> {
    let unusable = || Failure::environment("the gateway's proxy has no address that can be used");
    let host = proxy.host_str().ok_or_else(unusable)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = proxy.port_or_known_default().ok_or_else(unusable)?;
    let mut found = tokio::net::lookup_host((host, port))
        .await
        .map_err(Failure::environment)?;
    found.next().ok_or_else(unusable)
}

/// An answer that is a yes; else what the gateway said instead.
async fn answered(answer: reqwest::Result<Response>) -> Result<Response, Failure> {
    let answer = answer.map_err(Failure::environment)?;
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    let problem: Value = answer.json().await.unwrap_or_default();
    let detail = problem.get("detail").and_then(Value::as_str);
    let message = format!(
        "nothing was run: the gateway refused ({status}): {}",
        detail.unwrap_or("no reason was given")
    );
    if status.is_server_error() {
        Err(Failure::environment(message))
    } else {
        Err(Failure::no(message))
    }
}

/// The flow of a stream of states. The first state is heard before this returns.
async fn follow(mut stream: Response, highest: Option<Class>) -> watch::Receiver<Flow> {
    let mut events = Events::default();
    let first = events.next(&mut stream).await;
    let first = first.map_or(Flow::Shut, |state| state.flow(highest));
    let (tell, flow) = watch::channel(first);
    tokio::spawn(async move {
        while let Some(state) = events.next(&mut stream).await {
            if state.flow(highest) == Flow::Shut || tell.is_closed() {
                break;
            }
        }
        tell.send_replace(Flow::Shut);
    });
    flow
}

impl State {
    fn flow(&self, highest: Option<Class>) -> Flow {
        match self.sensitivity.parse() {
            Ok(label) => flow_of(label, self.halted || self.ended, highest),
            Err(_) => Flow::Shut,
        }
    }
}

/// What came of a stream and was not read yet.
#[derive(Default)]
struct Events(Vec<u8>);

impl Events {
    /// The next state; nothing when the stream ended, fell silent or made no sense.
    async fn next(&mut self, stream: &mut Response) -> Option<State> {
        loop {
            while let Some(end) = self.0.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.0.drain(..=end).collect();
                if let Some(data) = line.strip_prefix(b"data:") {
                    return serde_json::from_slice(data).ok();
                }
            }
            if self.0.len() > MOST_EVENT_BYTES {
                return None;
            }
            let chunk = tokio::time::timeout(SILENCE, stream.chunk()).await;
            self.0.extend_from_slice(&chunk.ok()?.ok()??);
        }
    }
}
