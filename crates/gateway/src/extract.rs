//! Reading requests within bounds: every way in which one can be malformed has its own answer.

use std::str::FromStr;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::{StatusCode, request::Parts};
use serde::de::DeserializeOwned;
use tidegate_core::{BadIdent, Ident, Name};

use crate::App;
use crate::problem::Problem;

/// The session id in a path.
pub(crate) struct SessionId(pub(crate) Ident);

impl FromRequestParts<App> for SessionId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let Path(text) = Path::<String>::from_request_parts(parts, app)
            .await
            .map_err(|_| {
                Problem::bad_request("bad-session-id", "the session id in the path is not valid text")
            })?;
        Ok(Self(ident("session_id", &text)?))
    }
}

/// A JSON body, within the limits.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let limit = app.limits.body_bytes;
        let body = Bytes::from_request(request, app)
            .await
            .map_err(|rejection| too_large_or_cut(rejection.status(), limit))?;
        if nesting(&body) > app.limits.json_depth {
            let detail = format!("the JSON is nested deeper than {} levels", app.limits.json_depth);
            return Err(Problem::bad_request("too-deep", detail));
        }
        std::str::from_utf8(&body).map_err(|error| {
            Problem::bad_request(
                "not-utf8",
                format!("the body is not UTF-8 at byte {}", error.valid_up_to()),
            )
        })?;
        // A list would be read as fields in their order: nobody means that, and it hides what is what.
        if body.trim_ascii_start().first() == Some(&b'[') {
            let detail = "the body must be an object; /docs shows what this call takes";
            return Err(Problem::unprocessable("wrong-shape", detail));
        }
        serde_json::from_slice(&body)
            .map(Self)
            .map_err(|error| unreadable(&error))
    }
}

fn too_large_or_cut(status: StatusCode, limit: usize) -> Problem {
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        let detail = format!("the body is larger than {limit} bytes; send less, or raise limits.body_bytes");
        return Problem::new(status, "too-large", "The request is too large", detail);
    }
    Problem::bad_request("cut-off", "the body ended before it was complete")
}

/// Where and in what way the JSON is wrong. `serde_json`'s own message may quote the input, so only its category
/// and place are told, and the names of fields that the program itself knows.
fn unreadable(error: &serde_json::Error) -> Problem {
    let place = format!("line {}, column {}", error.line(), error.column());
    match error.classify() {
        serde_json::error::Category::Data => {
            let detail = format!(
                "{} ({place}); /docs shows what this call takes",
                shape_mistake(error)
            );
            Problem::unprocessable("wrong-shape", detail)
        }
        serde_json::error::Category::Syntax
        | serde_json::error::Category::Eof
        | serde_json::error::Category::Io => {
            Problem::bad_request("not-json", format!("the body is not valid JSON ({place})"))
        }
    }
}

fn shape_mistake(error: &serde_json::Error) -> String {
    let message = error.to_string();
    if let Some(rest) = message.strip_prefix("missing field `") {
        return format!(
            "the field `{}` is missing",
            rest.split('`').next().unwrap_or_default()
        );
    }
    if message.starts_with("unknown field") {
        let expected = message.split_once(", expected ").map_or("", |(_, list)| list);
        let expected = expected.split(" at line ").next().unwrap_or_default();
        return format!("there is a field that this call does not know; it knows {expected}");
    }
    "a value has the wrong type".to_owned()
}

/// How deep the JSON nests, counted without parsing it, so that depth costs no stack.
fn nesting(body: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0usize);
    let (mut in_string, mut escaped) = (false, false);
    for &byte in body {
        match (in_string, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_string = !in_string,
            (false, b'{' | b'[') => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// A query that holds something that its call does not know.
pub(crate) fn unreadable_query(known: &str) -> Problem {
    let detail = format!("the query cannot be read; it may hold {known}");
    Problem::unprocessable("unknown-filter", detail)
}

/// Where a list goes on, as the page before said it.
pub(crate) fn cursor<T: FromStr>(text: Option<&str>) -> Result<Option<T>, Problem> {
    let text = text.filter(|text| !text.is_empty());
    let cursor = text.map(str::parse).transpose();
    cursor.map_err(|_| Problem::unprocessable("bad-cursor", "cursor: take the `next` of the page before"))
}

/// A user, agent or session id from outside.
pub(crate) fn ident(field: &str, text: &str) -> Result<Ident, Problem> {
    Ident::parse(text).map_err(|why| bad_name(field, why))
}

/// A tool or dataset name from outside.
pub(crate) fn name(field: &str, text: &str) -> Result<Name, Problem> {
    Name::parse(text).map_err(|why| bad_name(field, why))
}

fn bad_name(field: &str, why: BadIdent) -> Problem {
    Problem::bad_request("bad-name", format!("{field}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_ignores_strings() {
        for (text, depth) in [
            ("1", 0),
            ("[]", 1),
            (r#"{"a":[1,{"b":[]}]}"#, 4),
            (r#""[[[[""#, 0),
            (r#"["\"[[", {}]"#, 2),
            ("]]]]{", 1),
        ] {
            assert_eq!(nesting(text.as_bytes()), depth, "{text}");
        }
    }
}
