//! What the user typed, told by whoever takes it from them.

use axum::Json as Answer;
use axum::extract::State;
use tidegate_core::Class;

use super::wire::{OperatorInputAnswer, OperatorInputBody};
use crate::auth::Known;
use crate::extract::{Json, SessionId};
use crate::problem::Problem;
use crate::router::Shared;

/// Say what the user typed, so that the values in it are known as theirs. An agent's own token may not.
#[utoipa::path(post, path = "/v1/session/{id}/operator-input", tag = "calls", security(("token" = [])), params(("id" = String, Path, description = "The session's handle")), request_body = OperatorInputBody, responses(
    (status = 200, description = "It is known, durably", body = OperatorInputAnswer),
    (status = "4XX", description = "What is wrong; nothing is known", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "It cannot be made durable; nothing is known", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn input(
    State(app): Shared,
    Known(caller): Known,
    SessionId(id): SessionId,
    Json(body): Json<OperatorInputBody>,
) -> Result<Answer<OperatorInputAnswer>, Problem> {
    let class = body.sensitivity.map(|text| text.parse::<Class>()).transpose();
    let class =
        class.map_err(|why| Problem::unprocessable("unknown-class", format!("sensitivity: {why}")))?;
    app.engine.operator_input(&caller, &id, body.text, class).await?;
    Ok(Answer(OperatorInputAnswer { known: true }))
}
