//! Where connections may lead, and what each place may be given.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use tidegate_core::{Class, Control, Fault, Name, Tool, ToolFacts};

use super::address::is_reserved;
use super::host::{BadHost, Host, Target};

/// The ports that a destination is reached on where nobody says: HTTPS and HTTP.
pub const USUAL_PORTS: [u16; 2] = [443, 80];

/// Which hosts an entry is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HostPattern {
    /// One name.
    Name(String),
    /// Every name below one, not itself; its text with the leading dot.
    Below(String),
    /// Addresses, written as such.
    Net(IpNet),
    /// Whatever nothing else is about.
    Any,
}

impl FromStr for HostPattern {
    type Err = BadHost;

    fn from_str(text: &str) -> Result<Self, BadHost> {
        if text == "*" {
            return Ok(Self::Any);
        }
        if let Some(parent) = text.strip_prefix("*.") {
            return match Host::parse(parent)? {
                Host::Name(name) => Ok(Self::Below(format!(".{name}"))),
                Host::Address(_) => Err(BadHost),
            };
        }
        if let Ok(net) = net(text) {
            return Ok(Self::Net(net));
        }
        match Host::parse(text)? {
            Host::Name(name) => Ok(Self::Name(name)),
            Host::Address(address) => Ok(Self::Net(address.into())),
        }
    }
}

/// Reads an address, or a network such as `10.0.0.0/8`.
///
/// # Errors
/// When it is neither.
pub fn net(text: &str) -> Result<IpNet, BadHost> {
    let address = text.parse::<IpAddr>().map(IpNet::from);
    let net = address.or_else(|_| text.parse::<IpNet>()).map_err(|_| BadHost)?;
    Ok(net.trunc())
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Below(suffix) => write!(f, "*{suffix}"),
            Self::Net(net) => write!(f, "{net}"),
            Self::Any => f.write_str("*"),
        }
    }
}

impl HostPattern {
    /// How closely it fits a host; nothing when it does not.
    fn fit(&self, host: &Host) -> Option<usize> {
        match (self, host) {
            (Self::Name(name), Host::Name(host)) => (name == host).then_some(1_000),
            (Self::Below(suffix), Host::Name(host)) => host.ends_with(suffix).then_some(suffix.len()),
            (Self::Net(net), Host::Address(address)) => {
                net.contains(address).then(|| 1 + usize::from(net.prefix_len()))
            }
            (Self::Any, _) => Some(0),
            (Self::Name(_) | Self::Below(_), Host::Address(_)) | (Self::Net(_), Host::Name(_)) => None,
        }
    }
}

/// What is looked into on the way to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// Nothing.
    Nothing,
    /// What comes in the clear.
    Plain,
    /// That, and what comes over TLS, which is opened for it.
    All,
}

/// What may run through a tunnel to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TLS that names the host it was asked for.
    Tls,
    /// Anything.
    Tcp,
}

/// What is declared of a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Which hosts.
    pub pattern: HostPattern,
    /// The highest class it may be given.
    pub ceiling: Class,
    /// The class of what comes back from it.
    pub returns: Class,
    /// The ports it is reached on.
    pub ports: Vec<u16>,
    /// What is looked into.
    pub scan: Scan,
    /// What may run through a tunnel.
    pub protocol: Protocol,
    /// The reserved networks that its names may lead into.
    pub addresses: Vec<IpNet>,
    /// Whether it may be reached at all.
    pub control: Control,
}

impl Destination {
    /// What holds for hosts that nobody listed: the public internet, given what is public.
    #[must_use]
    pub fn unlisted(ports: Vec<u16>) -> Self {
        Self {
            pattern: HostPattern::Any,
            ceiling: Class::Public,
            returns: Class::Public,
            ports,
            scan: Scan::Plain,
            protocol: Protocol::Tls,
            addresses: Vec::new(),
            control: Control::Auto,
        }
    }

    /// Whether a connection may lead to this address. INVARIANT (inside is listed): an address that is not the public
    /// internet passes only where the policy lists it for this very destination.
    ///
    /// # Errors
    /// When it may not.
    pub fn admits(&self, address: IpAddr) -> Result<(), Fault> {
        let own = match &self.pattern {
            HostPattern::Net(net) => Some(net),
            HostPattern::Name(_) | HostPattern::Below(_) | HostPattern::Any => None,
        };
        let is_listed = self.addresses.iter().chain(own).any(|net| net.contains(&address));
        if is_listed || !is_reserved(address) {
            Ok(())
        } else {
            Err(Fault::ReservedAddress)
        }
    }

    /// The destination as the one rule sees it: a tool with a ceiling that is called by connecting.
    pub(super) fn as_tool(&self, name: Name) -> Tool {
        Tool::declared(ToolFacts {
            external: true,
            ceiling: Some(self.ceiling),
            returns: Some(self.returns),
            control: self.control,
            ..ToolFacts::named(name)
        })
    }
}

/// Every destination that is listed, and what holds for the rest.
#[derive(Clone, Debug)]
pub struct Destinations {
    listed: Vec<Destination>,
    rest: Destination,
}

impl Destinations {
    /// A list. An entry about any host stands for what nobody lists; without one, the rest is the public internet on
    /// `ports`.
    #[must_use]
    pub fn new(listed: Vec<Destination>, ports: Vec<u16>) -> Self {
        let (any, listed): (Vec<_>, Vec<_>) = listed
            .into_iter()
            .partition(|destination| destination.pattern == HostPattern::Any);
        let rest = any.into_iter().next_back();
        let rest = rest.unwrap_or_else(|| Destination::unlisted(ports));
        Self { listed, rest }
    }

    /// The entry that fits a host most closely.
    #[must_use]
    pub fn find(&self, host: &Host) -> &Destination {
        let fitting = self
            .listed
            .iter()
            .filter_map(|destination| Some((destination.pattern.fit(host)?, destination)));
        fitting
            .max_by_key(|(fit, _)| *fit)
            .map_or(&self.rest, |(_, destination)| destination)
    }

    /// The entry for a target.
    ///
    /// # Errors
    /// When it is not reached on that port.
    pub(super) fn reached(&self, target: &Target) -> Result<&Destination, Fault> {
        let found = self.find(&target.host);
        if found.ports.contains(&target.port) {
            Ok(found)
        } else {
            Err(Fault::PortNotListed)
        }
    }

    /// The highest class that any destination may be given; nothing where all are blocked.
    pub(super) fn highest_ceiling(&self) -> Option<Class> {
        let all = self.listed.iter().chain([&self.rest]);
        let open = all.filter(|destination| destination.control == Control::Auto);
        open.map(|destination| destination.ceiling).max()
    }

    /// Whether any destination asks to be looked into.
    #[must_use]
    pub fn want_interception(&self) -> bool {
        let mut all = self.listed.iter().chain([&self.rest]);
        all.any(|destination| destination.scan == Scan::All)
    }

    /// Everything that the rules see, in one spelling, for the version of the policy.
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut lines: Vec<_> = self.listed.iter().chain([&self.rest]).map(canonical).collect();
        lines.sort_unstable();
        lines.concat()
    }
}

fn canonical(destination: &Destination) -> String {
    let Destination {
        pattern,
        ceiling,
        returns,
        ports,
        scan,
        protocol,
        addresses,
        control,
    } = destination;
    let control = control.as_str();
    format!("egress {pattern} {ceiling} {returns} {ports:?} {scan:?} {protocol:?} {addresses:?} {control}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(pattern: &str, ceiling: Class) -> Destination {
        Destination {
            pattern: pattern.parse().unwrap(),
            ceiling,
            ..Destination::unlisted(USUAL_PORTS.to_vec())
        }
    }

    #[test]
    fn the_closest_entry_holds() {
        let listed = vec![
            entry("*.corp.example", Class::Internal),
            entry("*.vault.corp.example", Class::Secret),
            entry("wiki.corp.example", Class::Confidential),
            entry("10.0.0.0/8", Class::Internal),
            entry("10.1.2.3", Class::Pii),
        ];
        let destinations = Destinations::new(listed, vec![443]);
        for (host, ceiling) in [
            ("a.corp.example", Class::Internal),
            ("A.B.Corp.Example.", Class::Internal),
            ("wiki.corp.example", Class::Confidential),
            ("x.vault.corp.example", Class::Secret),
            ("corp.example", Class::Public),
            ("evilcorp.example", Class::Public),
            ("corp.example.evil.com", Class::Public),
            ("10.9.9.9", Class::Internal),
            ("10.1.2.3", Class::Pii),
            ("11.1.2.3", Class::Public),
            ("[::ffff:10.1.2.3]", Class::Public),
        ] {
            assert_eq!(
                destinations.find(&Host::parse(host).unwrap()).ceiling,
                ceiling,
                "{host}"
            );
        }
        let blocked = Destination {
            control: Control::Blocked,
            ..entry("*", Class::Public)
        };
        let closed = Destinations::new(vec![blocked], vec![443]);
        assert_eq!(
            closed.find(&Host::parse("a.b").unwrap()).control,
            Control::Blocked
        );
    }

    #[test]
    fn inside_is_listed() {
        let named = Destination {
            addresses: vec![net("10.0.0.0/8").unwrap()],
            ..entry("*.corp.example", Class::Internal)
        };
        let literal = entry("169.254.169.254", Class::Public);
        for (destination, address, admitted) in [
            (&named, "10.1.1.1", true),
            (&named, "8.8.8.8", true),
            (&named, "192.168.1.1", false),
            (&named, "::ffff:10.1.1.1", false),
            (&named, "127.0.0.1", false),
            (&literal, "169.254.169.254", true),
            (&literal, "169.254.169.253", false),
            (&entry("*", Class::Public), "127.0.0.1", false),
        ] {
            let answer = destination.admits(address.parse().unwrap());
            assert_eq!(answer.is_ok(), admitted, "{address}");
        }
    }

    #[test]
    fn patterns_read_back() {
        for (text, spelled) in [
            ("*", Some("*")),
            ("*.Corp.Example", Some("*.corp.example")),
            ("wiki.corp.example.", Some("wiki.corp.example")),
            ("10.1.2.3/8", Some("10.0.0.0/8")),
            ("10.1.2.3", Some("10.1.2.3/32")),
            ("fd00::/8", Some("fd00::/8")),
            ("[::1]", Some("::1/128")),
            ("*.10.0.0.1", None),
            ("a.*.example", None),
            ("*corp.example", None),
            ("", None),
        ] {
            let pattern = text
                .parse::<HostPattern>()
                .ok()
                .map(|pattern| pattern.to_string());
            assert_eq!(pattern.as_deref(), spelled, "{text}");
        }
    }
}
