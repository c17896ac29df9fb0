//! What a catalog says of one result, where the gateway itself fetched it.
//!
//! A tool of someone else's returns what its declaration says. A connector knows more: which tables a query touched, where
//! a file lay. Its word counts for that result in place of the declaration; a class that somebody stated for the tool
//! itself is still the least that any of its results counts as.

use tidegate_core::{Class, FieldClasses, Ident, Name, Tool};
use tidegate_ledger::event::{DatasetAdded, Event};
use tidegate_store::Admitted;

use crate::access::Caller;
use crate::engine::now;
use crate::provenance::{rise_event, spelled};
use crate::{DeliverError, Engine};

/// What a catalog says of one result.
#[derive(Clone, Debug)]
pub struct Catalogued {
    /// The class of whatever `fields` does not name.
    pub class: Class,
    /// The classes of its parts.
    pub fields: FieldClasses,
    /// The dataset it is from, which the session is tagged with.
    pub dataset: Name,
}

impl Catalogued {
    /// The tool, as it is for this result.
    pub(crate) fn seen_in(&self, tool: &Tool) -> Tool {
        let floor = tool.stated.returns.unwrap_or(Class::Public);
        let fields = self
            .fields
            .iter()
            .map(|(field, class)| (field.clone(), class.join(floor)));
        Tool {
            returns: self.class.join(floor),
            fields: FieldClasses::new(fields),
            ..tool.clone()
        }
    }
}

impl Engine {
    /// Tags a session with a dataset at the class of what of it is about to enter, durably, before it does.
    pub(crate) async fn tag(
        &self,
        caller: &Caller,
        id: &Ident,
        dataset: &Name,
        class: Class,
    ) -> Result<Admitted, DeliverError> {
        let at = now();
        let added = DatasetAdded {
            dataset: spelled(dataset),
            class,
            by: (&caller.principal).into(),
        };
        let admitted = self.store.add_dataset(id, dataset.clone(), class, at).await?;
        let events = std::iter::once(Event::from(added)).chain(rise_event(&admitted));
        self.provenance.note(id, events, at).await?;
        self.publish_admitted(&admitted).await?;
        Ok(admitted)
    }
}
