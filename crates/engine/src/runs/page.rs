//! A page of notes: how it is written into the vault and read back.

use std::fmt;

use serde_json::{Value, json};
use tidegate_core::{Class, Confined, Ident};
use tidegate_ledger::EvidencePointer;
use tidegate_ledger::vault::{Evidence, VaultError};
use tidegate_store::Page;

use crate::engine::now;
use crate::{Engine, RecordError};

/// One note. `Debug` shows its class and length only.
#[derive(Clone, PartialEq, Eq)]
pub struct Note {
    /// What the agent calls it.
    pub key: String,
    /// What it says.
    pub text: String,
    /// The class of the run that wrote it, or of what was found in it if that is more.
    pub class: Class,
}

impl fmt::Debug for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Note({}, {} bytes)", self.class, self.text.len())
    }
}

/// The highest class of some notes.
pub(super) fn class_of(notes: &[Note]) -> Class {
    notes
        .iter()
        .fold(Class::Public, |class, note| class.join(note.class))
}

fn written(notes: &[Note]) -> Vec<u8> {
    let notes = notes
        .iter()
        .map(|note| json!({"key": note.key, "text": note.text, "class": note.class.as_str()}));
    Value::Array(notes.collect()).to_string().into_bytes()
}

/// A page that does not read as what was written is no page: all or nothing.
fn read(page: &[u8]) -> Option<Vec<Note>> {
    let notes: Vec<Value> = serde_json::from_slice(page).ok()?;
    let note = |note: &Value| {
        Some(Note {
            key: note.get("key")?.as_str()?.to_owned(),
            text: note.get("text")?.as_str()?.to_owned(),
            class: note.get("class")?.as_str()?.parse().ok()?,
        })
    };
    notes.iter().map(note).collect()
}

impl Engine {
    /// The notes on a page. What was held in memory for a run is gone after a restart, and what its retention ended is
    /// gone too; then there are none.
    pub(super) async fn open_page(&self, page: Option<&Page>) -> Result<Vec<Note>, RecordError> {
        let pointer = page.and_then(|page| EvidencePointer::parse(&page.pointer).ok());
        let Some(pointer) = pointer else {
            return Ok(Vec::new());
        };
        match self.evidence(pointer).await {
            Ok(Some(content)) => Ok(read(content.expose()).unwrap_or_default()),
            Ok(None) => Ok(Vec::new()),
            Err(RecordError::Vault(VaultError::Damaged { .. })) if pointer.class() == Class::Secret => {
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
    }

    /// Puts notes away as a page that lies on no shelf yet.
    pub(super) async fn write_page(&self, session: &Ident, notes: &[Note]) -> Result<Page, RecordError> {
        let class = class_of(notes);
        let pointer = self
            .provenance
            .keep(session, Confined::new(class, written(notes)))
            .await?;
        Ok(Page {
            pointer: pointer.to_string(),
            class,
            at: now(),
        })
    }

    /// Destroys a page that lies on no shelf any more.
    pub(super) async fn burn_page(&self, page: &Page) -> Result<(), RecordError> {
        let Ok(pointer) = EvidencePointer::parse(&page.pointer) else {
            return Ok(());
        };
        self.in_vault(move |vault| vault.discard(&pointer, std::time::SystemTime::now()))
            .await
    }

    /// What a pointer leads to, if it is there.
    pub(super) async fn evidence(
        &self,
        pointer: EvidencePointer,
    ) -> Result<Option<Confined<Vec<u8>>>, RecordError> {
        match self.in_vault(move |vault| vault.get(&pointer)).await? {
            Evidence::Present(content) => Ok(Some(content)),
            Evidence::Destroyed { .. } | Evidence::Unknown => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_read_back_and_show_nothing() {
        let note = |key: &str, text: &str, class| Note {
            key: key.into(),
            text: text.into(),
            class,
        };
        let notes = [note("a", "b\n\"c\"", Class::Public), note("é", "", Class::Pii)];
        assert_eq!(read(&written(&notes)).unwrap(), notes);
        assert_eq!(class_of(&notes), Class::Pii);
        assert_eq!(format!("{:?}", notes[0]), "Note(public, 5 bytes)");
        for damaged in ["", "{}", "[1]", r#"[{"key":"a","text":"b","class":"low"}]"#] {
            assert_eq!(read(damaged.as_bytes()), None, "{damaged}");
        }
    }
}
