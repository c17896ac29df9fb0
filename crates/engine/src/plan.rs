//! Telling an agent beforehand: the manifest and the check of a plan.

use std::sync::Arc;

use tidegate_core::{ContextState, Ident, Manifest, PlanReport, PlannedCall, manifest, validate_plan};
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
        self.manifest_of(&session).await
    }

    /// The manifest of a session at hand.
    ///
    /// # Errors
    /// When a change of the policy cannot be recorded. An authority that cannot be asked closes every tool instead.
    pub async fn manifest_of(&self, session: &Arc<Session>) -> Result<Manifest, AccessError> {
        Ok(manifest(&*self.tools_for(session).await?, &session.context))
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
        let control = self.tools_for(&session).await?;
        Ok(validate_plan(&control, &session.context, calls)?)
    }

    /// Checks a plan as if a session began with it, for whoever watches over sessions.
    ///
    /// # Errors
    /// When the caller may not, or a dependency names no step.
    pub async fn what_if(&self, caller: &Caller, calls: &[PlannedCall]) -> Result<PlanReport, PlanError> {
        let tools = self.tools(caller).await?;
        Ok(validate_plan(&tools.control, &ContextState::clean(), calls)?)
    }
}
