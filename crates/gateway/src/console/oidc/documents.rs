//! What the provider says of itself: where it is asked what, and the keys that it signs with.
//!
//! Both are kept for an hour. A token under a key that nobody knows has them asked for once more, since providers change their keys;
//! how often that may happen in a minute is bounded, and so is how often a provider that just failed is asked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::Uri;
use jsonwebtoken::jwk::Jwk;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Mutex;

use super::http::{Http, NoAnswer};

/// How long what was said counts.
const LASTS: Duration = Duration::from_secs(3_600);
/// How long a provider that failed is left alone.
const PAUSE: Duration = Duration::from_secs(1);
/// How often keys are asked for once more, and in what time.
const MOST_AGAIN: u32 = 6;
const AGAIN_WITHIN: Duration = Duration::from_secs(60);
/// The most keys of a provider that are looked at.
const MOST_KEYS: usize = 64;

/// Where the provider is asked what.
pub(super) struct Places {
    pub(super) authorization: Uri,
    pub(super) token: Uri,
    /// Whether it takes a client's secret in the form only.
    pub(super) secret_in_form: bool,
    /// Whether it says who it is when it sends a person back.
    pub(super) names_itself: bool,
    keys: Uri,
}

/// Why nothing is known of the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(in crate::console) enum Unknown {
    #[error(transparent)]
    NoAnswer(#[from] NoAnswer),
    #[error("the provider calls itself by another name than `issuer` in the configuration")]
    OtherName,
    #[error("the provider names no address, or one in the clear on another machine")]
    Address,
}

/// What was said, as long as it counts.
pub(super) struct Documents {
    issuer: String,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    places: Option<(Instant, Arc<Places>)>,
    keys: Option<(Instant, Arc<Vec<Jwk>>)>,
    failed: Option<(Instant, Unknown)>,
    again: Option<(Instant, u32)>,
}

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

impl Documents {
    pub(super) fn of(issuer: &str) -> Self {
        Self {
            issuer: issuer.to_owned(),
            kept: Mutex::new(Kept::default()),
        }
    }

    /// Where the provider is asked what.
    pub(super) async fn places(&self, http: &Http) -> Result<Arc<Places>, Unknown> {
        let mut kept = self.kept.lock().await;
        self.places_now(http, &mut kept).await
    }

    /// The keys that the provider signs with. They are asked for once more when none of those at hand is `wanted`.
    pub(super) async fn keys(
        &self,
        http: &Http,
        wanted: impl Fn(&[Jwk]) -> bool,
    ) -> Result<Arc<Vec<Jwk>>, Unknown> {
        let mut kept = self.kept.lock().await;
        let fresh = kept.keys.clone().filter(|(at, _)| at.elapsed() < LASTS);
        if let Some((_, keys)) = fresh.filter(|(_, keys)| wanted(keys) || !kept.may_ask_again()) {
            return Ok(keys);
        }
        let places = self.places_now(http, &mut kept).await?;
        let set: KeySet = kept.noting(http.get(&places.keys).await.map_err(Unknown::from))?;
        let keys = set.keys.into_iter().take(MOST_KEYS);
        // A key of a kind that is not known here is no reason to refuse the others.
        let keys: Vec<Jwk> = keys.filter_map(|key| serde_json::from_value(key).ok()).collect();
        let keys = Arc::new(keys);
        kept.keys = Some((Instant::now(), Arc::clone(&keys)));
        Ok(keys)
    }

    async fn places_now(&self, http: &Http, kept: &mut Kept) -> Result<Arc<Places>, Unknown> {
        let fresh = kept.places.as_ref().filter(|(at, _)| at.elapsed() < LASTS);
        if let Some((_, places)) = fresh {
            return Ok(Arc::clone(places));
        }
        if let Some((_, why)) = kept.failed.filter(|(at, _)| at.elapsed() < PAUSE) {
            return Err(why);
        }
        let places = Arc::new(kept.noting(self.ask_places(http).await)?);
        kept.places = Some((Instant::now(), Arc::clone(&places)));
        Ok(places)
    }

    async fn ask_places(&self, http: &Http) -> Result<Places, Unknown> {
        let base = self.issuer.trim_end_matches('/');
        let address = format!("{base}/.well-known/openid-configuration");
        let metadata: Metadata = http.get(&place(&address)?).await?;
        // Exactly the same, as the standard says: a name that only looks alike may be somebody else.
        if metadata.issuer != self.issuer {
            return Err(Unknown::OtherName);
        }
        let methods = metadata.token_endpoint_auth_methods_supported;
        Ok(Places {
            authorization: place(&metadata.authorization_endpoint)?,
            token: place(&metadata.token_endpoint)?,
            keys: place(&metadata.jwks_uri)?,
            secret_in_form: methods
                .is_some_and(|methods| !methods.iter().any(|one| one == "client_secret_basic")),
            names_itself: metadata.authorization_response_iss_parameter_supported,
        })
    }
}

impl Kept {
    fn noting<T>(&mut self, outcome: Result<T, Unknown>) -> Result<T, Unknown> {
        self.failed = outcome.as_ref().err().map(|why| (Instant::now(), *why));
        outcome
    }

    fn may_ask_again(&mut self) -> bool {
        let (since, count) = self
            .again
            .filter(|(since, _)| since.elapsed() < AGAIN_WITHIN)
            .unwrap_or((Instant::now(), 0));
        self.again = Some((since, count.saturating_add(1)));
        count < MOST_AGAIN
    }
}

/// An address that may be asked: over TLS, or on this machine.
fn place(address: &str) -> Result<Uri, Unknown> {
    let address: Uri = address.parse().map_err(|_| Unknown::Address)?;
    let is_local = matches!(address.host(), Some("localhost" | "127.0.0.1" | "[::1]"));
    match address.scheme_str() {
        Some("https") => Ok(address),
        Some("http") if is_local => Ok(address),
        _ => Err(Unknown::Address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_under_tls_or_here() {
        for (address, is_good) in [
            ("https://login.example/token", true),
            ("http://127.0.0.1:4000/token", true),
            ("http://localhost/token", true),
            ("http://[::1]:4000/token", true),
            ("http://login.example/token", false),
            ("http://localhost.evil.example/token", false),
            ("http://127.0.0.1@evil.example/token", false),
            ("/token", false),
            ("file:///etc/passwd", false),
            ("", false),
        ] {
            assert_eq!(place(address).is_ok(), is_good, "{address}");
        }
    }

    #[test]
    fn keys_are_not_asked_for_without_end() {
        let mut kept = Kept::default();
        let asked = (0..2 * MOST_AGAIN).filter(|_| kept.may_ask_again()).count();
        assert_eq!(asked, MOST_AGAIN as usize);
    }
}
