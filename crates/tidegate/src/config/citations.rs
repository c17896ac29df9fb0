//! `[citations.NAME]`: what is looked up before anyone relies on it, and where.

use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::{Regex, RegexBuilder};
use tidegate_core::{Class, Name};
use tidegate_gateway::records::is_public;
use url::Host;

use super::servers::read_url;
use super::tools::CLASSES;
use super::walk::{At, Section};

/// The largest compiled pattern, in bytes.
const PATTERN_BYTES: usize = 1 << 20;
/// What stands for the citation in an address.
const PLACE: &str = "{id}";
const TIMEOUT: Duration = Duration::from_secs(2);

/// One sort of citation.
#[derive(Clone, Debug)]
pub(crate) struct Citation {
    /// What it is called.
    pub(crate) kind: Name,
    /// What it looks like.
    pub(crate) pattern: Regex,
    /// The highest class of text whose citations may be carried to the record.
    pub(crate) ceiling: Class,
    /// Where it is looked up.
    pub(crate) record: Record,
}

/// Where a sort of citation is looked up.
#[derive(Clone, Debug)]
pub(crate) enum Record {
    /// In a file, one on each line.
    List(PathBuf),
    /// Behind an address.
    Url {
        /// The address, with `{id}` where the citation goes.
        address: String,
        /// How long one answer may take.
        timeout: Duration,
        /// Whether the address may be of this machine or of a private network.
        private: bool,
    },
}

/// Reads every sort. Relative paths start from `directory`.
pub(super) fn read(root: &mut Section<'_, '_>, directory: &Path) -> Vec<Citation> {
    let report = root.report();
    let mut citations = Vec::new();
    for (name, mut section) in root.sections("citations") {
        let Ok(kind) = Name::parse(&name) else {
            report.error(section.offset, "citations: a sort of citation needs a name");
            section.abandon();
            continue;
        };
        let pattern = read_pattern(&mut section);
        let ceiling = section.parsed::<Class>("ceiling", &CLASSES).map(|at| at.value);
        let record = read_record(&mut section, directory);
        if let (Some(pattern), Some((record, default))) = (pattern, record) {
            citations.push(Citation {
                kind,
                pattern,
                ceiling: ceiling.unwrap_or(default),
                record,
            });
        }
    }
    citations
}

fn read_pattern(section: &mut Section<'_, '_>) -> Option<Regex> {
    let name = section.name_of("pattern");
    let report = section.report();
    let Some(text) = section.text("pattern") else {
        if !section.has("pattern") {
            report.error(section.offset, format_args!("{name} is missing"));
        }
        return None;
    };
    let compiled = RegexBuilder::new(text.value).size_limit(PATTERN_BYTES).build();
    match compiled {
        Ok(pattern) if !pattern.is_match("") => Some(pattern),
        Ok(_) => {
            report.error(text.offset, format_args!("{name} fits the empty text"));
            None
        }
        Err(_) => {
            report.error(
                text.offset,
                format_args!("{name} is no regular expression, or too large a one"),
            );
            None
        }
    }
}

/// Where it is looked up, and the ceiling that holds when none is named: a file keeps what it is asked to itself.
fn read_record(section: &mut Section<'_, '_>, directory: &Path) -> Option<(Record, Class)> {
    let list = section.text("list");
    let url = section.text("url");
    let timeout = section
        .count("timeout_ms", 100..=10_000)
        .map(Duration::from_millis);
    let private = section.flag("private").is_some_and(|at| at.value);
    match (list, url) {
        (Some(list), None) => Some((Record::List(directory.join(list.value)), Class::Secret)),
        (None, Some(url)) => {
            let address = read_address(section, url, private)?;
            let timeout = timeout.unwrap_or(TIMEOUT);
            let record = Record::Url {
                address,
                timeout,
                private,
            };
            Some((record, Class::Public))
        }
        (Some(_), Some(_)) | (None, None) => {
            let name = section.name_of("");
            let name = name.trim_end_matches(['.', '"']);
            let error = format_args!("{name} needs a list or a url, and not both");
            section.report().error(section.offset, error);
            None
        }
    }
}

fn read_address(section: &Section<'_, '_>, text: At<&str>, private: bool) -> Option<String> {
    let report = section.report();
    let name = section.name_of("url");
    let filled = text.value.replace(PLACE, "id");
    let url = read_url(
        section,
        At {
            value: &filled,
            offset: text.offset,
        },
    )?;
    let after_host = text.value.splitn(4, '/').nth(3).unwrap_or_default();
    if text.value.matches(PLACE).count() != 1 || !after_host.contains(PLACE) {
        let error = format_args!("{name} must have {PLACE} once, in its path or query");
        report.error(text.offset, error);
        return None;
    }
    let is_inside = match url.host() {
        Some(Host::Domain(host)) => host == "localhost",
        Some(Host::Ipv4(ip)) => !is_public(ip.into()),
        Some(Host::Ipv6(ip)) => !is_public(ip.into()),
        None => true,
    };
    if is_inside && !private {
        let error = format_args!(
            "{name} is an address of this machine or a private network; say private = true if that is meant"
        );
        report.error(text.offset, error);
    }
    Some(text.value.to_owned())
}
