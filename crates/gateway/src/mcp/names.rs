//! What a tool or a prompt of a server is called.
//!
//! A name follows from the configuration alone: `server.tool`, or the tool's own name for the one server that is
//! configured to keep its names. Whatever a server offers, now or later, it cannot take a name that belongs to another,
//! and the name a client sees is the name in the control list and on the record.

use tidegate_core::Name;

use super::Upstream;

/// What a server's tool or prompt is called, if it can have a name at all.
pub(crate) fn shown(servers: &[Upstream], server: usize, own: &str) -> Option<Name> {
    let upstream = servers.get(server)?;
    if !upstream.bare_names {
        return Name::parse(&format!("{}.{own}", upstream.name)).ok();
    }
    let taken = super::own::is_own(own) || prefixed(servers, own).is_some();
    Name::parse(own).ok().filter(|_| !taken)
}

/// Which server a name belongs to, and what that server calls it.
pub(crate) fn resolve<'a>(servers: &[Upstream], name: &'a str) -> Option<(usize, &'a str)> {
    if let Some(found) = prefixed(servers, name) {
        return Some(found);
    }
    let bare = servers.iter().position(|server| server.bare_names)?;
    (!super::own::is_own(name)).then_some((bare, name))
}

fn prefixed<'a>(servers: &[Upstream], name: &'a str) -> Option<(usize, &'a str)> {
    let (prefix, own) = name.split_once('.')?;
    let named = |server: &Upstream| !server.bare_names && server.name.as_str() == prefix;
    servers.iter().position(named).map(|server| (server, own))
}

/// A way in or out of a server that is not a tool, as the control list names it: `server:resources`.
pub(crate) fn surface(server: &Upstream, surface: Surface) -> Option<Name> {
    Name::parse(&format!("{}:{}", server.name, surface.as_str())).ok()
}

/// Everything that a call to a server can be for: those of the known tools that are its own, and its other ways.
pub(crate) fn all_of<'a>(
    servers: &[Upstream],
    server: usize,
    known: impl Iterator<Item = &'a Name>,
) -> Vec<Name> {
    let is_its_own = |name: &&Name| resolve(servers, name.as_str()).is_some_and(|(at, _)| at == server);
    let tools = known.filter(is_its_own).cloned();
    let ways = servers.get(server).into_iter();
    let ways = ways.flat_map(|upstream| Surface::ALL.into_iter().filter_map(|way| surface(upstream, way)));
    tools.chain(ways).collect()
}

/// A way in or out of a server that is not a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surface {
    /// Resources that are read.
    Resources,
    /// Prompts that are fetched.
    Prompts,
    /// Completions of what a person types.
    Completion,
    /// Log messages.
    Logging,
    /// A model that the server asks for.
    Sampling,
    /// A person whom the server asks.
    Elicitation,
    /// The client's directories.
    Roots,
    /// Everything else.
    Other,
}

impl Surface {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Resources => "resources",
            Self::Prompts => "prompts",
            Self::Completion => "completion",
            Self::Logging => "logging",
            Self::Sampling => "sampling",
            Self::Elicitation => "elicitation",
            Self::Roots => "roots",
            Self::Other => "other",
        }
    }

    /// Every surface.
    pub(crate) const ALL: [Self; 8] = [
        Self::Resources,
        Self::Prompts,
        Self::Completion,
        Self::Logging,
        Self::Sampling,
        Self::Elicitation,
        Self::Roots,
        Self::Other,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::Reach;
    use tidegate_core::Ident;

    fn servers(names: &[(&str, bool)]) -> Vec<Upstream> {
        let server = |(name, bare_names): &(&str, bool)| Upstream {
            name: Ident::parse(name).unwrap(),
            bare_names: *bare_names,
            reach: Reach::Url {
                url: String::new(),
                headers_env: Vec::new(),
                ca_file: None,
            },
        };
        names.iter().map(server).collect()
    }

    #[test]
    fn every_name_that_is_shown_leads_back() {
        let servers = servers(&[("files", false), ("git", false), ("main", true)]);
        for (server, own, expected) in [
            (0, "read", Some("files.read")),
            (1, "read", Some("git.read")),
            (1, "log.short", Some("git.log.short")),
            (2, "read", Some("read")),
            (2, "a.b", Some("a.b")),
            (2, "files.read", None),
            (2, "tidegate_manifest", None),
            (0, "line\nbreak", None),
        ] {
            let name = shown(&servers, server, own);
            assert_eq!(name.as_ref().map(Name::as_str), expected);
            if let Some(name) = &name {
                assert_eq!(resolve(&servers, name.as_str()), Some((server, own)));
            }
        }
    }

    #[test]
    fn a_server_is_known_by_its_tools_and_its_other_ways() {
        let servers = servers(&[("files", false), ("main", true)]);
        let known = ["files.read", "files:resources", "read"].map(|name| Name::parse(name).unwrap());
        for (server, name, expected) in [
            (0, "files.read", true),
            (0, "files:resources", true),
            (0, "files:other", true),
            (0, "read", false),
            (0, "main:resources", false),
            (1, "read", true),
            (1, "main:prompts", true),
            (1, "files.read", false),
        ] {
            let all = all_of(&servers, server, known.iter());
            let found = all.iter().any(|known| known.as_str() == name);
            assert_eq!(found, expected, "{server} {name}");
        }
    }

    #[test]
    fn a_name_of_nobody_leads_nowhere() {
        let servers = servers(&[("files", false)]);
        for name in ["read", "git.read", "", "."] {
            assert_eq!(resolve(&servers, name), None, "{name}");
        }
    }
}
