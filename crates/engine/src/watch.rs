//! Telling whoever watches a session that it changed.
//!
//! A watcher always sees the newest state and may miss ones in between: what matters is where the label stands, not
//! each step, and a slow watcher then costs nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tidegate_core::Ident;
use tidegate_store::Session;
use tokio::sync::watch;

use crate::access::{Act, Caller};
use crate::{AccessError, Engine};

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

    fn join(&self, session: Arc<Session>) -> watch::Receiver<Arc<Session>> {
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
    /// The session's changes made by this process, from now on. Changes by other processes on the same state show in
    /// [`Engine::context`]; a wire that must tell them looks there from time to time.
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
}
