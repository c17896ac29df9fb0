//! The engine itself: what it is made of, and the steps that several use cases share.

use std::io;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tidegate_core::{Admission, Ident, Moment, Role};
use tidegate_detect::Detector;
use tidegate_detect::exits::Exits;
use tidegate_ledger::event::{Event, TokenUsedByAdmin};
use tidegate_store::{Admitted, Mirror, MirrorError, Session, SessionStore};

use crate::access::{Act, Caller, Reach, reach};
use crate::assembly::ContextRules;
use crate::authority::Asked;
use crate::discovered::Discovered;
use crate::gates::Gates;
use crate::headcount::{Headcount, SessionBounds};
use crate::inspect::Inspector;
use crate::model::Model;
use crate::origin::Origins;
use crate::provenance::word;
use crate::publish::PooledRecord;
use crate::reviews::Reviews;
use crate::runs::Runs;
use crate::veil::Veils;
use crate::watch::Watchers;
use crate::{AccessError, Observer, Policy, Provenance};

/// What an engine is made of.
pub struct Parts {
    /// Where sessions live.
    pub store: Arc<dyn SessionStore>,
    /// The policy in force.
    pub policy: Policy,
    /// Where private sessions are mirrored, if they are.
    pub mirror: Option<Mirror>,
    /// The record.
    pub provenance: Provenance,
    /// What looks into content.
    pub detector: Detector,
    /// What is let pass although a rule fires.
    pub exits: Exits,
    /// Whoever counts and logs.
    pub observer: Arc<dyn Observer>,
}

/// Everything a use case needs.
pub struct Engine {
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) policy: Policy,
    pub(crate) mirror: Option<Arc<Mirror>>,
    pub(crate) provenance: Provenance,
    pub(crate) inspector: Arc<Inspector>,
    pub(crate) model: Option<Model>,
    pub(crate) asked: Option<Asked>,
    pub(crate) origins: Option<Origins>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) watchers: Watchers,
    pub(crate) discovered: Discovered,
    pub(crate) rules: ContextRules,
    pub(crate) runs: Option<Runs>,
    pub(crate) gates: Option<Gates>,
    pub(crate) reviews: Option<Reviews>,
    pub(crate) pooled: Option<PooledRecord>,
    pub(crate) veils: Veils,
    pub(crate) headcount: Headcount,
    /// Held by whoever records what was destroyed.
    pub(crate) settling: tokio::sync::Mutex<()>,
}

impl Engine {
    /// An engine from its parts.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let Parts {
            store,
            policy,
            mirror,
            provenance,
            detector,
            exits,
            observer,
        } = parts;
        let tools = policy.control.iter().map(|tool| tool.name.to_string());
        let inspector = Arc::new(Inspector::new(detector, exits, tools));
        let mirror = mirror.map(Arc::new);
        Self {
            discovered: Discovered::beside(&policy.control),
            store,
            policy,
            mirror,
            provenance,
            inspector,
            model: None,
            asked: None,
            origins: None,
            observer,
            watchers: Watchers::new(),
            rules: ContextRules::none(),
            runs: None,
            gates: None,
            reviews: None,
            pooled: None,
            veils: Veils::new(),
            headcount: Headcount::of(SessionBounds::STANDARD),
            settling: tokio::sync::Mutex::default(),
        }
    }

    /// The policy in force.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// A text as logs may show it: with the names of rules in place of what they know. It keeps its lines.
    #[must_use]
    pub fn loggable(&self, text: &str) -> String {
        self.inspector.loggable(text)
    }

    /// Whether a text holds nothing that a rule knows: what a record or a log may name.
    #[must_use]
    pub fn is_plain(&self, text: &str) -> bool {
        self.inspector.is_plain(text)
    }

    /// The record.
    #[must_use]
    pub const fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// Whether decisions can be made now.
    ///
    /// # Errors
    /// When the store cannot be read and written, or the authority cannot be asked.
    pub async fn ready(&self) -> Result<(), AccessError> {
        self.store.ready().await?;
        Ok(self.authority_ready().await?)
    }

    /// The session, if this caller may do this with it. Every use case begins here.
    pub(crate) async fn session_for(
        &self,
        caller: &Caller,
        act: Act,
        id: &Ident,
    ) -> Result<Arc<Session>, AccessError> {
        let session = self.within_reach(caller, act, id).await?;
        self.note_admin(caller, act, Some(id)).await?;
        Ok(session)
    }

    /// The same without a trace of who asks, for looking again in the course of one use that has left its own.
    pub(crate) async fn within_reach(
        &self,
        caller: &Caller,
        act: Act,
        id: &Ident,
    ) -> Result<Arc<Session>, AccessError> {
        let reach = reach(caller.role, act);
        if reach == Reach::Nothing {
            return Err(AccessError::Forbidden {
                role: caller.role,
                act,
            });
        }
        let session = self.store.current(id).await?.ok_or(AccessError::NoSession)?;
        if reach == Reach::Own && !caller.owns(&session.user, &session.agent) {
            return Err(AccessError::NoSession);
        }
        Ok(session)
    }

    /// Lets those pass whose role reaches to what people decide about, and leaves an administrator's trace.
    pub(crate) async fn admit_person(&self, caller: &Caller, act: Act) -> Result<(), AccessError> {
        let role = caller.role;
        if reach(role, act) != Reach::All {
            return Err(AccessError::Forbidden { role, act });
        }
        self.note_admin(caller, act, None).await
    }

    /// An administrator's token leaves a trace wherever it is used, before anything is done with it.
    pub(crate) async fn note_admin(
        &self,
        caller: &Caller,
        act: Act,
        session: Option<&Ident>,
    ) -> Result<(), AccessError> {
        if caller.role != Role::Admin {
            return Ok(());
        }
        let used = Event::from(TokenUsedByAdmin {
            token_id: (&caller.token_id).into(),
            principal: (&caller.principal).into(),
            action: word(act.name()),
            session: session.map(Into::into),
        });
        Ok(self.provenance.note_gateway(used, now()).await?)
    }

    /// Makes a durable rise visible, and tells whoever counts and logs.
    pub(crate) async fn publish_admitted(&self, admitted: &Admitted) -> Result<(), MirrorError> {
        if let Admission::Rose(rise) = &admitted.admission {
            self.observer.rose(&admitted.session, rise);
        }
        match admitted.admission {
            Admission::Unchanged => Ok(()),
            Admission::Noted | Admission::Rose(_) => self.publish(&admitted.session, Mirror::write).await,
        }
    }

    /// Makes a durable change visible: to programs that read the mirror, then to whoever watches.
    pub(crate) async fn publish(
        &self,
        session: &Arc<Session>,
        mirrored: fn(&Mirror, &Session) -> Result<(), MirrorError>,
    ) -> Result<(), MirrorError> {
        if let Some(mirror) = &self.mirror {
            let (mirror, copy) = (Arc::clone(mirror), Arc::clone(session));
            let written = tokio::task::spawn_blocking(move || mirrored(&mirror, &copy)).await;
            written.map_err(|_| MirrorError::Io(io::ErrorKind::Interrupted))??;
        }
        self.watchers.tell(session);
        Ok(())
    }
}

/// The wall clock. A clock before 1970 reads as 1970.
pub(crate) fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
