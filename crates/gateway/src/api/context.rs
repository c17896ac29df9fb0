//! Putting a context together.

use axum::Json as Answer;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use tidegate_engine::{Chunk, ChunkReport, Citation};
use tidegate_ledger::event::Origin;
use utoipa::ToSchema;

use super::wire::FindingAnswer;
use crate::auth::Known;
use crate::extract::{Json, SessionId, name};
use crate::problem::Problem;
use crate::router::Shared;

/// Chunks for a context.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContextBody {
    pub(crate) chunks: Vec<ChunkBody>,
}

/// One chunk.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChunkBody {
    /// A registered source, or a tool of the control list.
    pub(crate) source: String,
    /// agent-instruction, operator-input or task-data. Only the first is ever instruction.
    pub(crate) origin: String,
    pub(crate) text: String,
}

/// A context, ready for a model.
#[derive(Serialize, ToSchema)]
pub(crate) struct ContextAnswer {
    /// Everything that entered, each piece between marks that carry `nonce`.
    pub(crate) context: String,
    /// The number that the marks of this context carry, and no other.
    pub(crate) nonce: String,
    /// high, medium or low: lower when something was left out, looks odd or cites what is not there.
    pub(crate) confidence_band: &'static str,
    /// The highest class of what entered in the clear.
    pub(crate) class: &'static str,
    /// The session's label after it.
    pub(crate) sensitivity: &'static str,
    /// What became of each chunk, in the order they were sent.
    pub(crate) chunks: Vec<ChunkAnswer>,
}

/// What became of a chunk.
#[derive(Serialize, ToSchema)]
pub(crate) struct ChunkAnswer {
    pub(crate) source: String,
    pub(crate) origin: &'static str,
    /// admitted, redacted, quarantined or blocked.
    pub(crate) disposition: &'static str,
    /// The rule that kept it out: unregistered-source, origin-above-source or prompt-injection-detected.
    pub(crate) rule: Option<&'static str>,
    /// The class of what entered in the clear.
    pub(crate) class: Option<&'static str>,
    pub(crate) confidence_band: Option<&'static str>,
    pub(crate) findings: Vec<FindingAnswer>,
    pub(crate) citations: Vec<CitationAnswer>,
}

/// A citation in a text and what its source of record said. Offsets are bytes of the text that was sent.
#[derive(Serialize, ToSchema)]
pub(crate) struct CitationAnswer {
    /// The sort of citation, as configured.
    pub(crate) kind: String,
    /// verified, hallucinated-citation or unverified.
    pub(crate) status: &'static str,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Put a context together: sources are checked, orders in task-data quarantined, values above clearance replaced.
#[utoipa::path(post, path = "/v1/session/{id}/context", tag = "context", security(("token" = [])), params(("id" = String, Path, description = "The session's handle")), request_body = ContextBody, responses(
    (status = 200, description = "The context, after the label has risen", body = ContextAnswer),
    (status = "4XX", description = "What is wrong; nothing is released", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "The rise cannot be made durable; nothing is released", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn assemble(
    State(app): Shared,
    Known(caller): Known,
    SessionId(id): SessionId,
    Json(body): Json<ContextBody>,
) -> Result<Answer<ContextAnswer>, Problem> {
    let chunks: Result<Vec<_>, _> = body.chunks.into_iter().map(chunk).collect();
    let assembled = app.engine.assemble(&caller, &id, chunks?).await?;
    Ok(Answer(ContextAnswer {
        class: assembled.text.class().as_str(),
        context: assembled.text.into_exposed(),
        nonce: assembled.nonce,
        confidence_band: assembled.band.as_str(),
        sensitivity: assembled.session.context.label().class().as_str(),
        chunks: assembled.chunks.into_iter().map(ChunkAnswer::from).collect(),
    }))
}

fn chunk(body: ChunkBody) -> Result<Chunk, Problem> {
    let origin = Origin::ALL
        .into_iter()
        .find(|origin| origin.as_str() == body.origin);
    let unknown = || {
        let detail = "origin: expected agent-instruction, operator-input or task-data";
        Problem::unprocessable("unknown-origin", detail)
    };
    Ok(Chunk {
        source: name("source", &body.source)?,
        origin: origin.ok_or_else(unknown)?,
        text: body.text,
    })
}

impl From<ChunkReport> for ChunkAnswer {
    fn from(report: ChunkReport) -> Self {
        Self {
            source: report.source.to_string(),
            origin: report.origin.as_str(),
            disposition: report.disposition.as_str(),
            rule: report.rule,
            class: report.class.map(tidegate_core::Class::as_str),
            confidence_band: report.band.map(tidegate_engine::Band::as_str),
            findings: report.findings.into_iter().map(FindingAnswer::from).collect(),
            citations: report.citations.into_iter().map(CitationAnswer::from).collect(),
        }
    }
}

impl From<Citation> for CitationAnswer {
    fn from(citation: Citation) -> Self {
        Self {
            kind: citation.kind.to_string(),
            status: citation.outcome.as_str(),
            start: citation.span.start,
            end: citation.span.end,
        }
    }
}
