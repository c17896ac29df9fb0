//! How many sessions there may be.
//!
//! A session is never forgotten, since its label would be forgotten with it. So an agent that opens one in a loop fills the
//! disk, unless somebody counts: all that there are, and what each user opens in an hour.

mod pace;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_store::{OpenError, Opening, Session};
use tokio::sync::Mutex;

use crate::{AccessError, Engine, OpenSessionError};
use pace::Pace;

/// How long a count holds. Others on the same state open sessions too, so it is taken again and again; between two counts
/// the bound may be passed by what they open meanwhile.
const HOLDS: Duration = Duration::from_secs(60);

/// How many sessions there may be.
#[derive(Clone, Copy, Debug)]
pub struct SessionBounds {
    /// In all, ever.
    pub most: usize,
    /// New ones of one user in an hour, at one gateway.
    pub per_hour: usize,
}

impl SessionBounds {
    /// What serves when nothing is configured.
    pub const STANDARD: Self = Self {
        most: 1_000_000,
        per_hour: 10_000,
    };
}

pub(crate) struct Headcount {
    most: u64,
    pace: Pace,
    counted: Mutex<Option<Counted>>,
}

#[derive(Clone, Copy)]
struct Counted {
    at: Instant,
    sessions: u64,
}

impl Headcount {
    pub(crate) fn of(bounds: SessionBounds) -> Self {
        let SessionBounds { most, per_hour } = bounds;
        Self {
            most: u64::try_from(most).unwrap_or(u64::MAX),
            pace: Pace::of(u64::try_from(per_hour).unwrap_or(u64::MAX)),
            counted: Mutex::default(),
        }
    }

    /// Takes one off again that was not opened after all: coming back to a session must not use up the room of others.
    async fn give_back(&self) {
        if let Some(counted) = self.counted.lock().await.as_mut() {
            counted.sessions = counted.sessions.saturating_sub(1);
        }
    }
}

impl Engine {
    /// The same with other bounds on how many sessions there may be.
    #[must_use]
    pub fn with_session_bounds(mut self, bounds: SessionBounds) -> Self {
        self.headcount = Headcount::of(bounds);
        self
    }

    /// Adds a session to the store, if there is room for one more and its user may still open one.
    pub(crate) async fn add_session(&self, opening: Opening) -> Result<Arc<Session>, OpenSessionError> {
        let (pace, user) = (&self.headcount.pace, opening.user.clone());
        if !pace.take(&user, Instant::now()) {
            let per_hour = pace.most();
            return Err(self
                .refusal(&opening, OpenSessionError::TooFast { per_hour })
                .await?);
        }
        let added = self.add_counted(opening).await;
        if added.is_err() {
            pace.give_back(&user);
        }
        added
    }

    async fn add_counted(&self, opening: Opening) -> Result<Arc<Session>, OpenSessionError> {
        if !self.has_room().await? {
            let most = self.headcount.most;
            return Err(self.refusal(&opening, OpenSessionError::TooMany { most }).await?);
        }
        let opened = self.store.open(opening).await;
        if opened.is_err() {
            self.headcount.give_back().await;
        }
        opened.map_err(|error| match error {
            OpenError::Taken => OpenSessionError::Taken,
            OpenError::Store(error) => AccessError::from(error).into(),
        })
    }

    /// Whoever comes back to a session takes no room, and is told that it is there.
    async fn refusal(
        &self,
        opening: &Opening,
        refused: OpenSessionError,
    ) -> Result<OpenSessionError, OpenSessionError> {
        let known = self.store.current(&opening.id).await.map_err(AccessError::from)?;
        Ok(known.map_or(refused, |_| OpenSessionError::Taken))
    }

    /// Whether there is room for one more session, which then counts. A store that cannot count has none.
    async fn has_room(&self) -> Result<bool, OpenSessionError> {
        let Headcount { most, counted, .. } = &self.headcount;
        let mut counted = counted.lock().await;
        let mut now = match *counted {
            Some(counted) if counted.at.elapsed() < HOLDS => counted,
            _ => self.count().await?,
        };
        let has_room = now.sessions < *most;
        now.sessions += u64::from(has_room);
        *counted = Some(now);
        Ok(has_room)
    }

    async fn count(&self) -> Result<Counted, OpenSessionError> {
        let at = Instant::now();
        let sessions = self.store.count().await.map_err(AccessError::from)?;
        let most = self.headcount.most;
        if sessions >= most - most / 10 {
            tracing::warn!(
                sessions,
                most,
                "soon there will be no room for new sessions: raise limits.sessions"
            );
        }
        Ok(Counted { at, sessions })
    }
}
