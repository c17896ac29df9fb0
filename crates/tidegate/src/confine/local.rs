//! A session in this process: its engine, its label, and its way out.

use std::sync::Arc;

use tidegate_core::{Class, Ident, Name, Role};
use tidegate_engine::{Caller, Engine, OpenRequest};

use super::WORKSPACE;
use super::way::Way;
use crate::config::Config;
use crate::egress;
use crate::failure::Failure;
use crate::wiring::local_engine;

/// A session that this process opened, or goes on with.
pub(crate) struct LocalSession {
    engine: Arc<Engine>,
    caller: Caller,
    /// The session.
    pub(crate) id: Ident,
    /// Whether it was there before.
    pub(crate) is_known: bool,
}

impl LocalSession {
    /// Opens the state beside whatever gateways use it, and a session in it. Whoever can read the state may go on with any
    /// session, as its own user and agent.
    pub(crate) async fn open(
        config: &Config,
        asked: Option<Ident>,
        (principal, agent): (Ident, Ident),
    ) -> Result<Self, Failure> {
        let (engine, store, _) = local_engine(config).await?;
        let known = match &asked {
            Some(id) => store.current(id).await.map_err(Failure::environment)?,
            None => None,
        };
        let (principal, agent) = match &known {
            Some(session) => (session.user.clone(), session.agent.clone()),
            None => (principal, agent),
        };
        let caller = Caller {
            principal,
            agent: Some(agent),
            role: Role::Agent,
            token_id: Ident::parse("local").map_err(Failure::environment)?,
        };
        let request = OpenRequest {
            user: None,
            agent: None,
            id: asked,
        };
        let session = engine.open_session(&caller, request).await;
        let session = session.map_err(Failure::environment)?;
        let id = session.id.clone();
        let local = Self {
            engine,
            caller,
            id,
            is_known: known.is_some(),
        };
        local.enter_workspace(config.sandbox.workspace_class).await?;
        Ok(local)
    }

    /// A command sees the workspace, so its session does.
    async fn enter_workspace(&self, class: Class) -> Result<(), Failure> {
        if class == Class::Public {
            return Ok(());
        }
        let name = Name::parse(WORKSPACE).map_err(Failure::environment)?;
        let added = self.engine.add_dataset(&self.caller, &self.id, name, class).await;
        added.map(|_| ()).map_err(Failure::environment)
    }

    /// Its way out.
    pub(crate) async fn way(&self, config: &Config) -> Result<Way, Failure> {
        let proxy = egress::proxy_of_bound(config, &self.engine, Vec::new())?;
        let way = Way::through(&proxy, &self.engine, &self.caller, &self.id).await;
        way.map_err(Failure::environment)
    }

    /// Says that this process is done.
    pub(crate) async fn close(self) -> Result<(), Failure> {
        let stopped = self.engine.stopped("the command ended").await;
        stopped.map_err(Failure::environment)
    }
}
