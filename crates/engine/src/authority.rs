//! Who may use which tool, and who says so.
//!
//! The policy file lets everybody use every tool it names and says itself which are external and which are sources.
//! Another authority may keep both: it is asked before each call, and what it says of the tools is laid over the control
//! list. No answer is an answer: the tool is closed to whoever asked, with the reason, until the authority can be asked
//! again. What it says of the tools is part of the policy, so a change of it is on the record before it is used.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use tidegate_core::{ControlList, Grant, Ident, Name, Tags, Tool};
use tidegate_ledger::event::PolicyChanged;
use tidegate_store::Session;
use tokio::sync::Mutex;

use crate::engine::now;
use crate::provenance::word;
use crate::{AccessError, Engine, Policy, PolicyVersion};

/// Whoever may be asked who may use which tool.
///
/// An implementation bounds the time and the memory of its answers, and never gives one that it was not given.
#[async_trait]
pub trait Authority: Send + Sync {
    /// For each of these tools, in this order, whether the subject may use it.
    ///
    /// # Errors
    /// When there is no answer for one of them; then there is none for any.
    async fn permitted(&self, subject: Subject<'_>, tools: &[Name]) -> Result<Vec<bool>, Unanswered>;

    /// Which tools are external and which are internal sources.
    ///
    /// # Errors
    /// When there is no answer.
    async fn tags(&self) -> Result<Arc<Tagged>, Unanswered>;

    /// Whether it answers now.
    ///
    /// # Errors
    /// When it does not.
    async fn ready(&self) -> Result<(), Unanswered>;
}

/// Whoever wants to use a tool: an agent that acts for a user in a session.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The user.
    pub user: &'a Ident,
    /// The agent.
    pub agent: &'a Ident,
    /// The session.
    pub session: &'a Ident,
}

impl<'a> From<&'a Session> for Subject<'a> {
    fn from(session: &'a Session) -> Self {
        Self {
            user: &session.user,
            agent: &session.agent,
            session: &session.id,
        }
    }
}

/// The names of the tools that an authority has tagged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tagged {
    /// Those that carry out what they are given.
    pub external: HashSet<Name>,
    /// Those that return what is not public.
    pub internal_sources: HashSet<Name>,
}

impl Tagged {
    /// What is said of one tool.
    #[must_use]
    pub fn of(&self, tool: &Name) -> Tags {
        Tags {
            external: self.external.contains(tool),
            internal_source: self.internal_sources.contains(tool),
        }
    }
}

/// There is no answer, and why, in fixed words that hold nothing of the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the authority that says who may use which tool cannot be asked: {why}")]
pub struct Unanswered {
    /// Why.
    pub why: &'static str,
}

/// The control list as the authority's tags make it, and the version of the policy that it is.
pub(crate) struct Standing {
    pub(crate) control: Arc<ControlList>,
    pub(crate) version: PolicyVersion,
    declared: Arc<ControlList>,
    tagged: Option<Arc<Tagged>>,
}

/// The authority beside the policy file, where there is one.
pub(crate) struct Asked {
    authority: Arc<dyn Authority>,
    standing: Mutex<Option<Arc<Standing>>>,
}

impl Engine {
    /// The same engine under another authority than its policy file.
    #[must_use]
    pub fn with_authority(self, authority: Arc<dyn Authority>) -> Self {
        let standing = Mutex::new(None);
        Self {
            asked: Some(Asked { authority, standing }),
            ..self
        }
    }

    /// Whether the authority answers now.
    pub(crate) async fn authority_ready(&self) -> Result<(), Unanswered> {
        match &self.asked {
            Some(asked) => asked.authority.ready().await,
            None => Ok(()),
        }
    }

    /// Every known tool with what the authority says of it as such, whoever uses it.
    pub(crate) async fn standing(&self) -> Result<Arc<Standing>, AccessError> {
        let declared = self.control();
        let Some(asked) = &self.asked else {
            return Ok(Arc::new(Standing {
                control: Arc::clone(&declared),
                version: self.policy.version.clone(),
                declared,
                tagged: None,
            }));
        };
        let tagged = asked.authority.tags().await?;
        let mut last = asked.standing.lock().await;
        if let Some(last) = last.as_ref().filter(|last| last.is_of(&declared, &tagged)) {
            return Ok(Arc::clone(last));
        }
        let laid_over = |control: &ControlList| control.map(|tool| tool.tagged(tagged.of(&tool.name)));
        let policy = self.policy.with_control(laid_over(&self.policy.control));
        let before = last.as_ref().map_or(&self.policy.version, |last| &last.version);
        if *before != policy.version {
            self.note_tags(&policy).await?;
        }
        let standing = Arc::new(Standing {
            control: Arc::new(laid_over(&declared)),
            version: policy.version,
            declared,
            tagged: Some(tagged),
        });
        *last = Some(Arc::clone(&standing));
        Ok(standing)
    }

    /// INVARIANT (durable before visible): other tags are another policy, on the record before it decides anything.
    async fn note_tags(&self, policy: &Policy) -> Result<(), AccessError> {
        let changed = PolicyChanged {
            digest: policy.digest,
            previous: None,
            policy_version: tidegate_ledger::Name::or_unnameable(policy.version.as_str()),
            by: word("authority"),
        };
        Ok(self.provenance.note_gateway(changed.into(), now()).await?)
    }

    /// One tool as this session's agent may use it now, and the version of the policy that says so. A tool that
    /// nobody knows stays unknown, whatever the authority would say.
    pub(crate) async fn tool_for(
        &self,
        session: &Session,
        name: &Name,
    ) -> Result<(Option<Tool>, PolicyVersion), AccessError> {
        let standing = match self.standing().await {
            Ok(standing) => standing,
            Err(AccessError::Authority(Unanswered { why })) => {
                let known = self.control().find(name.as_str()).cloned();
                let closed = known.map(|tool| tool.with_grant(Grant::Unanswered(why)));
                return Ok((closed, self.policy.version.clone()));
            }
            Err(error) => return Err(error),
        };
        let Some(tool) = standing.control.find(name.as_str()) else {
            return Ok((None, standing.version.clone()));
        };
        let grants = self.grants(session, std::slice::from_ref(&tool.name)).await;
        let grant = grants.into_iter().next().unwrap_or(Grant::Refused);
        Ok((Some(tool.clone().with_grant(grant)), standing.version.clone()))
    }

    /// Every tool as this session's agent may use it now.
    pub(crate) async fn tools_for(&self, session: &Session) -> Result<Arc<ControlList>, AccessError> {
        let closed = |why| {
            let all = self.control();
            Arc::new(all.map(|tool| tool.clone().with_grant(Grant::Unanswered(why))))
        };
        let control = match self.standing().await {
            Ok(standing) => Arc::clone(&standing.control),
            Err(AccessError::Authority(Unanswered { why })) => return Ok(closed(why)),
            Err(error) => return Err(error),
        };
        if self.asked.is_none() {
            return Ok(control);
        }
        let names: Vec<_> = control.iter().map(|tool| tool.name.clone()).collect();
        let mut grants = self.grants(session, &names).await.into_iter();
        Ok(Arc::new(control.map(|tool| {
            let grant = grants.next().unwrap_or(Grant::Refused);
            tool.clone().with_grant(grant)
        })))
    }

    /// One grant for each tool; what was not answered is not given.
    pub(crate) async fn grants(&self, session: &Session, tools: &[Name]) -> Vec<Grant> {
        let Some(asked) = &self.asked else {
            return vec![Grant::Given; tools.len()];
        };
        let answered = asked.authority.permitted(session.into(), tools).await;
        let grant = |index| match &answered {
            Ok(permitted) if permitted.get(index) == Some(&true) => Grant::Given,
            Ok(_) => Grant::Refused,
            Err(Unanswered { why }) => Grant::Unanswered(why),
        };
        (0..tools.len()).map(grant).collect()
    }
}

impl Standing {
    fn is_of(&self, declared: &Arc<ControlList>, tagged: &Arc<Tagged>) -> bool {
        let same_tags = |last: &Arc<Tagged>| Arc::ptr_eq(last, tagged) || last == tagged;
        Arc::ptr_eq(&self.declared, declared) && self.tagged.as_ref().is_some_and(same_tags)
    }
}
