//! Gates: the queue, one gate, an answer, a look at what is behind it; and an agent's own gates through its session.

use std::time::{Duration, Instant};

use axum::Json as Answer;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use tidegate_core::Ident;
use tidegate_engine::{GateError, GateWanted, Wish};
use tidegate_store::Listed;

use super::gate_wire::{
    AskBody, DecideBody, GateAnswer, GatesAnswer, GatesQuery, RevealAnswer, RevealBody, WaitQuery,
};
use crate::auth::Known;
use crate::extract::{Json, SessionId, cursor, ident, unreadable_query};
use crate::problem::Problem;
use crate::router::{App, Shared};

/// How many gates are on a page when nobody says.
const ON_PAGE: usize = 50;

/// What is left of a request's time for the answer itself.
const MARGIN: Duration = Duration::from_secs(2);

/// What waits for a person, longest waiting first; or what was decided, newest first.
#[utoipa::path(get, path = "/v1/gates", tag = "gates", security(("token" = [])), params(GatesQuery), responses(
    (status = 200, description = "A page of gates, each as everyone may see it who may see gates", body = GatesAnswer),
    (status = "4XX", description = "What is wrong", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn list(
    State(app): Shared,
    Known(caller): Known,
    query: Result<Query<GatesQuery>, QueryRejection>,
) -> Result<Answer<GatesAnswer>, Problem> {
    let page = app.engine.gates(&caller, wanted(query)?).await?;
    Ok(Answer(page.into()))
}

/// One gate, with what it is about, redacted to the caller's role.
#[utoipa::path(get, path = "/v1/gates/{id}", tag = "gates", security(("token" = [])), params(("id" = String, Path, description = "The gate's id")), responses(
    (status = 200, description = "The gate", body = GateAnswer),
    (status = "4XX", description = "What is wrong", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn show(
    State(app): Shared,
    Known(caller): Known,
    GateId(id): GateId,
) -> Result<Answer<GateAnswer>, Problem> {
    Ok(Answer(app.engine.gate(&caller, &id).await?.into()))
}

/// Approve or deny. An approval releases exactly what the gate is about, once.
#[utoipa::path(post, path = "/v1/gates/{id}/decision", tag = "gates", security(("token" = [])), params(("id" = String, Path, description = "The gate's id")), request_body = DecideBody, responses(
    (status = 200, description = "The gate after it", body = GateAnswer),
    (status = 409, description = "It was decided or ran out of time before", body = Problem, content_type = "application/problem+json"),
    (status = "4XX", description = "What is wrong; nothing was decided", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn decide(
    State(app): Shared,
    Known(caller): Known,
    GateId(id): GateId,
    Json(body): Json<DecideBody>,
) -> Result<Answer<GateAnswer>, Problem> {
    let approve = match body.decision.as_str() {
        "approve" => true,
        "deny" => false,
        _ => {
            return Err(Problem::unprocessable(
                "unknown-decision",
                "decision: expected approve or deny",
            ));
        }
    };
    let decided = app
        .engine
        .decide_gate(&caller, &id, approve, &body.reason)
        .await?;
    Ok(Answer(decided.into()))
}

/// Be shown raw what a gate is about. Needs the role pii-authorized-reviewer and a reason; the look is on the record first.
#[utoipa::path(post, path = "/v1/gates/{id}/reveal", tag = "gates", security(("token" = [])), params(("id" = String, Path, description = "The gate's id")), request_body = RevealBody, responses(
    (status = 200, description = "The content; credentials are taken out in any case", body = RevealAnswer),
    (status = "4XX", description = "What is wrong; nothing is shown", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn reveal(
    State(app): Shared,
    Known(caller): Known,
    GateId(id): GateId,
    Json(body): Json<RevealBody>,
) -> Result<Answer<RevealAnswer>, Problem> {
    let revealed = app.engine.reveal_gate(&caller, &id, &body.reason).await?;
    Ok(Answer(RevealAnswer {
        gate_id: revealed.view.gate.id.to_string(),
        class: revealed.view.gate.class.as_str(),
        arguments: revealed.arguments,
    }))
}

/// Ask for a decision about a session: lower-label asks an administrator to start its label anew, injection-halt asks once
/// more whether a halted run may go on.
#[utoipa::path(post, path = "/v1/session/{id}/gates", tag = "gates", security(("token" = [])), params(("id" = String, Path, description = "The session's handle")), request_body = AskBody, responses(
    (status = 200, description = "The gate that waits", body = GateAnswer),
    (status = "4XX", description = "What is wrong; nothing was asked", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn ask(
    State(app): Shared,
    Known(caller): Known,
    SessionId(id): SessionId,
    Json(body): Json<AskBody>,
) -> Result<Answer<GateAnswer>, Problem> {
    let wish = match body.kind.as_str() {
        "lower-label" => Wish::LowerLabel,
        "injection-halt" => Wish::Resume,
        _ => {
            let detail = "kind: only lower-label and injection-halt can be asked for";
            return Err(Problem::unprocessable("unknown-kind", detail));
        }
    };
    let asked = app.engine.ask_gate(&caller, &id, wish, &body.reason).await?;
    Ok(Answer(asked.into()))
}

/// The gates of a session, for its own agent too.
#[utoipa::path(get, path = "/v1/session/{id}/gates", tag = "gates", security(("token" = [])), params(("id" = String, Path, description = "The session's handle"), GatesQuery), responses(
    (status = 200, description = "A page of gates", body = GatesAnswer),
    (status = "4XX", description = "What is wrong", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn of_session(
    State(app): Shared,
    Known(caller): Known,
    SessionId(id): SessionId,
    query: Result<Query<GatesQuery>, QueryRejection>,
) -> Result<Answer<GatesAnswer>, Problem> {
    let page = app.engine.session_gates(&caller, &id, wanted(query)?).await?;
    Ok(Answer(page.into()))
}

/// One gate of a session, for its own agent too: at once, or when it was decided or the wait is over.
#[utoipa::path(get, path = "/v1/session/{id}/gates/{gate}", tag = "gates", security(("token" = [])), params(("id" = String, Path, description = "The session's handle"), ("gate" = String, Path, description = "The gate's id"), WaitQuery), responses(
    (status = 200, description = "The gate", body = GateAnswer),
    (status = "4XX", description = "What is wrong", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn await_one(
    State(app): Shared,
    Known(caller): Known,
    path: Result<Path<(String, String)>, PathRejection>,
    query: Result<Query<WaitQuery>, QueryRejection>,
) -> Result<Answer<GateAnswer>, Problem> {
    let Path((session, gate)) = path.map_err(|_| Problem::from(GateError::NoGate))?;
    let session = ident("session_id", &session)?;
    let gate = ident("gate_id", &gate)?;
    let Query(query) = query.map_err(|_| unreadable_query("wait"))?;
    let until = query.wait.map(|seconds| patience(&app, seconds));
    let found = app.engine.session_gate(&caller, &session, &gate, until).await?;
    Ok(Answer(found.into()))
}

/// Until when to wait: no longer than the rules say, and not so long that the request is cut.
pub(super) fn patience(app: &App, seconds: u64) -> Instant {
    let longest = app.engine.gate_rules().map_or(Duration::ZERO, |rules| rules.wait);
    let cut = app.limits.request_timeout.saturating_sub(MARGIN);
    Instant::now() + Duration::from_secs(seconds).min(longest).min(cut)
}

fn wanted(query: Result<Query<GatesQuery>, QueryRejection>) -> Result<GateWanted, Problem> {
    let Query(query) = query.map_err(|_| unreadable_query("state, kind, session, cursor and limit"))?;
    let listed = match query.state.as_deref() {
        None | Some("open") => Listed::Open,
        Some("decided") => Listed::Decided,
        Some("all") => Listed::All,
        Some(_) => {
            let detail = "state: expected open, decided or all";
            return Err(Problem::unprocessable("unknown-state", detail));
        }
    };
    let kind = query.kind.as_deref().filter(|kind| !kind.is_empty());
    let kind = kind.map(str::parse).transpose().map_err(|why| {
        let why: tidegate_store::UnknownGateKind = why;
        Problem::unprocessable("unknown-kind", format!("kind: {why}"))
    })?;
    let session = query.session.as_deref().filter(|id| !id.is_empty());
    Ok(GateWanted {
        listed,
        kind,
        session: session.map(|id| ident("session", id)).transpose()?,
        after: cursor(query.cursor.as_deref())?,
        limit: query.limit.unwrap_or(ON_PAGE),
    })
}

/// The gate's id in a path.
pub(crate) struct GateId(Ident);

impl axum::extract::FromRequestParts<App> for GateId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut axum::http::request::Parts, app: &App) -> Result<Self, Problem> {
        let Path(text) = Path::<String>::from_request_parts(parts, app)
            .await
            .map_err(|_| Problem::from(GateError::NoGate))?;
        // What is no id belongs to no gate.
        Ident::parse(&text)
            .map(Self)
            .map_err(|_| GateError::NoGate.into())
    }
}
