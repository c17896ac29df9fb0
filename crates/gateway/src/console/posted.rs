//! A form that a signed-in person sent from a page of their own visit.

use axum::extract::{Form, FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::pages::Refused;
use super::sign_ins::same;
use super::visitor::Visitor;
use crate::App;

/// Who sent what. Nothing gets here without the secret of the visit in the form.
pub(super) struct Posted<T> {
    pub(super) visitor: Visitor,
    pub(super) form: T,
}

#[derive(Deserialize)]
struct Carrying<T> {
    #[serde(default)]
    csrf: String,
    #[serde(flatten)]
    form: T,
}

impl<T: DeserializeOwned> FromRequest<App> for Posted<T> {
    type Rejection = Response;

    async fn from_request(request: Request, app: &App) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let visitor = Visitor::from_request_parts(&mut parts, app).await?;
        let request = Request::from_parts(parts, body);
        let read = Form::<Carrying<T>>::from_request(request, app).await;
        let Form(Carrying { csrf, form }) = read.map_err(|_| Refused::unreadable().into_response())?;
        if !same(&csrf, &visitor.csrf) {
            return Err(Refused::foreign().into_response());
        }
        Ok(Self { visitor, form })
    }
}

/// A form that says nothing but that it was sent.
#[derive(Deserialize)]
pub(super) struct Nothing {}
