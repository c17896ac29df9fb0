//! Why a child was not opened, or did not answer.

use tidegate_core::Class;
use tidegate_store::{KinError, MirrorError, StoreError};

use super::NoteError;
use crate::{AccessError, DeliverError, Interrupted, OpenSessionError, RecordError};

/// Why a child was not opened, or did not answer.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// The caller cannot have the session.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// It could not be opened.
    #[error(transparent)]
    Open(#[from] OpenSessionError),
    /// This gateway has no child sessions.
    #[error("this gateway has no child sessions")]
    Off,
    /// A halted run starts nothing and takes nothing.
    #[error(
        "the session is halted or has ended: it neither starts child sessions nor takes answers from them"
    )]
    Halted,
    /// The parent's label is too high for a clean child.
    #[error(
        "the session is labelled {label}, so what it tells a child may be too: open the child with inherit, or start it before \
         such data is read"
    )]
    MustInherit {
        /// The parent's label.
        label: Class,
    },
    /// The declared answer carries too much.
    #[error(
        "the declared answer can carry {bits} bits and a child's may carry {most}: declare fewer values or narrower ones"
    )]
    TooManyBits {
        /// What it can carry.
        bits: u32,
        /// What it may.
        most: u32,
    },
    /// The tree of runs is as large as it may be.
    #[error("the run has as many child sessions as it may have")]
    TooMany,
    /// The session is nobody's child.
    #[error("the session is no child, so there is nobody to answer")]
    NoChild,
    /// It has answered.
    #[error("the child has answered already; a child answers once")]
    Answered,
    /// The run's bits are spent.
    #[error(
        "the answers of this run's children have carried all the bits they may; answer with text, which raises the parent's label"
    )]
    BitsSpent,
    /// The values are not the declared ones.
    #[error(
        "the values are not the ones that were declared when the child was opened, each within its bounds"
    )]
    NotDeclared,
    /// The child's label is too high for values to pass below it.
    #[error(
        "the child is labelled {label}: nothing passes below that label; answer with text, which raises the parent's label"
    )]
    AboveCeiling {
        /// The child's label.
        label: Class,
    },
    /// The answer gives orders; the child is halted.
    #[error(
        "the answer tries to give instructions: it is kept for a person to review, and the child is halted"
    )]
    Hostile,
    /// The mirror could not be written, so nothing is released.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
}

impl From<Interrupted> for ChildError {
    fn from(error: Interrupted) -> Self {
        Self::Access(error.into())
    }
}

impl From<RecordError> for ChildError {
    fn from(error: RecordError) -> Self {
        Self::Access(error.into())
    }
}

impl From<StoreError> for ChildError {
    fn from(error: StoreError) -> Self {
        Self::Access(error.into())
    }
}

impl From<KinError> for ChildError {
    fn from(error: KinError) -> Self {
        match error {
            KinError::NotFree | KinError::NoChild => Self::NoChild,
            KinError::TooMany => Self::TooMany,
            KinError::Answered => Self::Answered,
            KinError::BitsSpent => Self::BitsSpent,
            KinError::Store(error) => error.into(),
        }
    }
}

impl From<DeliverError> for ChildError {
    fn from(error: DeliverError) -> Self {
        match error {
            DeliverError::Access(error) => Self::Access(error),
            DeliverError::Mirror(error) => Self::Mirror(error),
            DeliverError::UnknownTool(_) => Interrupted.into(),
        }
    }
}

impl From<NoteError> for ChildError {
    fn from(error: NoteError) -> Self {
        match error {
            NoteError::Access(error) => Self::Access(error),
            NoteError::Mirror(error) => Self::Mirror(error),
            NoteError::Off => Self::Off,
            NoteError::Halted => Self::Halted,
            NoteError::AboveCeiling { .. }
            | NoteError::Size { .. }
            | NoteError::Full { .. }
            | NoteError::Contended => Interrupted.into(),
        }
    }
}
