//! What the operator decided: the control list and its version.

use std::fmt;

use tidegate_core::ControlList;

/// The control list in force, with a version that changes when it does.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Every known tool.
    pub control: ControlList,
    /// Which version of it this is.
    pub version: PolicyVersion,
}

/// A short digest of a policy, so that a record can say which one decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyVersion(pub String);

impl fmt::Display for PolicyVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
