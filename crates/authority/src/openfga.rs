//! The authority that the engine asks, answered by the server or from what it answered a moment ago.
//!
//! Whoever finds no fresh look at the server takes one; others who come meanwhile wait for the same one and share its
//! outcome, so that a server that hangs costs each of them one timeout and not a queue of them. A look that is half
//! through its time is taken anew beside the call, so that calls rarely wait. Nothing is remembered of a failure: the
//! next question is asked again, and the gateway is back as soon as the server is.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tidegate_core::Name;
use tidegate_engine::{Authority, Subject, Tagged, Unanswered};
use tokio::sync::{Mutex as Turn, OwnedMutexGuard, Semaphore};

use crate::answers::{Answers, Question};
use crate::calls::MOST_CHECKS;
use crate::client::MOST_CONNECTIONS;
use crate::model::CAN_USE;
use crate::snapshot::Snapshot;
use crate::{CallError, Client, Settings, Tuple, id};

/// A look that is at most this old says that the server answers now.
const READY_FOR: Duration = Duration::from_secs(1);

/// An OpenFGA server as an authority.
#[derive(Clone)]
pub struct OpenFga(Arc<Desk>);

struct Desk {
    client: Arc<Client>,
    looked: RwLock<Option<Arc<Snapshot>>>,
    /// Whose turn it is to look, and what became of the last look that failed.
    turn: Arc<Turn<Option<(Instant, CallError)>>>,
    answers: Mutex<Answers>,
    places: Arc<Semaphore>,
    is_silent: AtomicBool,
}

type Looking = OwnedMutexGuard<Option<(Instant, CallError)>>;

impl OpenFga {
    /// Prepares the authority. Nothing is asked yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self(Arc::new(Desk {
            answers: Mutex::new(Answers::new(settings.cache_ttl)),
            client: Arc::new(Client::new(settings)),
            looked: RwLock::new(None),
            turn: Arc::new(Turn::new(None)),
            places: Arc::new(Semaphore::new(MOST_CONNECTIONS)),
            is_silent: AtomicBool::new(false),
        }))
    }

    /// A look at the server that is no older than this.
    async fn look(&self, at_most: Duration) -> Result<Arc<Snapshot>, CallError> {
        let arrived = Instant::now();
        if let Some(fresh) = self.fresh(at_most, arrived) {
            self.renew_early(&fresh, at_most);
            return Ok(fresh);
        }
        let turn = Arc::clone(&self.0.turn).lock_owned().await;
        if let Some(fresh) = self.fresh(at_most, arrived) {
            return Ok(fresh);
        }
        match *turn {
            // Somebody looked in vain while this one waited.
            Some((began, why)) if began >= arrived => Err(why),
            _ => self.look_now(turn).await,
        }
    }

    /// The last look, if it is young enough or began after this moment.
    fn fresh(&self, at_most: Duration, arrived: Instant) -> Option<Arc<Snapshot>> {
        let looked = self.0.looked.read().unwrap_or_else(PoisonError::into_inner);
        let looked = looked.as_ref()?;
        let is_young = looked.asked_at.elapsed() < at_most || looked.asked_at >= arrived;
        is_young.then(|| Arc::clone(looked))
    }

    fn renew_early(&self, looked: &Snapshot, at_most: Duration) {
        if looked.asked_at.elapsed() < at_most / 2 {
            return;
        }
        if let Ok(turn) = Arc::clone(&self.0.turn).try_lock_owned() {
            let authority = self.clone();
            tokio::spawn(async move { authority.look_now(turn).await });
        }
    }

    async fn look_now(&self, mut turn: Looking) -> Result<Arc<Snapshot>, CallError> {
        let began = Instant::now();
        let looked = self.ask(Snapshot::take).await;
        self.tell_change(&looked);
        match looked {
            Ok(snapshot) => {
                let snapshot = Arc::new(snapshot);
                let mut looked = self.0.looked.write().unwrap_or_else(PoisonError::into_inner);
                *looked = Some(Arc::clone(&snapshot));
                Ok(snapshot)
            }
            Err(error) => {
                *turn = Some((began, error));
                Err(error)
            }
        }
    }

    /// Says once that the server fell silent, and once that it speaks again.
    fn tell_change<T>(&self, outcome: &Result<T, CallError>) {
        let is_silent = outcome.is_err();
        if self.0.is_silent.swap(is_silent, Ordering::Relaxed) == is_silent {
            return;
        }
        match outcome {
            Ok(_) => tracing::warn!("OpenFGA answers again"),
            Err(error) => tracing::warn!(%error, "OpenFGA gives no answer: every call is denied"),
        }
    }

    /// Asks where blocking is allowed. The place is given back when the call ends, not when its caller gives up.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Client, Instant) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        let client = Arc::clone(&self.0.client);
        let deadline = client.deadline();
        let answering = async {
            let place = Arc::clone(&self.0.places).acquire_owned().await;
            let place = place.map_err(|_| CallError::TimedOut)?;
            let asking = tokio::task::spawn_blocking(move || {
                let answer = question(&client, deadline);
                drop(place);
                answer
            });
            asking.await.map_err(|_| CallError::Unreachable)?
        };
        let answered = tokio::time::timeout_at(deadline.into(), answering).await;
        answered.map_err(|_| CallError::TimedOut)?
    }

    /// Asks about tools that are not answered yet, as many at a time as the server takes.
    async fn check(
        &self,
        looked: &Arc<Snapshot>,
        subject: Subject<'_>,
        tools: &[Name],
    ) -> Result<Vec<bool>, CallError> {
        let (agent, given) = looked.present(subject)?;
        let mut permitted = Vec::with_capacity(tools.len());
        for some in tools.chunks(MOST_CHECKS) {
            let asked_at = Instant::now();
            // A name that is too long for an id cannot have been granted.
            let ids: Vec<_> = some.iter().map(id::tool_id).collect();
            let tuple = |id: &String| Tuple::new(agent.as_str(), CAN_USE, id.as_str());
            let tuples: Vec<_> = ids.iter().flatten().map(tuple).collect();
            let (looked, given) = (Arc::clone(looked), given.clone());
            let model = Arc::clone(&looked.model);
            let answered = if tuples.is_empty() {
                Vec::new()
            } else {
                self.ask(move |client, deadline| client.check(looked.asked(), &tuples, &given, deadline))
                    .await?
            };
            let mut answered = answered.into_iter();
            let mut answers = self.0.answers.lock().unwrap_or_else(PoisonError::into_inner);
            for (tool, id) in some.iter().zip(&ids) {
                let is_permitted = id.is_ok() && answered.next().unwrap_or(false);
                answers.keep(Question::new(subject, tool), is_permitted, &model, asked_at);
                permitted.push(is_permitted);
            }
        }
        Ok(permitted)
    }

    fn remembered(&self, subject: Subject<'_>, tools: &[Name], model: &str) -> Vec<Option<bool>> {
        let now = Instant::now();
        let answers = self.0.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let find = |tool: &Name| answers.find(&Question::new(subject, tool), model, now);
        tools.iter().map(find).collect()
    }

    async fn answer(&self, subject: Subject<'_>, tools: &[Name]) -> Result<Vec<bool>, CallError> {
        let looked = self.look(self.0.client.settings.cache_ttl).await?;
        let mut known = self.remembered(subject, tools, &looked.model);
        let unknown = tools.iter().zip(&known).filter(|(_, known)| known.is_none());
        let unknown: Vec<_> = unknown.map(|(tool, _)| tool.clone()).collect();
        let checked = self.check(&looked, subject, &unknown).await;
        if let Err(error) = checked {
            // The model or the store may be gone: the next question looks again before it asks.
            let mut looked = self.0.looked.write().unwrap_or_else(PoisonError::into_inner);
            *looked = None;
            return Err(error);
        }
        let mut checked = checked?.into_iter();
        for open in known.iter_mut().filter(|known| known.is_none()) {
            *open = checked.next();
        }
        Ok(known.into_iter().map(|known| known.unwrap_or(false)).collect())
    }
}

#[async_trait]
impl Authority for OpenFga {
    async fn permitted(&self, subject: Subject<'_>, tools: &[Name]) -> Result<Vec<bool>, Unanswered> {
        let answered = self.answer(subject, tools).await;
        self.tell_change(&answered);
        Ok(answered?)
    }

    async fn tags(&self) -> Result<Arc<Tagged>, Unanswered> {
        let looked = self.look(self.0.client.settings.cache_ttl).await?;
        Ok(Arc::clone(&looked.tagged))
    }

    async fn ready(&self) -> Result<(), Unanswered> {
        let at_most = READY_FOR.min(self.0.client.settings.cache_ttl);
        self.look(at_most).await?;
        Ok(())
    }
}
