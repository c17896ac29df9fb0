//! Connections to the network: the destination is the sink, and the one rule decides.
//!
//! A shell with `curl` is a hole in every check of tool calls. So what runs in a session reaches the network through the
//! gateway alone, and each connection is judged as a call would be: who asks, what the session holds, what the request
//! itself carries, and what the destination may be given. Wires speak to [`Egress`] and to nothing below it.

mod address;
mod credential;
mod decide;
mod destination;
mod host;

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::{Class, Entry, Ident, Name};
use tidegate_store::{Admitted, Session, TokenDigest, TokenStore};
use tokio::sync::watch;

pub use address::is_reserved;
pub use credential::{Credential, EgressKey};
pub use decide::{Passage, Sent};
pub use destination::{Destination, Destinations, HostPattern, Protocol, Scan, USUAL_PORTS, net};
pub use host::{BadHost, Host, Target};

use crate::access::{Act, Caller};
use crate::engine::now;
use crate::provenance::rise_event;
use crate::{AccessError, DeliverError, Engine};

/// How often a session is looked at for changes made by other processes, where the store does not tell of them.
const LOOK_EVERY: Duration = Duration::from_millis(40);

/// The same where the store tells of them, for what it may have missed.
const LOOK_AGAIN_EVERY: Duration = Duration::from_secs(1);

/// The use cases of connections.
pub struct Egress {
    engine: Arc<Engine>,
    destinations: Destinations,
    key: EgressKey,
    tokens: Option<Arc<dyn TokenStore>>,
}

/// A session that connections are made for. Only a caller who may make its calls, or whoever shows its credential, has one.
#[derive(Clone, Debug)]
pub struct EgressSession {
    id: Ident,
    /// The token that its credential was given to, where it came in by one.
    token: Option<TokenDigest>,
}

impl EgressSession {
    /// The session's id.
    #[must_use]
    pub const fn id(&self) -> &Ident {
        &self.id
    }
}

impl Egress {
    /// Connections of an engine's sessions to these destinations. Without tokens no credential is good: sessions come in by
    /// ways of their own.
    #[must_use]
    pub const fn new(
        engine: Arc<Engine>,
        destinations: Destinations,
        key: EgressKey,
        tokens: Option<Arc<dyn TokenStore>>,
    ) -> Self {
        Self {
            engine,
            destinations,
            key,
            tokens,
        }
    }

    /// What is declared of a host.
    #[must_use]
    pub fn destination(&self, host: &Host) -> &Destination {
        self.destinations.find(host)
    }

    /// The highest class that any destination may be given: a session labelled above it reaches nothing.
    #[must_use]
    pub fn highest_ceiling(&self) -> Option<Class> {
        self.destinations.highest_ceiling()
    }

    /// The session, for a way in that nobody else can use.
    ///
    /// # Errors
    /// When the caller may not make its calls.
    pub async fn bind(&self, caller: &Caller, id: &Ident) -> Result<EgressSession, AccessError> {
        let session = self.engine.session_for(caller, Act::Call, id).await?;
        Ok(EgressSession {
            id: session.id.clone(),
            token: None,
        })
    }

    /// The credential of a session, for whoever may make its calls. It is good for as long as the token that they showed.
    ///
    /// # Errors
    /// When the caller may not.
    pub async fn issue(
        &self,
        caller: &Caller,
        token: &TokenDigest,
        id: &Ident,
    ) -> Result<Credential, AccessError> {
        let session = self.engine.session_for(caller, Act::Call, id).await?;
        Ok(self.key.credential(&session, token))
    }

    /// The session that a credential is of. An unknown id, a wrong password and a revoked token look the same.
    ///
    /// # Errors
    /// When it is none, or the store does not answer.
    pub async fn known(&self, id: &Ident, password: &str) -> Result<EgressSession, AccessError> {
        let session = self.engine.store.current(id).await?;
        let token = session.and_then(|session| self.key.token_of(&session, password));
        let session = EgressSession {
            id: id.clone(),
            token: Some(token.ok_or(AccessError::NoSession)?),
        };
        match self.token_holds(&session).await? {
            true => Ok(session),
            false => Err(AccessError::NoSession),
        }
    }

    /// Whether the token behind the session's credential is still one. A way in that nobody else can use needs none.
    async fn token_holds(&self, session: &EgressSession) -> Result<bool, AccessError> {
        let Some(digest) = &session.token else {
            return Ok(true);
        };
        let Some(tokens) = &self.tokens else {
            return Ok(false);
        };
        let token = tokens.find(digest).await?;
        Ok(token.is_some_and(|token| token.revoked_at.is_none()))
    }

    /// Lets what a destination sends back into the session. INVARIANT (durable before visible): what it sends may be
    /// passed on once this has answered.
    ///
    /// # Errors
    /// When the rise cannot be made durable; nothing may be passed on then.
    pub async fn admit(&self, session: &EgressSession, target: &Target) -> Result<(), DeliverError> {
        let class = self.destinations.find(&target.host).returns;
        if class == Class::Public {
            return Ok(());
        }
        let (id, at) = (session.id(), now());
        let entry = Entry {
            class,
            kinds: class.kind().into_iter().collect(),
            source: self.nameable(target)?,
            at,
        };
        let admitted: Admitted = self.engine.store.raise(id, entry).await?;
        if let Some(rise) = rise_event(&admitted) {
            self.engine.provenance.note(id, [rise], at).await?;
        }
        Ok(self.engine.publish_admitted(&admitted).await?)
    }

    /// Resolves when the session may no longer have a connection to this target: its label rose above what the
    /// destination may be given, it was halted, it ended, the token behind its credential was revoked, or its state cannot be
    /// read any more.
    pub async fn closed(&self, session: &EgressSession, target: &Target) {
        let Some(mut changes) = self.changes(session).await else {
            return;
        };
        let every = match self.engine.store.changes() {
            Some(_) => LOOK_AGAIN_EVERY,
            None => LOOK_EVERY,
        };
        loop {
            match self.engine.store.current(session.id()).await {
                Ok(Some(now)) if self.is_open(&now, target) => {}
                Ok(_) | Err(_) => return,
            }
            if !matches!(self.token_holds(session).await, Ok(true)) {
                return;
            }
            // Either a change here, or time to look for one made elsewhere.
            let _ = tokio::time::timeout(every, changes.changed()).await;
        }
    }

    async fn changes(&self, session: &EgressSession) -> Option<watch::Receiver<Arc<Session>>> {
        let current = self.engine.store.current(session.id()).await.ok().flatten()?;
        Some(self.engine.watchers.join(current))
    }

    /// What a target is called in records and answers. A host that the policy does not spell out is shown only when no rule
    /// knows it for a value.
    fn nameable(&self, target: &Target) -> Result<Name, AccessError> {
        let is_plain = |name: &str| self.engine.inspector.is_plain(name);
        let shown = self.unspelled(target).is_none_or(is_plain);
        let name = Name::parse(&format!("egress:{target}")).ok();
        let name = name.filter(|_| shown).map_or_else(|| Name::parse(UNNAMEABLE), Ok);
        Ok(name.map_err(|_| crate::Interrupted)?)
    }

    /// The host's name where the policy does not spell it out: then it is the client's own text.
    fn unspelled<'a>(&self, target: &'a Target) -> Option<&'a str> {
        match (&target.host, &self.destination(&target.host).pattern) {
            (Host::Address(_), _) | (Host::Name(_), HostPattern::Name(_)) => None,
            (Host::Name(name), HostPattern::Below(_) | HostPattern::Net(_) | HostPattern::Any) => Some(name),
        }
    }
}

/// Stands for a target that is not named.
pub(crate) const UNNAMEABLE: &str = "egress:unnameable";
