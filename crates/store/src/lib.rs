//! What must outlive a process: sessions, tokens, where values came from, what waits for a person, and what a person should
//! look at.
//!
//! The contract is written in domain verbs (`raise`, never `set`), so that no backend can express a lower label.
//! Every "must" in [`SessionStore`], [`TokenStore`], [`OriginStore`], [`MemoryStore`], [`GateStore`] and [`ReviewStore`] is a case of the
//! conformance suite that each backend passes.

#[cfg(feature = "conformance")]
pub mod conformance;
mod contract;
mod gates;
mod memory;
mod mirror;
mod origins;
mod placement;
mod reviews;
mod session;
mod shared;
mod sqlite;
mod token;
mod whereabouts;

pub use contract::{Change, OpenError, SessionStore, StoreError, TokenStore};
pub use gates::{
    AnswerError, Binding, Gate, GateAnswer, GateApproval, GateEnd, GateKind, GateQuery, GateState, GateStore,
    Listed, OpenGateError, Opened, UnknownGateKind,
};
pub use memory::{Kin, KinError, MemoryStore, Page, Shelf, TurnError};
pub use mirror::{Mirror, MirrorError};
pub use origins::{Origin, OriginBounds, OriginChunk, OriginMemory, OriginStore, Recalled};
pub use placement::{Misplaced, refuse_inside};
pub use reviews::{
    Assignment, ClassReview, OpenReviewError, OpenedReview, ReviewCause, ReviewQuery, ReviewStore,
    ReviewVerdict, Reviewed, SettleError, Settlement, UnknownReviewWord,
};
pub use session::{Admitted, Opening, Reset, Resumption, Session};
pub use shared::{Hidden, Remote, Row, Rows, Shared};
pub use sqlite::{SqliteOptions, SqliteStore};
pub use token::{TokenDigest, TokenRecord};
pub use whereabouts::{Elsewhere, note_server, state_file};
