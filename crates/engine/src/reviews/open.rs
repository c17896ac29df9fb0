//! Opening reviews.

use std::time::{Duration, Instant};

use tidegate_core::{Ident, Name};
use tidegate_ledger::event::{ClassReviewOpened, Event};
use tidegate_store::{Assignment, ClassReview, OpenReviewError, OpenedReview, ReviewCause};

use super::{ReviewError, Reviews, assigned};
use crate::engine::now;
use crate::provenance::{spelled, word};
use crate::{Engine, Interrupted};

/// The most reviews of one cause that are open. Names that an agent makes up cannot keep the others out.
const MOST_OPEN: usize = 1_000;

/// How long whoever lists many tools waits for their reviews. The rest are opened when they are listed again.
const PATIENCE: Duration = Duration::from_secs(2);

/// What came of asking for a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// One was opened.
    New,
    /// One was open and is counted, or what was new has been asked about before, or nobody is asked at all.
    Known,
    /// None could be opened. That is logged, and may be tried again.
    Failed,
}

/// A source as a review names it.
pub(super) struct Source {
    pub(super) name: Name,
    pub(super) assigned: Option<Assignment>,
}

impl Source {
    /// A source whose name is this program's or the operator's own text.
    pub(super) fn own(name: &str, assigned: Option<Assignment>) -> Result<Self, Interrupted> {
        let name = Name::parse(name).map_err(|_| Interrupted)?;
        Ok(Self { name, assigned })
    }
}

impl Engine {
    /// Opens a review of the class that a source is assigned, or counts the one that is open; what is settled is not new again.
    ///
    /// It never fails: nothing waits for a review, and whoever caused one is answered as without it.
    pub async fn review_class(&self, cause: ReviewCause, source: &Name) -> Opening {
        match or_logged(cause, self.open_review(cause, source).await) {
            Some(true) => Opening::New,
            Some(false) => Opening::Known,
            None => Opening::Failed,
        }
    }

    /// The same for every tool that a server lists, as far as that can be done soon. From the second time on it costs nothing.
    pub async fn review_new_tools(&self, tools: &[Name]) {
        let (cause, since) = (ReviewCause::NewTool, Instant::now());
        for tool in tools {
            let opened = self.open_review(cause, tool).await;
            if or_logged(cause, opened).is_none() || since.elapsed() > PATIENCE {
                return;
            }
        }
    }

    async fn open_review(&self, cause: ReviewCause, source: &Name) -> Result<bool, ReviewError> {
        let Some(reviews) = &self.reviews else {
            return Ok(false);
        };
        if cause.is_once() && reviews.has_met(cause, source) {
            return Ok(false);
        }
        let named = self.reviewed(source).await?;
        let is_new = self.keep_review(reviews, cause, named).await?;
        if cause.is_once() {
            reviews.meet(cause, source);
        }
        Ok(is_new)
    }

    /// A source by its name, with what it is assigned now. A name that nobody declared is a server's or a client's own text, and
    /// is shown only when no rule knows it for a value. Otherwise a digest stands for it, the same at every gateway on one vault, so
    /// that each such source is asked about, and once.
    pub(super) async fn reviewed(&self, name: &Name) -> Result<Source, ReviewError> {
        let (control, _) = self.control_in_force().await?;
        let is_declared = assigned(&self.policy.control, name).is_some();
        let assigned = assigned(&control, name);
        if is_declared || self.inspector.is_plain(name.as_str()) {
            let name = name.clone();
            return Ok(Source { name, assigned });
        }
        let digest = self
            .provenance
            .vault_digest(format!("class review\0{name}").as_bytes());
        let short = hex(digest.get(..6).unwrap_or_default());
        Ok(Source::own(&format!("(unnameable {short})"), assigned)?)
    }

    /// INVARIANT (durable before visible): a review is on the record before anyone sees it. What is counted is on the record as
    /// what caused it.
    pub(super) async fn keep_review(
        &self,
        reviews: &Reviews,
        cause: ReviewCause,
        source: Source,
    ) -> Result<bool, ReviewError> {
        let _desk = reviews.desk.lock().await;
        let latest = reviews.store.latest_review(&source.name, cause).await?;
        if cause.is_once() && latest.is_some() {
            return Ok(false);
        }
        let at = now();
        let review = ClassReview {
            id: random_id()?,
            source: source.name,
            cause,
            assigned: source.assigned,
            opened_at: at,
            seen_at: at,
            seen: 1,
            settled: None,
            place: 0,
        };
        if latest.is_none_or(|latest| latest.settled.is_some()) {
            if reviews.store.open_reviews(cause).await? >= MOST_OPEN {
                return Err(ReviewError::Full);
            }
            self.provenance.note_gateway(opened_event(&review), at).await?;
        }
        match reviews.store.open_review(review, MOST_OPEN).await {
            Ok(OpenedReview::New(_)) => Ok(true),
            Ok(OpenedReview::Counted(_)) => Ok(false),
            Err(OpenReviewError::TooMany) => Err(ReviewError::Full),
            Err(OpenReviewError::Store(error)) => Err(error.into()),
        }
    }
}

/// What came of it; nothing when it failed, which is logged.
pub(super) fn or_logged<T>(cause: ReviewCause, opened: Result<T, ReviewError>) -> Option<T> {
    opened
        .inspect_err(|error| {
            tracing::error!(cause = cause.as_str(), %error, "a class review could not be opened");
        })
        .ok()
}

fn opened_event(review: &ClassReview) -> Event {
    ClassReviewOpened {
        review_id: (&review.id).into(),
        source: spelled(&review.source),
        cause: word(review.cause.as_str()),
        class: review.assigned.map(|assigned| assigned.class),
        ceiling: review.assigned.map(|assigned| assigned.ceiling),
    }
    .into()
}

/// 128 random bits: an id that cannot be guessed.
fn random_id() -> Result<Ident, Interrupted> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(|_| Interrupted)?;
    Ident::parse(&format!("review_{}", hex(&bytes))).map_err(|_| Interrupted)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
