//! What commands that speak to a running gateway say when they cannot.

use url::Url;

use crate::failure::Failure;

/// The token to ask a gateway with; without one there is nothing to ask.
pub(crate) fn token_of(given: Option<&str>) -> Result<&str, Failure> {
    given.map(str::trim).ok_or_else(|| {
        Failure::usage(
            "a gateway answers only to a token: put one in TIDEGATE_TOKEN or give it with --token; `tidegate token create` makes one",
        )
    })
}

/// Why a request was not answered. Errors of the client name the address; the token is in no part of them.
pub(crate) fn unanswered(gateway: &Url, error: &reqwest::Error) -> Failure {
    if error.is_connect() {
        let origin = gateway.origin().ascii_serialization();
        return Failure::environment(format_args!(
            "no gateway answers at {origin}: start one with `tidegate serve`, or name another with --gateway"
        ));
    }
    Failure::environment(error)
}
