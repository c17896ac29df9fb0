//! Who is signed in.
//!
//! The browser holds 256 random bits that mean something to this process alone, and this process holds their digest: neither
//! a copy of its memory map nor a log of requests gives anybody a way in. What the bits stand for is the digest of the token
//! that was shown at the door, and the token is looked up again at every request, so revoking it ends the visit at once; or else it
//! is whoever a provider vouched for when they came in.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use tidegate_engine::Caller;
use tidegate_store::TokenDigest;

use crate::NoRandomness;

/// The most visits at once. The one that was idle longest makes room.
const MOST: usize = 4_096;
/// The most visits of one holder, so that nobody can crowd out everybody else.
const MOST_OF_ONE: usize = 32;

/// The digest of what a browser holds.
pub(super) type Key = [u8; 32];

/// Everybody who is signed in.
pub(super) struct SignIns {
    idle: Duration,
    lifetime: Duration,
    visits: Mutex<HashMap<Key, Visit>>,
}

/// One browser's visit.
#[derive(Clone)]
pub(super) struct Visit {
    /// Who was let in at the door.
    pub(super) holder: Holder,
    /// What every form of this visit carries.
    pub(super) csrf: String,
    began: Instant,
    used: Instant,
}

/// Who was let in.
#[derive(Clone)]
pub(super) enum Holder {
    /// Whoever showed this token.
    Token(TokenDigest),
    /// Somebody whom a provider vouched for.
    Vouched(Caller),
}

impl Holder {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Token(one), Self::Token(other)) => one == other,
            (Self::Vouched(one), Self::Vouched(other)) => one.principal == other.principal,
            (Self::Token(_), Self::Vouched(_)) | (Self::Vouched(_), Self::Token(_)) => false,
        }
    }
}

/// A visit that has just begun: what its browser is given.
pub(super) struct Begun {
    pub(super) cookie: String,
}

impl SignIns {
    pub(super) fn new(idle: Duration, lifetime: Duration) -> Self {
        Self {
            idle,
            lifetime,
            visits: Mutex::new(HashMap::new()),
        }
    }

    /// Begins a visit under bits that nobody has seen before, whatever the browser held until now.
    pub(super) fn begin(&self, holder: Holder) -> Result<Begun, NoRandomness> {
        let (cookie, csrf) = (random()?, random()?);
        let now = Instant::now();
        let mut visits = self.visits.lock().unwrap_or_else(PoisonError::into_inner);
        visits.retain(|_, visit| self.lasts(visit, now));
        make_room(&mut visits, MOST_OF_ONE, |visit| visit.holder.is(&holder));
        make_room(&mut visits, MOST, |_| true);
        let visit = Visit {
            holder,
            csrf,
            began: now,
            used: now,
        };
        visits.insert(key(&cookie), visit);
        Ok(Begun { cookie })
    }

    /// The visit a cookie stands for, if it lasts still. Asking for it is using it.
    pub(super) fn find(&self, cookie: &str) -> Option<(Key, Visit)> {
        let (key, now) = (key(cookie), Instant::now());
        let mut visits = self.visits.lock().unwrap_or_else(PoisonError::into_inner);
        let visit = visits.get_mut(&key)?;
        if !self.lasts(visit, now) {
            visits.remove(&key);
            return None;
        }
        visit.used = now;
        Some((key, visit.clone()))
    }

    /// Ends a visit.
    pub(super) fn end(&self, key: &Key) {
        self.visits
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(key);
    }

    /// A visit that still lasts, for streams that go on by themselves.
    pub(super) fn lasting(&self, key: &Key) -> Option<Visit> {
        let visits = self.visits.lock().unwrap_or_else(PoisonError::into_inner);
        let visit = visits.get(key)?;
        self.lasts(visit, Instant::now()).then(|| visit.clone())
    }

    fn lasts(&self, visit: &Visit, now: Instant) -> bool {
        now.duration_since(visit.began) < self.lifetime && now.duration_since(visit.used) < self.idle
    }
}

fn make_room(visits: &mut HashMap<Key, Visit>, most: usize, counts: impl Fn(&Visit) -> bool) {
    if visits.values().filter(|visit| counts(visit)).count() < most {
        return;
    }
    let counted = visits.iter().filter(|(_, visit)| counts(visit));
    if let Some(oldest) = counted.min_by_key(|(_, visit)| visit.used).map(|(key, _)| *key) {
        visits.remove(&oldest);
    }
}

/// The digest of what a browser holds.
fn key(cookie: &str) -> Key {
    Sha256::digest(cookie.as_bytes()).into()
}

/// 256 random bits as text.
pub(super) fn random() -> Result<String, NoRandomness> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether two secrets are the same, by their digests, so that the time it takes says nothing of either.
pub(super) fn same(one: &str, other: &str) -> bool {
    Sha256::digest(one.as_bytes()) == Sha256::digest(other.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3_600);

    fn token(number: u8) -> Holder {
        Holder::Token(TokenDigest([number; 32]))
    }

    #[test]
    fn a_visit_is_found_by_its_own_bits_until_it_ends() {
        let sign_ins = SignIns::new(LONG, LONG);
        let (one, other) = (
            sign_ins.begin(token(1)).unwrap(),
            sign_ins.begin(token(1)).unwrap(),
        );
        assert_ne!(one.cookie, other.cookie);
        let (key, visit) = sign_ins.find(&one.cookie).unwrap();
        assert!(visit.holder.is(&token(1)) && visit.csrf != one.cookie);
        assert!(sign_ins.find("").is_none() && sign_ins.find(&visit.csrf).is_none());
        sign_ins.end(&key);
        assert!(sign_ins.find(&one.cookie).is_none() && sign_ins.lasting(&key).is_none());
        assert!(sign_ins.find(&other.cookie).is_some());
    }

    #[test]
    fn a_visit_ends_by_itself() {
        for (idle, lifetime) in [(Duration::ZERO, LONG), (LONG, Duration::ZERO)] {
            let sign_ins = SignIns::new(idle, lifetime);
            let begun = sign_ins.begin(token(1)).unwrap();
            assert!(sign_ins.find(&begun.cookie).is_none());
        }
    }

    #[test]
    fn visits_are_bounded_for_one_token_and_for_all() {
        let sign_ins = SignIns::new(LONG, LONG);
        let first = sign_ins.begin(token(1)).unwrap();
        let other = sign_ins.begin(token(2)).unwrap();
        for _ in 0..2 * MOST_OF_ONE {
            sign_ins.begin(token(1)).unwrap();
        }
        assert!(sign_ins.find(&first.cookie).is_none());
        assert!(sign_ins.find(&other.cookie).is_some());
        assert_eq!(sign_ins.visits.lock().unwrap().len(), MOST_OF_ONE + 1);
    }
}
