//! What the server says of the tools as such: which store and model answer, and which tools they tag.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use tidegate_core::Name;
use tidegate_engine::{Subject, Tagged};

use crate::calls::Asked;
use crate::model::{AGENT, IS_EXTERNAL, IS_INTERNAL_SOURCE, SYSTEM};
use crate::{CallError, Client, Tuple, id};

/// One look at the server.
#[derive(Debug)]
pub(crate) struct Snapshot {
    store: String,
    pub(crate) model: Arc<str>,
    pub(crate) tagged: Arc<Tagged>,
    takes_user: bool,
    takes_session: bool,
    /// When it was asked for: what changed since may be missing.
    pub(crate) asked_at: Instant,
}

impl Snapshot {
    /// Looks. The store and the model are found anew each time, so that a model that was written meanwhile, and a store
    /// that was made anew, are taken up.
    pub(crate) fn take(client: &Client, deadline: Instant) -> Result<Self, CallError> {
        let asked_at = Instant::now();
        let store = client.find_store(deadline)?;
        let model = client.find_model(&store, deadline)?;
        if !model.lacks().is_empty() {
            return Err(CallError::UnfitModel);
        }
        let asked = Asked {
            store: &store,
            model: &model.id,
        };
        let named = |relation| -> Result<HashSet<Name>, CallError> {
            let objects = client.list_tools(asked, SYSTEM, relation, deadline)?;
            Ok(objects.iter().filter_map(|object| id::tool_of(object)).collect())
        };
        let tagged = Arc::new(Tagged {
            external: named(IS_EXTERNAL)?,
            internal_sources: named(IS_INTERNAL_SOURCE)?,
        });
        Ok(Self {
            takes_user: model.takes_agent_of("user"),
            takes_session: model.takes_agent_of("session"),
            model: model.id.into(),
            store,
            tagged,
            asked_at,
        })
    }

    /// The store and the model that answer.
    pub(crate) fn asked(&self) -> Asked<'_> {
        Asked {
            store: &self.store,
            model: &self.model,
        }
    }

    /// Who asks, and what is true of them for this question alone: for whom and in which session they act.
    pub(crate) fn present(&self, subject: Subject<'_>) -> Result<(String, Vec<Tuple>), CallError> {
        let agent = id::agent_id(subject.user, subject.agent)?;
        let mut given = Vec::new();
        if self.takes_user {
            given.push(Tuple::new(agent.as_str(), AGENT, id::user_id(subject.user)?));
        }
        if self.takes_session {
            given.push(Tuple::new(
                agent.as_str(),
                AGENT,
                id::session_id(subject.session)?,
            ));
        }
        Ok((agent, given))
    }
}
