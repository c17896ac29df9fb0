//! How a server's tool is shown: as the server describes it, with what the session's rules say of it.

use serde_json::json;
use tidegate_core::{ManifestTool, Name, SealRule, Sensitivity};

use super::object::{Object, raw};

/// Where in `_meta` a tool's facts stand.
pub(crate) const META_KEY: &str = "tidegate/tool";

/// A tool as a client sees it.
pub(crate) fn tool(mut tool: Object, name: &Name, entry: Option<&ManifestTool>) -> Object {
    tool.set("name", raw(&name.as_str()));
    let Some(entry) = entry else {
        return tool;
    };
    let described = tool.text("description").unwrap_or_default();
    let description = [mark(entry).as_str(), described.as_str()].join(" ");
    if !description.trim().is_empty() {
        tool.set("description", raw(&description.trim()));
    }
    let facts = json!({
        "sensitivity": entry.sensitivity.as_str(),
        "class": entry.class.as_str(),
        "ceiling": entry.ceiling.as_str(),
        "consequence": entry.consequence,
        "blocked": entry.blocked,
        "seal": entry.seal.to_string(),
        "sink": entry.sink,
    });
    // A stub stands where a number was, and a handle where all of it was: the promise could not be kept.
    if entry.split || entry.seal != SealRule::OnRequest {
        tool.remove("outputSchema");
    }
    let meta = tool.object("_meta").unwrap_or_default();
    tool.set("_meta", meta.with(META_KEY, facts).to_raw());
    tool
}

/// The mark that stands before a description, short enough for every list.
fn mark(entry: &ManifestTool) -> String {
    let mark = match entry.sensitivity {
        Sensitivity::InternalSource => format!("[internal] (returns {})", entry.class),
        Sensitivity::External => format!("[external] (takes at most {})", entry.ceiling),
        Sensitivity::Neutral => String::new(),
    };
    if entry.blocked {
        return format!("{mark} [closed now]").trim_start().to_owned();
    }
    mark
}
