//! Whether a query looks at rows yet, and what it says of them if it fails from then on.
//!
//! Before, a failure is about the query alone: how it is written, which tables there are, whether there is a database.

use std::sync::{Arc, OnceLock};

use tidegate_core::Class;

use super::judge::Judgement;

/// A query that runs, or will.
#[derive(Clone, Debug, Default)]
pub(super) struct Running(Arc<OnceLock<Class>>);

impl Running {
    /// From here on the query looks at rows.
    pub(super) fn begin(&self, judgement: &Judgement) {
        let _ = self.0.set(judgement.of_failing());
    }

    /// What a failure counts as, once the query has begun.
    pub(super) fn class(&self) -> Option<Class> {
        self.0.get().copied()
    }
}
