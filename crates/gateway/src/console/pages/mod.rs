//! The pages, and the one for what cannot be shown.

pub(super) mod gate;
pub(super) mod overview;
pub(super) mod plan;
pub(super) mod provider;
pub(super) mod queue;
pub(super) mod record;
pub(super) mod reviews;
pub(super) mod session;
pub(super) mod sessions;
pub(super) mod sign_in;
pub(super) mod tools;

use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use maud::{Markup, html};

use super::layout;
use crate::problem::Problem;

/// A page, or why there is none.
pub(super) type Shown = Result<Html<String>, Refused>;

/// Why a page is not shown, for a person.
pub(super) struct Refused {
    status: StatusCode,
    title: String,
    detail: String,
}

impl Refused {
    pub(super) fn not_found() -> Self {
        let detail = "There is nothing at this address.";
        Self::new(StatusCode::NOT_FOUND, "Not found", detail)
    }

    /// A change that does not come from a page of this visit.
    pub(super) fn foreign() -> Self {
        let detail = "This form was not sent from a page of your visit, so nothing was done. Open the page again and send \
                      it from there.";
        Self::new(StatusCode::FORBIDDEN, "Not from here", detail)
    }

    pub(super) fn unreadable() -> Self {
        let detail =
            "The form could not be read, so nothing was done. Open the page again and send it from there.";
        Self::new(StatusCode::BAD_REQUEST, "Not readable", detail)
    }

    pub(super) fn new(status: StatusCode, title: &str, detail: &str) -> Self {
        Self {
            status,
            title: title.to_owned(),
            detail: detail.to_owned(),
        }
    }

    fn page(&self) -> Markup {
        layout::outside(
            &self.title,
            &html! {
                h1 { (self.title) }
                p { (self.detail) }
                p { a.button href="/console" { "To the console" } }
            },
        )
    }
}

impl<E: Into<Problem>> From<E> for Refused {
    fn from(error: E) -> Self {
        let problem = error.into();
        let (status, title, detail) = problem.told();
        let mut letters = detail.chars();
        let first = letters.next().map(|letter| letter.to_uppercase().to_string());
        let sentence = format!("{}{}.", first.unwrap_or_default(), letters.as_str());
        Self::new(status, title, &sentence)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.status, Html(self.page().into_string())).into_response()
    }
}
