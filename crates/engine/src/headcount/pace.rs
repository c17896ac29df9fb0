//! How many sessions one user may open in an hour.
//!
//! The room for sessions is everybody's, and none comes free again. Without a pace of their own, whoever opens sessions in a
//! loop takes all of it before an operator has read the first warning.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tidegate_core::Ident;

const HOUR: Duration = Duration::from_secs(3600);

/// What was opened at this gateway in the hour that goes on.
pub(super) struct Pace {
    most: u64,
    hour: Mutex<Hour>,
}

/// It holds no more names than sessions were opened in it.
struct Hour {
    began: Instant,
    opened: HashMap<Ident, u64>,
}

impl Pace {
    pub(super) fn of(most: u64) -> Self {
        let hour = Mutex::new(Hour::beginning(Instant::now()));
        Self { most, hour }
    }

    pub(super) const fn most(&self) -> u64 {
        self.most
    }

    /// Counts one more of a user's, if it is not too many.
    pub(super) fn take(&self, user: &Ident, now: Instant) -> bool {
        let mut hour = self.hour.lock().unwrap_or_else(PoisonError::into_inner);
        if now.saturating_duration_since(hour.began) >= HOUR {
            *hour = Hour::beginning(now);
        }
        let opened = hour.opened.entry(user.clone()).or_default();
        let is_allowed = *opened < self.most;
        *opened += u64::from(is_allowed);
        is_allowed
    }

    /// Takes one off again that was not opened after all.
    pub(super) fn give_back(&self, user: &Ident) {
        let mut hour = self.hour.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = hour.opened.get_mut(user) {
            *opened = opened.saturating_sub(1);
            if *opened == 0 {
                hour.opened.remove(user);
            }
        }
    }
}

impl Hour {
    fn beginning(now: Instant) -> Self {
        Self {
            began: now,
            opened: HashMap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_has_a_pace_of_their_own_and_a_new_hour_begins_anew() {
        let pace = Pace::of(2);
        let [ann, bob] = ["ann", "bob"].map(|user| Ident::parse(user).unwrap());
        let now = Instant::now();
        assert!(pace.take(&ann, now) && pace.take(&ann, now) && !pace.take(&ann, now));
        assert!(pace.take(&bob, now));
        pace.give_back(&ann);
        assert!(pace.take(&ann, now) && !pace.take(&ann, now + HOUR / 2));
        assert!(pace.take(&ann, now + HOUR));
        assert_eq!(pace.hour.lock().unwrap().opened.len(), 1);
        pace.give_back(&ann);
        assert!(pace.hour.lock().unwrap().opened.is_empty());
    }
}
