//! Letting a tool's answer into a session: classify, raise durably, then release.

use std::iter;
use std::sync::Arc;

use tidegate_core::{Admission, Class, Entry, Ident, Name, Refusal};
use tidegate_ledger::event::{ContextAssembly, Event, Origin};
use tidegate_store::{Admitted, Session};

use crate::access::{Act, Caller};
use crate::engine::now;
use crate::provenance::{rise_event, spelled};
use crate::{DeliverError, Engine, Payload};

/// What the agent may see, and what letting it in did.
#[derive(Debug)]
pub struct Delivered {
    /// The class of what was let in.
    pub class: Class,
    /// The session after it, durably.
    pub session: Arc<Session>,
    /// What changed.
    pub admission: Admission,
    /// What the agent may see.
    pub content: Payload,
}

impl Engine {
    /// Lets a tool's answer in. INVARIANT (durable before visible): the content is given back only after the rise it
    /// causes is on disk, in the mirror, and told to whoever watches.
    ///
    /// # Errors
    /// When the caller may not, the tool is unknown, or the rise cannot be made durable; nothing is released then.
    pub async fn deliver(
        &self,
        caller: &Caller,
        id: &Ident,
        tool: &Name,
        content: Payload,
    ) -> Result<Delivered, DeliverError> {
        self.session_for(caller, Act::Bring, id).await?;
        let control = self.control();
        let Some(known) = control.find(tool.as_str()) else {
            return Err(DeliverError::UnknownTool(Box::new(Refusal::unknown_tool(
                tool.clone(),
            ))));
        };
        let class = known.returns;
        let kinds = class.kind().into_iter().collect();
        let at = now();
        let assembled = ContextAssembly {
            run_id: id.into(),
            data_class: class,
            source_id: spelled(&known.name),
            redaction_applied: false,
            chunk_hash: self.provenance.digest(&content.to_bytes()),
            origin: Origin::TaskData,
            evidence_pointer: None,
        };
        let entry = Entry {
            class,
            kinds,
            source: known.name.clone(),
            at,
        };
        let admitted = self.store.raise(id, entry).await?;
        let events = iter::once(Event::from(assembled)).chain(rise_event(&admitted));
        self.provenance.note(id, events, at).await?;
        self.publish_admitted(&admitted).await?;
        let Admitted { admission, session } = admitted;
        // INVARIANT (durable before visible): store, ledger and mirror have answered, so the rise is on disk.
        Ok(Delivered {
            class,
            session,
            admission,
            content,
        })
    }
}
