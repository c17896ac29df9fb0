//! What people look at: the sessions, one session's trail, the tools. Names and classes only, for those who watch over
//! sessions and do not work in them.
//!
//! Newest first comes from this gateway's own record, where the opening of a session has a place in time; every session
//! of the store, also those that other gateways opened, comes in the order of ids, which every backend keeps an index of.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidegate_core::{ControlList, Ident, Name};
use tidegate_ledger::{Chain, Cursor, Event, Filter, Page, Reader};
use tidegate_store::Session;

use crate::access::{Act, Caller, Reach, reach};
use crate::{AccessError, AuditError, Engine, PolicyVersion};

/// Some sessions, newest first, and where to go on.
#[derive(Clone, Debug)]
pub struct SessionPage {
    /// The sessions as they are now.
    pub sessions: Vec<Arc<Session>>,
    /// The next page, if there is one.
    pub next: Option<Cursor>,
}

/// The tools as they stand, whoever uses them.
#[derive(Clone, Debug)]
pub struct Tools {
    /// Declared tools first, then those that servers have and nobody declared.
    pub control: Arc<ControlList>,
    /// The version of the policy.
    pub version: PolicyVersion,
    /// The tools that nobody declared.
    pub undeclared: Vec<Name>,
}

/// How often something was recorded, by name.
pub type Tally = BTreeMap<String, u64>;

/// Leave to read what happened in one session.
#[derive(Clone)]
pub struct Trail {
    reader: Arc<Reader>,
    filter: Filter,
}

/// How far back exits are counted.
const EXITS_LOOKED_AT: usize = 1_000;

impl Engine {
    /// The sessions that were opened at this gateway, newest first.
    ///
    /// # Errors
    /// When the caller may not, or the record or the store cannot be read.
    pub async fn newest_sessions(
        &self,
        caller: &Caller,
        before: Option<Cursor>,
        limit: usize,
    ) -> Result<SessionPage, AuditError> {
        self.admit_watcher(caller, None).await?;
        let page = self.opened(before, limit).await?;
        let mut sessions = Vec::with_capacity(page.records.len());
        for record in &page.records {
            let Some(id) = record.chain.session() else {
                continue;
            };
            let session = self.store.current(id).await.map_err(AccessError::from)?;
            sessions.extend(session);
        }
        Ok(SessionPage {
            sessions,
            next: page.next,
        })
    }

    /// Every session of the store, in the order of ids.
    ///
    /// # Errors
    /// When the caller may not, or the store cannot be read.
    pub async fn sessions_by_id(
        &self,
        caller: &Caller,
        after: Option<&Ident>,
        limit: usize,
    ) -> Result<Vec<Arc<Session>>, AccessError> {
        self.admit_watcher(caller, None).await?;
        Ok(self.store.list(after, limit).await?)
    }

    /// Leave to read what happened in one session.
    ///
    /// # Errors
    /// When the caller may not, or there is no such session.
    pub async fn trail(&self, caller: &Caller, id: &Ident) -> Result<Trail, AccessError> {
        self.session_for(caller, Act::Browse, id).await?;
        Ok(Trail {
            reader: Arc::clone(self.provenance.reader()),
            filter: Filter {
                chain: Some(Chain::Session(id.clone())),
                ..Filter::default()
            },
        })
    }

    /// The tools as they stand.
    ///
    /// # Errors
    /// When the caller may not, or a change of the policy cannot be recorded.
    pub async fn tools(&self, caller: &Caller) -> Result<Tools, AccessError> {
        self.admit_watcher(caller, None).await?;
        let (control, version) = self.control_in_force().await?;
        let declared = |name: &Name| self.policy.control.find(name.as_str()).is_some();
        let names = control.iter().map(|tool| tool.name.clone());
        let undeclared = names.filter(|name| !declared(name)).collect();
        Ok(Tools {
            control,
            version,
            undeclared,
        })
    }

    /// The control list as the authority has it, or as it is declared while the authority is silent.
    pub(crate) async fn control_in_force(&self) -> Result<(Arc<ControlList>, PolicyVersion), AccessError> {
        match self.standing().await {
            Ok(standing) => Ok((Arc::clone(&standing.control), standing.version.clone())),
            Err(AccessError::Authority(_)) => Ok((self.control(), self.policy.version.clone())),
            Err(error) => Err(error),
        }
    }

    /// How often each exit let a finding pass, among the latest that are on the record.
    ///
    /// # Errors
    /// When the caller may not, or the record cannot be read.
    pub async fn exits_used(&self, caller: &Caller) -> Result<Tally, AuditError> {
        self.admit_watcher(caller, None).await?;
        let page = self.latest_of("exit_used", None, EXITS_LOOKED_AT).await?;
        let mut tally = Tally::new();
        for record in &page.records {
            if let Some(Event::ExitUsed(used)) = record.event() {
                *tally.entry(used.exit.to_string()).or_default() += 1;
            }
        }
        Ok(tally)
    }

    async fn opened(&self, before: Option<Cursor>, limit: usize) -> Result<Page, AuditError> {
        self.latest_of("session_opened", before, limit).await
    }

    async fn latest_of(
        &self,
        event: &'static str,
        before: Option<Cursor>,
        limit: usize,
    ) -> Result<Page, AuditError> {
        let filter = Filter {
            event: Some(event.to_owned()),
            ..Filter::default()
        };
        read_back(Arc::clone(self.provenance.reader()), filter, before, limit).await
    }

    async fn admit_watcher(&self, caller: &Caller, session: Option<&Ident>) -> Result<(), AccessError> {
        let (role, act) = (caller.role, Act::Browse);
        if reach(role, act) != Reach::All {
            return Err(AccessError::Forbidden { role, act });
        }
        self.note_admin(caller, act, session).await
    }
}

impl Trail {
    /// The newest records of the session, or those before a cursor, newest first.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn latest(&self, before: Option<Cursor>, limit: usize) -> Result<Page, AuditError> {
        read_back(Arc::clone(&self.reader), self.filter.clone(), before, limit).await
    }
}

async fn read_back(
    reader: Arc<Reader>,
    filter: Filter,
    before: Option<Cursor>,
    limit: usize,
) -> Result<Page, AuditError> {
    let page = tokio::task::spawn_blocking(move || reader.page_back(&filter, before, limit)).await;
    Ok(page.map_err(|_| AuditError::Interrupted)??)
}
