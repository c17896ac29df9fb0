//! Keys that stand in the arguments or the address of a server, and so would stand in tidegate.toml too.
//!
//! There is no other place that they could be moved to unasked: how a server reads a variable is its own affair.

use std::collections::BTreeMap;

use tidegate_core::Class;
use tidegate_detect::Detector;
use url::Url;

use super::document::Entry;
use super::sections::quoted;
use crate::config::Detect;
use crate::failure::Failure;
use crate::terminal::{CARE, note, painted};

/// Keys in the open, by the server that has them.
pub(super) struct Keys<'a> {
    arguments: Vec<(&'a str, &'a str)>,
    addresses: Vec<(&'a str, &'a str)>,
}

impl<'a> Keys<'a> {
    pub(super) fn in_the_open(servers: &BTreeMap<&'a str, &'a Entry>) -> Result<Self, Failure> {
        let (detector, _) = Detect::default().build().map_err(Failure::usage)?;
        let mut keys = Self {
            arguments: Vec::new(),
            addresses: Vec::new(),
        };
        for (server, entry) in servers {
            let held = with_keys(&detector, &entry.args);
            keys.arguments.extend(held.map(|argument| (*server, argument)));
            let known: Vec<_> = with_keys(&detector, entry.url.as_slice()).collect();
            let addresses = entry.url.as_deref().into_iter();
            let held = addresses.filter(|address| known.contains(address) || has_key_in_path(address));
            keys.addresses.extend(held.map(|address| (*server, address)));
        }
        Ok(keys)
    }

    /// Names the servers.
    pub(super) fn warn(&self) {
        for (server, what, remedy) in self.told() {
            note(painted(
                CARE,
                format_args!(
                    "{server}: {what} what looks like a key, and so does tidegate.toml then; {remedy}"
                ),
            ));
        }
    }

    /// A text in which they are not to be read.
    pub(super) fn withheld(&self, mut text: String) -> String {
        for (_, held) in self.arguments.iter().chain(&self.addresses) {
            text = text.replace(&quoted(held), "\"(withheld)\"");
        }
        text
    }

    fn told(&self) -> impl Iterator<Item = (&str, &'static str, &'static str)> {
        let arguments = self.arguments.iter().map(|(server, _)| {
            let remedy = "let the server read it from a variable (env) and take it out of the arguments";
            (*server, "an argument holds", remedy)
        });
        let addresses = self.addresses.iter().map(|(server, _)| {
            let remedy = "send it in a header and take it out of the address";
            (*server, "the address holds", remedy)
        });
        arguments.chain(addresses)
    }
}

/// Those of some texts that hold a key. They are read together: the name of a key often stands in the argument before it.
fn with_keys<'a>(detector: &Detector, texts: &'a [String]) -> impl Iterator<Item = &'a str> {
    let found = detector.scan_any(texts.join(" ").as_bytes()).findings;
    let mut at = 0;
    texts.iter().map(String::as_str).filter(move |text| {
        let place = at..at + text.len();
        at = place.end + 1;
        let mut keys = found.iter().filter(|finding| finding.class == Class::Secret);
        keys.any(|key| key.span.start < place.end && place.start < key.span.end)
    })
}

/// Whether a piece of the path looks made up by a machine: hosted servers are often told apart, and opened, by such a piece.
fn has_key_in_path(address: &str) -> bool {
    /// Shorter pieces are names and versions.
    const LEAST: usize = 20;
    let path = Url::parse(address).ok();
    path.as_ref()
        .and_then(Url::path_segments)
        .is_some_and(|mut pieces| {
            pieces.any(|piece| {
                piece.len() >= LEAST
                    && piece.bytes().any(|byte| byte.is_ascii_digit())
                    && piece.bytes().any(|byte| byte.is_ascii_alphabetic())
            })
        })
}

#[cfg(test)]
mod tests {
    use super::super::sections::Sections;
    use super::*;

    #[test]
    fn a_piece_of_the_path_may_be_a_key() {
        for (address, expected) in [
            ("https://mcp.example/api/s/NTA3ZjE5M2YtOTk2Ny00ZDk2/mcp", true),
            ("https://mcp.example/5f2c9a7be01d4c3f8a6b7e90d1c2f3a4/sse", true),
            ("https://mcp.example/v1/model-context-protocol-server/mcp", false),
            ("https://mcp.example/2026-07-28/mcp", false),
            ("not an address", false),
        ] {
            assert_eq!(has_key_in_path(address), expected, "{address}");
        }
    }

    #[test]
    fn keys_are_named_by_their_server_and_withheld() {
        let key = format!("AKIA{}", "QX3N7TZ2WB5LKD4M");
        let with = |args: &[&str], url: Option<String>| Entry {
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            url,
            ..Entry::default()
        };
        let argument = with(&["-y", "--key", &key], None);
        let address = with(&[], Some(format!("https://crm.example/mcp?key={key}")));
        let plain = with(
            &["-y", "server", "/home/me"],
            Some("https://crm.example/mcp".into()),
        );
        let servers = BTreeMap::from([("a", &argument), ("b", &address), ("c", &plain)]);
        let keys = Keys::in_the_open(&servers).unwrap();
        let named: Vec<_> = keys.told().map(|(server, ..)| server).collect();
        assert_eq!(named, ["a", "b"]);
        let text = Sections::of(&BTreeMap::from([("b", &address)])).unwrap().text();
        assert!(text.contains(&key));
        let shown = keys.withheld(text);
        assert!(!shown.contains(&key), "{shown}");
        assert!(shown.contains("url = \"(withheld)\""), "{shown}");
    }
}
