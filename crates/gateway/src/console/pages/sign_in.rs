//! The door.
//!
//! The form at the door belongs to no visit yet, so its secret is tied to a cookie of its own: a page elsewhere can neither
//! read that cookie nor send it along, and so cannot sign somebody in under another name.

use axum::extract::{Form, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{AppendHeaders, Html, IntoResponse, Redirect, Response};
use maud::html;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use tidegate_engine::{Act, Reach, access::reach};

use super::Refused;
use crate::App;
use crate::console::layout;
use crate::console::pieces::hex;
use crate::console::posted::{Nothing, Posted};
use crate::console::sign_ins::{Holder, random, same};
use crate::console::visitor::{cookie, name, set_cookie};
use crate::problem::Problem;
use crate::router::Shared;

/// The cookie of the form at the door.
const DOOR: &str = "tidegate-console-door";

#[derive(Deserialize)]
pub(crate) struct Entering {
    #[serde(default)]
    token: String,
    #[serde(default)]
    csrf: String,
}

/// The form.
pub(crate) async fn show(State(app): Shared, headers: HeaderMap) -> Response {
    match door(&app, &headers, None) {
        Ok(response) => response,
        Err(refused) => refused.into_response(),
    }
}

/// Whoever shows a token that is good for looking is let in, under a cookie that nobody has seen before.
pub(crate) async fn enter(
    State(app): Shared,
    headers: HeaderMap,
    form: Result<Form<Entering>, axum::extract::rejection::FormRejection>,
) -> Result<Response, Refused> {
    let Form(form) = form.map_err(|_| Refused::unreadable())?;
    let expected = cookie(&headers, DOOR).map(form_secret);
    if !expected.is_some_and(|expected| same(&expected, &form.csrf)) {
        return Err(Refused::foreign());
    }
    let digest = crate::digest(form.token.trim());
    let record = app.tokens.find(&digest).await?;
    let Some(record) = record.filter(|record| record.revoked_at.is_none()) else {
        return door(&app, &headers, Some("This token is unknown or revoked."));
    };
    if reach(record.role, Act::Browse) == Reach::Nothing {
        let why = "This token is for a program. The console is for people: a human-operator, a pii-authorized-reviewer, \
                   an auditor or an admin.";
        return door(&app, &headers, Some(why));
    }
    end_earlier(&app, &headers);
    let given = begin(&app, &headers, Holder::Token(digest))?;
    let taken = set_cookie(&headers, DOOR, None);
    let cookies = AppendHeaders([(header::SET_COOKIE, given), (header::SET_COOKIE, taken)]);
    Ok((cookies, Redirect::to("/console")).into_response())
}

/// Ends the visit, here and in the browser.
pub(crate) async fn leave(State(app): Shared, headers: HeaderMap, posted: Posted<Nothing>) -> Response {
    app.console.sign_ins.end(&posted.visitor.key);
    let taken = set_cookie(&headers, name(&headers), None);
    ([(header::SET_COOKIE, taken)], Redirect::to("/console/sign-in")).into_response()
}

/// Begins a visit under a cookie that nobody has seen before, and gives the header with it.
pub(super) fn begin(app: &App, headers: &HeaderMap, holder: Holder) -> Result<HeaderValue, Refused> {
    let begun = app.console.sign_ins.begin(holder);
    let begun = begun.map_err(|_| Problem::internal())?;
    Ok(set_cookie(headers, name(headers), Some(&begun.cookie)))
}

/// Ends the visit that this browser has, if it has one.
pub(super) fn end_earlier(app: &App, headers: &HeaderMap) {
    let earlier = cookie(headers, name(headers)).and_then(|old| app.console.sign_ins.find(old));
    if let Some((key, _)) = earlier {
        app.console.sign_ins.end(&key);
    }
}

fn door(app: &App, headers: &HeaderMap, mistake: Option<&str>) -> Result<Response, Refused> {
    let held = random().map_err(|_| Problem::internal())?;
    let content = html! {
        h1 { "Sign in" }
        p.faint { "What agents may carry where is decided here." @if app.console.oidc.is_none() { " Show your token to come in." } }
        @if let Some(mistake) = mistake { p.mistake role="alert" { (mistake) } }
        @if let Some(oidc) = &app.console.oidc {
            a.button.primary href="/console/sign-in/oidc" { "Sign in with " (oidc.name()) }
            p.or { "or with a token" }
        }
        form method="post" action="/console/sign-in" autocomplete="off" {
            input type="hidden" name="csrf" value=(form_secret(&held));
            label for="token" { "Token" }
            input id="token" name="token" type="password" required autocomplete="off" spellcheck="false" autofocus;
            p.hint { "An administrator makes one: " code { "tidegate token create --role human-operator --principal NAME" } }
            button.primary[app.console.oidc.is_none()] type="submit" { @match app.console.oidc { Some(_) => "Sign in with a token", None => "Sign in" } }
        }
    };
    let status = if mistake.is_some() {
        StatusCode::UNAUTHORIZED
    } else {
        StatusCode::OK
    };
    let held = set_cookie(headers, DOOR, Some(&held));
    let page = Html(layout::outside("Sign in", &content).into_string());
    Ok((status, [(header::SET_COOKIE, held)], page).into_response())
}

/// What the form must carry when the browser holds this cookie.
fn form_secret(held: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(b"tidegate console door\0");
    hasher.update(held.as_bytes());
    hex(&hasher.finalize())
}
