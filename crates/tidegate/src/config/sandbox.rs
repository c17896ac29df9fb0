//! `[sandbox]`: what commands inside see, and whether agents get a shell.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidegate_core::{Class, ControlList, Name, Tool, ToolFacts};
use tidegate_gateway::mcp::RUN_COMMAND;

use super::tools::CLASSES;
use super::walk::Section;

/// What `tidegate run` and the tool `run_command` give a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sandbox {
    /// Whether agents are offered `run_command`.
    pub(crate) enabled: bool,
    /// Where it works.
    pub(crate) workspace: Option<PathBuf>,
    /// The class of what lies in the workspace: a session that runs commands there has it.
    pub(crate) workspace_class: Class,
    /// What can be read beside the system and the workspace.
    pub(crate) readable: Vec<PathBuf>,
    /// The variables that are passed on.
    pub(crate) env: Vec<String>,
    /// Whether unix sockets can be made.
    pub(crate) unix_sockets: bool,
    /// How long `run_command` may take.
    pub(crate) timeout: Duration,
    /// How much memory it may use.
    pub(crate) memory_bytes: u64,
    /// How many processes it may have.
    pub(crate) processes: usize,
    /// How large a file it writes may be.
    pub(crate) file_bytes: u64,
    /// How much it may say; the rest is left out.
    pub(crate) output_bytes: usize,
    /// How many commands may run at once.
    pub(crate) commands: usize,
}

impl Sandbox {
    /// What serves when nothing is configured.
    const STANDARD: Self = Self {
        enabled: false,
        workspace: None,
        workspace_class: Class::Public,
        readable: Vec::new(),
        env: Vec::new(),
        unix_sockets: false,
        timeout: Duration::from_secs(60),
        memory_bytes: 2 << 30,
        processes: 256,
        file_bytes: 1 << 30,
        output_bytes: 64 << 10,
        commands: 8,
    };
}

/// Reads the section; what is not said takes its default.
pub(super) fn read(root: &mut Section<'_, '_>, directory: &Path) -> Sandbox {
    let mut sandbox = Sandbox::STANDARD;
    let Some(mut section) = root.section("sandbox") else {
        return sandbox;
    };
    sandbox.enabled = section.flag("enabled").is_some_and(|at| at.value);
    sandbox.workspace = section.text("workspace").map(|path| directory.join(path.value));
    if sandbox.enabled && sandbox.workspace.is_none() {
        let offset = section.offset_of("enabled");
        let message = "sandbox.enabled needs sandbox.workspace, the directory that commands work in";
        section.report().error(offset, message);
    }
    if let Some(class) = section.parsed::<Class>("workspace_class", &CLASSES) {
        sandbox.workspace_class = class.value;
    }
    let readable = section.texts("readable");
    sandbox.readable = readable.iter().map(|path| directory.join(path.value)).collect();
    sandbox.env = read_env(&mut section);
    sandbox.unix_sockets = section.flag("unix_sockets").is_some_and(|at| at.value);
    read_bounds(&mut section, &mut sandbox);
    sandbox
}

fn read_env(section: &mut Section<'_, '_>) -> Vec<String> {
    let names = section.texts("env");
    for name in &names {
        if is_own(name) || name.is_empty() || name.contains('=') {
            let message = "sandbox.env: each must be the name of a variable, and none of tidegate's own";
            section.report().error(name.offset, message);
        }
    }
    names.iter().map(|name| (*name.value).to_owned()).collect()
}

/// Whether a variable is for tidegate alone. A token in it would let a command speak for its agent.
pub(crate) fn is_own(name: &str) -> bool {
    name.to_ascii_uppercase().starts_with("TIDEGATE_")
}

fn read_bounds(section: &mut Section<'_, '_>, sandbox: &mut Sandbox) {
    let mut count = |key, range: RangeInclusive<u64>| section.count(key, range);
    if let Some(millis) = count("timeout_ms", 100..=3_600_000) {
        sandbox.timeout = Duration::from_millis(millis);
    }
    if let Some(bytes) = count("memory_bytes", 16 << 20..=1 << 40) {
        sandbox.memory_bytes = bytes;
    }
    if let Some(bytes) = count("file_bytes", 4_096..=1 << 40) {
        sandbox.file_bytes = bytes;
    }
    for (key, range, bound) in [
        ("processes", 1..=65_536, &mut sandbox.processes),
        ("output_bytes", 1_024..=4 << 20, &mut sandbox.output_bytes),
        ("commands", 1..=256, &mut sandbox.commands),
    ] {
        if let Some(count) = count(key, range).and_then(|count| usize::try_from(count).ok()) {
            *bound = count;
        }
    }
}

/// The control list with the shell in it, where agents get one and nobody declared it. What it says is of the session's own
/// class, so it raises nothing by itself; it may be given anything, because its network follows the label.
pub(super) fn with_shell(tools: ControlList, sandbox: &Sandbox) -> Option<ControlList> {
    if !sandbox.enabled || tools.find(RUN_COMMAND).is_some() {
        return Some(tools);
    }
    let shell = Tool::declared(ToolFacts {
        returns: Some(Class::Public),
        ceiling: Some(Class::Secret),
        ..ToolFacts::named(Name::parse(RUN_COMMAND).ok()?)
    });
    ControlList::new(tools.iter().cloned().chain([shell])).ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tidegate_core::Class;

    use crate::config::{Overrides, check};

    #[test]
    fn mistakes_are_named() {
        for (text, wrong) in [
            (
                "[sandbox]\nenabled = true\n",
                "sandbox.enabled needs sandbox.workspace",
            ),
            (
                "[sandbox]\nenv = [\"TIDEGATE_TOKEN\"]\n",
                "none of tidegate's own",
            ),
            ("[sandbox]\nenv = [\"tidegate_url\"]\n", "none of tidegate's own"),
            ("[sandbox]\nenv = [\"A=b\"]\n", "sandbox.env"),
            (
                "[sandbox]\nworkspace_class = \"privat\"\n",
                "sandbox.workspace_class",
            ),
            ("[sandbox]\nprocesses = 0\n", "sandbox.processes must be between"),
            ("[sandbox]\ntimeout = 5\n", "unknown key sandbox.timeout"),
            (
                "data_dir = \"/srv/work/state\"\n[sandbox]\nworkspace = \"/srv/work\"\n",
                "data_dir lies inside a workspace",
            ),
        ] {
            let checked = check(text, Path::new("."), &Overrides::default());
            let said: Vec<_> = checked.problems.iter().map(|problem| problem.line("t")).collect();
            assert!(said.iter().any(|line| line.contains(wrong)), "{text}: {said:?}");
            assert!(checked.config.is_none(), "{text}");
        }
    }

    #[test]
    fn the_shell_is_declared_where_it_is_offered_and_a_declaration_wins() {
        let shell = |text: &str| {
            let config = check(text, Path::new("."), &Overrides::default()).config.unwrap();
            let tool = config.policy.control.find("run_command").cloned();
            tool.map(|tool| (tool.returns, tool.ceiling))
        };
        let offered = "[sandbox]\nenabled = true\nworkspace = \"/srv/work\"\n";
        assert_eq!(shell(""), None);
        assert_eq!(shell(offered), Some((Class::Public, Class::Secret)));
        let declared = format!("{offered}[tools.run_command]\nreturns = \"internal\"\nceiling = \"pii\"\n");
        assert_eq!(shell(&declared), Some((Class::Internal, Class::Pii)));
    }
}
