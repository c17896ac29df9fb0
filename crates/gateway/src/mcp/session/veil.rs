//! Stubs and handles on the way to a server: the values are put in by the gateway, and only into what it sends.

use memchr::memmem;
use serde_json::Value;
use tidegate_core::Permit;
use tidegate_engine::Unveiling;

use super::Session;
use super::stopped::Stopped;
use crate::mcp::message::Envelope;
use crate::mcp::object::{Object, raw};
use crate::mcp::strict;

/// Where in a request's `_meta` an agent asks for the answer to be sealed.
pub(crate) const SEAL_KEY: &str = "tidegate/seal";

/// Whether a request asks for its answer to be sealed.
pub(super) fn asks_for_seal(params: &Object) -> bool {
    let meta = params.object("_meta");
    meta.and_then(|meta| meta.get(SEAL_KEY).map(|asked| asked.get() == "true"))
        .unwrap_or(false)
}

impl Session {
    /// A request with values in the place of stubs and handles. One that holds none keeps its bytes.
    pub(super) async fn unveiled(
        &self,
        permit: &Permit,
        unveiling: &Unveiling,
        request: Envelope,
    ) -> Result<Envelope, Stopped> {
        let mut members = Vec::new();
        for (name, value) in request.params().members().filter(|(name, _)| *name != "_meta") {
            // A brace may be written in four digits; the mark on text that looks like a stub is written out.
            let holds = |part: &str| memmem::find(value.get().as_bytes(), part.as_bytes()).is_some();
            if unveiling.is_needed() || holds("literal:") || holds("\\u") {
                members.push((name.to_owned(), strict::read(value)?));
            }
        }
        if members.is_empty() {
            return Ok(request);
        }
        let mut params = Object::clone(&request.params());
        let mut changed = false;
        for (name, value) in members {
            let unveiled: Value = self.hub.engine.unveil(permit, unveiling, value.clone()).await?;
            if unveiled != value {
                params.set(&name, raw(&unveiled));
                changed = true;
            }
        }
        Ok(if changed {
            request.with_params(params)
        } else {
            request
        })
    }
}
