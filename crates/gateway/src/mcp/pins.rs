//! Tool definitions as they were first seen.
//!
//! What a tool says of itself steers the agent that reads it, so a definition that changes after somebody came to trust it
//! is held: not shown, not callable, and logged, until a person approves it. The file is shared by every gateway on a
//! data directory; it is changed under a lock and put in place whole.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::object::Object;
use super::strict;

/// The most tools of one server that are pinned; one beyond is held.
const MOST_TOOLS: usize = 5_000;

/// The pins of a data directory.
#[derive(Clone, Debug)]
pub struct Pins {
    path: PathBuf,
}

/// What is known of one tool's definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// The digest of the definition in force.
    pub pinned: String,
    /// The digest of the one that waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
}

/// A definition as a server gives it now.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The tool, as the server calls it.
    pub tool: String,
    /// The digest of what it says of itself.
    pub digest: String,
    /// Whether what it says gives orders to whoever reads it.
    pub gives_orders: bool,
}

/// How a definition stands to its pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// As it was first seen, or approved.
    Trusted,
    /// Changed since, or not to be pinned.
    Held,
}

type Table = BTreeMap<String, BTreeMap<String, Pin>>;

impl Pins {
    /// The pins in a directory.
    #[must_use]
    pub fn in_directory(directory: &Path) -> Self {
        Self {
            path: directory.join("tool-pins.json"),
        }
    }

    /// How each definition stands. One that was never seen is pinned, durably; one that gives orders is held from the
    /// first sight on.
    ///
    /// # Errors
    /// When the pins cannot be read or written; then nothing is trusted.
    pub fn check(&self, server: &str, definitions: &[Definition]) -> io::Result<Vec<Standing>> {
        self.change(|table| {
            let pins = table.entry(server.to_owned()).or_default();
            let standing = |definition: &Definition| stand(pins, server, definition);
            definitions.iter().map(standing).collect()
        })
    }

    /// Every tool with its pin: server, tool, pin.
    ///
    /// # Errors
    /// When the pins cannot be read.
    pub fn list(&self) -> io::Result<Vec<(String, String, Pin)>> {
        let flat = |(server, pins): (String, BTreeMap<String, Pin>)| {
            pins.into_iter()
                .map(move |(tool, pin)| (server.clone(), tool, pin))
        };
        Ok(self.read()?.into_iter().flat_map(flat).collect())
    }

    /// Trusts the definition of a tool that is held. False when none is.
    ///
    /// # Errors
    /// When the pins cannot be read or written.
    pub fn approve(&self, server: &str, tool: &str) -> io::Result<bool> {
        self.change(|table| {
            let pin = table.get_mut(server).and_then(|pins| pins.get_mut(tool));
            let held = pin.and_then(|pin| pin.held.take().map(|held| pin.pinned = held));
            held.is_some()
        })
    }

    /// Trusts this very definition of a tool, if it is the one that is held. False when another is by now.
    ///
    /// # Errors
    /// When the pins cannot be read or written.
    pub fn trust(&self, server: &str, definition: &Definition) -> io::Result<bool> {
        self.change(|table| {
            let pin = table
                .get_mut(server)
                .and_then(|pins| pins.get_mut(&definition.tool));
            let pin = pin.filter(|pin| pin.held.as_ref() == Some(&definition.digest));
            let held = pin.and_then(|pin| pin.held.take().map(|held| pin.pinned = held));
            held.is_some()
        })
    }

    fn read(&self) -> io::Result<Table> {
        match std::fs::read(&self.path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Table::new()),
            Err(error) => Err(error),
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Table) -> T) -> io::Result<T> {
        let beside = |suffix: &str| self.path.with_extension(suffix);
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(beside("lock"))?;
        lock.lock()?;
        let before = self.read()?;
        let mut after = before.clone();
        let outcome = change(&mut after);
        if after != before {
            let new = beside("new");
            let mut file = File::create(&new)?;
            file.write_all(&serde_json::to_vec_pretty(&after)?)?;
            file.sync_all()?;
            std::fs::rename(&new, &self.path)?;
            if let Some(directory) = self.path.parent() {
                File::open(directory)?.sync_all()?;
            }
        }
        Ok(outcome)
    }
}

fn stand(pins: &mut BTreeMap<String, Pin>, server: &str, definition: &Definition) -> Standing {
    let Definition {
        tool,
        digest,
        gives_orders,
    } = definition;
    if !pins.contains_key(tool) {
        if pins.len() >= MOST_TOOLS {
            return Standing::Held;
        }
        let pin = Pin {
            pinned: if *gives_orders {
                String::new()
            } else {
                digest.clone()
            },
            held: None,
        };
        pins.insert(tool.clone(), pin);
    }
    let Some(pin) = pins.get_mut(tool) else {
        return Standing::Held;
    };
    if pin.pinned == *digest {
        return Standing::Trusted;
    }
    if pin.held.as_ref() != Some(digest) {
        tracing::warn!(
            server,
            tool = tool.escape_debug().to_string(),
            gives_orders,
            "a tool's definition changed after it was first seen, or gives orders; it is held until a person approves it"
        );
        pin.held = Some(digest.clone());
    }
    Standing::Held
}

/// The digest of what a tool says of itself. The order of members does not count. `None` when it cannot be read.
pub(crate) fn digest(tool: &Object) -> Option<String> {
    let member = |name: &str| match tool.get(name) {
        Some(raw) => strict::read(raw).ok(),
        None => Some(Value::Null),
    };
    let definition = json!([
        member("name")?,
        member("title")?,
        member("description")?,
        member("inputSchema")?,
        member("outputSchema")?,
        member("annotations")?,
        member("execution")?,
    ]);
    let hash = Sha256::digest(definition.to_string().as_bytes());
    Some(hash.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(pins: &Pins, digest: &str) -> Standing {
        seen(pins, digest, false)
    }

    fn seen(pins: &Pins, digest: &str, gives_orders: bool) -> Standing {
        let seen = [Definition {
            tool: "read".to_owned(),
            digest: digest.to_owned(),
            gives_orders,
        }];
        pins.check("files", &seen).unwrap().first().copied().unwrap()
    }

    #[test]
    fn a_change_is_held_until_it_is_approved_and_outlives_the_process() {
        let directory = tempfile::tempdir().unwrap();
        let pins = Pins::in_directory(directory.path());
        assert_eq!(one(&pins, "a"), Standing::Trusted);
        assert_eq!(one(&pins, "b"), Standing::Held);
        let again = Pins::in_directory(directory.path());
        assert_eq!(one(&again, "b"), Standing::Held);
        assert_eq!(one(&again, "a"), Standing::Trusted);
        assert!(again.approve("files", "read").unwrap());
        assert_eq!(one(&pins, "b"), Standing::Trusted);
        assert_eq!(one(&pins, "a"), Standing::Held);
        assert!(!pins.approve("files", "write").unwrap());
    }

    #[test]
    fn what_gives_orders_is_held_from_the_first_sight_on() {
        let directory = tempfile::tempdir().unwrap();
        let pins = Pins::in_directory(directory.path());
        assert_eq!(seen(&pins, "a", true), Standing::Held);
        assert_eq!(seen(&pins, "a", true), Standing::Held);
        assert!(pins.approve("files", "read").unwrap());
        assert_eq!(seen(&pins, "a", true), Standing::Trusted);
    }

    #[test]
    fn pins_that_cannot_be_read_are_an_error() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("tool-pins.json"), "{").unwrap();
        let pins = Pins::in_directory(directory.path());
        assert!(pins.check("files", &[]).is_err());
    }

    #[test]
    fn the_digest_sees_what_steers_and_not_how_it_is_written() {
        let digest = |text: &str| digest(&serde_json::from_str(text).unwrap()).unwrap();
        let first = digest(r#"{"name":"a","description":"x","inputSchema":{"a":1,"b":2}}"#);
        assert_eq!(
            first,
            digest(r#"{"inputSchema":{"b":2, "a":1},"name":"a","description":"x","_meta":{}}"#)
        );
        assert_ne!(
            first,
            digest(r#"{"name":"a","description":"y","inputSchema":{"a":1,"b":2}}"#)
        );
    }
}
