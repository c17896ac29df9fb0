//! `[egress]`: where what runs in a session may connect to, and what each place may be given.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidegate_core::{Class, Control};
use tidegate_engine::egress::{Destination, Destinations, HostPattern, Protocol, Scan, USUAL_PORTS, net};
use tidegate_gateway::egress::Bounds;

use super::tools::CLASSES;
use super::walk::{At, Section};

/// The way out.
#[derive(Clone, Debug)]
pub(crate) struct Egress {
    /// Where the proxy listens; nowhere when nobody says.
    pub(crate) listen: Option<SocketAddr>,
    /// Where connections may lead.
    pub(crate) destinations: Destinations,
    /// How much the proxy takes on.
    pub(crate) bounds: Bounds,
    /// Who signs the certificates of destinations whose tunnels are opened, if not those that browsers trust.
    pub(crate) ca_file: Option<PathBuf>,
}

/// Reads the section; what is not said takes its default.
pub(super) fn read(root: &mut Section<'_, '_>, directory: &Path) -> Egress {
    let mut egress = Egress {
        listen: None,
        destinations: Destinations::new(Vec::new(), USUAL_PORTS.to_vec()),
        bounds: Bounds::STANDARD,
        ca_file: None,
    };
    let Some(mut section) = root.section("egress") else {
        return egress;
    };
    egress.listen = read_listen(&mut section);
    egress.ca_file = section.text("ca_file").map(|file| directory.join(file.value));
    read_bounds(&mut section, &mut egress.bounds);
    let ports = read_ports(&mut section).unwrap_or_else(|| USUAL_PORTS.to_vec());
    let mut listed = Vec::new();
    let mut seen = HashSet::new();
    for (name, mut entry) in section.sections("destinations") {
        let Some(pattern) = entry.parse::<HostPattern>("egress.destinations", name, &[]) else {
            entry.abandon();
            continue;
        };
        if !seen.insert(pattern.value.clone()) {
            let error = "egress.destinations: this host is listed twice";
            entry.report().error(name.offset, error);
        }
        listed.push(read_destination(pattern.value, &mut entry, &ports));
    }
    egress.destinations = Destinations::new(listed, ports);
    egress
}

fn read_listen(section: &mut Section<'_, '_>) -> Option<SocketAddr> {
    let At { value, offset } = section.text("listen")?;
    let Ok(listen) = value.parse::<SocketAddr>() else {
        let error = "egress.listen must be an address and a port, such as 127.0.0.1:7414";
        section.report().error(offset, error);
        return None;
    };
    if !listen.ip().is_loopback() {
        let warning = "egress.listen: listens beyond this machine, and credentials travel in the clear";
        section.report().warn(offset, warning);
    }
    Some(listen)
}

fn read_bounds(section: &mut Section<'_, '_>, bounds: &mut Bounds) {
    for (key, range, bound) in [
        ("head_bytes", 1_024..=1 << 20, &mut bounds.head_bytes),
        ("body_bytes", 1_024..=64 << 20, &mut bounds.body_bytes),
        ("connections", 1..=65_536, &mut bounds.connections),
        ("session_connections", 1..=65_536, &mut bounds.session_connections),
    ] {
        if let Some(count) = section
            .count(key, range)
            .and_then(|count| usize::try_from(count).ok())
        {
            *bound = count;
        }
    }
    for (key, most, bound) in [
        ("request_timeout_ms", 600_000, &mut bounds.request_timeout),
        ("connect_timeout_ms", 600_000, &mut bounds.connect_timeout),
        ("answer_timeout_ms", 3_600_000, &mut bounds.answer_timeout),
    ] {
        if let Some(millis) = section.count(key, 100..=most) {
            *bound = Duration::from_millis(millis);
        }
    }
}

fn read_ports(section: &mut Section<'_, '_>) -> Option<Vec<u16>> {
    let ports = section.counts("ports", 1..=65_535)?;
    Some(
        ports
            .into_iter()
            .filter_map(|port| u16::try_from(port).ok())
            .collect(),
    )
}

fn read_destination(pattern: HostPattern, section: &mut Section<'_, '_>, ports: &[u16]) -> Destination {
    let ceiling = section.parsed::<Class>("ceiling", &CLASSES);
    let ceiling = ceiling.map_or(Class::Public, |at| at.value);
    let returns = section.parsed::<Class>("returns", &CLASSES);
    let scan = match section.flag("scan").map(|at| at.value) {
        Some(true) => Scan::All,
        Some(false) => Scan::Nothing,
        None => Scan::Plain,
    };
    if let Some(returns) = returns.filter(|returns| returns.value > ceiling && scan != Scan::All) {
        let error = format_args!(
            "{}: above the ceiling only with scan = true, which judges each request by itself",
            section.name_of("returns")
        );
        section.report().error(returns.offset, error);
    }
    let ports = read_ports(section).unwrap_or_else(|| ports.to_vec());
    let protocol = read_protocol(section, scan);
    let control = read_control(section);
    Destination {
        ceiling,
        // A place that may be given confidential data may give it back.
        returns: returns.map_or(ceiling, |at| at.value),
        ports,
        scan,
        protocol,
        addresses: read_addresses(section, &pattern),
        control,
        pattern,
    }
}

fn read_protocol(section: &mut Section<'_, '_>, scan: Scan) -> Protocol {
    let Some(text) = section.text("protocol") else {
        return Protocol::Tls;
    };
    let name = section.name_of("protocol");
    match text.value {
        "tls" => {}
        "tcp" if scan == Scan::All => {
            let error = format_args!("{name}: what is not TLS cannot be opened; leave out scan = true");
            section.report().error(text.offset, error);
        }
        "tcp" => return Protocol::Tcp,
        _ => section
            .report()
            .error(text.offset, format_args!("{name} must be tls or tcp")),
    }
    Protocol::Tls
}

/// A connection cannot wait for a person, so it passes or it does not.
fn read_control(section: &mut Section<'_, '_>) -> Control {
    let Some(text) = section.text("control") else {
        return Control::Auto;
    };
    match text.value {
        "auto" => Control::Auto,
        "blocked" => Control::Blocked,
        _ => {
            let name = section.name_of("control");
            section
                .report()
                .error(text.offset, format_args!("{name} must be auto or blocked"));
            Control::Blocked
        }
    }
}

fn read_addresses(section: &mut Section<'_, '_>, pattern: &HostPattern) -> Vec<ipnet::IpNet> {
    let name = section.name_of("addresses");
    let mut nets = Vec::new();
    for text in section.texts("addresses") {
        match net(text.value) {
            Ok(net) => nets.push(net),
            Err(_) => {
                let error = format_args!("{name}: each must be an address or a network, such as 10.0.0.0/8");
                section.report().error(text.offset, error);
            }
        }
        if matches!(pattern, HostPattern::Any | HostPattern::Net(_)) {
            let error =
                format_args!("{name}: only names lead somewhere; list the addresses themselves instead");
            section.report().error(text.offset, error);
        }
    }
    nets
}

#[cfg(test)]
mod tests {
    use super::super::{Overrides, check};
    use super::*;
    use tidegate_engine::egress::Host;

    fn checked(text: &str) -> Result<Egress, Vec<String>> {
        let overrides = Overrides {
            data_dir: Some("/state".into()),
            ..Overrides::default()
        };
        let checked = check(text, Path::new("/here"), &overrides);
        let problems = checked.problems.iter().map(|problem| problem.line("f")).collect();
        checked.config.map(|config| config.egress).ok_or(problems)
    }

    #[test]
    fn destinations_take_their_defaults_from_the_strict_side() {
        let text = "[egress]\nports = [8443]\n[egress.destinations.\"*.corp.example\"]\nceiling = \"internal\"\n\
                    addresses = [\"10.0.0.0/8\"]\n[egress.destinations.\"api.example\"]\nscan = true\n\
                    returns = \"pii\"\nports = [1, 2]\n";
        let egress = checked(text).unwrap();
        assert_eq!(egress.listen, None);
        let found = |host: &str| egress.destinations.find(&Host::parse(host).unwrap()).clone();
        let corp = found("a.corp.example");
        assert_eq!((corp.ceiling, corp.returns), (Class::Internal, Class::Internal));
        assert_eq!(
            (corp.ports, corp.scan, corp.protocol),
            (vec![8443], Scan::Plain, Protocol::Tls)
        );
        let api = found("api.example");
        assert_eq!(
            (api.ceiling, api.returns, api.ports),
            (Class::Public, Class::Pii, vec![1, 2])
        );
        assert_eq!(found("other.example"), Destination::unlisted(vec![8443]));
        let none = checked("").unwrap();
        assert_eq!(
            none.destinations.find(&Host::Name("a.b".into())).ports,
            USUAL_PORTS
        );
    }

    #[test]
    fn mistakes_are_named() {
        let entry = |line: &str| format!("[egress.destinations.\"a.example\"]\n{line}\n");
        for (text, said) in [
            (entry("cieling = \"pii\""), "did you mean ceiling?"),
            (
                entry("returns = \"pii\""),
                "above the ceiling only with scan = true",
            ),
            (entry("protocol = \"udp\""), "protocol must be tls or tcp"),
            (
                entry("protocol = \"tcp\"\nscan = true"),
                "what is not TLS cannot be opened",
            ),
            (
                entry("control = \"human-approval\""),
                "control must be auto or blocked",
            ),
            (
                entry("addresses = [\"ten\"]"),
                "each must be an address or a network",
            ),
            (entry("ports = [0]"), "each must be between 1 and 65535"),
            (entry("ports = 443"), "must be a list of whole numbers"),
            ("[egress.destinations.\"a.*.example\"]\n".to_owned(), "not a host"),
            (
                "[egress.destinations.\"10.0.0.0/8\"]\naddresses = [\"10.0.0.1\"]\n".to_owned(),
                "only names lead",
            ),
            (
                format!("{}{}", entry(""), entry("").replace("a.ex", "A.ex")),
                "listed twice",
            ),
            (
                "[egress]\nlisten = \"7414\"\n".to_owned(),
                "must be an address and a port",
            ),
            (
                "[egress]\nconnections = 0\n".to_owned(),
                "must be between 1 and 65536",
            ),
        ] {
            let problems = checked(&text).unwrap_err();
            assert!(
                problems.iter().any(|problem| problem.contains(said)),
                "{said}: {problems:?}"
            );
        }
    }
}
