//! What the gateway itself offers to an agent: what it may know before it plans, the check of a plan, and where its
//! session stands.

use serde_json::{Value, json};

use super::notes;
use super::object::Object;
use super::session::{Session, Stopped};
use crate::api::plan::{answer, planned_calls};
use crate::api::wire::{ManifestAnswer, PlanBody, StateAnswer};

/// The address of the session's state.
pub(crate) const SESSION_URI: &str = "tidegate://session";

const MANIFEST: &str = "tidegate_manifest";
const VALIDATE_PLAN: &str = "tidegate_validate_plan";
const SELECT: &str = "tidegate_select";

/// The most calls in a plan.
const MOST_CALLS: usize = 256;

/// Who the gateway is.
pub(crate) fn info() -> Value {
    json!({"name": "tidegate", "title": "Tidegate", "version": env!("CARGO_PKG_VERSION")})
}

/// Whether a tool is the gateway's own.
pub(crate) fn is_own(name: &str) -> bool {
    matches!(
        name,
        MANIFEST | VALIDATE_PLAN | SELECT | notes::NOTE | notes::RECALL
    )
}

/// The gateway's own tools.
pub(crate) fn tools() -> [Object; 5] {
    let quiet = json!({"readOnlyHint": true, "openWorldHint": false, "idempotentHint": true});
    let manifest = Object::default()
        .with("name", MANIFEST)
        .with("title", "What this session may do")
        .with(
            "description",
            "Lists every tool with its class, its ceiling and what calling it would close, from this session's \
             state now. Ask before you plan.",
        )
        .with("inputSchema", json!({"type": "object", "properties": {}}))
        .with("annotations", &quiet);
    let step = json!({
        "anyOf": [
            {"type": "string", "description": "a tool's name"},
            {
                "type": "object",
                "properties": {
                    "tool": {"type": "string"},
                    "after": {
                        "type": "array",
                        "items": {"type": "integer", "minimum": 0},
                        "description": "the steps, counted from zero, whose results this call needs",
                    },
                },
                "required": ["tool"],
            },
        ],
    });
    let validate = Object::default()
        .with("name", VALIDATE_PLAN)
        .with("title", "Check a plan")
        .with(
            "description",
            "Checks planned tool calls before any of them runs: which would be blocked and why, and an order in which \
             all of them pass, if there is one.",
        )
        .with(
            "inputSchema",
            json!({
                "type": "object",
                "properties": {
                    "planned_calls": {"type": "array", "maxItems": MOST_CALLS, "items": step},
                },
                "required": ["planned_calls"],
            }),
        )
        .with("annotations", &quiet);
    let [note, recall] = notes::tools();
    [manifest, validate, select_tool(&quiet), note, recall]
}

fn select_tool(annotations: &Value) -> Object {
    Object::default()
        .with("name", SELECT)
        .with("title", "Select within a sealed result")
        .with(
            "description",
            "Gives a handle to a part of a sealed result, by JSON pointer. Pass handles to tools that are authorized \
             sinks; what is behind them is put in there and nowhere else.",
        )
        .with(
            "inputSchema",
            json!({
                "type": "object",
                "properties": {
                    "handle": {"type": "string", "description": "the handle as it was given"},
                    "pointer": {"type": "string", "description": "for example /guests/0/email"},
                },
                "required": ["handle", "pointer"],
            }),
        )
        .with("annotations", annotations)
}

/// Calls one of the gateway's own tools.
pub(crate) async fn call(session: &Session, name: &str, arguments: Value) -> Value {
    let outcome = match name {
        MANIFEST => manifest(session).await,
        notes::NOTE => notes::note(session, arguments).await,
        notes::RECALL => notes::recall(session, arguments).await,
        SELECT => select(session, arguments).await,
        _ => validate(session, arguments).await,
    };
    match outcome {
        Ok(structured) => json!({
            "content": [{"type": "text", "text": structured.to_string()}],
            "structuredContent": structured,
        }),
        Err(reason) => json!({"content": [{"type": "text", "text": reason}], "isError": true}),
    }
}

async fn manifest(session: &Session) -> Result<Value, String> {
    let manifest = session.engine().manifest(&session.caller, &session.id).await;
    let manifest = manifest.map_err(|error| error.to_string())?;
    let answer = ManifestAnswer::new(session.id.as_str(), manifest);
    serde_json::to_value(answer).map_err(|_| "the manifest cannot be written".to_owned())
}

async fn select(session: &Session, arguments: Value) -> Result<Value, String> {
    let text = |name| arguments.get(name).and_then(Value::as_str);
    let (Some(handle), Some(pointer)) = (text("handle"), text("pointer")) else {
        return Err("a handle and a pointer are needed, both as text".to_owned());
    };
    let selected = session
        .engine()
        .select(&session.caller, &session.id, handle, pointer)
        .await;
    selected
        .map(|handle| handle.to_json())
        .map_err(|error| error.to_string())
}

async fn validate(session: &Session, arguments: Value) -> Result<Value, String> {
    let shape =
        "planned_calls must be a list of names, or of objects with a tool and the steps it comes after";
    let body: PlanBody = serde_json::from_value(arguments).map_err(|_| shape.to_owned())?;
    if body.planned_calls.len() > MOST_CALLS {
        return Err(format!("a plan has at most {MOST_CALLS} calls"));
    }
    let calls = planned_calls(body.planned_calls).map_err(|_| shape.to_owned())?;
    let report = session
        .engine()
        .validate_plan(&session.caller, &session.id, &calls)
        .await;
    let report = report.map_err(|error| error.to_string())?;
    serde_json::to_value(answer(&calls, report)).map_err(|_| "the report cannot be written".to_owned())
}

/// The session's state as an entry of a list of resources.
pub(crate) fn session_resource_entry() -> Object {
    Object::default()
        .with("uri", SESSION_URI)
        .with("name", "session")
        .with("title", "This session's label and what it closes")
        .with("mimeType", "application/json")
}

/// The session's state.
pub(crate) async fn session_resource(session: &Session) -> Result<Value, Stopped> {
    let view = session.engine().context(&session.caller, &session.id).await?;
    let state = serde_json::to_string(&StateAnswer::from(view)).unwrap_or_default();
    Ok(json!({
        "contents": [{"uri": SESSION_URI, "mimeType": "application/json", "text": state}],
    }))
}
