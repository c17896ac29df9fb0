//! Telling an agent beforehand.

use axum::Json as Answer;
use axum::extract::State;
use tidegate_core::{Name, PlanReport, PlannedCall};

use super::wire::{
    ManifestAnswer, PlanAnswer, PlanBody, PlannedCallBody, PlannedCallObject, ProposalAnswer, ViolationAnswer,
};
use crate::auth::Known;
use crate::extract::{Json, SessionId};
use crate::problem::Problem;
use crate::router::Shared;

/// Every tool with its mark, its class and ceiling, and what calling it would close, from the session's state now.
#[utoipa::path(get, path = "/v1/session/{id}/manifest", tag = "planning", security(("token" = [])), params(("id" = String, Path, description = "The session's handle")), responses(
    (status = 200, description = "The manifest", body = ManifestAnswer),
    (status = "4XX", description = "What is wrong", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn manifest(
    State(app): Shared,
    Known(caller): Known,
    SessionId(id): SessionId,
) -> Result<Answer<ManifestAnswer>, Problem> {
    let manifest = app.engine.manifest(&caller, &id).await?;
    Ok(Answer(ManifestAnswer::new(id.as_str(), manifest)))
}

/// Check a plan before any of it runs: what would not pass, and an order in which everything does.
#[utoipa::path(post, path = "/v1/session/{id}/validate-plan", tag = "planning", security(("token" = [])), params(("id" = String, Path, description = "The session's handle")), request_body = PlanBody, responses(
    (status = 200, description = "What is to be said of the plan", body = PlanAnswer),
    (status = "4XX", description = "What is wrong", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn validate(
    State(app): Shared,
    Known(caller): Known,
    SessionId(id): SessionId,
    Json(body): Json<PlanBody>,
) -> Result<Answer<PlanAnswer>, Problem> {
    let most = app.limits.plan_calls;
    if body.planned_calls.len() > most {
        return Err(Problem::unprocessable(
            "plan-too-long",
            format!("a plan has at most {most} calls"),
        ));
    }
    let calls = planned_calls(body.planned_calls)?;
    let report = app.engine.validate_plan(&caller, &id, &calls).await?;
    Ok(Answer(answer(&calls, report)))
}

/// Reads every call, so that all bad names are told at once.
pub(crate) fn planned_calls(bodies: Vec<PlannedCallBody>) -> Result<Vec<PlannedCall>, Problem> {
    let (mut calls, mut errors) = (Vec::with_capacity(bodies.len()), Vec::new());
    for (step, body) in bodies.into_iter().enumerate() {
        let (tool, after) = match body {
            PlannedCallBody::Name(tool) => (tool, Vec::new()),
            PlannedCallBody::Call(PlannedCallObject { tool, after }) => (tool, after),
        };
        match Name::parse(&tool) {
            Ok(tool) => calls.push(PlannedCall { tool, after }),
            Err(why) => errors.push(format!("planned_calls[{step}]: {why}")),
        }
    }
    if errors.is_empty() {
        return Ok(calls);
    }
    Err(Problem::bad_request("bad-name", "some calls of the plan have no valid name").with_errors(errors))
}

pub(crate) fn answer(calls: &[PlannedCall], report: PlanReport) -> PlanAnswer {
    let tool = |step: &usize| calls.get(*step).map(|call| call.tool.to_string());
    PlanAnswer {
        valid: report.is_valid(),
        safe_ordering: report
            .safe_ordering
            .as_ref()
            .map(|steps| steps.iter().filter_map(tool).collect()),
        safe_steps: report.safe_ordering,
        proposals: report
            .proposals
            .into_iter()
            .map(|proposal| ProposalAnswer {
                at_step: proposal.at_step,
                tool: proposal.tool.to_string(),
                way: proposal.way.as_str(),
            })
            .collect(),
        violations: report
            .violations
            .into_iter()
            .map(|violation| ViolationAnswer {
                at_step: violation.at_step,
                tool: violation.tool.to_string(),
                reason: violation.reason,
                suggestion: violation.suggestion,
            })
            .collect(),
    }
}
