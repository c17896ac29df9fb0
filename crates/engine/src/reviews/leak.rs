//! Reviews after data above what may be given was stopped on its way out.
//!
//! Two assignments can be wrong then: the class of where the data came from, and the ceiling of where it was to go. What raised
//! the session's label stands for the first; it is as near as the session knows.

use tidegate_core::{Ident, Name};
use tidegate_store::{Assignment, ReviewCause, Session};

use super::ReviewError;
use super::open::{Source, or_logged};
use crate::egress::{Destination, UNNAMEABLE};
use crate::origin::OPERATOR;
use crate::{Engine, Interrupted, Memory};

/// What this program itself puts a rise down to, beside what others name.
const OWN: [&str; 4] = [
    OPERATOR,
    Memory::Scratchpad.as_str(),
    Memory::Agent.as_str(),
    UNNAMEABLE,
];

/// Where data was about to go.
pub(crate) enum LeakedTo<'a> {
    /// A tool that is known.
    Tool(&'a Name),
    /// A tool that nobody has. What it is called is the caller's own text, so all of them are one source.
    UnknownTool,
    /// A destination of connections. A host may be anything, so it is named as the operator's file spells it.
    Destination(&'a Destination),
    /// Somebody who reads a model's output: people have roles, and no class.
    Reader,
}

impl Engine {
    /// Opens or counts the reviews of a leak that was stopped. It never fails, as [`Engine::review_class`] does not.
    pub(crate) async fn review_leak(&self, session: &Session, to: LeakedTo<'_>) {
        let (Some(reviews), cause) = (&self.reviews, ReviewCause::PiiLeakRisk) else {
            return;
        };
        let from = match session.context.contamination_source() {
            Some(name) => or_logged(cause, self.leaked_from(session, name).await),
            None => None,
        };
        let to = or_logged(cause, self.leaked_to(to, from.is_some()).await).flatten();
        let to = to.filter(|to| from.as_ref().is_none_or(|from| from.name != to.name));
        // Each by itself: where there is no room for the one, the other may be open and is counted.
        for source in [from, to].into_iter().flatten() {
            or_logged(cause, self.keep_review(reviews, cause, source).await);
        }
    }

    /// What raised a session's label. Callers make names up (datasets, sessions, hosts under a wildcard), so only what is in a
    /// list of the operator's or of a server's is named; the rest are one source for each sort.
    async fn leaked_from(&self, session: &Session, name: &Name) -> Result<Source, ReviewError> {
        let listed = self.reviewed(name).await?;
        if listed.assigned.is_some() {
            return Ok(listed);
        }
        let is_dataset = session.context.datasets().iter().any(|set| set.name == *name);
        if is_dataset {
            return Ok(Source::own("(dataset)", None)?);
        }
        if let Some(destination) = self.policy.destination_called(name) {
            return Ok(of_destination(destination)?);
        }
        let is_declared = self.rules.sources.find(name).is_some() || OWN.contains(&name.as_str());
        if is_declared {
            return Ok(Source::own(name.as_str(), None)?);
        }
        let is_session = match Ident::parse(name.as_str()) {
            Ok(id) => self.store.current(&id).await?.is_some(),
            Err(_) => false,
        };
        let sort = if is_session { "(session)" } else { "(unlisted)" };
        Ok(Source::own(sort, None)?)
    }

    async fn leaked_to(&self, to: LeakedTo<'_>, has_source: bool) -> Result<Option<Source>, ReviewError> {
        Ok(match to {
            LeakedTo::Tool(name) => Some(self.reviewed(name).await?),
            LeakedTo::UnknownTool => Some(Source::own("(unknown tool)", None)?),
            LeakedTo::Destination(destination) => Some(of_destination(destination)?),
            // Every leak is somebody's to look at: what nothing brought in is the model's own.
            LeakedTo::Reader if !has_source => Some(Source::own("output", None)?),
            LeakedTo::Reader => None,
        })
    }
}

fn of_destination(destination: &Destination) -> Result<Source, Interrupted> {
    let assigned = Assignment {
        class: destination.returns,
        ceiling: destination.ceiling,
    };
    Source::own(&format!("egress:{}", destination.pattern), Some(assigned))
}
