//! What stands around every page: who may post, and what a browser may do with an answer.
//!
//! A page may load what this gateway serves and nothing else, run no script that stands in its own text, be framed by
//! nobody, and send its forms nowhere else. A change is taken only from a page of this very origin: the browser says so in
//! headers that no page can write, and the form carries a secret of the visit besides (see [`super::posted`]).

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::pages::Refused;
use crate::App;

/// What browsers are told with every answer.
const HEADERS: [(HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
         form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    ),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // Nothing is told to other sites. Under `no-referrer` browsers would send forms of this very origin as from nowhere.
    (header::REFERRER_POLICY, "same-origin"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
];

/// Looks at who posts, and says to the browser what it may do with the answer.
pub(super) async fn around(State(_app): State<App>, request: Request, next: Next) -> Response {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let mut response = if reads || is_from_here(request.headers()) {
        next.run(request).await
    } else {
        Refused::foreign().into_response()
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Whether a page of this origin sends this. Browsers say where a request comes from; one that says nothing of it is
/// refused, since there is no browser that would.
fn is_from_here(headers: &HeaderMap) -> bool {
    let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let site = text(&HeaderName::from_static("sec-fetch-site"));
    if site.is_some_and(|site| site != "same-origin") {
        return false;
    }
    let host = text(&header::HOST).unwrap_or_default();
    match text(&header::ORIGIN) {
        Some(origin) => !host.is_empty() && origin_host(origin) == Some(host),
        None => site.is_some(),
    }
}

fn origin_host(origin: &str) -> Option<&str> {
    origin
        .strip_prefix("https://")
        .or_else(|| origin.strip_prefix("http://"))
}

/// Whether the browser speaks TLS, to this gateway's proxy.
pub(super) fn is_secure(headers: &HeaderMap) -> bool {
    let proto = headers.get("x-forwarded-proto");
    proto.is_some_and(|proto| proto.as_bytes().eq_ignore_ascii_case(b"https"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_this_origin_post() {
        for (site, origin, passes) in [
            (Some("same-origin"), Some("http://gate.example:7413"), true),
            (Some("same-origin"), None, true),
            (None, Some("http://gate.example:7413"), true),
            (None, Some("https://gate.example:7413"), true),
            (None, None, false),
            (Some("cross-site"), Some("http://gate.example:7413"), false),
            (Some("same-site"), Some("http://gate.example:7413"), false),
            (Some("none"), None, false),
            (Some("same-origin"), Some("null"), false),
            (None, Some("null"), false),
            (None, Some("http://gate.example"), false),
            (None, Some("http://gate.example:7413.evil.example"), false),
            (None, Some("http://evil.example"), false),
            (None, Some("gate.example:7413"), false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static("gate.example:7413"));
            if let Some(site) = site {
                headers.insert("sec-fetch-site", HeaderValue::from_static(site));
            }
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
            }
            assert_eq!(is_from_here(&headers), passes, "{site:?} {origin:?}");
        }
    }
}
