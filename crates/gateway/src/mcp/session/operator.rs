//! What the user typed, as a client says it beside a request.

use super::Session;
use super::stopped::Stopped;
use crate::mcp::message::Envelope;
use crate::mcp::object::Object;

/// Where in `_meta` a client says what its user typed.
const OPERATOR_KEY: &str = "tidegate/operatorInput";

impl Session {
    /// Takes what the user typed out of a request and makes it known, if this caller may speak for them. It goes no
    /// further: the servers are not told.
    pub(super) async fn hear_operator(&self, request: Envelope) -> Result<Envelope, Stopped> {
        let Some(mut meta) = request.params().object("_meta") else {
            return Ok(request);
        };
        let typed = meta.text(OPERATOR_KEY);
        if meta.remove(OPERATOR_KEY).is_none() {
            return Ok(request);
        }
        let typed = typed.ok_or_else(|| {
            let reason = format!("{OPERATOR_KEY} must be a text: what the user typed");
            Stopped::by("bad-operator-input", reason, "send it as a text, or leave it out")
        })?;
        self.engine()
            .operator_input(&self.caller, &self.id, typed, None)
            .await?;
        let mut params = Object::clone(&request.params());
        params.set("_meta", meta.to_raw());
        Ok(request.with_params(params))
    }
}
