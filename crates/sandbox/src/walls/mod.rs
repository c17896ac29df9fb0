//! What a program may not do once it runs, in order of being put up: fewer resources, fewer files, fewer system calls.

mod calls;
mod files;
mod limits;

pub use limits::Limits;

pub(crate) use calls::{CallsError, allow_calls, can_filter};
pub(crate) use files::{FilesError, allow_files, landlock_version};
pub(crate) use limits::{LimitsError, set_limits};
