//! What can go wrong with gates.

use axum::http::StatusCode;
use tidegate_engine::GateError;

use super::{Problem, mirror_failed};

impl From<GateError> for Problem {
    fn from(error: GateError) -> Self {
        let detail = error.to_string();
        let forbidden =
            |slug, detail| Self::new(StatusCode::FORBIDDEN, slug, "Not for you to decide", detail);
        let conflict = |slug, detail| Self::new(StatusCode::CONFLICT, slug, "Not any more", detail);
        match error {
            GateError::Access(error) => error.into(),
            GateError::Mirror(error) => mirror_failed(&error),
            GateError::Off => Self::new(StatusCode::NOT_FOUND, "no-gates", "No gates here", detail),
            GateError::NoGate => Self::new(StatusCode::NOT_FOUND, "unknown-gate", "Unknown gate", detail),
            GateError::NotThisKind { .. } => forbidden("forbidden", detail),
            GateError::Own => forbidden("own-gate", detail),
            GateError::AboveEveryone(_) => forbidden("above-clearance", detail),
            GateError::Closed(_) => conflict("gate-closed", detail),
            GateError::Twice => conflict("approved-twice", detail),
            GateError::NothingToAsk(_) => conflict("nothing-to-ask", detail),
            GateError::Overtaken(_) => conflict("overtaken", detail),
            GateError::Reason => Self::unprocessable("reason-missing", detail),
            GateError::Gone => Self::new(StatusCode::GONE, "evidence-gone", "Not kept any more", detail),
        }
    }
}
