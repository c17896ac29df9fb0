//! What a client of the stateless era asked to be told of, and the stream it is told on.

use serde_json::{Value, json};

use super::era::SUBSCRIPTION_KEY;
use super::message::Envelope;
use super::object::{Object, raw};
use super::outlet::Outlet;

/// A stream for changes.
#[derive(Clone, Debug)]
pub(crate) struct Listener {
    /// The request under way that keeps it open.
    pub(crate) key: u64,
    /// The id of that request, which names the subscription.
    pub(crate) id: String,
    /// The stream.
    pub(crate) outlet: Outlet,
    /// What is told on it.
    pub(crate) wanted: Wanted,
}

/// Which changes are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    tools: bool,
    prompts: bool,
    resources: bool,
    /// The resources that are watched.
    pub(crate) addresses: Vec<String>,
}

impl Listener {
    /// A notification of this subscription.
    pub(crate) fn tagged(&self, told: Envelope) -> Envelope {
        let mut params = Object::clone(&told.params());
        let mut meta = params.object("_meta").unwrap_or_default();
        let id: Value = serde_json::from_str(&self.id).unwrap_or_default();
        meta.set(SUBSCRIPTION_KEY, raw(&id));
        params.set("_meta", meta.to_raw());
        told.with_params(params)
    }
}

impl Wanted {
    /// Reads what a client asks for; what it does not ask for it does not get.
    pub(crate) fn read(asked: &Object) -> Self {
        let wants = |name: &str| asked.get(name).is_some_and(|raw| raw.get() == "true");
        let addresses = asked.list("resourceSubscriptions").unwrap_or_default();
        Self {
            tools: wants("toolsListChanged"),
            prompts: wants("promptsListChanged"),
            resources: wants("resourcesListChanged"),
            addresses: addresses
                .iter()
                .filter_map(|raw| serde_json::from_str(raw.get()).ok())
                .collect(),
        }
    }

    /// What was asked for and is given.
    pub(crate) fn shown(&self) -> Value {
        let mut shown = serde_json::Map::new();
        for (name, wanted) in [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ] {
            if wanted {
                shown.insert(name.to_owned(), json!(true));
            }
        }
        if !self.addresses.is_empty() {
            shown.insert("resourceSubscriptions".to_owned(), json!(self.addresses));
        }
        Value::Object(shown)
    }

    /// Whether a notification is wanted.
    pub(crate) fn takes(&self, told: &Envelope) -> bool {
        match told.method() {
            "notifications/tools/list_changed" => self.tools,
            "notifications/prompts/list_changed" => self.prompts,
            "notifications/resources/list_changed" => self.resources,
            "notifications/resources/updated" => {
                let address = told.params().text("uri").unwrap_or_default();
                self.addresses.contains(&address)
            }
            _ => false,
        }
    }
}

/// How grave a log message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LogLevel(usize);

impl LogLevel {
    /// Everything.
    pub(crate) const LOWEST: Self = Self(0);

    const NAMES: [&'static str; 8] = [
        "debug",
        "info",
        "notice",
        "warning",
        "error",
        "critical",
        "alert",
        "emergency",
    ];

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.get(self.0).copied().unwrap_or("debug")
    }

    /// The level of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().position(|known| *known == name).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(method: &str, uri: &str) -> Envelope {
        Envelope::notification(method, Some(raw(&json!({"uri": uri}))))
    }

    #[test]
    fn only_what_was_asked_for_is_told() {
        let asked = Object::default()
            .with("toolsListChanged", true)
            .with("promptsListChanged", false)
            .with("somethingElse", true)
            .with("resourceSubscriptions", ["a://1"]);
        let wanted = Wanted::read(&asked);
        for (method, uri, expected) in [
            ("notifications/tools/list_changed", "", true),
            ("notifications/prompts/list_changed", "", false),
            ("notifications/resources/list_changed", "", false),
            ("notifications/resources/updated", "a://1", true),
            ("notifications/resources/updated", "a://2", false),
            ("notifications/message", "", false),
        ] {
            assert_eq!(wanted.takes(&told(method, uri)), expected, "{method} {uri}");
        }
        assert_eq!(
            wanted.shown(),
            json!({"toolsListChanged": true, "resourceSubscriptions": ["a://1"]})
        );
    }

    #[test]
    fn levels_have_an_order() {
        assert!(LogLevel::named("info") < LogLevel::named("error"));
        assert_eq!(LogLevel::named("debug"), Some(LogLevel::LOWEST));
        assert_eq!(LogLevel::named("alert").map(LogLevel::name), Some("alert"));
        assert_eq!(LogLevel::named("loud"), None);
    }
}
