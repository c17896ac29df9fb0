//! What servers say of the things they offer, looked into and compared with what they said before.

use tidegate_core::Name;
use tidegate_engine::{HeldDefinition, Payload};
use tidegate_store::ReviewCause;

use super::Session;
use super::stopped::Stopped;
use crate::mcp::names;
use crate::mcp::object::Object;
use crate::mcp::pins::{self, Checked, Definition, Kind, Standing};

impl Session {
    /// The things that may be shown, of those that a server lists. Which are held is remembered.
    pub(super) async fn trusted(
        &self,
        server: usize,
        kind: Kind,
        items: Vec<Object>,
    ) -> Result<Vec<Object>, Stopped> {
        let standings = self.standings(server, kind, &items).await?;
        let is_held = |standing: &Standing| *standing == Standing::Held;
        if let Some(mut catalog) = self.catalog(server) {
            let held = items
                .iter()
                .zip(&standings)
                .filter(|(_, standing)| is_held(standing));
            catalog.holds(
                kind,
                held.filter_map(|(item, _)| item.text(kind.name())).collect(),
            );
        }
        let standing = items.into_iter().zip(standings);
        Ok(standing
            .filter(|(_, standing)| !is_held(standing))
            .map(|(item, _)| item)
            .collect())
    }

    /// How each thing that a server lists stands to its pin. That one is held since now is put on the record.
    pub(super) async fn standings(
        &self,
        server: usize,
        kind: Kind,
        items: &[Object],
    ) -> Result<Vec<Standing>, Stopped> {
        let mut definitions = Vec::new();
        for item in items {
            definitions.push(self.definition(kind, item).await?);
        }
        let (pins, name) = (self.hub.pins.clone(), self.name_of(server).to_owned());
        let seen: Vec<_> = items
            .iter()
            .zip(&definitions)
            .filter(|(item, _)| says_something(kind, item))
            .map(|(_, definition)| definition.clone())
            .collect();
        let checked = tokio::task::spawn_blocking(move || pins.check(&name, &seen)).await;
        let Ok(Ok(checked)) = checked else {
            let reason = "the definitions that were seen before cannot be read, so none is trusted";
            return Err(Stopped::by("no-pins", reason, "ask whoever runs the gateway"));
        };
        let mut checked = checked.into_iter();
        let mut standings = Vec::new();
        for (item, definition) in items.iter().zip(&definitions) {
            let pinned = says_something(kind, item).then(|| checked.next()).flatten();
            if pinned.is_some_and(|checked| checked.newly_held) {
                self.note_held(server, definition).await;
            }
            if pinned.is_some_and(Checked::changed_now) {
                self.review_changed(server, definition).await;
            }
            standings.push(match pinned {
                Some(checked) => checked.standing,
                None if definition.gives_orders => Standing::Held,
                None => Standing::Trusted,
            });
        }
        if kind == Kind::Tool {
            self.asked_about(server, &definitions, &mut standings).await?;
        }
        Ok(standings)
    }

    async fn note_held(&self, server: usize, definition: &Definition) {
        // The server chose the name: an address may hold a person's.
        let is_plain = self.engine().is_plain(&definition.name);
        tracing::warn!(
            server = self.name_of(server),
            kind = definition.kind.as_str(),
            name = is_plain.then(|| definition.name.escape_debug().to_string()),
            gives_orders = definition.gives_orders,
            "a definition changed after it was first seen, or gives orders; it is held until a person approves it"
        );
        let held = HeldDefinition {
            server: self.name_of(server),
            kind: definition.kind.as_str(),
            offered: &definition.name,
            gives_orders: definition.gives_orders,
        };
        if let Err(error) = self.engine().definition_held(held).await {
            tracing::error!(%error, "that a definition is held could not be recorded");
        }
    }

    /// A tool that became another one may not be of its class any more.
    async fn review_changed(&self, server: usize, definition: &Definition) {
        let shown = names::shown(&self.hub.servers, server, &definition.name);
        if let (Kind::Tool, Some(name)) = (definition.kind, shown) {
            let engine = self.engine();
            engine.review_class(ReviewCause::ChangedTool, &name).await;
        }
    }

    /// A prompt or resource that is held is not to be used. What was never listed has said nothing that could mislead.
    pub(super) async fn check_offer(&self, server: usize, kind: Kind, name: &str) -> Result<(), Stopped> {
        let unlisted = self
            .catalog(server)
            .is_some_and(|catalog| !catalog.is_listed(kind));
        if kind == Kind::Prompt && unlisted {
            self.prompts_of(server).await?;
        }
        if self
            .catalog(server)
            .is_some_and(|catalog| catalog.is_held(kind, name))
        {
            let sort = kind.as_str();
            let reason = format!(
                "the {sort} is held: its definition changed after it was first seen, or gives orders"
            );
            let remedy =
                "a person must look at the new definition and approve it with `tidegate pins approve`";
            return Err(Stopped::by("definition-changed", reason, remedy));
        }
        Ok(())
    }

    /// What something says of itself, looked into.
    async fn definition(&self, kind: Kind, item: &Object) -> Result<Definition, Stopped> {
        let unreadable = || {
            let reason = "a definition cannot be read, so none of its server's is trusted";
            Stopped::by("unreadable", reason, "have the server's author look at it")
        };
        let said = pins::said(kind, item).ok_or_else(unreadable)?;
        let digest = pins::digest(&said);
        let name = Name::parse("definition").map_err(|_| unreadable())?;
        let gives_orders = self.engine().gives_orders(&name, &Payload::new(said)).await;
        Ok(Definition {
            kind,
            name: item.text(kind.name()).unwrap_or_default(),
            digest,
            gives_orders: gives_orders.map_err(|_| unreadable())?,
        })
    }
}

/// Whether something says more of itself than its name. A server of files lists thousands of resources that do not, and
/// there is nothing in those that could be changed.
fn says_something(kind: Kind, item: &Object) -> bool {
    let dry = ["uri", "name", "mimeType", "size", "_meta"];
    kind != Kind::Resource || item.members().any(|(name, _)| !dry.contains(&name))
}
