//! What a tool may be given and what it returns, guessed from what it says of itself. Each guess gives its reason and is
//! for a person to review: a server's own words are hints, not facts, so every doubt falls on the strict side.

use serde_json::Value;

/// What is proposed for one tool.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Proposal {
    /// The lines of its section.
    pub(super) lines: &'static str,
    /// Why.
    pub(super) reason: &'static str,
}

/// Words in a name that speak of reaching out.
const OUTWARD: [&str; 22] = [
    "browse", "crawl", "curl", "deploy", "download", "email", "fetch", "http", "mail", "message", "notify",
    "post", "publish", "push", "request", "scrape", "send", "share", "slack", "tweet", "upload", "web",
];

/// Parameters that say where something goes.
const TARGETS: [&str; 8] = [
    "url",
    "uri",
    "recipient",
    "to",
    "channel",
    "webhook",
    "endpoint",
    "email",
];

/// What is proposed for a tool as a server lists it.
pub(super) fn propose(tool: &Value) -> Proposal {
    let hint = |name: &str| tool.get("annotations")?.get(name)?.as_bool();
    let name = tool
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_lowercase();
    let own = name.split_once('.').map_or(name.as_str(), |(_, own)| own);
    let mut words = own.split(|c: char| !c.is_ascii_alphanumeric());
    let outward = words.any(|word| OUTWARD.contains(&word));
    let properties = tool.pointer("/inputSchema/properties").and_then(Value::as_object);
    let target = properties.is_some_and(|known| {
        known
            .keys()
            .any(|key| TARGETS.contains(&key.to_lowercase().as_str()))
    });
    let external = |reason| Proposal {
        lines: "external = true\nceiling = \"public\"\n",
        reason,
    };
    match (hint("openWorldHint"), hint("readOnlyHint")) {
        (Some(true), _) => external("it says that it reaches the open world (openWorldHint)"),
        _ if outward => external("its name speaks of reaching out"),
        _ if target => external("it has a parameter that says where something goes"),
        (Some(false), Some(true)) => Proposal {
            lines: "returns = \"internal\"\nceiling = \"confidential\"\n",
            reason: "it says that it only reads, and only here (readOnlyHint, openWorldHint = false)",
        },
        (Some(false), _) => Proposal {
            lines: "returns = \"internal\"\nceiling = \"internal\"\n",
            reason: "it says that it acts only here (openWorldHint = false), but it may change something",
        },
        (None, _) => Proposal {
            lines: "returns = \"confidential\"\nceiling = \"public\"\n",
            reason: "nothing says what it reaches, so both ends are strict",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn doubts_fall_on_the_strict_side() {
        for (tool, expected) in [
            (
                json!({"name": "a.read", "annotations": {"openWorldHint": true, "readOnlyHint": true}}),
                "external",
            ),
            (
                json!({"name": "a.send_mail", "annotations": {"openWorldHint": false}}),
                "external",
            ),
            (
                json!({"name": "a.open", "inputSchema": {"properties": {"URL": {}}}}),
                "external",
            ),
            (
                json!({"name": "fetch.describe"}),
                "returns = \"confidential\"\nceiling = \"public\"",
            ),
            (
                json!({"name": "a.read", "annotations": {"openWorldHint": false, "readOnlyHint": true}}),
                "ceiling = \"confidential\"",
            ),
            (
                json!({"name": "a.write", "annotations": {"openWorldHint": false}}),
                "ceiling = \"internal\"",
            ),
            (json!({}), "ceiling = \"public\""),
        ] {
            let proposal = propose(&tool);
            assert!(proposal.lines.contains(expected), "{tool}: {proposal:?}");
        }
    }
}
