//! The headers that name what a request asks for, so that programs on the way need not read it.
//!
//! They came with 2026-07-28; older servers pass over them. A name that cannot stand in a header is encoded.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::message::Envelope;

/// The headers for a message to a server of the stateless era; none for an older one's.
pub(crate) fn headers(message: &Envelope) -> Vec<(&'static str, String)> {
    let params = message.params();
    let meta = params.object("_meta").unwrap_or_default();
    let Some(version) = meta.text(super::era::VERSION_KEY) else {
        return Vec::new();
    };
    let mut headers = vec![
        ("mcp-protocol-version", version),
        ("mcp-method", message.method().to_owned()),
    ];
    if let Some(name) = named(message) {
        headers.push(("mcp-name", encoded(&name)));
    }
    headers
}

/// What a request names: a tool or a prompt by its name, a resource by its address.
pub(crate) fn named(message: &Envelope) -> Option<String> {
    let member = match message.method() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    message.params().text(member)
}

fn encoded(name: &str) -> String {
    let plain = name.bytes().all(|b| (0x20..0x7f).contains(&b)) && name.trim() == name;
    if plain && !name.starts_with("=?base64?") {
        return name.to_owned();
    }
    format!("=?base64?{}?=", STANDARD.encode(name))
}

/// What a header says, decoded.
pub(crate) fn decoded(header: &str) -> Option<String> {
    let coded = header
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
    match coded {
        None => Some(header.to_owned()),
        Some(coded) => String::from_utf8(STANDARD.decode(coded).ok()?).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_name_comes_back(name in "\\PC{0,20}") {
            let header = encoded(&name);
            prop_assert!(header.bytes().all(|b| (0x20..0x7f).contains(&b)));
            prop_assert_eq!(decoded(&header), Some(name));
        }
    }
}
