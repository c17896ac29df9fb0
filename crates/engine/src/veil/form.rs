//! The shapes in which results come, and where in them the data lies.
//!
//! Over MCP a result is an envelope: structured content, text blocks that often repeat it as JSON, embedded resources.
//! Texts that are JSON are opened, so that a field is a field wherever it stands, and closed again when all is done.

use serde_json::{Map, Value, json};

use super::split::{Splitter, escaped};

/// The shape in which content comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Any JSON, or text: all of it is the result.
    Plain,
    /// The result of an MCP request.
    McpResult,
    /// The error of an MCP request.
    McpError,
    /// That a call gave nothing. Whoever made it sees that in any case, so it counts and cannot be sealed.
    Failure,
    /// What a server says or asks beside its answers.
    Notice,
    /// What a server asks the person: they see personal data that they are asked about, though the label rises by it.
    Question,
}

/// Members of MCP envelopes that say what something is, and never what it holds.
const ENVELOPE: [&str; 14] = [
    "type",
    "isError",
    "resultType",
    "mimeType",
    "role",
    "taskId",
    "status",
    "createdAt",
    "lastUpdatedAt",
    "ttl",
    "pollInterval",
    "nextCursor",
    "ttlMs",
    "cacheScope",
];
const LONGEST_ENVELOPE_TEXT: usize = 200;

/// A text that was opened: where it stands, and whether it was written over several lines.
pub(super) struct Opened {
    pointer: String,
    is_pretty: bool,
}

/// Opens the texts that are JSON.
pub(super) fn open(form: Form, value: &mut Value) -> Vec<Opened> {
    let mut opened = Vec::new();
    for pointer in bodies(form, value) {
        let Some(body) = value.pointer_mut(&pointer) else {
            continue;
        };
        let document = body.as_str().and_then(as_document);
        if let (Some(document), Some(text)) = (document, body.as_str()) {
            let is_pretty = text.trim().contains('\n');
            *body = document;
            opened.push(Opened { pointer, is_pretty });
        }
    }
    opened
}

fn as_document(text: &str) -> Option<Value> {
    let is_likely = text.trim_start().starts_with(['{', '[']);
    is_likely.then(|| serde_json::from_str(text).ok()).flatten()
}

/// Where the texts of a result stand.
fn bodies(form: Form, value: &Value) -> Vec<String> {
    match form {
        Form::Plain => vec![String::new()],
        Form::McpError | Form::Failure | Form::Notice | Form::Question => Vec::new(),
        Form::McpResult => {
            let mut bodies = Vec::new();
            for list in ["content", "contents", "messages"] {
                let blocks = value.get(list).and_then(Value::as_array);
                for (index, block) in blocks.into_iter().flatten().enumerate() {
                    for inner in [
                        "/text",
                        "/resource/text",
                        "/content/text",
                        "/content/resource/text",
                    ] {
                        if block.pointer(inner).is_some_and(Value::is_string) {
                            bodies.push(format!("/{list}/{index}{inner}"));
                        }
                    }
                }
            }
            bodies
        }
    }
}

/// Writes what was opened as text again.
pub(super) fn close(opened: &[Opened], value: &mut Value) {
    for Opened { pointer, is_pretty } in opened {
        let Some(body) = value.pointer_mut(pointer) else {
            continue;
        };
        if body.is_string() {
            continue;
        }
        let text = match is_pretty {
            true => serde_json::to_string_pretty(body).unwrap_or_default(),
            false => body.to_string(),
        };
        *body = Value::String(text);
    }
}

/// Splits a result of this shape, after its texts were opened.
pub(super) fn split(form: Form, value: Value, splitter: &mut Splitter<'_>) -> Value {
    match (form, value) {
        (Form::McpResult, Value::Object(members)) => envelope(members, splitter),
        (Form::McpError, Value::Object(members)) => {
            let members = members.into_iter().map(|(name, value)| match name.as_str() {
                "code" if value.is_i64() => (name, value),
                _ => (name, splitter.document(value)),
            });
            Value::Object(members.collect())
        }
        (_, value) => splitter.document(value),
    }
}

fn envelope(members: Map<String, Value>, splitter: &mut Splitter<'_>) -> Value {
    let members = members.into_iter().map(|(name, value)| {
        let value = match (name.as_str(), value) {
            ("content" | "contents" | "messages", Value::Array(blocks)) => blocks
                .into_iter()
                .map(|block| block_of(block, splitter))
                .collect(),
            ("content" | "resource" | "task" | "_meta" | "annotations", Value::Object(inner)) => {
                envelope(inner, splitter)
            }
            (name, value) if says_what_it_is(name, &value) => escaped(value),
            (_, value) => splitter.document(value),
        };
        (name, value)
    });
    Value::Object(members.collect())
}

fn block_of(block: Value, splitter: &mut Splitter<'_>) -> Value {
    match block {
        Value::Object(members) => envelope(members, splitter),
        other => splitter.document(other),
    }
}

fn says_what_it_is(name: &str, value: &Value) -> bool {
    ENVELOPE.contains(&name)
        && match value {
            Value::String(text) => text.len() <= LONGEST_ENVELOPE_TEXT,
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
            Value::Array(_) | Value::Object(_) => false,
        }
}

/// What a result says, without its envelope: what a handle to it stands for.
pub(super) fn essence(form: Form, mut value: Value) -> Value {
    if form == Form::McpResult {
        if let Some(structured) = value.get_mut("structuredContent") {
            return structured.take();
        }
        open(form, &mut value);
        let blocks = value.get_mut("content").and_then(Value::as_array_mut);
        if let Some(blocks) = blocks {
            let mut texts: Vec<Value> = Vec::new();
            for block in blocks.iter_mut() {
                match block.get_mut("text") {
                    Some(text) => texts.push(text.take()),
                    None => return value,
                }
            }
            return match texts.len() {
                1 => texts.pop().unwrap_or_default(),
                _ => Value::Array(texts),
            };
        }
        return value;
    }
    open(form, &mut value);
    value
}

/// What of an envelope is shown beside a handle: whether the call failed, which whoever made it knows.
pub(super) fn frame(value: &Value) -> Value {
    json!({
        "isError": value.get("isError").filter(|failed| failed.is_boolean()),
        "code": value.get("code").filter(|code| code.is_i64()),
    })
}

/// What the agent gets in place of a sealed result.
pub(super) fn present(form: Form, frame: &Value, handle: Value) -> Value {
    match form {
        Form::Plain | Form::Failure | Form::Notice | Form::Question => handle,
        Form::McpResult => {
            let mut result = json!({
                "content": [{"type": "text", "text": handle.to_string()}],
                "structuredContent": handle,
            });
            if let (Some(failed), Some(members)) = (frame.get("isError"), result.as_object_mut())
                && failed.is_boolean()
            {
                members.insert("isError".to_owned(), failed.clone());
            }
            result
        }
        Form::McpError => {
            let code = frame.get("code").and_then(Value::as_i64).unwrap_or(-32_000);
            json!({"code": code, "message": "the call failed; what the server says of it is sealed", "data": handle})
        }
    }
}
