//! Before a call and after it: authorize, and the tool's response.

use axum::Json as Answer;
use axum::extract::State;
use tidegate_core::{Decision, Refusal, Rule};
use tidegate_engine::{Authorized, Payload};

use super::wire::{AuthorizeBody, DecisionAnswer, ResponseAnswer, ResponseBody};
use crate::auth::Known;
use crate::extract::{Json, SessionId, name};
use crate::problem::Problem;
use crate::router::Shared;

/// Ask whether a call may pass, before it is made.
#[utoipa::path(post, path = "/v1/session/{id}/authorize", tag = "calls", security(("token" = [])), params(("id" = String, Path, description = "The session's handle")), request_body = AuthorizeBody, responses(
    (status = 200, description = "The decision", body = DecisionAnswer),
    (status = "4XX", description = "What is wrong; nothing is allowed", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "No decision can be made; nothing is allowed", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn authorize(
    State(app): Shared,
    Known(caller): Known,
    SessionId(id): SessionId,
    Json(body): Json<AuthorizeBody>,
) -> Result<Answer<DecisionAnswer>, Problem> {
    let tool = name("tool", &body.tool)?;
    let arguments = Payload::new(body.arguments);
    let authorized = app.engine.authorize(&caller, &id, &tool, &arguments).await?;
    answer(authorized).map(Answer)
}

fn answer(authorized: Authorized) -> Result<DecisionAnswer, Problem> {
    match authorized.decision {
        Decision::Allow(_) => Ok(DecisionAnswer {
            decision: "allow",
            allowed: true,
            rule: "within-ceiling",
            reason: format!(
                "the session's label {} is within the tool's ceiling",
                authorized.session.context.label().class()
            ),
            remedy: None,
            retryable: false,
            gate_id: None,
        }),
        Decision::Deny(refusal) if refusal.rule() == Rule::UnknownTool => {
            Err(Problem::unknown_tool(&refusal))
        }
        Decision::Deny(refusal) => Ok(refused("deny", &refusal)),
        Decision::Hold(refusal) => Ok(refused("hold", &refusal)),
    }
}

fn refused(decision: &'static str, refusal: &Refusal) -> DecisionAnswer {
    DecisionAnswer {
        decision,
        allowed: false,
        rule: refusal.rule().as_str(),
        reason: refusal.reason(),
        remedy: Some(refusal.remedy()),
        retryable: refusal.retryable(),
        gate_id: None,
    }
}

/// Bring a tool's response into the session. What comes back is what the agent may see, after the label has risen.
#[utoipa::path(post, path = "/v1/session/{id}/responses", tag = "calls", security(("token" = [])), params(("id" = String, Path, description = "The session's handle")), request_body = ResponseBody, responses(
    (status = 200, description = "What the agent may see", body = ResponseAnswer),
    (status = "4XX", description = "What is wrong; nothing is released", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "The rise cannot be made durable; nothing is released", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn respond(
    State(app): Shared,
    Known(caller): Known,
    SessionId(id): SessionId,
    Json(body): Json<ResponseBody>,
) -> Result<Answer<ResponseAnswer>, Problem> {
    let tool = name("tool", &body.tool)?;
    let delivered = app
        .engine
        .deliver(&caller, &id, &tool, Payload::new(body.content))
        .await?;
    let context = &delivered.session.context;
    Ok(Answer(ResponseAnswer {
        class: delivered.class.as_str(),
        sensitivity: context.label().class().as_str(),
        findings: Vec::new(),
        halted: context.halted().is_some(),
        content: delivered.content.into_exposed(),
    }))
}
