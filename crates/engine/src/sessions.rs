//! Opening sessions, looking at them, tagging them, and starting them anew.

use std::sync::Arc;

use tidegate_core::{Class, Ident, Name, closed_by_context};
use tidegate_ledger::Reason;
use tidegate_ledger::event::{self, SessionOpened};
use tidegate_store::{Mirror, Opening, Reset, Session};

use crate::access::{Act, Caller, Reach, reach};
use crate::engine::now;
use crate::{AccessError, DeliverError, Engine, OpenSessionError, ResetError};

/// A session somebody asks for. What is left out is the token's own, or made up.
#[derive(Clone, Debug)]
pub struct OpenRequest {
    /// For whom.
    pub user: Option<Ident>,
    /// For which agent.
    pub agent: Option<Ident>,
    /// Under which id.
    pub id: Option<Ident>,
}

/// A session with what follows from its state under the policy in force.
#[derive(Clone, Debug)]
pub struct ContextView {
    /// The session.
    pub session: Arc<Session>,
    /// The tools its state closes.
    pub blocked_tools: Vec<Name>,
}

/// The longest reason for a reset.
const MAX_REASON_BYTES: usize = 2_000;

impl Engine {
    /// Opens a session, durably, and binds it to its user and agent. Asked again with the id of a session that is the
    /// caller's own, it gives that session as it is: a restart of a client must not be a way to a clean label.
    ///
    /// # Errors
    /// When the role may not, the names are not the caller's to use, or the id is taken.
    pub async fn open_session(
        &self,
        caller: &Caller,
        request: OpenRequest,
    ) -> Result<Arc<Session>, OpenSessionError> {
        let opening = Self::opening(caller, request)?;
        self.note_admin(caller, Act::Open, Some(&opening.id)).await?;
        match self.add_session(opening.clone()).await {
            Ok(session) => {
                self.begin_origins(&session.id).await.map_err(AccessError::from)?;
                self.note_opened(caller, &session).await?;
                Ok(session)
            }
            Err(OpenSessionError::Taken) => self.resume(&opening).await,
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn note_opened(&self, caller: &Caller, session: &Session) -> Result<(), AccessError> {
        let opened = SessionOpened {
            user: (&session.user).into(),
            agent: (&session.agent).into(),
            principal: (&caller.principal).into(),
        };
        self.provenance
            .note(&session.id, [opened.into()], session.opened_at)
            .await?;
        self.observer.opened(session);
        Ok(())
    }

    async fn resume(&self, opening: &Opening) -> Result<Arc<Session>, OpenSessionError> {
        let existing = self.store.current(&opening.id).await.map_err(AccessError::from)?;
        existing
            .filter(|session| session.user == opening.user && session.agent == opening.agent)
            .ok_or(OpenSessionError::Taken)
    }

    fn opening(caller: &Caller, request: OpenRequest) -> Result<Opening, OpenSessionError> {
        let user = request.user.unwrap_or_else(|| caller.principal.clone());
        let agent = match request.agent.or_else(|| caller.agent.clone()) {
            Some(agent) => agent,
            None => unnamed_agent()?,
        };
        match reach(caller.role, Act::Open) {
            Reach::Nothing => {
                return Err(AccessError::Forbidden {
                    role: caller.role,
                    act: Act::Open,
                }
                .into());
            }
            Reach::Own if user != caller.principal => {
                return Err(OpenSessionError::NotYours { field: "user" });
            }
            Reach::Own if !caller.owns(&user, &agent) => {
                return Err(OpenSessionError::NotYours { field: "agent" });
            }
            Reach::Own | Reach::All => {}
        }
        let id = match request.id {
            Some(id) => id,
            None => random_id()?,
        };
        Ok(Opening {
            id,
            user,
            agent,
            at: now(),
        })
    }

    /// A session and what its state closes.
    ///
    /// # Errors
    /// When the caller may not see the session.
    pub async fn context(&self, caller: &Caller, id: &Ident) -> Result<ContextView, AccessError> {
        let session = self.session_for(caller, Act::Look, id).await?;
        self.view(session).await
    }

    /// What follows from a session's state under the policy in force.
    ///
    /// # Errors
    /// When a change of the policy cannot be recorded. An authority that cannot be asked closes every tool instead.
    pub async fn view(&self, session: Arc<Session>) -> Result<ContextView, AccessError> {
        let blocked_tools = match self.standing().await {
            Ok(standing) => {
                let closed = closed_by_context(&standing.control, &session.context);
                closed.map(|tool| tool.name.clone()).collect()
            }
            Err(AccessError::Authority(_)) => self.control().iter().map(|tool| tool.name.clone()).collect(),
            Err(error) => return Err(error),
        };
        Ok(ContextView {
            session,
            blocked_tools,
        })
    }

    /// Registers a dataset, raising the label where it must rise.
    ///
    /// # Errors
    /// When the caller may not, or the rise cannot be made durable.
    pub async fn add_dataset(
        &self,
        caller: &Caller,
        id: &Ident,
        name: Name,
        class: Class,
    ) -> Result<Arc<Session>, DeliverError> {
        self.session_for(caller, Act::Bring, id).await?;
        Ok(self.tag(caller, id, &name, class).await?.session)
    }

    /// Starts a session's context anew: the only way down, for an administrator, with a reason. It covers the label as it is
    /// when it is asked for; one that rises meanwhile stands.
    ///
    /// # Errors
    /// When the caller is not an administrator, the reason is missing, the label rose meanwhile, or the reset cannot be made
    /// durable.
    pub async fn reset(&self, caller: &Caller, id: &Ident, reason: &str) -> Result<Arc<Session>, ResetError> {
        let before = self.session_for(caller, Act::Reset, id).await?;
        let covers = before.context.label().class();
        self.start_anew(caller, &before, covers, reason).await
    }

    /// The same, from a label that was decided about before.
    pub(crate) async fn reset_up_to(
        &self,
        caller: &Caller,
        id: &Ident,
        covers: Class,
        reason: &str,
    ) -> Result<Arc<Session>, ResetError> {
        let before = self.session_for(caller, Act::Reset, id).await?;
        self.start_anew(caller, &before, covers, reason).await
    }

    async fn start_anew(
        &self,
        caller: &Caller,
        before: &Session,
        covers: Class,
        reason: &str,
    ) -> Result<Arc<Session>, ResetError> {
        let from = before.context.label().class();
        if from > covers {
            return Err(ResetError::Overtaken);
        }
        let reason = reason.trim();
        if reason.is_empty() || reason.len() > MAX_REASON_BYTES {
            return Err(ResetError::Reason);
        }
        let at = now();
        // A reset lowers a label, so it is on the record before it happens.
        let noted = event::Reset {
            from,
            to: Class::Public,
            reason: Reason::new(reason),
            by: (&caller.principal).into(),
        };
        self.provenance
            .note(&before.id, [noted.into()], at)
            .await
            .map_err(AccessError::from)?;
        let reset = Reset {
            by: caller.principal.clone(),
            reason: reason.to_owned(),
            at,
        };
        // Compared again by the store, in the step that lowers it: until then, content may enter.
        let session = self.store.reset(&before.id, covers, reset).await?;
        self.observer.reset(&session);
        self.publish(&session, Mirror::reset).await?;
        Ok(session)
    }
}

/// The agent's name where neither the token nor the request gives one.
fn unnamed_agent() -> Result<Ident, OpenSessionError> {
    Ident::parse("default").map_err(|_| OpenSessionError::NotYours { field: "agent" })
}

/// 128 random bits: a handle that cannot be guessed.
pub(crate) fn random_id() -> Result<Ident, OpenSessionError> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(|_| OpenSessionError::NoRandomness)?;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ident::parse(&format!("sess_{hex}")).map_err(|_| OpenSessionError::NoRandomness)
}
