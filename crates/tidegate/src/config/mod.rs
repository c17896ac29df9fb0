//! From the text of a `tidegate.toml` to a configuration that can be used, in one step.
//!
//! Either every question has an answer or there is a list of everything that is wrong: nothing half-checked leaves this
//! module. Names that a later version will understand are errors here, because ignoring a store or an authority that
//! somebody configured would mean protecting less than they think.

mod catalog;
mod citations;
mod console;
#[cfg(test)]
mod context_tests;
mod detect;
#[cfg(test)]
mod detect_tests;
mod egress;
mod gates;
mod integrity;
mod limits;
mod mcp;
mod model;
mod oidc;
mod openfga;
mod problem;
mod retention;
mod runs;
mod sandbox;
mod servers;
mod sources;
mod store;
mod telemetry;
#[cfg(test)]
mod tests;
mod tools;
mod walk;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tidegate_engine::{Policy, RunRules};
use tidegate_gateway::Limits;
use tidegate_gateway::telemetry::LogTarget;
use tidegate_ledger::vault::Retention;
use tidegate_store::{Misplaced, refuse_inside};
use toml::de::DeTable;

pub(crate) use catalog::{Api, Catalog, Database, DatabasePlace, Directory, DocumentPlace};
pub(crate) use citations::{Citation, Record};
pub(crate) use console::{Console, PROPOSED};
pub(crate) use detect::Detect;
pub(crate) use egress::Egress;
pub(crate) use gates::Gates;
pub(crate) use model::{Model, Source};
pub(crate) use openfga::{Login, OpenFga};
pub(crate) use problem::{Problem, Severity};
pub(crate) use sandbox::{Sandbox, is_own as is_own_variable};
pub(crate) use servers::{Reach, Server};
pub(crate) use store::{Kind as StoreKind, Store};
pub(crate) use telemetry::Telemetry;

use problem::Report;
use walk::{At, Section};

/// The configuration that `tidegate init` writes and that holds when there is no file.
pub(crate) const EXAMPLE: &str = include_str!("example.toml");

/// Where the gateway listens when nobody says: this machine only.
const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7413);

/// The largest file that is read.
pub(crate) const MAX_FILE_BYTES: usize = 4 << 20;

/// A configuration with an answer to every question.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// The file that it is read from, now and the next time; where there was none, the one that would have been read.
    pub(crate) file: Option<PathBuf>,
    /// Where the gateway listens.
    pub(crate) listen: SocketAddr,
    /// Where state is kept.
    pub(crate) data_dir: PathBuf,
    /// Where sessions and tokens are kept.
    pub(crate) store: Store,
    /// Where sessions are mirrored for other programs.
    pub(crate) private_data_dir: Option<PathBuf>,
    /// What is known of the tools.
    pub(crate) policy: Policy,
    /// What detection is told.
    pub(crate) detect: Detect,
    /// How long evidence is kept.
    pub(crate) retention: Retention,
    /// The bounds of the gateway.
    pub(crate) limits: Limits,
    /// Where decisions and traces go.
    pub(crate) telemetry: Telemetry,
    /// The upstream MCP servers.
    pub(crate) servers: Vec<Server>,
    /// How the gateway to them behaves.
    pub(crate) mcp: tidegate_gateway::mcp::Options,
    /// Who may bring what into a context.
    pub(crate) sources: Vec<tidegate_engine::Source>,
    /// What is looked up before anyone relies on it.
    pub(crate) citations: Vec<Citation>,
    /// What runs may keep and hand back.
    pub(crate) runs: RunRules,
    /// How people are asked.
    pub(crate) gates: Gates,
    /// Who says who may use which tool, if not the control list.
    pub(crate) openfga: Option<OpenFga>,
    /// The sources that the gateway reads itself.
    pub(crate) catalog: Catalog,
    /// The pages for people, if there are to be any.
    pub(crate) console: Option<Console>,
    /// Where what runs in a session may connect to.
    pub(crate) egress: Egress,
    /// What commands in a sandbox see.
    pub(crate) sandbox: Sandbox,
}

/// What flags and variables say; each wins over the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    /// Where the gateway listens.
    pub(crate) listen: Option<SocketAddr>,
    /// Where state is kept.
    pub(crate) data_dir: Option<PathBuf>,
    /// Where sessions are mirrored.
    pub(crate) private_data_dir: Option<PathBuf>,
}

/// What became of a text.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    /// The configuration, if there is no error.
    pub(crate) config: Option<Config>,
    /// Errors and warnings in the order of the file.
    pub(crate) problems: Vec<Problem>,
}

/// Reads and checks a text. Relative paths in it start from `directory`.
pub(crate) fn check(text: &str, directory: &Path, overrides: &Overrides) -> Checked {
    let report = Report::on(text);
    let (document, mistakes) = DeTable::parse_recoverable(text);
    for mistake in &mistakes {
        let offset = mistake.span().map_or(text.len(), |span| span.start);
        report.error(offset, mistake.message());
    }
    let config = read(
        Section::root(&report, document.get_ref()),
        text,
        directory,
        overrides,
    );
    let problems = report.into_problems(mistakes.len());
    let failed = problems.iter().any(|problem| problem.severity == Severity::Error);
    Checked {
        config: config.filter(|_| !failed),
        problems,
    }
}

fn read(mut root: Section<'_, '_>, text: &str, directory: &Path, overrides: &Overrides) -> Option<Config> {
    let report = root.report();
    let listen = read_listen(&mut root);
    let listen = overrides.listen.or(listen).unwrap_or(DEFAULT_LISTEN);
    let mut places = Places::new(directory);
    let data_dir = places.read(&mut root, "data_dir", overrides.data_dir.clone());
    let data_dir = data_dir.or_else(|| places.default_data_dir(report));
    let private_data_dir = places.read(&mut root, "private_data_dir", overrides.private_data_dir.clone());
    let mut workspaces = read_workspaces(&mut root, directory);
    let sandbox = sandbox::read(&mut root, directory);
    workspaces.extend(sandbox.workspace.clone());
    let store = store::read(&mut root, directory);
    let tools = tools::read(&mut root);
    let detect = detect::read(&mut root, tools.as_ref(), directory);
    let retention = retention::read(&mut root);
    let limits = limits::read(&mut root);
    let telemetry = places.read_telemetry(&mut root);
    let servers = servers::read(&mut root);
    let mcp = mcp::read(&mut root);
    let sources = sources::read(&mut root, tools.as_ref());
    let citations = citations::read(&mut root, directory);
    let runs = runs::read(&mut root);
    let gates = gates::read(&mut root);
    let openfga = openfga::read(&mut root);
    let catalog = catalog::read(&mut root, directory, &servers);
    // What a connector reads must not hold the state, as little as a workspace may.
    workspaces.extend(catalog.directories.iter().map(|files| files.root.clone()));
    let console = console::read(&mut root, text, directory);
    let egress = egress::read(&mut root, directory);
    places.refuse_inside(&workspaces, report);
    let tools = sandbox::with_shell(tools?, &sandbox)?;
    let policy = Policy::new(tools)
        .with_destinations(&egress.destinations)
        .with_detection(&detect.canonical());
    Some(Config {
        file: None,
        listen,
        data_dir: data_dir?,
        store,
        private_data_dir,
        policy,
        detect,
        retention,
        limits,
        telemetry,
        servers,
        mcp,
        sources,
        citations,
        runs,
        gates,
        openfga,
        catalog,
        console,
        egress,
        sandbox,
    })
}

fn read_listen(root: &mut Section<'_, '_>) -> Option<SocketAddr> {
    let At { value, offset } = root.text("listen")?;
    let Ok(listen) = value.parse::<SocketAddr>() else {
        root.report().error(
            offset,
            "listen must be an address and a port, such as 127.0.0.1:7413",
        );
        return None;
    };
    if !listen.ip().is_loopback() {
        let warning =
            "listens beyond this machine: put a proxy that speaks TLS in front, tokens travel in the clear";
        root.report().warn(offset, warning);
    }
    Some(listen)
}

fn read_workspaces(root: &mut Section<'_, '_>, directory: &Path) -> Vec<PathBuf> {
    let texts = root.texts("workspaces");
    for text in texts.iter().filter(|text| text.is_empty()) {
        root.report()
            .error(text.offset, "workspaces: each must name a directory");
    }
    texts.iter().map(|text| directory.join(text.value)).collect()
}

/// The places that hold state, to be kept out of every workspace.
struct Places<'a> {
    directory: &'a Path,
    state: Vec<(&'static str, PathBuf, Option<usize>)>,
}

impl<'a> Places<'a> {
    const fn new(directory: &'a Path) -> Self {
        let state = Vec::new();
        Self { directory, state }
    }

    fn read(
        &mut self,
        root: &mut Section<'_, '_>,
        key: &'static str,
        given: Option<PathBuf>,
    ) -> Option<PathBuf> {
        let text = root.text(key);
        if let Some(empty) = text.filter(|text| text.is_empty()) {
            root.report()
                .error(empty.offset, format_args!("{key} must name a directory"));
        }
        let (path, offset) = match (given, text) {
            (Some(path), _) => (path, None),
            (None, Some(text)) => (self.directory.join(text.value), Some(text.offset)),
            (None, None) => return None,
        };
        self.state.push((key, path.clone(), offset));
        Some(path)
    }

    fn default_data_dir(&mut self, report: &Report<'_>) -> Option<PathBuf> {
        let path = default_data_dir();
        match &path {
            Some(path) => self.state.push(("data_dir", path.clone(), None)),
            None => report.error_from(
                None,
                "there is no home directory to keep state in: set data_dir or --data-dir",
            ),
        }
        path
    }

    fn read_telemetry(&mut self, root: &mut Section<'_, '_>) -> Telemetry {
        let (mut telemetry, offset) = telemetry::read(root);
        if let LogTarget::File(path) = &mut telemetry.decision_log {
            *path = self.directory.join(&*path);
            self.state.push(("decision_log", path.clone(), offset));
        }
        telemetry
    }

    fn refuse_inside(&self, workspaces: &[PathBuf], report: &Report<'_>) {
        if workspaces.is_empty() {
            return;
        }
        for (name, place, offset) in &self.state {
            let message = match refuse_inside(place, workspaces) {
                Ok(()) => continue,
                Err(Misplaced::Inside { .. }) => {
                    "lies inside a workspace, where an agent's tools could change it"
                }
                Err(Misplaced::Around { .. }) => {
                    "has a workspace inside it, so an agent's tools could reach it"
                }
                Err(Misplaced::Unresolved { .. }) => {
                    "cannot be compared with the workspaces: it cannot be told where one leads"
                }
            };
            report.error_from(*offset, format_args!("{name} {message}"));
        }
    }
}

/// Where state is kept when nobody says: the user's data directory.
fn default_data_dir() -> Option<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let base = absolute("XDG_DATA_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local").join("share")))
        .or_else(|| absolute("LOCALAPPDATA"))?;
    Some(base.join("tidegate"))
}
