//! Stubs and handles: selecting within what is sealed, and the values for whoever carries a call to its tool.

use axum::Json as Answer;
use axum::extract::State;
use tidegate_engine::Payload;

use super::calls::answer;
use super::wire::{AuthorizeBody, HandleAnswer, ResolveAnswer, SelectBody};
use crate::auth::Known;
use crate::extract::{Json, SessionId, name};
use crate::problem::Problem;
use crate::router::Shared;

/// Select within a sealed result. What comes back is another handle, which tells nothing that the first did not.
#[utoipa::path(post, path = "/v1/session/{id}/handles/select", tag = "calls", security(("token" = [])), params(("id" = String, Path, description = "The session's handle")), request_body = SelectBody, responses(
    (status = 200, description = "A handle to what was selected", body = HandleAnswer),
    (status = "4XX", description = "What is wrong", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn select(
    State(app): Shared,
    Known(caller): Known,
    SessionId(id): SessionId,
    Json(body): Json<SelectBody>,
) -> Result<Answer<HandleAnswer>, Problem> {
    let handle = app
        .engine
        .select(&caller, &id, &body.handle, &body.pointer)
        .await?;
    Ok(Answer(HandleAnswer {
        handle: handle.token,
        class: handle.class.as_str(),
        shape: handle.shape,
    }))
}

/// Ask whether a call may pass, and for its arguments with the values of their stubs and handles in them. For connectors,
/// which carry the call to its tool: the agent must not see the answer.
#[utoipa::path(post, path = "/v1/session/{id}/resolve", tag = "calls", security(("token" = [])), params(("id" = String, Path, description = "The session's handle")), request_body = AuthorizeBody, responses(
    (status = 200, description = "The decision, and the arguments where it allows", body = ResolveAnswer),
    (status = "4XX", description = "What is wrong; nothing is allowed", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "No decision can be made; nothing is allowed", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn resolve(
    State(app): Shared,
    Known(caller): Known,
    SessionId(id): SessionId,
    Json(body): Json<AuthorizeBody>,
) -> Result<Answer<ResolveAnswer>, Problem> {
    let tool = name("tool", &body.tool)?;
    let arguments = Payload::new(body.arguments);
    let resolved = app.engine.resolve(&caller, &id, &tool, arguments).await?;
    let mut decision = answer(resolved.authorized)?;
    decision.unresolved = false;
    Ok(Answer(ResolveAnswer {
        decision,
        arguments: resolved.arguments.map(Payload::into_exposed).unwrap_or_default(),
    }))
}
