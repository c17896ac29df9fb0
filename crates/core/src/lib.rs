//! What is true without any I/O: classes, the ratchet, the control list, decisions, plans and manifests.
//!
//! Everything here is a pure function of its arguments: no clock, no store, no wire. That is what lets one
//! rule serve every wire, and what lets property tests drive it with millions of cases.

mod class;
mod content;
mod context;
mod control;
mod decision;
mod egress;
mod either;
mod fields;
mod grant;
mod ident;
mod integrity;
mod label;
mod manifest;
mod opinion;
mod person;
mod plan;
mod refusal;
mod role;
mod seal;

pub use class::{Class, Kind, Kinds, UnknownClass};
pub use content::Confined;
pub use context::{Admission, ContextState, Dataset, Entry, Halt, Moment, Rise};
pub use control::{Control, ControlList, DuplicateTool, Permission, Permissions, Stated, Tool, ToolFacts};
pub use decision::{Approval, Attempt, Cleared, Decision, Permit, decide};
pub use egress::Fault;
pub use fields::{BadField, FieldClasses, FieldCursor, FieldPattern, MAX_FIELDS};
pub use grant::{Grant, Tags};
pub use ident::{BadIdent, Ident, Name};
pub use integrity::{Doubt, DoubtCause, FieldPath, Integrity, Step, Trust, Unknown};
pub use label::Label;
pub use manifest::{Manifest, ManifestTool, Sensitivity, closed_by_context, manifest};
pub use opinion::Opinion;
pub use person::{is_vouched, same_person, vouched};
pub use plan::{BadPlan, Confinement, PlanReport, PlannedCall, Proposal, Violation, validate_plan};
pub use refusal::{Refusal, Rule};
pub use role::{Role, UnknownRole};
pub use seal::{BadSeal, MAX_RAW, SealRule, Veiled};
