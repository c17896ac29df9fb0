//! Telling an agent beforehand: the manifest and the check of a plan.

use std::sync::Arc;

use tidegate_core::{Ident, Manifest, PlanReport, PlannedCall, manifest, validate_plan};
use tidegate_store::Session;

use crate::access::{Act, Caller};
use crate::{AccessError, Engine, PlanError};

impl Engine {
    /// What the session's agent may know before it plans, from the session's state now.
    ///
    /// # Errors
    /// When the caller may not see the session.
    pub async fn manifest(&self, caller: &Caller, id: &Ident) -> Result<Manifest, AccessError> {
        let session = self.session_for(caller, Act::Look, id).await?;
        Ok(self.manifest_of(&session))
    }

    /// The manifest of a session at hand.
    #[must_use]
    pub fn manifest_of(&self, session: &Arc<Session>) -> Manifest {
        manifest(&self.control(), &session.context)
    }

    /// Checks a plan before any of it runs.
    ///
    /// # Errors
    /// When the caller may not see the session, or a dependency names no step.
    pub async fn validate_plan(
        &self,
        caller: &Caller,
        id: &Ident,
        calls: &[PlannedCall],
    ) -> Result<PlanReport, PlanError> {
        let session = self.session_for(caller, Act::Look, id).await?;
        Ok(validate_plan(&self.control(), &session.context, calls)?)
    }
}
