//! How many calls were decided in each of the last minutes, for people who look at the gateway now. Counters alone only
//! ever grow; whoever keeps history for longer reads them from /metrics.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tidegate_core::Moment;

/// How many minutes are kept.
pub(crate) const MINUTES: usize = 60;
const MINUTE_MS: i64 = 60_000;

/// The decisions of one minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Minute {
    /// Minutes since 1970.
    pub(crate) number: i64,
    /// Calls that passed.
    pub(crate) allowed: u64,
    /// Calls that wait for a person.
    pub(crate) held: u64,
    /// Calls that did not pass.
    pub(crate) denied: u64,
}

impl Minute {
    /// Every decision of the minute.
    pub(crate) const fn total(&self) -> u64 {
        self.allowed + self.held + self.denied
    }
}

/// The last minutes, oldest first; minutes without a decision take no place.
pub(crate) struct Pace(Mutex<VecDeque<Minute>>);

impl Pace {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }

    /// Counts one decision by its name on the wire.
    pub(crate) fn count(&self, at: Moment, decision: &str) {
        let number = at.0.div_euclid(MINUTE_MS);
        let mut minutes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if minutes.back().is_none_or(|last| last.number < number) {
            minutes.push_back(Minute {
                number,
                ..Minute::default()
            });
            if minutes.len() > MINUTES {
                minutes.pop_front();
            }
        }
        // A clock that was set back counts into the newest minute.
        if let Some(minute) = minutes.back_mut() {
            match decision {
                "allow" => minute.allowed += 1,
                "hold" => minute.held += 1,
                _ => minute.denied += 1,
            }
        }
    }

    /// The last [`MINUTES`] minutes up to this moment, oldest first, also those in which nothing was decided.
    pub(crate) fn last_hour(&self, now: Moment) -> Vec<Minute> {
        let newest = now.0.div_euclid(MINUTE_MS);
        let minutes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = |number| minutes.iter().find(|minute| minute.number == number).copied();
        let length = i64::try_from(MINUTES).unwrap_or(i64::MAX);
        (newest - length + 1..=newest)
            .map(|number| {
                kept(number).unwrap_or(Minute {
                    number,
                    ..Minute::default()
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_has_every_minute_and_forgets_what_is_older() {
        let pace = Pace::new();
        let minute = |number: i64| Moment(number * MINUTE_MS + 1);
        for number in 0..200 {
            pace.count(minute(number), "deny");
        }
        pace.count(minute(205), "allow");
        pace.count(minute(100), "hold");
        let hour = pace.last_hour(minute(206));
        assert_eq!(hour.len(), MINUTES);
        assert_eq!(hour.first().unwrap().number, 147);
        let total: u64 = hour.iter().map(Minute::total).sum();
        assert_eq!(total, 53 + 2);
        let busy = hour.iter().find(|minute| minute.number == 205).unwrap();
        assert_eq!((busy.allowed, busy.held, busy.denied), (1, 1, 0));
        assert!(hour.last().unwrap().total() == 0);
    }
}
