//! Notes as tools of the gateway's own: the same two use cases as on the HTTP API.

use serde_json::{Value, json};

use super::object::Object;
use super::session::Session;
use crate::api::runs::{NoteBody, RecallAnswer, RecallBody};

pub(super) const NOTE: &str = "tidegate_note";
pub(super) const RECALL: &str = "tidegate_recall";

/// Both tools.
pub(super) fn tools() -> [Object; 2] {
    let memory = json!({
        "type": "string",
        "enum": ["scratchpad", "memory"],
        "default": "scratchpad",
        "description": "scratchpad: for this run, destroyed when it ends; memory: from run to run",
    });
    let note = Object::default()
        .with("name", NOTE)
        .with("title", "Take a note")
        .with(
            "description",
            "Keeps a text under a key, for this run or from run to run. The memory refuses what this session's label is too \
             high for.",
        )
        .with(
            "inputSchema",
            json!({
                "type": "object",
                "properties": {"key": {"type": "string"}, "text": {"type": "string"}, "memory": memory},
                "required": ["key", "text"],
            }),
        )
        .with("annotations", json!({"readOnlyHint": false, "openWorldHint": false, "idempotentHint": true}));
    let recall = Object::default()
        .with("name", RECALL)
        .with("title", "Read notes")
        .with(
            "description",
            "Reads the note of a key, or all notes. Reading raises this session's label to everything that is kept in the \
             same place.",
        )
        .with(
            "inputSchema",
            json!({
                "type": "object",
                "properties": {"key": {"type": "string"}, "memory": memory},
            }),
        )
        .with("annotations", json!({"readOnlyHint": false, "openWorldHint": false, "idempotentHint": true}));
    [note, recall]
}

pub(super) async fn note(session: &Session, arguments: Value) -> Result<Value, String> {
    let shape = "a note needs a key and a text, and may name scratchpad or memory";
    let body: NoteBody = serde_json::from_value(arguments).map_err(|_| shape.to_owned())?;
    let noted = session
        .engine()
        .note(
            &session.caller,
            &session.id,
            body.memory.into(),
            &body.key,
            body.text,
        )
        .await;
    let noted = noted.map_err(|error| error.to_string())?;
    Ok(json!({"class": noted.class.as_str()}))
}

pub(super) async fn recall(session: &Session, arguments: Value) -> Result<Value, String> {
    let shape = "notes are read by key or all together, from scratchpad or memory";
    let arguments = if arguments.is_null() { json!({}) } else { arguments };
    let body: RecallBody = serde_json::from_value(arguments).map_err(|_| shape.to_owned())?;
    let recalled = session
        .engine()
        .recall(
            &session.caller,
            &session.id,
            body.memory.into(),
            body.key.as_deref(),
        )
        .await;
    let recalled = recalled.map_err(|error| error.to_string())?;
    session.tell_label(&recalled.session, None).await;
    serde_json::to_value(RecallAnswer::from(recalled)).map_err(|_| "the notes cannot be written".to_owned())
}
