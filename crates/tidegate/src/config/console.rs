//! `[console]`: the pages at /console; and what in the file still waits for a person's eye there.

use std::path::Path;
use std::time::Duration;

use tidegate_core::Name;
use tidegate_gateway::{ConsoleOptions, Proposal};
use toml::de::DeTable;

use super::oidc::{self, Oidc};
use super::walk::Section;

/// What `tidegate wrap` writes above a tool that nobody has reviewed, before the reason.
pub(crate) const PROPOSED: &str = "# Proposed, to be reviewed: ";

/// The pages for people.
#[derive(Clone, Debug)]
pub(crate) struct Console {
    /// What they are told, but for the provider.
    pub(crate) options: ConsoleOptions,
    /// Who signs people in, beside their tokens.
    pub(crate) oidc: Option<Oidc>,
}

/// Reads the section; what is not said takes its default. `None` when there is to be no console.
pub(super) fn read(root: &mut Section<'_, '_>, text: &str, directory: &Path) -> Option<Console> {
    let mut options = ConsoleOptions::STANDARD;
    options.proposals = proposals(text);
    let Some(mut section) = root.section("console") else {
        let oidc = None;
        return Some(Console { options, oidc });
    };
    let enabled = section.flag("enabled").is_none_or(|at| at.value);
    for (key, bound) in [
        ("idle_s", &mut options.idle),
        ("lifetime_s", &mut options.lifetime),
    ] {
        if let Some(seconds) = section.count(key, 1..=7 * 86_400) {
            *bound = Duration::from_secs(seconds);
        }
    }
    let oidc = oidc::read(&mut section, directory);
    enabled.then_some(Console { options, oidc })
}

/// The tools below a line that says so.
fn proposals(text: &str) -> Vec<Proposal> {
    let lines = text.lines().zip(text.lines().skip(1));
    let proposed = lines.filter_map(|(mark, header)| {
        let reason = mark.strip_prefix(PROPOSED)?.trim_end_matches('.').to_owned();
        Some(Proposal {
            tool: tool_of(header)?,
            reason,
        })
    });
    proposed.collect()
}

/// The tool that a section's first line is about.
fn tool_of(header: &str) -> Option<Name> {
    let document = DeTable::parse(header).ok()?;
    let tools = document.get_ref().get("tools")?.get_ref().as_table()?;
    let (name, _) = tools.iter().next()?;
    Name::parse(name.get_ref()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposals_stand_above_their_tools() {
        let text = format!(
            "{PROPOSED}it only reads.\n[tools.\"files.read\"]\nreturns = \"internal\"\n# Proposed once\n[tools.b]\n\
             {PROPOSED}nothing follows.\n{PROPOSED}broken.\n[tools\n"
        );
        let found = proposals(&text);
        let shown: Vec<_> = found
            .iter()
            .map(|proposal| (proposal.tool.as_str(), proposal.reason.as_str()))
            .collect();
        assert_eq!(shown, [("files.read", "it only reads")]);
    }
}
