//! What a server offers, as it last said.

use std::collections::{HashMap, HashSet};

use crate::mcp::object::Object;
use crate::mcp::pins::{Kind, Standing};

/// The most addresses of one server that are remembered.
const MOST_ADDRESSES: usize = 20_000;

/// The longest address that is remembered, in bytes.
const ADDRESS_BYTES: usize = 4_096;

/// What one server offers.
#[derive(Default)]
pub(super) struct Catalog {
    /// How each tool stands, once the tools were listed.
    pub(super) tools: Option<HashMap<String, Standing>>,
    addresses: HashSet<String>,
    templates: Vec<String>,
    held: HashMap<Kind, HashSet<String>>,
}

impl Catalog {
    /// Remembers which of the things that were listed are held.
    pub(super) fn holds(&mut self, kind: Kind, held: HashSet<String>) {
        self.held.insert(kind, held);
    }

    /// The things of a sort are others now.
    pub(super) fn changed(&mut self, kind: Kind) {
        self.held.remove(&kind);
    }

    /// Whether the things of a sort were listed.
    pub(super) fn is_listed(&self, kind: Kind) -> bool {
        self.held.contains_key(&kind)
    }

    /// Whether something is held, as far as it was listed.
    pub(super) fn is_held(&self, kind: Kind, name: &str) -> bool {
        self.held.get(&kind).is_some_and(|held| held.contains(name))
    }

    /// Remembers the resources that were listed.
    pub(super) fn resources(&mut self, listed: &[Object]) {
        for resource in listed {
            self.address(resource.text("uri"));
        }
    }

    /// Remembers an address that the server spoke of.
    pub(super) fn address(&mut self, address: Option<String>) {
        if self.addresses.len() < MOST_ADDRESSES {
            let short = |address: &String| address.len() <= ADDRESS_BYTES;
            self.addresses.extend(address.filter(short));
        }
    }

    /// Remembers the templates that were listed: the part of each before its first variable.
    pub(super) fn templates(&mut self, listed: &[Object]) {
        let fixed = |template: &Object| {
            let text = template.text("uriTemplate")?;
            text.split('{').next().map(str::to_owned)
        };
        self.templates = listed.iter().filter_map(fixed).take(MOST_ADDRESSES).collect();
    }

    /// How well the server fits an address: an address it listed before any template, a longer template before a
    /// shorter one.
    pub(super) fn fits(&self, address: &str) -> Option<usize> {
        if self.addresses.contains(address) {
            return Some(usize::MAX);
        }
        let fitting = self.templates.iter().filter(|fixed| address.starts_with(*fixed));
        fitting.map(String::len).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_bounds_is_not_remembered() {
        let mut catalog = Catalog::default();
        let long = "x".repeat(ADDRESS_BYTES + 1);
        catalog.address(Some(long.clone()));
        catalog.address(Some("mail://1".to_owned()));
        assert_eq!(
            (catalog.fits(&long), catalog.fits("mail://1")),
            (None, Some(usize::MAX))
        );
    }
}
