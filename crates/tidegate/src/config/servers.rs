//! `[servers.NAME]`: the upstream MCP servers, each a child process or a URL.
//!
//! The file names environment variables and never holds their values, so that it can be shown and committed.

use std::path::PathBuf;

use tidegate_core::Ident;
use url::Url;

use super::walk::{At, Section};

/// An upstream server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    /// What its tools are prefixed with.
    pub(crate) name: Ident,
    /// Whether its tools keep their own names instead.
    pub(crate) bare_names: bool,
    /// How it is reached.
    pub(crate) reach: Reach,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// A child process that speaks on its standard streams.
    Command {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// The variables it is given, by name.
        env: Vec<String>,
    },
    /// A server that is running.
    Url {
        /// Where.
        url: Url,
        /// Headers, each with the name of the variable that holds its value.
        headers_env: Vec<(String, String)>,
        /// The authorities whose certificates are trusted, instead of those that browsers trust.
        ca_file: Option<PathBuf>,
    },
}

/// Reads every server.
pub(super) fn read(root: &mut Section<'_, '_>) -> Vec<Server> {
    let mut bare = 0;
    let mut read = |(name, mut section): (At<&str>, Section<'_, '_>)| {
        let name = match Ident::parse(&name) {
            // The first dot ends the server's name in "server.tool".
            Ok(ident) if !name.contains('.') => Some(ident),
            Ok(_) => {
                section
                    .report()
                    .error(name.offset, "servers: a server's name must not hold a dot");
                None
            }
            Err(why) => {
                section
                    .report()
                    .error(name.offset, format_args!("servers: {why}"));
                None
            }
        };
        let bare_names = section.flag("bare_names");
        if let Some(flag) = bare_names.filter(|flag| flag.value) {
            bare += 1;
            if bare > 1 {
                let name = section.name_of("bare_names");
                let message = format!("{name}: only one server can keep its tools' own names");
                section.report().error(flag.offset, message);
            }
        }
        let reach = read_reach(section);
        Some(Server {
            bare_names: bare_names.is_some_and(|flag| flag.value),
            name: name?,
            reach: reach?,
        })
    };
    root.sections("servers")
        .into_iter()
        .filter_map(&mut read)
        .collect()
}

fn read_reach(mut section: Section<'_, '_>) -> Option<Reach> {
    let (command, url) = (section.text("command"), section.text("url"));
    let args: Vec<_> = section
        .texts("args")
        .into_iter()
        .map(|arg| (*arg).to_owned())
        .collect();
    let env = read_env(&mut section);
    let headers_env = read_headers(&mut section);
    let ca_file = section.text("ca_file");
    let report = section.report();
    match (section.has("command"), section.has("url")) {
        (true, true) => report.error(section.offset, "a server has a command or a url, not both"),
        (false, false) => report.error(section.offset, "a server needs a command or a url"),
        (true, false) => refuse(&section, &["headers_env", "ca_file"], "url"),
        (false, true) => refuse(&section, &["args", "env"], "command"),
    }
    if let Some(command) = command {
        if command.trim().is_empty() {
            report.error(
                command.offset,
                format_args!("{} must name a program", section.name_of("command")),
            );
        }
        return Some(Reach::Command {
            command: (*command).to_owned(),
            args,
            env,
        });
    }
    let url = read_url(&section, url?)?;
    if let Some(file) = ca_file.filter(|_| url.scheme() != "https") {
        let name = section.name_of("ca_file");
        report.error(file.offset, format_args!("{name} is only for an https address"));
    }
    Some(Reach::Url {
        url,
        headers_env,
        ca_file: ca_file.map(|file| PathBuf::from(*file)),
    })
}

/// Keys that belong to the other way of reaching a server would be ignored, so they are refused.
fn refuse(section: &Section<'_, '_>, keys: &[&str], owner: &str) {
    for key in keys.iter().filter(|key| section.has(key)) {
        let name = section.name_of(key);
        section.report().error(
            section.offset_of(key),
            format_args!("{name} is only for a server with a {owner}"),
        );
    }
}

/// An address on the web, reported under a name when it is none.
pub(super) fn read_url(section: &Section<'_, '_>, text: At<&str>) -> Option<Url> {
    let report = section.report();
    let url = Url::parse(&text).ok();
    let Some(url) = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) else {
        report.error(
            text.offset,
            "not an address: expected http://HOST:PORT/PATH or https://...",
        );
        return None;
    };
    if !url.username().is_empty() || url.password().is_some() {
        report.error(text.offset, "an address must not carry a user name or a password");
    }
    if url.scheme() == "http" && !is_loopback(&url) {
        report.warn(
            text.offset,
            "plain http to another machine: what is sent can be read on the way",
        );
    }
    Some(url)
}

pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

fn read_env(section: &mut Section<'_, '_>) -> Vec<String> {
    let name = section.name_of("env");
    let variables = section.texts("env");
    variables
        .into_iter()
        .filter_map(|text| variable(section, &name, text))
        .collect()
}

pub(super) fn read_headers(section: &mut Section<'_, '_>) -> Vec<(String, String)> {
    let name = section.name_of("headers_env");
    let mut headers = Vec::new();
    for (header, text) in section.pairs("headers_env") {
        let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        if header.is_empty() || !header.bytes().all(is_token) {
            section
                .report()
                .error(header.offset, format_args!("{name}: not the name of a header"));
        }
        let variable = variable(section, &name, text);
        headers.extend(variable.map(|variable| ((*header).to_owned(), variable)));
    }
    headers
}

pub(super) fn variable(section: &Section<'_, '_>, name: &str, text: At<&str>) -> Option<String> {
    let mut bytes = text.bytes();
    let first = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    if first && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Some((*text).to_owned());
    }
    let wanted = "the name of an environment variable, never its value";
    section
        .report()
        .error(text.offset, format_args!("{name}: expected {wanted}"));
    None
}
