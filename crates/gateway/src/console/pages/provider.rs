//! The door for people whom a provider vouches for: the way there, and the way back.
//!
//! The cookie of the way comes along when the provider sends a person back, which a cookie of a visit does not: that one is sent to
//! pages of this site by pages of this site alone. So the way ends on a page of our own, and that page goes on to the console.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{AppendHeaders, Html, IntoResponse, Redirect, Response};
use maud::html;

use super::sign_in::{begin, end_earlier};
use super::{Refused, layout};
use crate::App;
use crate::console::guard::is_secure;
use crate::console::oidc::{Back, Oidc, Refusal};
use crate::console::sign_ins::Holder;
use crate::console::visitor::{cookie, set_returning_cookie};
use crate::problem::Problem;
use crate::router::Shared;

/// The cookie of a person who is on the way. Under TLS its name binds it to this host.
const UNDER_TLS: &str = "__Host-tidegate-console-way";
const IN_THE_CLEAR: &str = "tidegate-console-way";

/// Sends a person to the provider.
pub(crate) async fn leave(State(app): Shared, headers: HeaderMap) -> Result<Response, Refused> {
    let leaving = provider(&app)?.leave().await.map_err(refused)?;
    end_earlier(&app, &headers);
    let held = set_returning_cookie(&headers, name(&headers), Some(&leaving.cookie));
    Ok(([(header::SET_COOKIE, held)], Redirect::to(&leaving.address)).into_response())
}

/// Lets in whoever the provider vouches for. The cookie of the way is taken whatever comes of it.
pub(crate) async fn receive(
    State(app): Shared,
    headers: HeaderMap,
    back: Result<Query<Back>, QueryRejection>,
) -> Response {
    let taken = set_returning_cookie(&headers, name(&headers), None);
    let taken = AppendHeaders([(header::SET_COOKIE, taken)]);
    match enter(&app, &headers, back).await {
        Ok(entered) => (taken, entered).into_response(),
        Err(refused) => (taken, refused).into_response(),
    }
}

async fn enter(
    app: &App,
    headers: &HeaderMap,
    back: Result<Query<Back>, QueryRejection>,
) -> Result<Response, Refused> {
    let oidc = provider(app)?;
    let Query(back) = back.map_err(|_| refused(Refusal::Lost))?;
    let held = cookie(headers, name(headers)).ok_or_else(|| refused(Refusal::Lost))?;
    let caller = oidc.receive(held, &back).await.map_err(refused)?;
    let given = begin(app, headers, Holder::Vouched(caller))?;
    let content = html! {
        h1 { "Signed in" }
        p { "Your provider knows you. The console opens by itself." }
        p { a.button.primary href="/console" { "To the console" } }
    };
    let page = Html(layout::outside("Signed in", &content).into_string());
    let onward = (HeaderName::from_static("refresh"), "0; url=/console");
    Ok((AppendHeaders([(header::SET_COOKIE, given)]), [onward], page).into_response())
}

fn provider(app: &App) -> Result<&Oidc, Refused> {
    app.console.oidc.as_deref().ok_or_else(Refused::not_found)
}

fn name(headers: &HeaderMap) -> &'static str {
    if is_secure(headers) {
        UNDER_TLS
    } else {
        IN_THE_CLEAR
    }
}

/// What a person is told. What exactly was wrong is for whoever reads the log: it is seldom the person who can mend it.
fn refused(why: Refusal) -> Refused {
    tracing::warn!(%why, "somebody was not signed in by the provider");
    let (status, title, detail) = match why {
        Refusal::Lost => (
            StatusCode::FORBIDDEN,
            "Not from here",
            "This sign-in was not begun in this browser, took more than ten minutes, or was used before. Nobody was signed in. \
             Please begin again.",
        ),
        Refusal::Declined => (
            StatusCode::FORBIDDEN,
            "Not signed in",
            "Your provider did not let you in, or you turned back there. You can begin again.",
        ),
        Refusal::Stranger(_) => (
            StatusCode::FORBIDDEN,
            "No role here",
            "Your provider knows you, but here nobody has given you a role. Ask an administrator of this gateway: they \
             map groups to roles in the configuration, under [console.oidc].",
        ),
        Refusal::OtherProvider | Refusal::NoCode | Refusal::Code(_) | Refusal::Token(_) => (
            StatusCode::FORBIDDEN,
            "Not signed in",
            "What your provider said of you could not be relied on, so nobody was signed in. Please begin again. If it happens \
             once more, tell an administrator: the gateway's log says why.",
        ),
        Refusal::Provider(_) => (
            StatusCode::BAD_GATEWAY,
            "No provider",
            "Your provider does not answer, or not as it should, so nobody can sign in by it now. Try again soon, or use a \
             token. The gateway's log says why.",
        ),
        Refusal::Busy => (
            StatusCode::SERVICE_UNAVAILABLE,
            "Busy",
            "Too many people sign in at this moment. Please begin again.",
        ),
        Refusal::NoRandomness(_) => return Problem::internal().into(),
    };
    Refused::new(status, title, detail)
}
