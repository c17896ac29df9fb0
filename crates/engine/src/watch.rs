//! Telling whoever watches a session that it changed.
//!
//! A watcher always sees the newest state and may miss ones in between: what matters is where the label stands, not
//! each step, and a slow watcher then costs nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tidegate_core::Ident;
use tidegate_store::{Change, Session};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;

use crate::access::{Act, Caller};
use crate::{AccessError, ContextView, Engine};

pub(crate) struct Watchers {
    channels: Mutex<HashMap<Ident, watch::Sender<Arc<Session>>>>,
}

impl Watchers {
    pub(crate) fn new() -> Self {
        Self {
            channels: Mutex::new(HashMap::new()),
        }
    }

    pub(crate) fn tell(&self, session: &Arc<Session>) {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = channels.get(&session.id)
            && channel.send(Arc::clone(session)).is_err()
        {
            channels.remove(&session.id);
        }
    }

    /// The sessions that somebody watches.
    fn watched(&self) -> Vec<Ident> {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        let open = channels.iter().filter(|(_, channel)| !channel.is_closed());
        open.map(|(id, _)| id.clone()).collect()
    }

    fn is_watched(&self, id: &Ident) -> bool {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.get(id).is_some_and(|channel| !channel.is_closed())
    }

    /// Tells a state that was read, unless it is the one that was told last.
    fn tell_if_new(&self, session: Arc<Session>) {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = channels.get(&session.id) {
            channel.send_if_modified(|last| {
                let is_new = *last != session;
                *last = session;
                is_new
            });
        }
    }

    pub(crate) fn join(&self, session: Arc<Session>) -> watch::Receiver<Arc<Session>> {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.retain(|_, channel| !channel.is_closed());
        match channels.get(&session.id) {
            Some(channel) => channel.subscribe(),
            None => {
                let id = session.id.clone();
                let (channel, receiver) = watch::channel(session);
                channels.insert(id, channel);
                receiver
            }
        }
    }
}

impl Engine {
    /// The session's changes made by this process, from now on, and those of other processes where the store tells of them
    /// ([`Engine::follow_changes`]). All changes show in [`Engine::context`]; a wire that must tell them looks there from time
    /// to time.
    ///
    /// # Errors
    /// When the caller may not see the session.
    pub async fn watch(
        &self,
        caller: &Caller,
        id: &Ident,
    ) -> Result<watch::Receiver<Arc<Session>>, AccessError> {
        let session = self.session_for(caller, Act::Look, id).await?;
        Ok(self.watchers.join(session))
    }

    /// A session that the caller watches, and what its state closes. Watching is one use of a token, however often whoever
    /// watches looks: it was recorded when it began.
    ///
    /// # Errors
    /// When the caller may not see the session any more.
    pub async fn watched(&self, caller: &Caller, id: &Ident) -> Result<ContextView, AccessError> {
        let session = self.within_reach(caller, Act::Look, id).await?;
        self.view(session).await
    }

    /// Tells those who watch here what other gateways do to their sessions, until the store is closed; at once when the
    /// store cannot tell.
    pub async fn follow_changes(&self) {
        let Some(mut changes) = self.store.changes() else {
            return;
        };
        loop {
            match changes.recv().await {
                Ok(Change::Session(id)) => self.look_again(&id).await,
                Ok(Change::Missed) | Err(RecvError::Lagged(_)) => {
                    for id in self.watchers.watched() {
                        self.look_again(&id).await;
                    }
                }
                Err(RecvError::Closed) => return,
            }
        }
    }

    /// A session that cannot be read now is looked at again when the store is back, which tells of what was missed.
    async fn look_again(&self, id: &Ident) {
        if self.watchers.is_watched(id)
            && let Ok(Some(session)) = self.store.current(id).await
        {
            self.watchers.tell_if_new(session);
        }
    }
}
