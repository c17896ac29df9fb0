//! The credential with which what runs in a session uses the proxy.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::{Known, Shown};
use crate::extract::SessionId;
use crate::problem::Problem;
use crate::router::Shared;

/// How a session reaches the network.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EgressAnswer {
    /// The session.
    session_id: String,
    /// Where the proxy listens.
    proxy: String,
    /// The user name for it: the session's handle.
    username: String,
    /// The password for it. It is good for this session alone, and for as long as the token that asked for it; keep it like
    /// one.
    password: String,
    /// All of it as one URL, for `http_proxy` and `https_proxy`.
    proxy_url: String,
    /// The highest class that any destination may be given: above it, nothing is reached. Nothing where all are blocked.
    highest_ceiling: Option<String>,
}

/// The proxy and the credential for a session, for whoever may make its calls.
#[utoipa::path(post, path = "/v1/session/{id}/egress", tag = "sessions", security(("token" = [])), params(("id" = String, Path, description = "The session's handle")), responses(
    (status = 200, description = "The proxy and the credential", body = EgressAnswer),
    (status = "4XX", description = "What is wrong", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn issue(
    State(app): Shared,
    Known(caller): Known,
    shown: Shown,
    SessionId(id): SessionId,
) -> Result<Answer<EgressAnswer>, Problem> {
    let Some((egress, address)) = &app.egress else {
        let detail = "this gateway has no egress proxy; an administrator turns it on with [egress] listen";
        return Err(Problem::new(
            StatusCode::NOT_FOUND,
            "egress-off",
            "No egress proxy",
            detail,
        ));
    };
    let credential = egress.issue(&caller, &shown.digest, &id).await?;
    let username = credential.session.to_string();
    let password = credential.password.to_string();
    // What a handle may hold beside letters and digits, spelled as a URL has it.
    let spelled = username
        .replace('@', "%40")
        .replace(':', "%3A")
        .replace('+', "%2B");
    Ok(Answer(EgressAnswer {
        session_id: id.to_string(),
        proxy: format!("http://{address}"),
        proxy_url: format!("http://{spelled}:{password}@{address}"),
        username,
        password,
        highest_ceiling: egress.highest_ceiling().map(|class| class.to_string()),
    }))
}
