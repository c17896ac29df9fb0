//! Approvals as backends write them down: one text, so that a page of gates is one read.

use serde::{Deserialize, Serialize};
use tidegate_core::{Ident, Moment};

use super::GateApproval;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    by: String,
    role: String,
    at: i64,
}

impl GateApproval {
    /// Approvals as text.
    #[must_use]
    pub fn write_all(approvals: &[Self]) -> String {
        let written = approvals.iter().map(|given| Written {
            by: given.by.to_string(),
            role: given.role.to_string(),
            at: given.at.0,
        });
        serde_json::to_string(&written.collect::<Vec<_>>()).unwrap_or_default()
    }

    /// Approvals from their text; nothing when it is not such a text.
    #[must_use]
    pub fn read_all(text: &str) -> Option<Vec<Self>> {
        let written: Vec<Written> = serde_json::from_str(text).ok()?;
        let read = |given: Written| {
            Some(Self {
                by: Ident::parse(&given.by).ok()?,
                role: given.role.parse().ok()?,
                at: Moment(given.at),
            })
        };
        written.into_iter().map(read).collect()
    }
}
