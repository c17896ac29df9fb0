//! A connector's tool, called by the gateway itself.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tidegate_connect::Failure;
use tidegate_core::{Refusal, Rule};
use tidegate_engine::AccessError;
use tidegate_store::Gate;
use utoipa::ToSchema;

use super::calls::{allowed, refused, responded};
use super::wire::{DecisionAnswer, ResponseAnswer};
use crate::auth::Known;
use crate::connect::{Call, CallError};
use crate::extract::{Json, SessionId, name};
use crate::problem::Problem;
use crate::router::Shared;

/// A call to a connector's tool.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConnectBody {
    /// Its name, such as `crm.query`; the manifest lists them.
    tool: String,
    /// Its arguments.
    #[serde(default)]
    #[schema(value_type = Object)]
    arguments: Value,
    /// Whether the result is to be withheld behind a handle.
    #[serde(default)]
    seal: bool,
}

/// A decision, and what the agent may see where the call was made.
#[derive(Serialize, ToSchema)]
pub(crate) struct ConnectAnswer {
    #[serde(flatten)]
    decision: DecisionAnswer,
    /// What the call brought; null unless it was allowed.
    response: Option<ResponseAnswer>,
}

/// Call a connector's tool: decided, fetched, and let into the session before you see it.
#[utoipa::path(post, path = "/v1/session/{id}/connect", tag = "calls", security(("token" = [])), params(("id" = String, Path, description = "The session's handle")), request_body = ConnectBody, responses(
    (status = 200, description = "The decision, and what the agent may see", body = ConnectAnswer),
    (status = "4XX", description = "What is wrong; nothing is released", body = Problem, content_type = "application/problem+json"),
    (status = "5XX", description = "The source or the session cannot be used now; nothing is released", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn call(
    State(app): Shared,
    Known(caller): Known,
    SessionId(id): SessionId,
    Json(body): Json<ConnectBody>,
) -> Result<Answer<ConnectAnswer>, Problem> {
    let tool = name("tool", &body.tool)?;
    let call = Call {
        tool: tool.clone(),
        arguments: match body.arguments {
            Value::Null => Value::Object(Map::new()),
            arguments => arguments,
        },
        seal: body.seal,
    };
    let refusal = |decision: &'static str, refusal: &Refusal, gate: Option<&Gate>| ConnectAnswer {
        decision: refused(decision, refusal, gate),
        response: None,
    };
    let answer = match app.connectors.call(&app.engine, &caller, &id, call).await {
        Ok(called) => ConnectAnswer {
            decision: allowed(called.passed.0, &called.before, called.passed.1.as_ref()),
            response: Some(responded(&tool, called.delivered)),
        },
        Err(CallError::Denied(denied)) if denied.rule() == Rule::UnknownTool => {
            return Err(Problem::unknown_tool(&denied));
        }
        Err(CallError::Denied(denied)) => refusal("deny", &denied, None),
        Err(CallError::Held(held, gate)) => refusal("hold", &held, gate.as_deref()),
        Err(CallError::Unknown) => return Err(Problem::unknown_tool(&Refusal::unknown_tool(tool))),
        Err(CallError::Access(error)) => return Err(error.into()),
        Err(CallError::Veil(error)) => return Err(AccessError::from(error).into()),
        Err(CallError::Deliver(error)) => return Err(error.into()),
        Err(CallError::Source(failure)) => return Err(failure.into()),
    };
    Ok(Answer(answer))
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        let status = match failure {
            Failure::Arguments(_) | Failure::Refused(_) | Failure::Rejected(_) | Failure::Unfinished(_) => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            Failure::Missing(_) => StatusCode::NOT_FOUND,
            Failure::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Failure::TimedOut(_) => StatusCode::GATEWAY_TIMEOUT,
        };
        let detail = format!("{failure}; {}", failure.remedy());
        Self::new(status, failure.rule(), "The source gave nothing", detail)
    }
}
