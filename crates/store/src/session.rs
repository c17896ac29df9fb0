//! A session as a store keeps it.

use std::sync::Arc;

use tidegate_core::{Admission, Class, ContextState, Ident, Moment};

use crate::StoreError;

/// One agent's run for one user, and the state of its context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The handle.
    pub id: Ident,
    /// The principal it was issued to.
    pub user: Ident,
    /// The agent it was issued to.
    pub agent: Ident,
    /// When it was opened.
    pub opened_at: Moment,
    /// What its context holds.
    pub context: ContextState,
}

/// A session to be opened.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The handle; it must be new.
    pub id: Ident,
    /// The principal it is issued to.
    pub user: Ident,
    /// The agent it is issued to.
    pub agent: Ident,
    /// When.
    pub at: Moment,
}

/// An administrator's decision to start a session's context anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reset {
    /// Who decided.
    pub by: Ident,
    /// Why, in the administrator's words.
    pub reason: String,
    /// When.
    pub at: Moment,
}

/// A person's decision to let a halted run go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resumption {
    /// Who decided.
    pub by: Ident,
    /// Why, in their words.
    pub reason: String,
    /// When.
    pub at: Moment,
}

/// What a change did, and the session after it.
#[derive(Clone, Debug)]
pub struct Admitted {
    /// What changed.
    pub admission: Admission,
    /// The session as it is now, durably.
    pub session: Arc<Session>,
}

/// What a reset does not cover stands. To be asked of the row that the reset replaces, in the step that replaces it.
pub(crate) fn refuse_above(covers: Class, session: &Session) -> Result<(), StoreError> {
    match session.context.label().class() <= covers {
        true => Ok(()),
        false => Err(StoreError::Overtaken),
    }
}
