//! Places for connections: so many in all, so many for each session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tidegate_core::Ident;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(super) struct Places {
    all: Arc<Semaphore>,
    taken: Arc<Mutex<HashMap<Ident, usize>>>,
    each: usize,
}

/// A place of a session; it comes free when this is dropped.
pub(super) struct Place {
    session: Ident,
    taken: Arc<Mutex<HashMap<Ident, usize>>>,
}

impl Places {
    pub(super) fn new(all: usize, each: usize) -> Self {
        Self {
            all: Arc::new(Semaphore::new(all)),
            taken: Arc::default(),
            each,
        }
    }

    /// A place for somebody who is not known yet.
    pub(super) fn any(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.all).try_acquire_owned().ok()
    }

    /// A place for a session.
    pub(super) fn of(&self, session: &Ident) -> Option<Place> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(session.clone()).or_default();
        if *count >= self.each {
            return None;
        }
        *count += 1;
        Some(Place {
            session: session.clone(),
            taken: Arc::clone(&self.taken),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.session) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.session);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_come_free() {
        let places = Places::new(2, 1);
        let [one, other] = ["a", "b"].map(|id| Ident::parse(id).unwrap());
        let held = places.of(&one);
        assert!(held.is_some() && places.of(&one).is_none() && places.of(&other).is_some());
        drop(held);
        assert!(places.of(&one).is_some());
        assert!(places.taken.lock().unwrap().is_empty());
        let all = (places.any(), places.any());
        assert!(all.0.is_some() && all.1.is_some() && places.any().is_none());
    }
}
