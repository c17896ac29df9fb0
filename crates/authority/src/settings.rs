//! Where the OpenFGA server is, and how long its answers hold.

use std::time::Duration;

use crate::Credentials;

/// What an operator says of the server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its address, without a path of its API.
    pub url: String,
    /// The store, by name or by id.
    pub store: String,
    /// The authorization model, by id; the newest when none is named.
    pub model: Option<String>,
    /// How fresh the server's own answers must be.
    pub consistency: Consistency,
    /// How long an answer may be used, counted from when it was asked for.
    pub cache_ttl: Duration,
    /// How long one question may take.
    pub timeout: Duration,
    /// How the gateway shows who it is.
    pub credentials: Credentials,
}

impl Settings {
    /// How long an answer may be used unless somebody says otherwise.
    pub const CACHE_TTL: Duration = Duration::from_secs(5);

    /// How long one question may take unless somebody says otherwise.
    pub const TIMEOUT: Duration = Duration::from_secs(1);

    /// The longest that one question may be allowed to take. After three seconds the server answers a listing with
    /// whatever it has found so far and does not say that it is a part, so the gateway must have given up by then.
    pub const MAX_TIMEOUT: Duration = Duration::from_millis(2_500);

    /// Settings for a server that asks for no credentials.
    #[must_use]
    pub fn new(url: &str, store: &str) -> Self {
        Self {
            url: url.trim_end_matches('/').to_owned(),
            store: store.to_owned(),
            model: None,
            consistency: Consistency::MinimizeLatency,
            cache_ttl: Self::CACHE_TTL,
            timeout: Self::TIMEOUT,
            credentials: Credentials::None,
        }
    }
}

/// How fresh the server's own answers must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// The server may answer from its caches.
    MinimizeLatency,
    /// The server asks its database.
    HigherConsistency,
}

impl Consistency {
    /// The name in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MinimizeLatency => "minimize_latency",
            Self::HigherConsistency => "higher_consistency",
        }
    }

    /// The name on the server's wire.
    pub(crate) const fn on_wire(self) -> &'static str {
        match self {
            Self::MinimizeLatency => "MINIMIZE_LATENCY",
            Self::HigherConsistency => "HIGHER_CONSISTENCY",
        }
    }
}

impl std::str::FromStr for Consistency {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let all = [Self::MinimizeLatency, Self::HigherConsistency];
        let found = all.into_iter().find(|consistency| consistency.as_str() == name);
        found.ok_or("not a consistency: expected minimize_latency or higher_consistency")
    }
}
