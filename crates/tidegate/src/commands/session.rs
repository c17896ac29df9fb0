//! `tidegate session`: what a session has seen, and starting it anew.

use std::sync::Arc;

use clap::{Args, Subcommand};
use tidegate_core::{Ident, Kind, Name, Role, closed_by_context};
use tidegate_engine::access::reach;
use tidegate_engine::{AccessError, Act, Caller, Policy, Reach, ResetError};
use tidegate_gateway::digest;
use tidegate_store::Session as Stored;
use url::Url;

use crate::commands::remote::{token_of, unanswered};
use crate::commands::{answer_now, moment};
use crate::failure::Failure;
use crate::source::Places;
use crate::state::{State, open_kept_store};
use crate::terminal::{answer, note};
use crate::wiring::lone_engine;

/// Look at sessions, and start one anew
///
/// Works on the data directory. Whoever can read it counts as an administrator, unless a token says who is asking. While a
/// gateway is running on it, a reset has to go through that gateway, which keeps the record.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tidegate session show                      every session and its label
  tidegate session show sess_1234            how one got there, and what is closed to it
  tidegate session reset sess_1234 --reason \"wrong document was loaded, context discarded\"
  TIDEGATE_TOKEN=... tidegate session reset sess_1234 --reason \"...\" --gateway http://127.0.0.1:7413")]
pub(crate) struct Session {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Show one session, or list all of them
    Show {
        /// The session [default: all]
        #[arg(value_parser = Ident::parse)]
        id: Option<Ident>,
        #[command(flatten)]
        asking: Asking,
    },
    /// Start a session's context anew, with a reason, on the record
    Reset {
        /// The session
        #[arg(value_parser = Ident::parse)]
        id: Ident,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// The running gateway to send it to, with an administrator's token
        #[arg(long, value_name = "URL")]
        gateway: Option<Url>,
        #[command(flatten)]
        asking: Asking,
    },
}

#[derive(Args, Debug)]
struct Asking {
    #[command(flatten)]
    places: Places,
    /// The token of whoever asks [default: the local administrator]
    #[arg(long, value_name = "TOKEN", env = "TIDEGATE_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

impl Session {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.verb {
            Verb::Show { id: Some(id), asking } => answer_now(show_one(&asking, &id))?,
            Verb::Show { id: None, asking } => answer_now(list(&asking))?,
            Verb::Reset {
                id,
                reason,
                gateway,
                asking,
            } => {
                match gateway {
                    Some(gateway) => {
                        let token = token_of(asking.token.as_deref())?;
                        answer_now(send_reset(&gateway, token, &id, &reason))??;
                    }
                    None => answer_now(reset(&asking, &id, &reason))??,
                }
                note(format_args!("session {id} starts anew"));
                Ok(())
            }
        }
    }
}

impl Asking {
    /// Who is asking: the holder of the token that was given, or whoever administers this machine.
    async fn caller(&self, store: &dyn State) -> Result<Caller, Failure> {
        let Some(token) = &self.token else {
            let principal = Ident::parse("local-administrator").map_err(Failure::environment)?;
            return Ok(Caller {
                token_id: principal.clone(),
                principal,
                agent: None,
                role: Role::Admin,
            });
        };
        let record = store
            .find(&digest(token.trim()))
            .await
            .map_err(Failure::environment)?;
        let record = record.filter(|record| record.revoked_at.is_none());
        let record = record.ok_or_else(|| Failure::no("this token is unknown or revoked"))?;
        Ok(Caller {
            principal: record.principal.clone(),
            agent: record.agent.clone(),
            role: record.role,
            token_id: record.id.clone(),
        })
    }
}

/// How many sessions are asked for at once.
const PAGE: usize = 1_000;

/// The same table that decides over HTTP.
fn may_look(caller: &Caller, session: &Stored) -> bool {
    match reach(caller.role, Act::Look) {
        Reach::Nothing => false,
        Reach::Own => caller.owns(&session.user, &session.agent),
        Reach::All => true,
    }
}

async fn show_one(asking: &Asking, id: &Ident) -> Result<(), Failure> {
    let config = asking.places.load(None)?;
    let store = open_kept_store(&config).await?;
    let caller = asking.caller(&*store).await?;
    let session = store.current(id).await.map_err(Failure::environment)?;
    let session = session.filter(|session| may_look(&caller, session));
    let session = session.ok_or_else(|| match &asking.token {
        Some(_) => Failure::no(AccessError::NoSession),
        None => Failure::no(format_args!("there is no session {id}")),
    })?;
    show(&session, &config.policy)
}

async fn list(asking: &Asking) -> Result<(), Failure> {
    let store = open_kept_store(&asking.places.load(None)?).await?;
    let caller = asking.caller(&*store).await?;
    answer(format_args!(
        "{:<40} {:<20} {:<20} {:<13} HALTED",
        "SESSION", "USER", "AGENT", "LABEL"
    ))?;
    let mut after = None;
    loop {
        let page = store
            .list(after.as_ref(), PAGE)
            .await
            .map_err(Failure::environment)?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(last.id.clone());
        for session in page.iter().filter(|session| may_look(&caller, session)) {
            let Stored {
                id,
                user,
                agent,
                context,
                ..
            } = &**session;
            let halted = if context.halted().is_some() { "yes" } else { "no" };
            let label = context.label().class();
            answer(format_args!(
                "{id:<40} {user:<20} {agent:<20} {label:<13} {halted}"
            ))?;
        }
    }
}

fn show(session: &Stored, policy: &Policy) -> Result<(), Failure> {
    let context = &session.context;
    let line = |name: &str, value: &dyn std::fmt::Display| answer(format_args!("{name:<14} {value}"));
    line("session", &session.id)?;
    line("user", &session.user)?;
    line("agent", &session.agent)?;
    line("opened", &moment(session.opened_at))?;
    line("label", &context.label().class())?;
    line("kinds", &listed(context.kinds().iter().map(Kind::as_str)))?;
    for rise in context.rises() {
        let (from, to, source) = (rise.from, rise.to, &rise.source);
        line(
            "rise",
            &format_args!("{} {from} -> {to} by {source}", moment(rise.at)),
        )?;
    }
    for set in context.datasets() {
        line("dataset", &format_args!("{} ({})", set.name, set.class))?;
    }
    if let Some(halt) = context.halted() {
        line(
            "halted",
            &format_args!("{} by content from {}", moment(halt.at), halt.source),
        )?;
    }
    let closed = closed_by_context(&policy.control, context).map(|tool| &tool.name);
    line("blocked tools", &listed(closed.map(Name::as_str)))
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.collect();
    if names.is_empty() {
        "none".into()
    } else {
        names.join(", ")
    }
}

async fn reset(asking: &Asking, id: &Ident, reason: &str) -> Result<(), Failure> {
    let config = asking.places.load(None)?;
    let store = open_kept_store(&config).await?;
    let caller = asking.caller(&*store).await?;
    let engine = lone_engine(&config, Arc::clone(&store)).await?;
    match engine.reset(&caller, id, reason).await {
        Ok(_) => Ok(()),
        Err(ResetError::Reason) => Err(Failure::usage(ResetError::Reason)),
        Err(error @ ResetError::Overtaken) => Err(Failure::no(error)),
        Err(ResetError::Access(error @ (AccessError::NoSession | AccessError::Forbidden { .. }))) => {
            Err(Failure::no(error))
        }
        Err(error) => Err(Failure::environment(error)),
    }
}

async fn send_reset(gateway: &Url, token: &str, id: &Ident, reason: &str) -> Result<(), Failure> {
    let path = format!("v1/session/{id}/reset");
    let url = gateway.join(&path).map_err(Failure::usage)?;
    let client = reqwest::Client::builder()
        .no_proxy()
        .build()
        .map_err(Failure::environment)?;
    let body = serde_json::json!({ "reason": reason });
    let answer = client
        .post(url)
        .bearer_auth(token)
        .json(&body)
        .send()
        .await
        .map_err(|error| unanswered(gateway, &error))?;
    if answer.status().is_success() {
        return Ok(());
    }
    let status = answer.status();
    let problem: serde_json::Value = answer.json().await.unwrap_or_default();
    let detail = problem
        .get("detail")
        .and_then(serde_json::Value::as_str)
        .unwrap_or("no reason was given");
    let message = format!("the gateway refused ({status}): {detail}");
    if status.is_server_error() {
        Err(Failure::environment(message))
    } else {
        Err(Failure::no(message))
    }
}
