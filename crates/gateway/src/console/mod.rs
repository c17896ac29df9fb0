//! The console: what people see of the gateway, at /console, in pages that this program renders and serves itself.
//!
//! A page asks the engine what any other wire asks it, so each rule about who sees what stands there once; what is shown
//! passes through markup that escapes it at compile time; and no page needs a script to be read or a decision to be made. A
//! person signs in with their token once, or by a provider ([`oidc`]); see [`sign_ins`] for what the browser holds instead of it.

mod assets;
mod charts;
mod flow;
mod guard;
mod layout;
mod live;
mod oidc;
mod pages;
mod pieces;
mod posted;
mod sign_ins;
mod story;
mod tally;
mod visitor;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::routing::{get, post};
use axum::{Router, middleware};
use tidegate_core::{Moment, Name};

use crate::App;
pub use oidc::{Oidc, OidcError, OidcSettings};
use pages::{gate, overview, plan, provider, queue, record, reviews, session, sessions, sign_in, tools};
use sign_ins::SignIns;

/// What the console is told.
#[derive(Clone, Debug)]
pub struct ConsoleOptions {
    /// How long a person who does nothing stays signed in.
    pub idle: Duration,
    /// How long anybody stays signed in at most.
    pub lifetime: Duration,
    /// What was proposed for tools and not yet reviewed.
    pub proposals: Vec<Proposal>,
    /// The provider that signs people in, if there is one.
    pub oidc: Option<Arc<Oidc>>,
}

impl ConsoleOptions {
    /// What serves when nothing is configured.
    pub const STANDARD: Self = Self {
        idle: Duration::from_secs(30 * 60),
        lifetime: Duration::from_secs(12 * 60 * 60),
        proposals: Vec::new(),
        oidc: None,
    };
}

/// What was proposed for a tool, for a person to review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The tool.
    pub tool: Name,
    /// Why this was proposed.
    pub reason: String,
}

/// What the pages share.
pub(crate) struct Console {
    sign_ins: SignIns,
    proposals: Vec<Proposal>,
    oidc: Option<Arc<Oidc>>,
    verdict: Mutex<Option<Verdict>>,
    /// One check of the whole record at a time: it reads every file.
    verifying: tokio::sync::Mutex<()>,
}

/// What the last check of the record said.
#[derive(Clone, Debug)]
struct Verdict {
    at: Moment,
    /// What holds, or the first thing that does not.
    outcome: Result<Box<tidegate_ledger::Report>, String>,
}

impl Console {
    pub(crate) fn new(options: ConsoleOptions) -> Self {
        Self {
            sign_ins: SignIns::new(options.idle, options.lifetime),
            proposals: options.proposals,
            oidc: options.oidc,
            verdict: Mutex::new(None),
            verifying: tokio::sync::Mutex::new(()),
        }
    }

    fn verdict(&self) -> Option<Verdict> {
        self.verdict
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn keep_verdict(&self, verdict: Verdict) {
        *self.verdict.lock().unwrap_or_else(PoisonError::into_inner) = Some(verdict);
    }
}

/// Everything under /console.
pub(crate) fn routes(app: &App) -> Router<App> {
    let pages = Router::new()
        .route("/", get(overview::show))
        .route("/sign-in", get(sign_in::show).post(sign_in::enter))
        .route("/sign-in/oidc", get(provider::leave))
        .route("/sign-in/oidc/callback", get(provider::receive))
        .route("/sign-out", post(sign_in::leave))
        .route("/queue", get(queue::show))
        .route("/queue/stream", get(queue::stream))
        .route("/gates/{id}", get(gate::show))
        .route("/gates/{id}/decision", post(gate::decide))
        .route("/gates/{id}/reveal", post(gate::reveal))
        .route("/reviews", get(reviews::show))
        .route("/reviews/{id}", post(reviews::settle))
        .route("/sessions", get(sessions::show))
        .route("/sessions/{id}", get(session::show))
        .route("/sessions/{id}/stream", get(session::stream))
        .route("/tools", get(tools::show))
        .route("/plan", get(plan::show))
        .route("/record", get(record::show))
        .route("/record/verify", post(record::verify))
        .route("/record/{seq}", get(record::one))
        .route("/assets/{file}", get(assets::serve))
        .fallback(|| async { pages::Refused::not_found() });
    pages.layer(middleware::from_fn_with_state(app.clone(), guard::around))
}
