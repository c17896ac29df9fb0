//! What can go wrong with contexts, notes and child sessions.

use axum::http::StatusCode;
use tidegate_engine::{AssembleError, ChildError, NoteError};

use super::{Problem, mirror_failed};

impl From<AssembleError> for Problem {
    fn from(error: AssembleError) -> Self {
        let detail = error.to_string();
        match error {
            AssembleError::Access(error) => error.into(),
            AssembleError::TooMany => Self::unprocessable("too-many-chunks", detail),
            AssembleError::Halted => halted(detail),
            AssembleError::Mirror(error) => mirror_failed(&error),
        }
    }
}

impl From<NoteError> for Problem {
    fn from(error: NoteError) -> Self {
        let detail = error.to_string();
        match error {
            NoteError::Access(error) => error.into(),
            NoteError::Off => Self::new(StatusCode::NOT_FOUND, "no-notes", "No notes here", detail),
            NoteError::Halted => halted(detail),
            NoteError::AboveCeiling { .. } => Self::new(
                StatusCode::FORBIDDEN,
                "above-ceiling",
                "Above what it takes",
                detail,
            ),
            NoteError::Size { .. } => Self::unprocessable("note-size", detail),
            NoteError::Full { .. } => {
                Self::new(StatusCode::CONFLICT, "scratchpad-full", "Scratchpad full", detail)
            }
            NoteError::Contended => Self::overloaded(&detail),
            NoteError::Mirror(error) => mirror_failed(&error),
        }
    }
}

impl From<ChildError> for Problem {
    fn from(error: ChildError) -> Self {
        let detail = error.to_string();
        let forbidden = |slug, detail| Self::new(StatusCode::FORBIDDEN, slug, "Not for a child", detail);
        let conflict = |slug, detail| Self::new(StatusCode::CONFLICT, slug, "Not now", detail);
        match error {
            ChildError::Access(error) => error.into(),
            ChildError::Open(error) => error.into(),
            ChildError::Mirror(error) => mirror_failed(&error),
            ChildError::Off => Self::new(StatusCode::NOT_FOUND, "no-children", "No child sessions", detail),
            ChildError::Halted => halted(detail),
            ChildError::MustInherit { .. } => forbidden("must-inherit", detail),
            ChildError::AboveCeiling { .. } => forbidden("above-ceiling", detail),
            ChildError::BitsSpent => forbidden("bits-spent", detail),
            ChildError::Hostile => forbidden("content-withheld", detail),
            ChildError::TooManyBits { .. } => Self::unprocessable("too-many-bits", detail),
            ChildError::NotDeclared => Self::unprocessable("not-declared", detail),
            ChildError::TooMany => conflict("too-many-children", detail),
            ChildError::NoChild => conflict("no-child", detail),
            ChildError::Answered => conflict("answered", detail),
        }
    }
}

fn halted(detail: String) -> Problem {
    Problem::new(StatusCode::CONFLICT, "session-halted", "Session halted", detail)
}
