//! `tidegate session`: what a session has seen, and starting it anew.

use clap::{Args, Subcommand};
use tidegate_core::{Ident, Kind, Name, Role};
use tidegate_engine::{AccessError, Caller, ContextView, ResetError};
use tidegate_gateway::digest;
use tidegate_store::{SessionStore, SqliteStore, TokenStore};

use crate::commands::{answer_now, moment};
use crate::failure::Failure;
use crate::source::Places;
use crate::terminal::{answer, note};
use crate::wiring::quiet_engine;

/// Look at sessions, and start one anew
///
/// Works on the data directory, whether or not a gateway is running on it; a running one sees a reset at once. Whoever
/// can write the data directory counts as an administrator, unless a token says who is asking.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tidegate session show                      every session and its label
  tidegate session show sess_1234            how one got there, and what is closed to it
  tidegate session reset sess_1234 --reason \"wrong document was loaded, context discarded\"")]
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
            Verb::Show { id: Some(id), asking } => {
                let (engine, store) = quiet_engine(&asking.places.load(None)?)?;
                let view = answer_now(async {
                    let caller = asking.caller(&store).await?;
                    engine.context(&caller, &id).await.map_err(refused)
                })??;
                show(&view)
            }
            Verb::Show { id: None, asking } => answer_now(list(&asking))?,
            Verb::Reset { id, reason, asking } => {
                let (engine, store) = quiet_engine(&asking.places.load(None)?)?;
                answer_now(async {
                    let caller = asking.caller(&store).await?;
                    engine
                        .reset(&caller, &id, &reason)
                        .await
                        .map_err(|error| match error {
                            ResetError::Access(error) => refused(error),
                            ResetError::Reason => Failure::usage(error),
                            ResetError::Mirror(error) => Failure::environment(error),
                        })
                })??;
                note(format_args!("session {id} starts anew"));
                Ok(())
            }
        }
    }
}

impl Asking {
    /// Who is asking: the holder of the token that was given, or whoever administers this machine.
    async fn caller(&self, store: &SqliteStore) -> Result<Caller, Failure> {
        let Some(token) = &self.token else {
            let principal = Ident::parse("local-administrator").map_err(Failure::environment)?;
            return Ok(Caller {
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
        })
    }
}

fn refused(error: AccessError) -> Failure {
    match error {
        AccessError::NoSession | AccessError::Forbidden { .. } => Failure::no(error),
        AccessError::Store(error) => Failure::environment(error),
    }
}

async fn list(asking: &Asking) -> Result<(), Failure> {
    let (engine, store) = quiet_engine(&asking.places.load(None)?)?;
    let caller = asking.caller(&store).await?;
    answer(format_args!(
        "{:<40} {:<20} {:<20} {:<13} HALTED",
        "SESSION", "USER", "AGENT", "LABEL"
    ))?;
    let mut after = None;
    loop {
        let page = store
            .list(after.as_ref(), SqliteStore::MAX_LISTED)
            .await
            .map_err(Failure::environment)?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(last.id.clone());
        for session in page {
            // Asked one by one, so that a token sees here what it sees over HTTP.
            let Ok(view) = engine.context(&caller, &session.id).await else {
                continue;
            };
            let context = &view.session.context;
            let halted = if context.halted().is_some() { "yes" } else { "no" };
            let (user, agent, label) = (&session.user, &session.agent, context.label().class());
            answer(format_args!(
                "{:<40} {user:<20} {agent:<20} {label:<13} {halted}",
                session.id
            ))?;
        }
    }
}

fn show(view: &ContextView) -> Result<(), Failure> {
    let session = &view.session;
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
    line(
        "blocked tools",
        &listed(view.blocked_tools.iter().map(Name::as_str)),
    )
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.collect();
    if names.is_empty() {
        "none".into()
    } else {
        names.join(", ")
    }
}
