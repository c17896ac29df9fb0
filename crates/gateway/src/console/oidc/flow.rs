//! One person's way to the provider and back.
//!
//! Whoever sets out is given a cookie; the state, the nonce and the verifier that go with it are derived from that cookie under a key
//! that this process alone has. So nothing is kept of those who set out, and nobody who sets out again and again can crowd out
//! others. Of those who came back it is kept that they did, for as long as their way would have been good: a way is gone once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest, Sha256};

use crate::NoRandomness;
use crate::console::pieces::hex;
use crate::console::sign_ins::{random, same};

/// How long a person may take at the provider.
const LASTS: Duration = Duration::from_secs(10 * 60);
/// The most that are remembered of those who came back. Beyond it the oldest is forgotten, and that a code is good for once is left
/// to the provider.
const MOST: usize = 1_024;

/// Everybody's ways.
pub(super) struct Flows {
    key: [u8; 32],
    born: Instant,
    /// The states of those who came back, and when they did.
    gone: Mutex<HashMap<String, Duration>>,
}

/// One way.
pub(super) struct Flow {
    /// What the browser holds meanwhile.
    pub(super) cookie: String,
    /// What the provider hands back.
    pub(super) state: String,
    /// What the provider writes into the token.
    pub(super) nonce: String,
    /// What shows that the code is asked for by whoever set out.
    pub(super) verifier: String,
}

/// Nobody set out from here with this cookie and this state, or too long ago, or they came back before.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lost;

impl Flows {
    pub(super) fn new() -> Result<Self, NoRandomness> {
        let mut key = [0u8; 32];
        getrandom::fill(&mut key).map_err(|_| NoRandomness)?;
        Ok(Self {
            key,
            born: Instant::now(),
            gone: Mutex::new(HashMap::new()),
        })
    }

    /// Sets out.
    pub(super) fn begin(&self) -> Result<Flow, NoRandomness> {
        let began = self.born.elapsed().as_secs();
        Ok(self.derived(format!("{began:x}-{}", random()?)))
    }

    /// Comes back, once.
    pub(super) fn end(&self, cookie: &str, state: &str) -> Result<Flow, Lost> {
        self.end_at(cookie, state, self.born.elapsed())
    }

    fn end_at(&self, cookie: &str, state: &str, now: Duration) -> Result<Flow, Lost> {
        let flow = self.derived(cookie.to_owned());
        // Whoever knows the state of a cookie got both from here: the moment in the cookie is this program's own.
        if !same(&flow.state, state) {
            return Err(Lost);
        }
        let began = cookie.split_once('-').map(|(began, _)| began);
        let began = began.and_then(|began| u64::from_str_radix(began, 16).ok());
        let began = Duration::from_secs(began.ok_or(Lost)?);
        if now.saturating_sub(began) > LASTS {
            return Err(Lost);
        }
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        gone.retain(|_, at| now.saturating_sub(*at) <= LASTS);
        if gone.contains_key(&flow.state) {
            return Err(Lost);
        }
        if gone.len() >= MOST {
            let oldest = gone.iter().min_by_key(|(_, at)| **at);
            if let Some(oldest) = oldest.map(|(state, _)| state.clone()) {
                gone.remove(&oldest);
            }
        }
        gone.insert(flow.state.clone(), now);
        Ok(flow)
    }

    fn derived(&self, cookie: String) -> Flow {
        Flow {
            state: self.secret("state", &cookie),
            nonce: self.secret("nonce", &cookie),
            verifier: self.secret("verifier", &cookie),
            cookie,
        }
    }

    fn secret(&self, purpose: &str, cookie: &str) -> String {
        // A key of 32 bytes is of a length that every HMAC takes.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.key) else {
            return String::new();
        };
        for part in [purpose.as_bytes(), b"\0", cookie.as_bytes()] {
            mac.update(part);
        }
        hex(&mac.finalize().into_bytes())
    }
}

impl Flow {
    /// What the provider is told of the verifier beforehand.
    pub(super) fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(self.verifier.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_gone_once_and_by_whoever_set_out() {
        let flows = Flows::new().unwrap();
        let (one, other) = (flows.begin().unwrap(), flows.begin().unwrap());
        let elsewhere = Flows::new().unwrap().begin().unwrap();
        let secrets = [&one.cookie, &one.state, &one.nonce, &one.verifier, &other.state];
        for (place, secret) in secrets.iter().enumerate() {
            assert!(
                secret.len() >= 43 && !secrets[..place].contains(secret),
                "{secret}"
            );
        }
        for (cookie, state) in [
            (&one.cookie, &other.state),
            (&other.cookie, &one.state),
            (&elsewhere.cookie, &elsewhere.state),
            (&one.cookie, &String::new()),
            (&String::new(), &one.state),
            (&String::new(), &String::new()),
        ] {
            assert!(flows.end(cookie, state).is_err(), "{cookie} {state}");
        }
        let back = flows.end(&one.cookie, &one.state).unwrap();
        assert!(back.nonce == one.nonce && back.verifier == one.verifier);
        assert!(flows.end(&one.cookie, &one.state).is_err());
        assert!(flows.end(&other.cookie, &other.state).is_ok());
    }

    #[test]
    fn a_way_that_took_too_long_leads_nowhere() {
        let flows = Flows::new().unwrap();
        for (later, is_good) in [(LASTS, true), (LASTS + Duration::from_secs(2), false)] {
            let begun = flows.begin().unwrap();
            let ended = flows.end_at(&begun.cookie, &begun.state, later);
            assert_eq!(ended.is_ok(), is_good, "{later:?}");
        }
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let flows = Flows::new().unwrap();
        for _ in 0..MOST + 8 {
            let flow = flows.begin().unwrap();
            flows.end(&flow.cookie, &flow.state).unwrap();
        }
        assert_eq!(flows.gone.lock().unwrap().len(), MOST);
    }

    #[test]
    fn the_challenge_is_the_one_of_the_standard() {
        // The example in appendix B of RFC 7636.
        let flow = Flow {
            cookie: String::new(),
            state: String::new(),
            nonce: String::new(),
            verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned(),
        };
        assert_eq!(flow.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }
}
