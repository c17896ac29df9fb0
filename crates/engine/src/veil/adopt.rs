//! Texts that a redactor has redacted get the session's own stubs, so that what a context shows can be used in calls.

use serde_json::Value;
use tidegate_core::{Class, Ident};
use tidegate_detect::redact::{Redacted, Replacement};
use tidegate_ledger::vault::Keep;

use super::VeilError;
use super::table::Table;
use super::token::escape;
use crate::Engine;

impl Engine {
    /// The text with stubs of this session in place of the redactor's, which mean nothing to anybody else. They are on
    /// disk with their values when this resolves. What looked like a stub in the text itself is marked as text.
    pub(crate) async fn adopt(
        &self,
        id: &Ident,
        redacted: Redacted,
        is_json: bool,
    ) -> Result<String, VeilError> {
        if redacted.replacements.is_empty() {
            return Ok(escape(&String::from_utf8_lossy(&redacted.text)).into_owned());
        }
        let mut held = self.veils.of(id, &self.provenance).await?;
        let reading = self.reading();
        let adopting = tokio::task::spawn_blocking(move || {
            let text = held.with(|table| Ok::<_, VeilError>(rewritten(&redacted, is_json, table)))?;
            held.make_durable(&reading)?;
            Ok(text)
        });
        adopting.await.map_err(|_| VeilError::Interrupted)?
    }
}

fn rewritten(redacted: &Redacted, is_json: bool, table: &mut Table) -> String {
    let mut text = String::with_capacity(redacted.text.len());
    let mut at = 0;
    let between = |from: usize, to: usize| {
        let bytes = redacted.text.get(from..to).unwrap_or_default();
        escape(&String::from_utf8_lossy(bytes)).into_owned()
    };
    for replacement in &redacted.replacements {
        text.push_str(&between(at, replacement.span.start));
        let is_bare = redacted.text.get(replacement.span.start) == Some(&b'"');
        let stub = stub_of(replacement, is_json, is_bare, table);
        match is_bare {
            true => text.extend(["\"", &stub, "\""]),
            false => text.push_str(&stub),
        }
        at = replacement.span.end;
    }
    text.push_str(&between(at, redacted.text.len()));
    text
}

fn stub_of(replacement: &Replacement, is_json: bool, is_bare: bool, table: &mut Table) -> String {
    let written = String::from_utf8_lossy(replacement.value.expose());
    // Nothing that was found is public: this is text that looked like a stub.
    if replacement.value.class() == Class::Public {
        return escape(&written).into_owned();
    }
    let value = match (is_json, is_bare) {
        (true, true) => serde_json::from_str(&written).ok(),
        // As it stands between the quotes, with its escapes.
        (true, false) => serde_json::from_str(&format!("\"{written}\"")).ok(),
        (false, _) => None,
    };
    let value = value.unwrap_or_else(|| Value::String(written.into_owned()));
    table.stub(
        replacement.stub.name(),
        &value,
        replacement.value.class(),
        Keep::ByClass,
    )
}
