//! Whoever asks for a page, known by their visit; and the cookie that a visit is known by.

use axum::extract::FromRequestParts;
use axum::http::{HeaderMap, HeaderValue, header, request::Parts};
use axum::response::{IntoResponse, Redirect, Response};
use tidegate_engine::Caller;

use super::guard;
use super::pages::Refused;
use super::sign_ins::{Holder, Key};
use crate::App;
use crate::auth::caller_of;

/// A signed-in person. Pages that take it are reached by nobody else.
pub(super) struct Visitor {
    pub(super) caller: Caller,
    /// What every form of this visit carries.
    pub(super) csrf: String,
    /// Which visit it is.
    pub(super) key: Key,
}

impl Visitor {
    /// The person behind a request's cookie, if they are signed in and their token still holds.
    pub(super) async fn known(app: &App, headers: &HeaderMap) -> Result<Option<Self>, Refused> {
        let Some(cookie) = cookie(headers, name(headers)) else {
            return Ok(None);
        };
        let Some((key, visit)) = app.console.sign_ins.find(cookie) else {
            return Ok(None);
        };
        let Some(caller) = caller(app, &visit.holder).await? else {
            app.console.sign_ins.end(&key);
            return Ok(None);
        };
        Ok(Some(Self {
            caller,
            csrf: visit.csrf,
            key,
        }))
    }
}

impl Visitor {
    /// Whether a visit goes on and its token still holds, for streams that go on by themselves.
    pub(super) async fn lasts(app: &App, key: &Key) -> bool {
        let Some(visit) = app.console.sign_ins.lasting(key) else {
            return false;
        };
        caller(app, &visit.holder)
            .await
            .is_ok_and(|caller| caller.is_some())
    }
}

/// Who the holder of a visit is now. A token is looked up each time; what a provider said counts until the visit ends.
async fn caller(app: &App, holder: &Holder) -> Result<Option<Caller>, Refused> {
    match holder {
        Holder::Vouched(caller) => Ok(Some(caller.clone())),
        Holder::Token(digest) => {
            let record = app.tokens.find(digest).await?;
            let record = record.filter(|record| record.revoked_at.is_none());
            Ok(record.map(|record| caller_of(&record)))
        }
    }
}

impl FromRequestParts<App> for Visitor {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Response> {
        let known = Self::known(app, &parts.headers).await;
        let known = known.map_err(IntoResponse::into_response)?;
        known.ok_or_else(|| Redirect::to("/console/sign-in").into_response())
    }
}

/// The cookie of a visit. Under TLS its name binds it to this host and to TLS; without, to the console's path.
const UNDER_TLS: &str = "__Host-tidegate-console";
const IN_THE_CLEAR: &str = "tidegate-console";

pub(super) fn name(headers: &HeaderMap) -> &'static str {
    if guard::is_secure(headers) {
        UNDER_TLS
    } else {
        IN_THE_CLEAR
    }
}

/// A cookie's value.
pub(super) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(header::COOKIE).iter();
    let pairs = all
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(';'));
    let mut named = pairs.filter_map(|pair| pair.trim().split_once('='));
    named.find(|(given, _)| *given == name).map(|(_, value)| value)
}

/// The header that gives a browser a cookie, or takes it away when there is no value. It lasts as long as the browser
/// does; how long it is good for is the gateway's to say.
pub(super) fn set_cookie(headers: &HeaderMap, name: &str, value: Option<&str>) -> HeaderValue {
    cookie_for(headers, name, value, "Strict")
}

/// The same for a cookie that must be there when another site sends the person back here.
pub(super) fn set_returning_cookie(headers: &HeaderMap, name: &str, value: Option<&str>) -> HeaderValue {
    cookie_for(headers, name, value, "Lax")
}

fn cookie_for(headers: &HeaderMap, name: &str, value: Option<&str>, site: &str) -> HeaderValue {
    let place = if guard::is_secure(headers) {
        "Path=/; Secure"
    } else {
        "Path=/console"
    };
    let age = if value.is_some() { "" } else { "; Max-Age=0" };
    let value = value.unwrap_or_default();
    let text = format!("{name}={value}; {place}; HttpOnly; SameSite={site}{age}");
    // Values are hexadecimal digits of this program's own.
    HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static(""))
}
