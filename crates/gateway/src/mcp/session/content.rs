//! What a message says to a server: everything in it that is sent on, for one inspection.
//!
//! Left out is only what the gateway reads itself and has found to be what the protocol says it is, since that holds no
//! words: a tool's name that was resolved, a task that is known, a counter for progress. The same member with anything
//! else in it is content.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::stopped::Stopped;
use super::{Session, veil};
use crate::mcp::message::Envelope;
use crate::mcp::object::Object;
use crate::mcp::outlet::LogLevel;
use crate::mcp::{era, strict};

/// What stands beside the arguments is called this among them, and longer where an argument has that name.
const BESIDE: &str = "_beside";

/// The arguments of a call that goes no further than the gateway.
pub(super) fn arguments_of(params: &Object) -> Result<Value, Stopped> {
    let arguments = params.get("arguments").map(strict::read).transpose()?;
    Ok(arguments.unwrap_or_default())
}

impl Session {
    /// What a request says to its server. The arguments of a call stay where the rules look for them, whatever stands
    /// beside them.
    pub(super) fn content_of(&self, server: usize, request: &Envelope) -> Result<Value, Stopped> {
        if request.method() != "tools/call" {
            return self.words_of(server, request, &[]).map(Value::Object);
        }
        let arguments = arguments_of(&request.params())?;
        let words = self.words_of(server, request, &["name", "arguments"])?;
        Ok(if words.is_empty() {
            arguments
        } else {
            joined(arguments, words)
        })
    }

    /// What a request or a notification says that the gateway does not know: then its method is the client's words too.
    pub(super) fn content_of_unknown(&self, server: usize, message: &Envelope) -> Result<Value, Stopped> {
        let words = self.words_of(server, message, &[])?;
        let method = Map::from_iter([("method".to_owned(), Value::from(message.method()))]);
        Ok(joined(Value::Object(words), method))
    }

    /// Whether a message says nothing but what the protocol says.
    pub(super) fn is_wordless(&self, server: usize, message: &Envelope) -> bool {
        let is_wordless =
            |(name, value)| name == "_meta" && matches!(self.words_in_meta(server, value), Ok(None));
        message.params().members().all(is_wordless)
    }

    fn words_of(
        &self,
        server: usize,
        message: &Envelope,
        taken: &[&str],
    ) -> Result<Map<String, Value>, Stopped> {
        let params = message.params();
        let mut words = Map::new();
        for (name, value) in params.members().filter(|(name, _)| !taken.contains(name)) {
            let value = match name {
                "_meta" => self.words_in_meta(server, value)?,
                _ => Some(strict::read(value)?),
            };
            if let Some(value) = value.filter(|value| !self.is_read(message.method(), name, value)) {
                words.insert(name.to_owned(), value);
            }
        }
        with_beside(words, &message.beside())
    }

    /// Whether a member of a request's parameters is one that the gateway has read.
    fn is_read(&self, method: &str, name: &str, value: &Value) -> bool {
        match name {
            "task" if method == "tools/call" => is_task_wish(value),
            "taskId" if method.starts_with("tasks/") => self.is_known_task(value),
            _ => false,
        }
    }

    /// What a request says in its `_meta`, without what the protocol says there.
    fn words_in_meta(&self, server: usize, meta: &RawValue) -> Result<Option<Value>, Stopped> {
        let Value::Object(mut meta) = strict::read(meta)? else {
            return Ok(Some(strict::read(meta)?));
        };
        meta.retain(|key, value| !self.is_protocols(server, key, value));
        Ok((!meta.is_empty()).then_some(Value::Object(meta)))
    }

    fn is_protocols(&self, server: usize, key: &str, value: &Value) -> bool {
        let text = value.as_str().unwrap_or_default();
        match key {
            "progressToken" => is_counter(value) || is_uuid(text),
            "traceparent" => is_trace(text),
            era::VERSION_KEY => text == era::STATELESS || era::WITH_GREETING.contains(&text),
            era::CAPABILITIES_KEY => self.is_told(server, "capabilities", value),
            era::INFO_KEY => self.is_told(server, "clientInfo", value),
            era::LOG_LEVEL_KEY => LogLevel::named(text).is_some(),
            era::RELATED_TASK_KEY => {
                let members = value.as_object().filter(|members| members.len() == 1);
                let task = members.and_then(|members| members.get("taskId"));
                task.is_some_and(|task| self.is_known_task(task))
            }
            veil::SEAL_KEY => value.is_boolean(),
            // Marks that editors put on every call, another on each.
            "vscode.conversationId" | "vscode.requestId" => is_uuid(text),
            "claudecode/toolUseId" => is_tool_use(text),
            _ => false,
        }
    }

    fn is_known_task(&self, id: &Value) -> bool {
        id.as_str().is_some_and(|id| self.task(id).is_some())
    }
}

/// What a client answers a server.
pub(super) fn content_of_answer(answer: &Envelope) -> Result<Value, Stopped> {
    let content = answer.result().or_else(|| answer.error());
    let content = content.map(strict::read).transpose()?.unwrap_or_default();
    let beside = with_beside(Map::new(), &answer.beside())?;
    Ok(if beside.is_empty() {
        content
    } else {
        joined(content, beside)
    })
}

/// The words with the members of a message that the protocol does not know.
fn with_beside(mut words: Map<String, Value>, beside: &Object) -> Result<Map<String, Value>, Stopped> {
    if beside.is_empty() {
        return Ok(words);
    }
    words.insert(free_name(&words), strict::read(&beside.to_raw())?);
    Ok(words)
}

/// One value of content and what stands beside it. An object keeps its members where they are.
fn joined(content: Value, beside: Map<String, Value>) -> Value {
    let mut members = match content {
        Value::Object(members) => members,
        Value::Null => Map::new(),
        content => Map::from_iter([("arguments".to_owned(), content)]),
    };
    members.insert(free_name(&members), Value::Object(beside));
    Value::Object(members)
}

fn free_name(members: &Map<String, Value>) -> String {
    let mut name = BESIDE.to_owned();
    while members.contains_key(&name) {
        name.push('_');
    }
    name
}

/// A call that wants to be a task says how long the task is to be kept, and nothing else.
fn is_task_wish(value: &Value) -> bool {
    let is_ttl = |(name, ttl): (&String, &Value)| name == "ttl" && is_counter(ttl);
    value.as_object().is_some_and(|wish| wish.iter().all(is_ttl))
}

/// A number that counts something: none that is longer than a count.
fn is_counter(value: &Value) -> bool {
    value.as_u64().is_some_and(|count| u32::try_from(count).is_ok())
}

/// Random digits, in groups or not.
fn is_uuid(text: &str) -> bool {
    let groups = text.split('-').map(str::len);
    let is_grouped = groups.clone().eq([8, 4, 4, 4, 12]) || groups.eq([32]);
    is_grouped && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// Where a call belongs in a trace, in the words of W3C: version, trace, span, flags.
fn is_trace(text: &str) -> bool {
    let groups = text.split('-').map(str::len);
    let is_digit = |byte| matches!(byte, b'-' | b'0'..=b'9' | b'a'..=b'f');
    groups.eq([2, 32, 16, 2]) && text.bytes().all(is_digit)
}

fn is_tool_use(text: &str) -> bool {
    let digits = text.strip_prefix("toolu_").unwrap_or_default();
    digits.len() == 24 && digits.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_holds_no_words_is_of_the_protocols_kinds() {
        assert!(is_counter(&json!(7)) && !is_counter(&json!(4_111_111_111_111_111_u64)));
        assert!(!is_counter(&json!("7")) && !is_counter(&json!(1.5)));
        assert!(is_uuid("0f8fad5b-d9cb-469f-a165-70867728950e"));
        assert!(is_uuid("0f8fad5bd9cb469fa16570867728950e"));
        for words in [
            "",
            "536-22-1234",
            "bob@example.com",
            "0f8fad5b-d9cb-469f-a165-70867728950g",
        ] {
            assert!(!is_uuid(words), "{words}");
        }
        assert!(is_trace(
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        ));
        assert!(!is_trace("00-bob@example.com-00f067aa0ba902b7-01"));
        assert!(is_task_wish(&json!({"ttl": 60_000})) && is_task_wish(&json!({})));
        assert!(!is_task_wish(&json!({"ttl": "x"})) && !is_task_wish(&json!({"note": 1})));
    }

    #[test]
    fn arguments_stay_where_the_rules_look_for_them() {
        let beside = Map::from_iter([("x".to_owned(), json!(1))]);
        let content = joined(json!({"to": "a", "_beside": 2}), beside.clone());
        assert_eq!(content, json!({"to": "a", "_beside": 2, "_beside_": {"x": 1}}));
        assert_eq!(
            joined(json!(["a"]), beside),
            json!({"arguments": ["a"], "_beside": {"x": 1}})
        );
    }
}
