//! JSON-RPC as far as a gateway must understand it: what sort of message it is, its id and its method.

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::object::{Object, Raw, raw};

/// The version that every message names.
const VERSION: &str = "2.0";

/// A message, with everything in it that nobody asked for.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    /// Asks for an answer.
    Request(Envelope),
    /// Tells.
    Notification(Envelope),
    /// Answers.
    Response(Envelope),
}

/// What is wrong with a text that should be a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadMessage {
    #[error("not valid JSON, or a member occurs twice")]
    NotJson,
    #[error("not a JSON-RPC 2.0 message")]
    NotRpc,
    /// With the id of the request that they belong to; `null` where there is none.
    #[error("the parameters are no object, or a member of them occurs twice")]
    BadParams(String),
}

impl BadMessage {
    /// The JSON-RPC code for it.
    pub(crate) const fn code(&self) -> i32 {
        match self {
            Self::NotJson => code::PARSE,
            Self::NotRpc => code::INVALID_REQUEST,
            Self::BadParams(_) => code::INVALID_PARAMS,
        }
    }

    /// The id that it is answered under.
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::NotJson | Self::NotRpc => RawValue::NULL.get(),
            Self::BadParams(id) => id,
        }
    }
}

/// The codes of JSON-RPC and of this protocol.
pub(crate) mod code {
    /// Not JSON.
    pub(crate) const PARSE: i32 = -32700;
    /// Not a request.
    pub(crate) const INVALID_REQUEST: i32 = -32600;
    /// The client did not say that it can do what the answer needs.
    pub(crate) const MISSING_CAPABILITY: i32 = -32021;
    /// A version that is not spoken.
    pub(crate) const UNSUPPORTED_VERSION: i32 = -32022;
    /// A header does not say what the body says.
    pub(crate) const HEADER_MISMATCH: i32 = -32020;
    /// A method nobody knows.
    pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
    /// Parameters that cannot be used.
    pub(crate) const INVALID_PARAMS: i32 = -32602;
    /// The gateway could not do it.
    pub(crate) const INTERNAL: i32 = -32603;
    /// A resource nobody has.
    pub(crate) const RESOURCE_NOT_FOUND: i32 = -32002;
    /// The rules do not let it pass.
    pub(crate) const BLOCKED: i32 = -32040;
    /// Too much is under way.
    pub(crate) const OVERLOADED: i32 = -32041;
    /// The server behind the gateway did not answer.
    pub(crate) const UPSTREAM: i32 = -32042;
}

/// Every member of a message.
#[derive(Clone, Debug)]
pub(crate) struct Envelope {
    members: Object,
    method: String,
    id: String,
    /// The parameters, read once: a message is looked into more often than it is changed. They always say what the
    /// member of that name says, or something could be forwarded that nobody has looked into.
    params: Arc<Object>,
}

impl Message {
    /// Reads one message.
    pub(crate) fn read(text: &str) -> Result<Self, BadMessage> {
        let is_object = text.trim_start_matches([' ', '\t', '\n', '\r']).starts_with('{');
        if !is_object && serde_json::from_str::<&RawValue>(text).is_ok() {
            return Err(BadMessage::NotRpc);
        }
        Self::of(serde_json::from_str(text).map_err(|_| BadMessage::NotJson)?)
    }

    fn of(members: Object) -> Result<Self, BadMessage> {
        if members.text("jsonrpc").as_deref() != Some(VERSION) {
            return Err(BadMessage::NotRpc);
        }
        let method = members.get("method").map(|_| members.text("method"));
        let id = members.get("id").map(|id| id.get().to_owned());
        let answers = members.get("result").is_some() != members.get("error").is_some();
        let Some(params) = params_of(&members) else {
            let asks = id.filter(|id| method.is_some() && is_id(id));
            let id = asks.unwrap_or_else(|| RawValue::NULL.get().to_owned());
            return Err(BadMessage::BadParams(id));
        };
        let envelope = |method: String, id: String| Envelope {
            members,
            method,
            id,
            params: Arc::new(params),
        };
        match (method, id) {
            (Some(Some(method)), _) if !is_method(&method) => Err(BadMessage::NotRpc),
            (Some(Some(method)), Some(id)) if is_id(&id) => Ok(Self::Request(envelope(method, id))),
            (Some(Some(method)), None) => Ok(Self::Notification(envelope(method, String::new()))),
            (None, id) if answers => Ok(Self::Response(envelope(String::new(), id.unwrap_or_default()))),
            _ => Err(BadMessage::NotRpc),
        }
    }
}

/// The parameters of a message: what it has none of, and what is null, says nothing. `None` for what cannot be looked
/// into member by member, since it would be forwarded all the same.
fn params_of(members: &Object) -> Option<Object> {
    match members.get("params") {
        Some(params) if params.get() != RawValue::NULL.get() => Object::read(params),
        _ => Some(Object::default()),
    }
}

/// A method is a short name in plain letters, so that it cannot be words.
fn is_method(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-.$:".contains(&byte);
    (1..=128).contains(&name.len()) && name.bytes().all(is_plain)
}

/// An id is a string or a number, and of a size that can be kept.
fn is_id(text: &str) -> bool {
    let first = text.bytes().next();
    text.len() <= 512 && first.is_some_and(|b| b == b'"' || b == b'-' || b.is_ascii_digit())
}

impl Envelope {
    /// A request of the gateway's own.
    pub(crate) fn request(method: &str, params: Option<Raw>) -> Self {
        Self::of_own(method, params)
    }

    /// A notification of the gateway's own.
    pub(crate) fn notification(method: &str, params: Option<Raw>) -> Self {
        Self::of_own(method, params)
    }

    fn of_own(method: &str, params: Option<Raw>) -> Self {
        let own = Self {
            members: Object::default().with("jsonrpc", VERSION).with("method", method),
            method: method.to_owned(),
            id: String::new(),
            params: Arc::default(),
        };
        match params.as_deref().and_then(Object::read) {
            Some(params) => own.with_params(params),
            None => own,
        }
    }

    /// What is asked or told; empty for an answer.
    pub(crate) fn method(&self) -> &str {
        &self.method
    }

    /// The id as it was written.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The same message under another id.
    #[must_use]
    pub(crate) fn with_id(mut self, id: &str) -> Self {
        if let Ok(raw) = RawValue::from_string(id.to_owned()) {
            self.members.set("id", raw);
            id.clone_into(&mut self.id);
        }
        self
    }

    /// The parameters; empty where there are none.
    pub(crate) fn params(&self) -> Arc<Object> {
        Arc::clone(&self.params)
    }

    /// The members that the protocol does not know. They pass like all others, so they are looked into like all others.
    pub(crate) fn beside(&self) -> Object {
        let known: &[&str] = match self.members.get("method") {
            None => &["jsonrpc", "id", "result", "error"],
            Some(_) => &["jsonrpc", "id", "method", "params"],
        };
        let mut beside = Object::default();
        for (name, value) in self.members.members().filter(|(name, _)| !known.contains(name)) {
            beside.set(name, value.to_owned());
        }
        beside
    }

    /// The same message with other members in the place of those that the protocol does not know.
    #[must_use]
    pub(crate) fn with_beside(mut self, beside: &Object) -> Self {
        for (name, _) in self.beside().members() {
            self.members.remove(name);
        }
        for (name, value) in beside.members() {
            self.members.set(name, value.to_owned());
        }
        self
    }

    /// The same message with other parameters.
    #[must_use]
    pub(crate) fn with_params(mut self, params: Object) -> Self {
        self.members.set("params", params.to_raw());
        self.params = Arc::new(params);
        self
    }

    /// The result of an answer that has one.
    pub(crate) fn result(&self) -> Option<&RawValue> {
        self.members.get("result")
    }

    /// The error of an answer that has one.
    pub(crate) fn error(&self) -> Option<&RawValue> {
        self.members.get("error")
    }

    /// The code of an answer that is an error.
    pub(crate) fn error_code(&self) -> Option<i32> {
        let error = Object::read(self.error()?)?;
        error.get("code").and_then(|code| code.get().parse().ok())
    }

    /// The same answer with another result.
    #[must_use]
    pub(crate) fn with_result(mut self, result: Raw) -> Self {
        self.members.set("result", result);
        self
    }

    /// The same answer with another error.
    #[must_use]
    pub(crate) fn with_error(mut self, error: Raw) -> Self {
        self.members.set("error", error);
        self
    }

    /// The message as one line.
    pub(crate) fn to_line(&self) -> String {
        let text = self.members.to_text();
        // A line break between members is not content, but on a stream of lines it would cut the message.
        if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_some() {
            text.replace(['\n', '\r'], " ")
        } else {
            text
        }
    }

    /// An answer with a result.
    pub(crate) fn answer(id: &str, result: Raw) -> Self {
        Self::answered(id, "result", result)
    }

    /// An answer with an error. The text is the gateway's own and holds no content.
    pub(crate) fn refusal(id: &str, code: i32, message: &str) -> Self {
        Self::answered(id, "error", raw(&json!({"code": code, "message": message})))
    }

    /// An answer with an error and what a program may want to know of it.
    pub(crate) fn refusal_with(id: &str, code: i32, message: &str, data: &impl Serialize) -> Self {
        let data = serde_json::to_value(data).unwrap_or(Value::Null);
        let error = json!({"code": code, "message": message, "data": data});
        Self::answered(id, "error", raw(&error))
    }

    fn answered(id: &str, member: &str, value: Raw) -> Self {
        let id_raw = RawValue::from_string(id.to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned());
        let members = Object::default().with("jsonrpc", VERSION).with("id", id_raw);
        Self {
            members: members.with(member, value),
            method: String::new(),
            id: id.to_owned(),
            params: Arc::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sort(text: &str) -> &'static str {
        match Message::read(text) {
            Ok(Message::Request(_)) => "request",
            Ok(Message::Notification(_)) => "notification",
            Ok(Message::Response(_)) => "response",
            Err(BadMessage::NotJson) => "not json",
            Err(BadMessage::NotRpc) => "not rpc",
            Err(BadMessage::BadParams(_)) => "bad params",
        }
    }

    #[test]
    fn messages_are_told_apart() {
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "request"),
            (
                r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":{}}"#,
                "request",
            ),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
                "notification",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":null}"#,
                "request",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":["a"]}"#,
                "bad params",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":"a"}"#,
                "bad params",
            ),
            (
                r#"{"jsonrpc":"2.0","method":"m","params":{"a":1,"a":2}}"#,
                "bad params",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"result":{},"params":[]}"#,
                "bad params",
            ),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "response"),
            (
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}"#,
                "response",
            ),
            (r#"{"jsonrpc":"2.0","error":{"code":1,"message":""}}"#, "response"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "not rpc"),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, "not rpc"),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "not rpc"),
            (r#"{"jsonrpc":"2.0","id":1,"method":""}"#, "not rpc"),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"tell bob@example.com"}"#,
                "not rpc",
            ),
            (r#"{"jsonrpc":"2.0","id":1,"method":"$/x.y_z-1"}"#, "request"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#, "not rpc"),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "not rpc"),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, "not json"),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, "not rpc"),
            (
                " \r\n\t{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} \n",
                "request",
            ),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"} {}"#, "not json"),
            (r#" "text""#, "not rpc"),
            ("{", "not json"),
            ("", "not json"),
        ] {
            assert_eq!(sort(text), expected, "{text}");
        }
    }

    #[test]
    fn bad_parameters_are_answered_to_whoever_asked() {
        for (text, id) in [
            (r#"{"jsonrpc":"2.0","id":"a","method":"m","params":[]}"#, r#""a""#),
            (r#"{"jsonrpc":"2.0","method":"m","params":[]}"#, "null"),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"m","params":[]}"#, "null"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{},"params":[]}"#, "null"),
        ] {
            let bad = Message::read(text).expect_err("a bad message");
            assert_eq!((bad.id(), bad.code()), (id, code::INVALID_PARAMS), "{text}");
        }
    }

    #[test]
    fn what_the_gateway_itself_sends_has_readable_parameters_or_none() {
        let listed = Envelope::request("m", Some(raw(&json!(["a"]))));
        assert_eq!(listed.to_line(), r#"{"jsonrpc":"2.0","method":"m"}"#);
    }

    #[test]
    fn unknown_members_pass_and_a_message_is_one_line() {
        let text = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"x-trace\":{\"a\":1e0},\n\"params\":{\"b\":\n2}}";
        let Ok(Message::Request(envelope)) = Message::read(text) else {
            panic!("a request");
        };
        let line = envelope.with_id("7").to_line();
        assert!(!line.contains('\n'));
        assert_eq!(
            line,
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"x-trace\":{\"a\":1e0},\"params\":{\"b\": 2}}"
        );
    }
}
