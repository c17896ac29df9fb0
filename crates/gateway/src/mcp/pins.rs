//! Definitions of tools, resources and prompts as they were first seen.
//!
//! What a server says of something it offers steers the agent that reads it, so a definition that changes after somebody
//! came to trust it is held: not shown, not to be used, and on the record, until a person approves it. The file is shared
//! by every gateway on a data directory; it is changed under a lock and put in place whole.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::object::Object;
use super::strict;

/// The most things of one sort that one server has pinned; one beyond is held.
const MOST_PINNED: usize = 5_000;

/// The pins of a data directory.
#[derive(Clone, Debug)]
pub struct Pins {
    path: PathBuf,
}

/// What sort of thing a server offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A tool.
    Tool,
    /// A resource.
    Resource,
    /// A template for addresses of resources.
    Template,
    /// A prompt.
    Prompt,
}

impl Kind {
    /// The sort as records and people spell it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Resource => "resource",
            Self::Template => "template",
            Self::Prompt => "prompt",
        }
    }

    /// The member that names one.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tool | Self::Prompt => "name",
            Self::Resource => "uri",
            Self::Template => "uriTemplate",
        }
    }

    /// What every one says of itself, beside its name.
    const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Tool => &[
                "title",
                "description",
                "inputSchema",
                "outputSchema",
                "annotations",
                "execution",
            ],
            Self::Resource | Self::Template => &["name", "title", "description", "mimeType", "annotations"],
            Self::Prompt => &["title", "description", "arguments"],
        }
    }

    /// Under which name one is pinned: a tool under its own, anything else with its sort before it.
    fn pinned_as(self, name: &str) -> String {
        match self {
            Self::Tool => name.to_owned(),
            Self::Resource | Self::Template | Self::Prompt => format!("{}:{name}", self.as_str()),
        }
    }

    /// How many of the pins are of this sort.
    fn count(self, pins: &BTreeMap<String, Pin>) -> usize {
        let others = [Self::Resource, Self::Template, Self::Prompt];
        let is = |name: &str, kind: Self| {
            let rest = name.strip_prefix(kind.as_str());
            rest.is_some_and(|rest| rest.starts_with(':'))
        };
        let of_sort = |name: &&String| match self {
            Self::Tool => !others.iter().any(|other| is(name, *other)),
            other => is(name, other),
        };
        pins.keys().filter(of_sort).count()
    }
}

/// What is known of one definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// The digest of the definition in force.
    pub pinned: String,
    /// The digest of the one that waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// What somebody is still to be asked about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owed: Option<Owed>,
}

/// What somebody is to be asked about a definition. It stands with the pin from the same step on, so that a gateway that is killed
/// before it asks does so at its next start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owed {
    /// It is new.
    New,
    /// It became another one.
    Changed,
}

/// A definition as a server gives it now.
#[derive(Clone, Debug)]
pub struct Definition {
    /// What sort of thing it is of.
    pub kind: Kind,
    /// The thing, as the server calls it.
    pub name: String,
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

/// How a definition stands, and whether that is news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// How it stands.
    pub standing: Standing,
    /// Whether it is held since now.
    pub newly_held: bool,
    /// Whether it was never seen before.
    pub is_first: bool,
}

impl Checked {
    /// Whether it became another one now.
    pub(crate) const fn changed_now(self) -> bool {
        self.newly_held && !self.is_first
    }
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
    pub fn check(&self, server: &str, definitions: &[Definition]) -> io::Result<Vec<Checked>> {
        self.change(|table| {
            let pins = table.entry(server.to_owned()).or_default();
            let standing = |definition: &Definition| stand(pins, definition);
            definitions.iter().map(standing).collect()
        })
    }

    /// The same of one definition, and what somebody is to be asked about it: owed until [`Pins::has_asked`].
    ///
    /// # Errors
    /// When the pins cannot be read or written; then nothing is trusted.
    pub fn check_owing(&self, server: &str, definition: &Definition) -> io::Result<(Checked, Option<Owed>)> {
        self.change(|table| {
            let pins = table.entry(server.to_owned()).or_default();
            let checked = stand(pins, definition);
            let now = match checked {
                Checked { is_first: true, .. } => Some(Owed::New),
                Checked { newly_held: true, .. } => Some(Owed::Changed),
                Checked { .. } => None,
            };
            let Some(pin) = pins.get_mut(&definition.kind.pinned_as(&definition.name)) else {
                return (checked, now);
            };
            // Whoever is asked about what is new sees it as it is.
            pin.owed = pin.owed.or(now);
            (checked, pin.owed)
        })
    }

    /// Takes note that somebody was asked about these tools.
    ///
    /// # Errors
    /// When the pins cannot be read or written; then it is still owed.
    pub fn has_asked(&self, server: &str, tools: &[&str]) -> io::Result<()> {
        if tools.is_empty() {
            return Ok(());
        }
        self.change(|table| {
            let Some(pins) = table.get_mut(server) else {
                return;
            };
            for tool in tools {
                if let Some(pin) = pins.get_mut(*tool) {
                    pin.owed = None;
                }
            }
        })
    }

    /// Every pin: the server, what it is of, the pin. What is no tool has its sort before its name.
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

    /// Trusts a definition that is held. False when none is. What is no tool has its sort before its name.
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
                .and_then(|pins| pins.get_mut(&definition.kind.pinned_as(&definition.name)));
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

fn stand(pins: &mut BTreeMap<String, Pin>, definition: &Definition) -> Checked {
    let Definition {
        kind,
        name,
        digest,
        gives_orders,
    } = definition;
    let name = kind.pinned_as(name);
    let is_first = !pins.contains_key(&name);
    let held = |newly_held| Checked {
        standing: Standing::Held,
        newly_held,
        is_first,
    };
    if is_first {
        if kind.count(pins) >= MOST_PINNED {
            return held(false);
        }
        let pinned = if *gives_orders {
            String::new()
        } else {
            digest.clone()
        };
        let pin = Pin {
            pinned,
            held: None,
            owed: None,
        };
        pins.insert(name.clone(), pin);
    }
    let Some(pin) = pins.get_mut(&name) else {
        return held(false);
    };
    if pin.pinned == *digest {
        return Checked {
            standing: Standing::Trusted,
            newly_held: false,
            is_first,
        };
    }
    if pin.held.as_ref() == Some(digest) {
        return held(false);
    }
    pin.held = Some(digest.clone());
    held(true)
}

/// Everything that something says of itself, its name first: a client may show all of it to a model. What everything of its
/// kind says has its place; whatever else is said follows with its name, in the order of names. `_meta` is for programs. `None`
/// when it cannot be read.
pub(crate) fn said(kind: Kind, item: &Object) -> Option<Value> {
    let usual = || std::iter::once(kind.name()).chain(kind.words().iter().copied());
    let member = |name: &str| match item.get(name) {
        Some(raw) => strict::read(raw).ok(),
        None => Some(Value::Null),
    };
    let mut said: Vec<Value> = usual().map(member).collect::<Option<_>>()?;
    let is_other = |name: &str| name != "_meta" && !usual().any(|usual| usual == name);
    let mut others: Vec<_> = item.members().filter(|(name, _)| is_other(name)).collect();
    others.sort_by_key(|(name, _)| *name);
    for (name, raw) in others {
        said.push(json!([name, strict::read(raw).ok()?]));
    }
    Some(Value::Array(said))
}

/// The digest of what something said of itself.
pub(crate) fn digest(said: &Value) -> String {
    let hash = Sha256::digest(said.to_string().as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(pins: &Pins, digest: &str) -> Standing {
        seen(pins, digest, false)
    }

    fn seen(pins: &Pins, digest: &str, gives_orders: bool) -> Standing {
        let seen = [Definition {
            kind: Kind::Tool,
            name: "read".to_owned(),
            digest: digest.to_owned(),
            gives_orders,
        }];
        pins.check("files", &seen).unwrap().first().unwrap().standing
    }

    #[test]
    fn each_sort_has_pins_of_its_own_and_what_is_held_is_news_once() {
        let directory = tempfile::tempdir().unwrap();
        let pins = Pins::in_directory(directory.path());
        let seen = |kind, digest: &str| {
            let seen = [Definition {
                kind,
                name: "read".to_owned(),
                digest: digest.to_owned(),
                gives_orders: false,
            }];
            *pins.check("files", &seen).unwrap().first().unwrap()
        };
        for kind in [Kind::Tool, Kind::Resource, Kind::Template, Kind::Prompt] {
            let first = seen(kind, "a");
            assert_eq!(
                (first.standing, first.is_first),
                (Standing::Trusted, true),
                "{kind:?}"
            );
            let changed = seen(kind, "b");
            assert!(changed.newly_held && changed.changed_now(), "{kind:?}");
            let again = seen(kind, "b");
            assert_eq!(
                (again.standing, again.newly_held),
                (Standing::Held, false),
                "{kind:?}"
            );
        }
        assert!(pins.approve("files", "prompt:read").unwrap());
        assert_eq!(seen(Kind::Prompt, "b").standing, Standing::Trusted);
        assert_eq!(seen(Kind::Tool, "b").standing, Standing::Held);
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
        let orders = [Definition {
            kind: Kind::Tool,
            name: "write".to_owned(),
            digest: "a".to_owned(),
            gives_orders: true,
        }];
        let first = *pins.check("files", &orders).unwrap().first().unwrap();
        assert!(first.newly_held && !first.changed_now());
        assert!(pins.approve("files", "read").unwrap());
        assert_eq!(seen(&pins, "a", true), Standing::Trusted);
    }

    #[test]
    fn what_is_owed_outlives_the_process_until_somebody_was_asked() {
        let directory = tempfile::tempdir().unwrap();
        let owed = |digest: &str| {
            let definition = Definition {
                kind: Kind::Tool,
                name: "read".to_owned(),
                digest: digest.to_owned(),
                gives_orders: false,
            };
            let pins = Pins::in_directory(directory.path());
            pins.check_owing("desk", &definition).unwrap().1
        };
        let asked = || {
            let pins = Pins::in_directory(directory.path());
            pins.has_asked("desk", &["read"]).unwrap();
        };
        assert_eq!([owed("a"), owed("a"), owed("b")], [Some(Owed::New); 3]);
        asked();
        assert_eq!([owed("b"), owed("a")], [None; 2]);
        assert_eq!([owed("c"), owed("c")], [Some(Owed::Changed); 2]);
        asked();
        assert_eq!(owed("c"), None);
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
        let digest = |text: &str| digest(&said(Kind::Tool, &serde_json::from_str(text).unwrap()).unwrap());
        let first = digest(r#"{"name":"a","description":"x","inputSchema":{"a":1,"b":2}}"#);
        assert_eq!(
            first,
            digest(r#"{"inputSchema":{"b":2, "a":1},"name":"a","description":"x","_meta":{}}"#)
        );
        assert_ne!(
            first,
            digest(r#"{"name":"a","description":"y","inputSchema":{"a":1,"b":2}}"#)
        );
        let more = r#"{"name":"a","description":"x","inputSchema":{"a":1,"b":2},"usage":"u","icons":[]}"#;
        let other = r#"{"usage":"v","icons":[],"name":"a","description":"x","inputSchema":{"a":1,"b":2}}"#;
        let same = r#"{"icons":[],"usage":"u","name":"a","description":"x","inputSchema":{"a":1,"b":2}}"#;
        assert_ne!(digest(more), first);
        assert_ne!(digest(more), digest(other));
        assert_eq!(digest(more), digest(same));
    }
}
