//! The two eras of the protocol.
//!
//! Up to 2025-11-25 a conversation begins with a greeting, and what was agreed then holds. From 2026-07-28 on there is no
//! greeting: every request says in its `_meta` which version it speaks and what its sender can do. A client of one era
//! and a server of the other meet here: what one needs is added, and what the other would not understand is taken off.

use serde_json::json;

use super::message::Envelope;
use super::object::{Object, raw};

/// Where a request names its version.
pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// Where a request says what its sender can do.
pub(crate) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
/// Where a request says who sends it.
pub(crate) const INFO_KEY: &str = "io.modelcontextprotocol/clientInfo";

/// Where a request says how much of the logs its sender wants.
pub(crate) const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
/// Where a notification says which subscription it belongs to.
pub(crate) const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";
/// Where a message says which task it belongs to.
pub(crate) const RELATED_TASK_KEY: &str = "io.modelcontextprotocol/related-task";
/// Where an answer says who gives it.
pub(crate) const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// The version without a greeting.
pub(crate) const STATELESS: &str = "2026-07-28";
/// The newest version with a greeting.
pub(crate) const GREETED: &str = "2025-11-25";

/// Every version with a greeting, newest first.
pub(crate) const WITH_GREETING: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Which era a conversation belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// Greeting first.
    Greeted,
    /// Each request for itself.
    Stateless,
}

/// What the greeted era had and the stateless one has no more.
pub(crate) const GONE: [&str; 7] = [
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "tasks/list",
    "tasks/result",
];

/// The era of a request: one that names a version belongs to the stateless era.
pub(crate) fn of(request: &Envelope) -> Era {
    let named = request.params().object("_meta");
    if named.is_some_and(|meta| meta.get(VERSION_KEY).is_some()) {
        Era::Stateless
    } else {
        Era::Greeted
    }
}

/// The version to speak with a client that asks for one.
pub(crate) fn agree(asked: &str) -> &'static str {
    let known = WITH_GREETING.into_iter().find(|version| *version == asked);
    known.unwrap_or(GREETED)
}

/// What a client said of itself, in the words of a greeting.
pub(crate) fn greeting_of(meta: &Object) -> Object {
    let none = || json!({});
    let info = json!({"name": "unnamed", "version": "0"});
    let take = |key: &str, otherwise: serde_json::Value| {
        meta.get(key).map_or_else(|| raw(&otherwise), ToOwned::to_owned)
    };
    let mut greeting = Object::default().with("protocolVersion", GREETED);
    greeting.set("capabilities", take(CAPABILITIES_KEY, none()));
    greeting.set("clientInfo", take(INFO_KEY, info));
    greeting
}

/// The greeting of a client that has said nothing of itself.
pub(crate) fn unnamed() -> Object {
    greeting_of(&Object::default())
}

/// A request as a server of the stateless era wants it.
pub(crate) fn stamped(request: Envelope, greeting: &Object) -> Envelope {
    let mut params = Object::clone(&request.params());
    let mut meta = params.object("_meta").unwrap_or_default();
    if meta.get(VERSION_KEY).is_some() {
        return request;
    }
    meta.set(VERSION_KEY, raw(&STATELESS));
    for (key, member) in [(CAPABILITIES_KEY, "capabilities"), (INFO_KEY, "clientInfo")] {
        match greeting.get(member) {
            Some(value) => meta.set(key, value.to_owned()),
            None => meta.set(key, raw(&json!({}))),
        }
    }
    if let Some(level) = greeting.get("logLevel") {
        meta.set(LOG_LEVEL_KEY, level.to_owned());
    }
    params.set("_meta", meta.to_raw());
    request.with_params(params)
}

/// A request as a server of the greeted era wants it.
pub(crate) fn unstamped(request: Envelope) -> Envelope {
    let Some(mut meta) = request.params().object("_meta") else {
        return request;
    };
    let stamps = [VERSION_KEY, CAPABILITIES_KEY, INFO_KEY, LOG_LEVEL_KEY];
    let taken = stamps.into_iter().filter(|key| meta.remove(key).is_some());
    if taken.count() == 0 {
        return request;
    }
    let mut params = Object::clone(&request.params());
    if meta.members().next().is_none() {
        params.remove("_meta");
    } else {
        params.set("_meta", meta.to_raw());
    }
    request.with_params(params)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::message::Message;

    fn request(text: &str) -> Envelope {
        match Message::read(text) {
            Ok(Message::Request(envelope)) => envelope,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_request_crosses_the_eras_and_back() {
        let plain =
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"progressToken":5}}}"#;
        let greeting = Object::default().with("capabilities", json!({"roots": {}}));
        let stamped = stamped(request(plain), &greeting);
        assert_eq!(of(&stamped), Era::Stateless);
        assert_eq!(unstamped(stamped).to_line(), plain);
    }

    #[test]
    fn a_version_nobody_knows_is_answered_with_the_newest() {
        assert_eq!(agree("2024-11-05"), "2024-11-05");
        assert_eq!(agree("1999-01-01"), GREETED);
        assert_eq!(agree(STATELESS), GREETED);
    }
}
