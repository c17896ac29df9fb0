//! The use cases, in order of a call's life: open a session, authorize, deliver; and what surrounds them: plan,
//! tag, reset, watch.
//!
//! Every wire calls these functions and nothing else, so each rule stands in one place: who may do what in
//! [`access`], what passes in [`Engine::authorize`], what is let in by [`Engine::deliver`]. No HTTP, no MCP here.

pub mod access;
mod assembly;
mod audit;
mod authority;
mod authorize;
mod browse;
mod catalogued;
mod deliver;
mod discovered;
pub mod egress;
mod engine;
mod error;
mod evidence;
mod gates;
mod guard;
mod headcount;
mod inspect;
mod lifecycle;
mod model;
mod origin;
mod output;
mod payload;
mod plan;
mod policy;
mod provenance;
mod publish;
mod record;
mod reviews;
mod runs;
mod sessions;
mod unanswered;
mod veil;
mod watch;
mod wrapper;
mod written;

pub use access::{Act, Caller, Reach};
pub use assembly::{
    AssembleError, Assembled, Band, Chunk, ChunkReport, Citation, CitationRule, Citations, ContextRules,
    Disposition, NoAnswer, Source, SourceKind, SourceOfRecord, Sources,
};
pub use audit::AuditError;
pub use authority::{Authority, Subject, Tagged, Unanswered};
pub use authorize::Authorized;
pub use browse::{SessionPage, Tally, Tools, Trail};
pub use catalogued::Catalogued;
pub use deliver::Delivered;
pub use engine::{Engine, Parts};
pub use error::{AccessError, DeliverError, OpenSessionError, PlanError, ResetError};
pub use gates::{
    Carrier, GateError, GateFeed, GateNews, GatePage, GateRules, GateView, GateWanted, Revealed, ToolChange,
    Wish,
};
pub use headcount::SessionBounds;
pub use inspect::Interrupted;
pub use lifecycle::last_policy;
pub use model::{Classifier, Model, NoOpinion, OnFailure};
pub use origin::{OriginKey, OriginKeyError, Origins};
pub use output::{Checked, OutputVerdict};
pub use payload::Payload;
pub use policy::{Policy, PolicyVersion};
pub use provenance::{Provenance, RecordError};
pub use publish::PooledRecord;
pub use record::{DecisionRecord, Observer};
pub use reviews::{Opening, ReviewError, ReviewPage, ReviewView};
pub use runs::{
    Answer, AnswerSchema, BadSchema, ChildError, ChildRequest, Field, Memory, Note, NoteError, Noted,
    Recalled, Returned, RunRules,
};
pub use sessions::{ContextView, OpenRequest};
pub use unanswered::{HeldDefinition, NoAnswerCause};
pub use veil::{Bringing, Form, Handle, Resolved, SelectError, Unveiling, VeilError};
