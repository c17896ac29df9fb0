//! The engine itself: what it is made of, and the steps that several use cases share.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tidegate_core::{Admission, Ident, Moment};
use tidegate_store::{Admitted, Mirror, MirrorError, Session, SessionStore};

use crate::access::{Act, Caller, Reach, reach};
use crate::watch::Watchers;
use crate::{AccessError, Observer, Policy};

/// Everything a use case needs.
pub struct Engine {
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) policy: Policy,
    pub(crate) mirror: Option<Mirror>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) watchers: Watchers,
}

impl Engine {
    /// An engine on a store, under a policy, mirroring private sessions where a directory is given.
    #[must_use]
    pub fn new(
        store: Arc<dyn SessionStore>,
        policy: Policy,
        mirror: Option<Mirror>,
        observer: Arc<dyn Observer>,
    ) -> Self {
        Self { store, policy, mirror, observer, watchers: Watchers::new() }
    }

    /// The policy in force.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Whether decisions can be made now.
    ///
    /// # Errors
    /// When the store cannot be read and written.
    pub async fn ready(&self) -> Result<(), AccessError> {
        Ok(self.store.ready().await?)
    }

    /// The session, if this caller may do this with it. Every use case begins here.
    pub(crate) async fn session_for(&self, caller: &Caller, act: Act, id: &Ident) -> Result<Arc<Session>, AccessError> {
        let reach = reach(caller.role, act);
        if reach == Reach::Nothing {
            return Err(AccessError::Forbidden { role: caller.role, act });
        }
        let session = self.store.current(id).await?.ok_or(AccessError::NoSession)?;
        if reach == Reach::Own && !caller.owns(&session.user, &session.agent) {
            return Err(AccessError::NoSession);
        }
        Ok(session)
    }

    /// Makes a durable rise visible, and tells whoever counts and logs.
    pub(crate) async fn publish_admitted(&self, admitted: &Admitted) -> Result<(), MirrorError> {
        if let Admission::Rose(rise) = &admitted.admission {
            self.observer.rose(&admitted.session, rise);
        }
        match admitted.admission {
            Admission::Unchanged => Ok(()),
            Admission::Noted | Admission::Rose(_) => self.publish(&admitted.session).await,
        }
    }

    /// Makes a durable change visible: to programs that read the mirror, then to whoever watches.
    pub(crate) async fn publish(&self, session: &Arc<Session>) -> Result<(), MirrorError> {
        if let Some(mirror) = &self.mirror {
            let (mirror, copy) = (mirror.clone(), Arc::clone(session));
            tokio::task::spawn_blocking(move || mirror.write(&copy)).await.map_err(|_| MirrorError::Interrupted)??;
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
