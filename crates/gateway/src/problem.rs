//! Errors on the wire: application/problem+json (RFC 9457). Details say what happened and what to do; they never
//! repeat what was sent.

mod gates;
mod reviews;
mod runs;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tidegate_core::Refusal;
use tidegate_engine::{
    AccessError, AuditError, DeliverError, OpenSessionError, PlanError, RecordError, ResetError, SelectError,
};
use tidegate_ledger::{AppendError, ProveError};
use tidegate_store::StoreError;
use utoipa::ToSchema;

/// A problem document.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// A stable name for this sort of problem.
    #[serde(rename = "type")]
    kind: String,
    /// The sort of problem in a few words.
    title: &'static str,
    /// The HTTP status, once more.
    status: u16,
    /// What happened here and what to do.
    detail: String,
    /// Each mistake, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<String>,
    /// Where a decision was asked for: it is a denial.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    denial: Option<Box<Denial>>,
}

/// The part of a denial that an agent acts on.
#[derive(Debug, Serialize, ToSchema)]
struct Denial {
    decision: &'static str,
    allowed: bool,
    rule: &'static str,
    reason: String,
    remedy: &'static str,
    retryable: bool,
}

impl Problem {
    pub(crate) fn new(
        status: StatusCode,
        slug: &str,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            kind: format!("urn:tidegate:problem:{slug}"),
            title,
            status: status.as_u16(),
            detail: detail.into(),
            errors: Vec::new(),
            denial: None,
        }
    }

    /// Its status.
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Its status, and what happened here, for a page that says it to a person.
    pub(crate) fn told(&self) -> (StatusCode, &'static str, &str) {
        (self.status(), self.title, &self.detail)
    }

    pub(crate) fn with_errors(mut self, errors: Vec<String>) -> Self {
        self.errors = errors;
        self
    }

    /// Something in the request's own text is wrong.
    pub(crate) fn bad_request(slug: &str, detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            slug,
            "The request cannot be read",
            detail,
        )
    }

    pub(crate) fn unprocessable(slug: &str, detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            slug,
            "The request does not fit",
            detail,
        )
    }

    pub(crate) fn unauthorized(detail: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "No valid token", detail)
    }

    pub(crate) fn not_found() -> Self {
        let detail = "there is nothing at this path; /docs lists what there is";
        Self::new(StatusCode::NOT_FOUND, "not-found", "Not found", detail)
    }

    pub(crate) fn method_not_allowed() -> Self {
        let detail = "this path does not take that method; /docs lists what it takes";
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method-not-allowed",
            "Method not allowed",
            detail,
        )
    }

    pub(crate) fn internal() -> Self {
        let detail = "the gateway failed while handling this request; nothing was allowed by it";
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "Internal error",
            detail,
        )
    }

    pub(crate) fn overloaded(detail: &str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", "Busy", detail)
    }

    /// A call to a tool that nobody knows: a problem, and a denial for whoever reads it as one.
    pub(crate) fn unknown_tool(refusal: &Refusal) -> Self {
        Self::denied(StatusCode::NOT_FOUND, "Unknown tool", refusal)
    }

    /// Something was refused: a problem, and a denial for whoever reads it as one.
    pub(crate) fn denied(status: StatusCode, title: &'static str, refusal: &Refusal) -> Self {
        let mut problem = Self::new(status, refusal.rule().as_str(), title, refusal.reason());
        problem.denial = Some(Box::new(Denial {
            decision: "deny",
            allowed: false,
            rule: refusal.rule().as_str(),
            reason: refusal.reason(),
            remedy: refusal.remedy(),
            retryable: refusal.retryable(),
        }));
        problem
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status();
        let mut response = (status, axum::Json(&self)).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        if status == StatusCode::UNAUTHORIZED {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoSession => AccessError::NoSession.into(),
            StoreError::Overloaded => {
                Self::overloaded("too many changes are waiting for the disk; try again in a moment")
            }
            // A reset answers for itself; whoever else is told this asked for something that cannot be.
            StoreError::Overtaken
            | StoreError::TokenTaken
            | StoreError::Corrupt { .. }
            | StoreError::TooNew { .. }
            | StoreError::Fenced
            | StoreError::Backend(_) => {
                tracing::error!(%error, "the store failed");
                let detail = "the session store cannot answer, so nothing passes; an administrator finds the cause in the gateway's log";
                Self::new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "store-unavailable",
                    "Store unavailable",
                    detail,
                )
            }
        }
    }
}

impl From<RecordError> for Problem {
    fn from(error: RecordError) -> Self {
        if matches!(error, RecordError::Ledger(AppendError::Overloaded)) {
            return Self::overloaded("too many records are waiting for the disk; try again in a moment");
        }
        tracing::error!(%error, "the record could not be written");
        let detail = "what happened cannot be recorded, so nothing passes; an administrator finds the cause in the gateway's log";
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "record-unavailable",
            "Record unavailable",
            detail,
        )
    }
}

impl From<AccessError> for Problem {
    fn from(error: AccessError) -> Self {
        let detail = error.to_string();
        match error {
            AccessError::NoSession => Self::new(
                StatusCode::NOT_FOUND,
                "unknown-session",
                "Unknown session",
                detail,
            ),
            AccessError::Forbidden { .. } => {
                Self::new(StatusCode::FORBIDDEN, "forbidden", "Not with this role", detail)
            }
            AccessError::Store(error) => error.into(),
            AccessError::Record(error) => error.into(),
            AccessError::Authority(_) => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "authority-unreachable",
                "Authority unreachable",
                format!("{detail}; nothing passes until it answers"),
            ),
            AccessError::GatesFull => Self::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too-many-gates",
                "Too much waits already",
                detail,
            ),
            AccessError::Interrupted(_) => Self::internal(),
            AccessError::Unresolved(_) => Self::new(
                StatusCode::CONFLICT,
                "unresolved",
                "Nothing to put in its place",
                detail,
            ),
        }
    }
}

impl From<SelectError> for Problem {
    fn from(error: SelectError) -> Self {
        let detail = error.to_string();
        match error {
            SelectError::Access(error) => error.into(),
            SelectError::Veil(error) => AccessError::from(error).into(),
            SelectError::UnknownHandle => {
                Self::new(StatusCode::NOT_FOUND, "unknown-handle", "Unknown handle", detail)
            }
            SelectError::Pointer => Self::unprocessable("bad-pointer", detail),
            SelectError::TooMany => Self::new(
                StatusCode::CONFLICT,
                "too-many-handles",
                "Too many handles",
                detail,
            ),
        }
    }
}

impl From<OpenSessionError> for Problem {
    fn from(error: OpenSessionError) -> Self {
        let detail = error.to_string();
        match error {
            OpenSessionError::Access(error) => error.into(),
            OpenSessionError::NotYours { .. } => {
                Self::new(StatusCode::FORBIDDEN, "not-yours", "Not for this token", detail)
            }
            OpenSessionError::Taken => {
                Self::new(StatusCode::CONFLICT, "session-taken", "Session id taken", detail)
            }
            OpenSessionError::TooMany { .. } => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "too-many-sessions",
                "Too many sessions",
                detail,
            ),
            OpenSessionError::TooFast { .. } => Self::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too-many-new-sessions",
                "Too many new sessions",
                detail,
            ),
            OpenSessionError::NoRandomness => Self::internal(),
        }
    }
}

impl From<PlanError> for Problem {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::Access(error) => error.into(),
            PlanError::Plan(error) => Self::unprocessable("bad-plan", error.to_string()),
        }
    }
}

impl From<DeliverError> for Problem {
    fn from(error: DeliverError) -> Self {
        match error {
            DeliverError::Access(error) => error.into(),
            DeliverError::UnknownTool(refusal) => Self::unknown_tool(&refusal),
            DeliverError::Mirror(error) => mirror_failed(&error),
        }
    }
}

impl From<AuditError> for Problem {
    fn from(error: AuditError) -> Self {
        let detail = error.to_string();
        match error {
            AuditError::Forbidden(_) => {
                Self::new(StatusCode::FORBIDDEN, "forbidden", "Not with this role", detail)
            }
            AuditError::Access(error) => error.into(),
            AuditError::Prove(ProveError::NoSuchRecord) => {
                Self::new(StatusCode::NOT_FOUND, "unknown-record", "Unknown record", detail)
            }
            AuditError::Prove(ProveError::NotYetSigned) => {
                Self::new(StatusCode::CONFLICT, "not-yet-signed", "Not yet signed", detail)
            }
            AuditError::Read(_) | AuditError::Prove(ProveError::Read(_)) | AuditError::Interrupted => {
                tracing::error!(%error, "the record could not be read");
                let detail =
                    "the record cannot be read; `tidegate ledger verify` tells what is wrong with it";
                Self::new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "record-unreadable",
                    "Record unreadable",
                    detail,
                )
            }
        }
    }
}

impl From<ResetError> for Problem {
    fn from(error: ResetError) -> Self {
        match error {
            ResetError::Access(error) => error.into(),
            ResetError::Overtaken => Self::new(
                StatusCode::CONFLICT,
                "overtaken",
                "Not any more",
                error.to_string(),
            ),
            ResetError::Reason => Self::unprocessable("reason-missing", error.to_string()),
            ResetError::Mirror(error) => mirror_failed(&error),
        }
    }
}

fn mirror_failed(error: &tidegate_store::MirrorError) -> Problem {
    tracing::error!(%error, "the mirror could not be written");
    let detail = "the session's mirror file cannot be written, so nothing is released; an administrator finds the cause in the gateway's log";
    Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "mirror-unavailable",
        "Mirror unavailable",
        detail,
    )
}
