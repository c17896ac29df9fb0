//! Notes, the answers of child sessions, and the end of a run.

use axum::Json as Answer;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tidegate_engine::{self as engine, Memory, Recalled};
use utoipa::ToSchema;

use super::wire::StateAnswer;
use crate::auth::Known;
use crate::extract::{Json, SessionId};
use crate::problem::Problem;
use crate::router::Shared;

/// Where a note is kept.
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MemoryName {
    /// For the run: destroyed when it ends.
    #[default]
    Scratchpad,
    /// From run to run of one agent of one user.
    Memory,
}

impl From<MemoryName> for Memory {
    fn from(name: MemoryName) -> Self {
        match name {
            MemoryName::Scratchpad => Self::Scratchpad,
            MemoryName::Memory => Self::Agent,
        }
    }
}

/// A note to take.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoteBody {
    /// What it is called; a note of the same name is written over.
    pub(crate) key: String,
    pub(crate) text: String,
    /// scratchpad (for this run) or memory (from run to run).
    #[serde(default)]
    pub(crate) memory: MemoryName,
}

/// What a note counts as.
#[derive(Serialize, ToSchema)]
pub(crate) struct NotedAnswer {
    pub(crate) class: &'static str,
}

/// Notes to read.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecallBody {
    /// Which; all when it is left out.
    pub(crate) key: Option<String>,
    /// scratchpad (of this run) or memory (from run to run).
    #[serde(default)]
    pub(crate) memory: MemoryName,
}

/// Notes, after the label has risen to all that is kept beside them.
#[derive(Serialize, ToSchema)]
pub(crate) struct RecallAnswer {
    pub(crate) notes: Vec<NoteAnswer>,
    /// How many were left out because they give orders.
    pub(crate) quarantined: usize,
    /// The session's label after it.
    pub(crate) sensitivity: &'static str,
}

/// One note.
#[derive(Serialize, ToSchema)]
pub(crate) struct NoteAnswer {
    pub(crate) key: String,
    pub(crate) text: String,
    pub(crate) class: &'static str,
}

impl From<Recalled> for RecallAnswer {
    fn from(recalled: Recalled) -> Self {
        let notes = recalled.notes.into_iter().map(|note| NoteAnswer {
            key: note.key,
            text: note.text,
            class: note.class.as_str(),
        });
        Self {
            notes: notes.collect(),
            quarantined: recalled.quarantined,
            sensitivity: recalled.session.context.label().class().as_str(),
        }
    }
}

/// Take a note, for this run or from run to run.
#[utoipa::path(post, path = "/v1/session/{id}/notes", tag = "context", security(("token" = [])), params(("id" = String, Path, description = "The session's handle")), request_body = NoteBody, responses(
    (status = 200, description = "What it counts as", body = NotedAnswer),
    (status = "4XX", description = "What is wrong; nothing is kept", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn note(
    State(app): Shared,
    Known(caller): Known,
    SessionId(id): SessionId,
    Json(body): Json<NoteBody>,
) -> Result<Answer<NotedAnswer>, Problem> {
    let noted = app
        .engine
        .note(&caller, &id, body.memory.into(), &body.key, body.text)
        .await?;
    Ok(Answer(NotedAnswer {
        class: noted.class.as_str(),
    }))
}

/// Read notes. The label rises to everything that is kept in the same place.
#[utoipa::path(post, path = "/v1/session/{id}/recall", tag = "context", security(("token" = [])), params(("id" = String, Path, description = "The session's handle")), request_body = RecallBody, responses(
    (status = 200, description = "The notes", body = RecallAnswer),
    (status = "4XX", description = "What is wrong; nothing is shown", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn recall(
    State(app): Shared,
    Known(caller): Known,
    SessionId(id): SessionId,
    Json(body): Json<RecallBody>,
) -> Result<Answer<RecallAnswer>, Problem> {
    let recalled = app
        .engine
        .recall(&caller, &id, body.memory.into(), body.key.as_deref())
        .await?;
    Ok(Answer(recalled.into()))
}

/// End a run and the runs it started. Nothing passes in them any more, and their scratchpads are destroyed.
#[utoipa::path(post, path = "/v1/session/{id}/end", tag = "sessions", security(("token" = [])), params(("id" = String, Path, description = "The session's handle")), responses(
    (status = 200, description = "The state after it", body = StateAnswer),
    (status = "4XX", description = "What is wrong", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn end(
    State(app): Shared,
    Known(caller): Known,
    SessionId(id): SessionId,
) -> Result<Answer<StateAnswer>, Problem> {
    let session = app.engine.end_session(&caller, &id).await?;
    Ok(Answer(app.engine.view(session).await?.into()))
}

/// What a child session hands to its parent: the declared values, or text.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReturnBody {
    /// The values that were declared when the child was opened, all of them and nothing else.
    #[schema(value_type = Option<Object>)]
    pub(crate) values: Option<Map<String, Value>>,
    /// Anything; it raises the parent's label to the child's.
    pub(crate) text: Option<String>,
}

/// A child's answer, as its parent may have it. The child has ended.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReturnAnswer {
    /// The parent's handle.
    pub(crate) parent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) values: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// The parent's label after it.
    pub(crate) sensitivity: &'static str,
    /// The bits that passed below the child's label.
    pub(crate) released_bits: u32,
    /// The bits that have passed so in the whole tree of the parent.
    pub(crate) run_bits: u32,
}

/// Hand a child session's answer to its parent, once, and end the child.
#[utoipa::path(post, path = "/v1/session/{id}/return", tag = "sessions", security(("token" = [])), params(("id" = String, Path, description = "The child's handle")), request_body = ReturnBody, responses(
    (status = 200, description = "What the parent may have", body = ReturnAnswer),
    (status = "4XX", description = "What is wrong; nothing is handed over", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn hand_back(
    State(app): Shared,
    Known(caller): Known,
    SessionId(id): SessionId,
    Json(body): Json<ReturnBody>,
) -> Result<Answer<ReturnAnswer>, Problem> {
    let answer = match (body.values, body.text) {
        (Some(values), None) => engine::Answer::Values(values),
        (None, Some(text)) => engine::Answer::Text(text),
        (Some(_), Some(_)) | (None, None) => {
            let detail = "an answer is either values or text";
            return Err(Problem::unprocessable("wrong-shape", detail));
        }
    };
    let returned = app.engine.answer_parent(&caller, &id, answer).await?;
    let (values, text) = match returned.answer.into_exposed() {
        Value::String(text) => (None, Some(text)),
        values => (Some(values), None),
    };
    Ok(Answer(ReturnAnswer {
        parent: returned.parent.id.to_string(),
        values,
        text,
        sensitivity: returned.parent.context.label().class().as_str(),
        released_bits: returned.released_bits,
        run_bits: returned.run_bits,
    }))
}
