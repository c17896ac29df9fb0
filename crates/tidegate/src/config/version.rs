//! A name for a policy that changes when the policy does.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};
use tidegate_core::{Permission, Tool};

use super::detect::Detect;
use super::tools::{Field, Tools};

/// A short digest of everything the rules know of the tools and detection is told. The order of declaration does not count, since no decision
/// depends on it.
pub(super) fn policy_version(tools: &Tools, detect: &Detect) -> String {
    let fields_of = |tool: &Tool| {
        let found = tools.fields.iter().find(|(name, _)| *name == tool.name);
        found.map_or(&[][..], |(_, fields)| fields.as_slice())
    };
    let mut lines: Vec<_> = tools
        .control
        .iter()
        .map(|tool| canonical(tool, fields_of(tool)))
        .collect();
    lines.sort_unstable();
    let mut hasher = Sha256::new();
    for line in lines {
        hasher.update(line);
    }
    hasher.update(format!("{:?}", detection(detect)));
    let mut version = String::new();
    for byte in hasher.finalize().iter().take(6) {
        let _ = write!(version, "{byte:02x}");
    }
    version
}

/// Everything that detection is told, taken apart so that nothing can be left out. Quoted text cannot run into its
/// neighbours.
fn detection(detect: &Detect) -> impl std::fmt::Debug {
    let Detect {
        internal_domains,
        internal_hosts,
        code_names,
        injection_threshold,
        exits,
        rules,
    } = detect;
    (
        internal_domains,
        internal_hosts,
        code_names,
        injection_threshold,
        exits,
        rules,
    )
}

/// Everything about one tool; lengths stand before names, so that no two tools read the same.
fn canonical(tool: &Tool, fields: &[Field]) -> String {
    // Taken apart so that a fact that is added to tools cannot be left out here.
    let Tool {
        name,
        permissions,
        returns,
        ceiling,
        external,
        sink,
        control,
    } = tool;
    let name = name.as_str();
    let mut line = format!(
        "tool {}:{name} {returns} {ceiling} {external} {sink} {}",
        name.len(),
        control.as_str()
    );
    for permission in Permission::ALL {
        let _ = write!(line, " {}", permissions.contains(permission));
    }
    let mut fields: Vec<_> = fields.iter().map(|field| (&field.path, field.class)).collect();
    fields.sort_unstable();
    for (path, class) in fields {
        let _ = write!(line, " field {}:{path} {class}", path.len());
    }
    line.push('\n');
    line
}
