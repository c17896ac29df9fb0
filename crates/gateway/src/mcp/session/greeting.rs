//! What each server is told of the client.
//!
//! What a client says of itself goes to every server, and in a session that is gone on with it may be something that came in
//! before. So it is decided on like other words, once, before the first server is begun: a server that may not have them
//! hears only what the client can do, in the words of the protocol.

use serde_json::{Map, Value};
use tidegate_core::Class;

use super::{Session, locked};
use crate::mcp::era;
use crate::mcp::names::Surface;
use crate::mcp::object::{Object, raw};
use crate::mcp::strict::{self, Unreadable};
use crate::mcp::upstream::Hello;

/// The names that the protocol has for what a client can do.
const CAPABILITIES: [&str; 16] = [
    "cancel",
    "context",
    "create",
    "createMessage",
    "elicitation",
    "experimental",
    "extensions",
    "form",
    "list",
    "listChanged",
    "requests",
    "roots",
    "sampling",
    "tasks",
    "tools",
    "url",
];

/// The names that the protocol has for what a client says of itself.
const MEMBERS: [&str; 6] = [
    "capabilities",
    "clientInfo",
    "description",
    "name",
    "title",
    "version",
];

impl Session {
    /// How a server is greeted.
    pub(super) async fn hello(&self, server: usize) -> Hello {
        let greetings = self.decided_greetings().await;
        Hello {
            era: locked(&self.client).era,
            greeting: greetings.get(server).cloned().unwrap_or_else(era::unnamed),
        }
    }

    /// What the servers are told, one after the other.
    pub(super) async fn decided_greetings(&self) -> &[Object] {
        self.greetings.get_or_init(|| self.decide_greetings()).await
    }

    /// Whether a server may know this of the client.
    pub(super) fn is_told(&self, server: usize, member: &str, value: &Value) -> bool {
        let told = self.greetings.get().and_then(|greetings| greetings.get(server));
        let told = told.and_then(|told| strict::read(told.get(member)?).ok());
        told.is_some_and(|told| told == *value)
    }

    async fn decide_greetings(&self) -> Vec<Object> {
        let said = locked(&self.client).first();
        let words = words(&said).map(Value::Object);
        let is_clean = match &words {
            Ok(words) => self.is_clean(words).await,
            Err(Unreadable) => false,
        };
        let mut greetings = Vec::new();
        for server in 0..self.links.len() {
            greetings.push(match &words {
                Ok(_) if is_clean => said.clone(),
                Ok(words) => self.cleared(server, words.clone(), said.clone()).await,
                Err(Unreadable) => bare(&said),
            });
        }
        greetings
    }

    /// Whether there is nothing to decide: nothing came into the session yet, and no rule knows anything in the words.
    async fn is_clean(&self, words: &Value) -> bool {
        if words.as_object().is_some_and(Map::is_empty) {
            return true;
        }
        let view = self.engine().context(&self.caller, &self.id).await;
        let is_public = view.is_ok_and(|view| view.session.context.label().class() == Class::Public);
        is_public && self.engine().is_plain(&lines(words))
    }

    async fn cleared(&self, server: usize, words: Value, said: Object) -> Object {
        let Ok(surface) = self.surface(server, Surface::Other) else {
            return bare(&said);
        };
        match self.permit(&surface, words).await {
            Ok(permit) => permit.clear(said).into_inner(),
            Err(_) => bare(&said),
        }
    }
}

/// What a greeting says beyond the words of the protocol.
fn words(greeting: &Object) -> Result<Map<String, Value>, Unreadable> {
    let unnamed = era::unnamed();
    let is_own = |name: &str, text: &str| unnamed.get(name).is_some_and(|own| own.get() == text);
    let mut words = Map::new();
    for (name, raw) in greeting.members() {
        let mut value = strict::read(raw)?;
        if let ("capabilities", Value::Object(members)) = (name, &mut value) {
            members.retain(|name, value| !is_bare(name, value));
            if members.is_empty() {
                continue;
            }
        }
        if name != "protocolVersion" && !is_own(name, raw.get()) {
            words.insert(name.to_owned(), value);
        }
    }
    Ok(words)
}

/// Words line by line, without the protocol's names for them: beside `name` the name of a program reads like a person's.
fn lines(words: &Value) -> String {
    match words {
        Value::Object(members) => {
            let line = |(name, value): (&String, &Value)| {
                let name = Some(name.as_str()).filter(|name| !MEMBERS.contains(name));
                format!("{}\n{}", name.unwrap_or_default(), lines(value))
            };
            members.iter().map(line).collect()
        }
        Value::Array(items) => items.iter().map(lines).collect(),
        Value::String(text) => format!("{text}\n"),
        other => format!("{other}\n"),
    }
}

/// A greeting without the words of its client.
fn bare(greeting: &Object) -> Object {
    let mut bare = era::unnamed();
    if let Some(version) = greeting.get("protocolVersion") {
        bare.set("protocolVersion", version.to_owned());
    }
    let mut capabilities = Object::default();
    for (name, value) in greeting.object("capabilities").unwrap_or_default().members() {
        if strict::read(value).is_ok_and(|read| is_bare(name, &read)) {
            capabilities.set(name, value.to_owned());
        }
    }
    bare.set("capabilities", raw(&capabilities));
    bare
}

/// Whether what a client can do is said in the words of the protocol alone.
fn is_bare(name: &str, value: &Value) -> bool {
    let is_said = match value {
        Value::Bool(_) => true,
        Value::Object(members) => members.iter().all(|(name, value)| is_bare(name, value)),
        _ => false,
    };
    is_said && CAPABILITIES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn greeting(text: &Value) -> Object {
        Object::read(&raw(text)).unwrap()
    }

    #[test]
    fn only_the_words_of_the_protocol_are_told_without_a_decision() {
        let said = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {
                "roots": {"listChanged": true}, "sampling": {}, "elicitation": {"form": {}, "url": {}},
                "tasks": {"requests": {"elicitation": {"create": {}}}},
                "experimental": {"note": {"to": "bob"}}, "bob": {},
            },
            "clientInfo": {"name": "bob", "version": "1"},
            "x": 1,
        });
        let expected = json!({
            "capabilities": {"experimental": {"note": {"to": "bob"}}, "bob": {}},
            "clientInfo": {"name": "bob", "version": "1"},
            "x": 1,
        });
        assert_eq!(Value::Object(words(&greeting(&said)).unwrap()), expected);
        let lines = lines(&expected);
        let lines: Vec<_> = lines.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(
            lines,
            ["bob", "experimental", "note", "to", "bob", "bob", "1", "x", "1"]
        );
        let bare = bare(&greeting(&said));
        assert!(!bare.to_text().contains("bob"), "{}", bare.to_text());
        assert_eq!(bare.text("protocolVersion").unwrap(), "2025-11-25");
        for name in ["roots", "sampling", "elicitation", "tasks"] {
            let told = bare.object("capabilities").unwrap();
            assert_eq!(
                strict::read(told.get(name).unwrap()).unwrap(),
                said["capabilities"][name]
            );
        }
        assert!(words(&bare).unwrap().is_empty());
        assert!(words(&era::unnamed()).unwrap().is_empty());
    }
}
