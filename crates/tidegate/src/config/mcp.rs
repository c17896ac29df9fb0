//! `[mcp]`: how the gateway to MCP servers behaves.

use std::time::Duration;

use tidegate_gateway::mcp::{ClosedTools, Hosts, Options};

use super::walk::Section;

/// Reads the section; what is not said takes its default.
pub(super) fn read(root: &mut Section<'_, '_>) -> Options {
    let mut options = Options::STANDARD;
    let Some(mut section) = root.section("mcp") else {
        return options;
    };
    if let Some(text) = section.text("closed_tools") {
        match text.value {
            "mark" => options.closed_tools = ClosedTools::Mark,
            "hide" => options.closed_tools = ClosedTools::Hide,
            _ => {
                let name = section.name_of("closed_tools");
                let report = section.report();
                report.error(text.offset, format_args!("{name} must be mark or hide"));
            }
        }
    }
    options.hosts = read_hosts(&mut section);
    for (key, most, bound) in [
        ("start_timeout_ms", 600_000, &mut options.start_timeout),
        ("call_timeout_ms", 3_600_000, &mut options.call_timeout),
        ("abandon_after_ms", 3_600_000, &mut options.abandon_after),
    ] {
        if let Some(millis) = section.count(key, 100..=most) {
            *bound = Duration::from_millis(millis);
        }
    }
    for (key, range, bound) in [
        ("message_bytes", 4_096..=256 << 20, &mut options.message_bytes),
        ("sessions", 1..=10_000, &mut options.sessions),
    ] {
        if let Some(count) = section
            .count(key, range)
            .and_then(|count| usize::try_from(count).ok())
        {
            *bound = count;
        }
    }
    options
}

/// The names that the gateway is reached by, beside those of the machine for itself.
fn read_hosts(section: &mut Section<'_, '_>) -> Hosts {
    let name = section.name_of("hosts");
    let mut hosts = Vec::new();
    for host in section.texts("hosts") {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-.:[]".contains(&b);
        if host.is_empty() || !host.bytes().all(is_plain) {
            let message =
                format!("{name}: each must be a host name such as gate.corp.example, without a port");
            section.report().error(host.offset, message);
        }
        hosts.push((*host).to_owned());
    }
    Hosts::Named(hosts)
}
