//! Opening sessions, looking at them, tagging them, starting them anew.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use tidegate_core::Class;
use tidegate_engine::{AnswerSchema, ChildRequest, OpenRequest};

use super::wire::{DatasetBody, ManifestAnswer, OpenAnswer, OpenBody, ResetBody, StateAnswer};
use crate::auth::Known;
use crate::extract::{Json, SessionId, ident, name};
use crate::problem::Problem;
use crate::router::Shared;

/// Open a session. The handle works only for the principal and agent it is issued to.
#[utoipa::path(post, path = "/v1/sessions", tag = "sessions", security(("token" = [])), request_body = OpenBody, responses(
    (status = 201, description = "The handle and its manifest", body = OpenAnswer),
    (status = "4XX", description = "What is wrong", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn open(
    State(app): Shared,
    Known(caller): Known,
    Json(body): Json<OpenBody>,
) -> Result<(StatusCode, Answer<OpenAnswer>), Problem> {
    let field = |field, value: Option<String>| value.map(|text| ident(field, &text)).transpose();
    let id = field("session_id", body.session_id)?;
    let session = match field("parent", body.parent)? {
        Some(parent) => {
            if body.user.is_some() || body.agent.is_some() {
                let detail = "user, agent: a child session has its parent's";
                return Err(Problem::unprocessable("not-for-a-child", detail));
            }
            let declared = body.answer.unwrap_or_default();
            let answer = AnswerSchema::read(&declared)
                .map_err(|why| Problem::unprocessable("bad-answer-schema", why.to_string()))?;
            let inherit = body.inherit.unwrap_or(true);
            let request = ChildRequest {
                parent,
                inherit,
                id,
                answer,
            };
            app.engine.open_child(&caller, request).await?
        }
        None if body.inherit.is_some() || body.answer.is_some() => {
            let detail = "inherit and answer are for a child session: name its parent";
            return Err(Problem::unprocessable("no-parent", detail));
        }
        None => {
            let request = OpenRequest {
                user: field("user", body.user)?,
                agent: field("agent", body.agent)?,
                id,
            };
            app.engine.open_session(&caller, request).await?
        }
    };
    let manifest = ManifestAnswer::new(session.id.as_str(), app.engine.manifest_of(&session));
    Ok((
        StatusCode::CREATED,
        Answer(OpenAnswer {
            session_id: session.id.to_string(),
            manifest,
        }),
    ))
}

/// A session's state: its label, how it got there, and what that closes.
#[utoipa::path(get, path = "/v1/session/{id}", tag = "sessions", security(("token" = [])), params(("id" = String, Path, description = "The session's handle")), responses(
    (status = 200, description = "The state", body = StateAnswer),
    (status = "4XX", description = "What is wrong", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn state(
    State(app): Shared,
    Known(caller): Known,
    SessionId(id): SessionId,
) -> Result<Answer<StateAnswer>, Problem> {
    Ok(Answer(app.engine.context(&caller, &id).await?.into()))
}

/// Register a named dataset. At a higher class than before it raises the label; at a lower one it changes nothing.
#[utoipa::path(post, path = "/v1/session/{id}/datasets", tag = "sessions", security(("token" = [])), params(("id" = String, Path, description = "The session's handle")), request_body = DatasetBody, responses(
    (status = 200, description = "The state after it", body = StateAnswer),
    (status = "4XX", description = "What is wrong", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn add_dataset(
    State(app): Shared,
    Known(caller): Known,
    SessionId(id): SessionId,
    Json(body): Json<DatasetBody>,
) -> Result<Answer<StateAnswer>, Problem> {
    let dataset = name("name", &body.name)?;
    let class: Class = body
        .sensitivity
        .parse()
        .map_err(|why| Problem::unprocessable("unknown-class", format!("sensitivity: {why}")))?;
    let session = app.engine.add_dataset(&caller, &id, dataset, class).await?;
    Ok(Answer(app.engine.view(session).into()))
}

/// Start a session's context anew: the only way down, for an administrator, with a reason.
#[utoipa::path(post, path = "/v1/session/{id}/reset", tag = "sessions", security(("token" = [])), params(("id" = String, Path, description = "The session's handle")), request_body = ResetBody, responses(
    (status = 200, description = "The state after it", body = StateAnswer),
    (status = "4XX", description = "What is wrong", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn reset(
    State(app): Shared,
    Known(caller): Known,
    SessionId(id): SessionId,
    Json(body): Json<ResetBody>,
) -> Result<Answer<StateAnswer>, Problem> {
    let session = app.engine.reset(&caller, &id, &body.reason).await?;
    Ok(Answer(app.engine.view(session).into()))
}
