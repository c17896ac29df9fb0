//! Sources of record: where citations are looked up.
//!
//! An address is the operator's; only the citation in it comes from content, escaped so that it stays one part of the path or
//! of a query's value. Redirects and the environment's proxies are not followed, and an address of this machine or of a private network
//! is asked only when the operator says so: a citation must not become a way to reach inside.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use tidegate_engine::{NoAnswer, SourceOfRecord};
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, config::Config};

/// The citations that a file lists, one on each line.
pub struct ListRecord(HashSet<String>);

impl ListRecord {
    /// A record of these lines. Blank lines and lines that begin with `#` say nothing.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let lines = text.lines().map(str::trim);
        let listed = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        Self(listed.map(str::to_owned).collect())
    }
}

impl SourceOfRecord for ListRecord {
    fn holds(&self, citation: &str) -> Result<bool, NoAnswer> {
        Ok(self.0.contains(citation.trim()))
    }
}

/// A record behind an address: `{id}` in it stands for the citation. Found is a status of 200 or 204, not found 404 or 410, and
/// everything else is no answer.
pub struct HttpRecord {
    agent: Agent,
    address: String,
}

/// What stands for the citation in an address.
const PLACE: &str = "{id}";
/// The longest citation that is asked for.
const MOST_BYTES: usize = 512;

impl HttpRecord {
    /// A record at that address.
    #[must_use]
    pub fn new(address: &str, timeout: Duration, private: bool) -> Self {
        let config = Config::builder()
            .timeout_global(Some(timeout))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .build();
        let resolver = Guarded {
            inner: DefaultResolver::default(),
            private,
        };
        Self {
            agent: Agent::with_parts(config, DefaultConnector::default(), resolver),
            address: address.to_owned(),
        }
    }
}

impl SourceOfRecord for HttpRecord {
    fn holds(&self, citation: &str) -> Result<bool, NoAnswer> {
        if citation.len() > MOST_BYTES {
            return Err(NoAnswer);
        }
        let address = self.address.replace(PLACE, &escaped(citation));
        let answer = self.agent.get(&address).call().map_err(|_| NoAnswer)?;
        match answer.status().as_u16() {
            200 | 204 => Ok(true),
            404 | 410 => Ok(false),
            _ => Err(NoAnswer),
        }
    }
}

/// Everything but letters, digits and `-`, `_`, `~` by its bytes: also a dot, so that no citation is a step up a path.
fn escaped(citation: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_~".contains(&byte);
    citation
        .bytes()
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

/// Gives public addresses only, unless private ones are allowed. The connection is made to what was looked at, so a name that
/// changes its address in between gains nothing.
#[derive(Debug)]
struct Guarded {
    inner: DefaultResolver,
    private: bool,
}

impl Resolver for Guarded {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.inner.resolve(uri, config, timeout)?;
        let mut allowed = self.empty();
        for address in found
            .iter()
            .filter(|address| self.private || is_public(address.ip()))
        {
            allowed.push(*address);
        }
        if allowed.is_empty() {
            return Err(ureq::Error::HostNotFound);
        }
        Ok(allowed)
    }
}

/// Whether an address is one that anybody on the internet reaches.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_shared = a == 100 && (64..128).contains(&b);
    let is_protocol = a == 192 && b == 0 && c == 0;
    let is_benchmark = a == 198 && (b == 18 || b == 19);
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || a == 0
        || a >= 224
        || is_shared
        || is_protocol
        || is_benchmark)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = address.to_ipv4() {
        return is_public_v4(inner);
    }
    let [first, second, ..] = address.segments();
    let is_translated = first == 0x64 && second == 0xff9b;
    let is_global_unicast = first & 0xe000 == 0x2000;
    let is_tunnel = first == 0x2002 || (first == 0x2001 && second == 0);
    let is_documentation = first == 0x2001 && second == 0xdb8;
    is_global_unicast && !is_tunnel && !is_documentation && !is_translated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_known() {
        for (address, public) in [
            ("8.8.8.8", true),
            ("127.0.0.1", false),
            ("10.1.2.3", false),
            ("172.16.0.1", false),
            ("192.168.1.1", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("0.0.0.0", false),
            ("255.255.255.255", false),
            ("224.0.0.1", false),
            ("2606:4700::1111", true),
            ("::1", false),
            ("::", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:8.8.8.8", true),
            ("fe80::1", false),
            ("fd00::1", false),
            ("2002:7f00:1::", false),
            ("64:ff9b::7f00:1", false),
        ] {
            assert_eq!(is_public(address.parse().unwrap()), public, "{address}");
        }
    }

    #[test]
    fn a_citation_stays_one_part() {
        assert_eq!(escaped("P-12_a~"), "P-12_a~");
        assert_eq!(escaped("../x?y=1&z#é"), "%2E%2E%2Fx%3Fy%3D1%26z%23%C3%A9");
    }

    #[test]
    fn a_list_holds_its_lines() {
        let record = ListRecord::of("# parcels\nP-1\n\n  P-2  \n");
        for (citation, held) in [
            ("P-1", true),
            (" P-2", true),
            ("P-3", false),
            ("# parcels", false),
            ("", false),
        ] {
            assert_eq!(record.holds(citation), Ok(held), "{citation}");
        }
    }
}
