//! Reviews after data above what may be given was stopped on its way out.
//!
//! Two assignments can be wrong then: the class of where the data came from, and the ceiling of where it was to go. What raised
//! the session's label stands for the first; it is as near as the session knows.

use tidegate_core::Name;
use tidegate_store::{Assignment, ReviewCause, Session};

use super::ReviewError;
use super::open::{Source, or_logged};
use crate::egress::Destination;
use crate::{Engine, Interrupted};

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
        let reviewed = self.count_leak(session, to).await;
        or_logged(ReviewCause::PiiLeakRisk, reviewed);
    }

    async fn count_leak(&self, session: &Session, to: LeakedTo<'_>) -> Result<(), ReviewError> {
        let Some(reviews) = &self.reviews else {
            return Ok(());
        };
        let from = match session.context.contamination_source() {
            Some(name) => Some(self.reviewed(name).await?),
            None => None,
        };
        let to = match to {
            LeakedTo::Tool(name) => Some(self.reviewed(name).await?),
            LeakedTo::UnknownTool => Some(Source::own("(unknown tool)", None)?),
            LeakedTo::Destination(destination) => Some(of_destination(destination)?),
            // Every leak is somebody's to look at: what nothing brought in is the model's own.
            LeakedTo::Reader if from.is_none() => Some(Source::own("output", None)?),
            LeakedTo::Reader => None,
        };
        let to = to.filter(|to| from.as_ref().is_none_or(|from| from.name != to.name));
        for source in [from, to].into_iter().flatten() {
            self.keep_review(reviews, ReviewCause::PiiLeakRisk, source)
                .await?;
        }
        Ok(())
    }
}

fn of_destination(destination: &Destination) -> Result<Source, Interrupted> {
    let assigned = Assignment {
        class: destination.returns,
        ceiling: destination.ceiling,
    };
    Source::own(&format!("egress:{}", destination.pattern), Some(assigned))
}
