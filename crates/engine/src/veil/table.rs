//! The stubs and handles of one session, and the values that wait to be put behind new ones.

use std::collections::HashMap;

use serde_json::Value;
use tidegate_core::{Class, Ident};
use tidegate_ledger::vault::{Issue, Issued, Keep, MAX_ISSUED, TokenKind};

use super::token::Token;
use crate::Provenance;

/// What stands in place of a value when the session can be given no more stubs. It never resolves.
pub(crate) const WITHHELD: &str = "{WITHHELD}";

/// Values below this length are known again only at the same field: a `true` here says nothing of a `true` there.
const SHORTEST_SHARED: usize = 6;

/// What is behind a token.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) token: Token,
    pub(crate) kind: TokenKind,
    pub(crate) class: Class,
    pub(crate) pieces: Vec<tidegate_ledger::event::EvidencePointer>,
    pub(crate) alive: bool,
    pub(crate) resolved: bool,
}

/// Every token of a session.
pub(crate) struct Table {
    session: Ident,
    provenance: Provenance,
    /// As of which change of the session's tokens it was read.
    pub(super) generation: u64,
    entries: HashMap<Token, Entry>,
    by_digest: HashMap<[u8; 32], Token>,
    counts: HashMap<String, u32>,
    waiting: Vec<Issue>,
}

impl Table {
    pub(crate) fn restored(
        session: Ident,
        provenance: Provenance,
        generation: u64,
        issued: Vec<Issued>,
    ) -> Self {
        let mut table = Self {
            session,
            provenance,
            generation,
            entries: HashMap::new(),
            by_digest: HashMap::new(),
            counts: HashMap::new(),
            waiting: Vec::new(),
        };
        issued.into_iter().for_each(|token| table.take_up(token));
        table
    }

    fn take_up(&mut self, issued: Issued) {
        let token = Token {
            name: issued.name,
            number: issued.number,
        };
        let count = self.counts.entry(token.name.clone()).or_default();
        *count = (*count).max(token.number);
        if let Some(digest) = issued.digest {
            let known = self
                .by_digest
                .get(&digest)
                .and_then(|token| self.entries.get(token));
            // One value may have come as two classes; it goes on as the higher.
            if known.is_none_or(|known| known.class <= issued.class) {
                self.by_digest.insert(digest, token.clone());
            }
        }
        let entry = Entry {
            token: token.clone(),
            kind: issued.kind,
            class: issued.class,
            pieces: issued.pieces,
            alive: issued.alive,
            resolved: issued.resolved,
        };
        self.entries.insert(token, entry);
    }

    pub(crate) fn find(&self, token: &Token) -> Option<&Entry> {
        self.entries.get(token).filter(|entry| entry.alive)
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// The newest token of a name and kind.
    pub(crate) fn newest(&self, name: &str, kind: TokenKind) -> Option<&Entry> {
        let named = self.entries.values().filter(|entry| entry.token.name == name);
        let alive = named.filter(|entry| entry.kind == kind && entry.alive);
        alive.max_by_key(|entry| entry.token.number)
    }

    pub(crate) fn mark_resolved(&mut self, token: &Token) {
        if let Some(entry) = self.entries.get_mut(token) {
            entry.resolved = true;
        }
    }

    /// What stands in place of a value: the stub it has, or a new one.
    pub(crate) fn stub(&mut self, name: &str, value: &Value, class: Class, keep: Keep) -> String {
        let (kind, bytes) = match value {
            Value::String(text) => (TokenKind::Text, text.clone().into_bytes()),
            other => (TokenKind::Json, other.to_string().into_bytes()),
        };
        let scope = match kind {
            TokenKind::Text if bytes.len() >= SHORTEST_SHARED => "",
            _ => name,
        };
        let digest = self.digest(&[b"value", &[kind_byte(kind)], scope.as_bytes(), &bytes]);
        self.token(name, kind, digest, class, keep, vec![bytes])
            .map_or_else(|| WITHHELD.to_owned(), |token| token.to_string())
    }

    /// A token for what is known by this digest, with this evidence if it is new. `None` when there are too many.
    pub(crate) fn token(
        &mut self,
        name: &str,
        kind: TokenKind,
        digest: [u8; 32],
        class: Class,
        keep: Keep,
        pieces: Vec<Vec<u8>>,
    ) -> Option<Token> {
        let known = self.by_digest.get(&digest).cloned();
        if let Some(token) = &known
            && self
                .entries
                .get(token)
                .is_some_and(|entry| entry.alive && entry.class >= class)
        {
            return known;
        }
        // Its evidence is gone, or was put away as something lower: it is put away again.
        let revived = known.filter(|token| self.entries.get(token).is_some_and(|entry| entry.class == class));
        if revived.is_none() && self.entries.len() >= MAX_ISSUED {
            return None;
        }
        let token = revived.unwrap_or_else(|| self.next(name));
        self.waiting.push(Issue {
            name: token.name.clone(),
            number: token.number,
            kind,
            digest: Some(digest),
            pieces,
            class,
            keep,
        });
        self.by_digest.insert(digest, token.clone());
        let entry = Entry {
            token: token.clone(),
            kind,
            class,
            pieces: Vec::new(),
            alive: true,
            resolved: false,
        };
        self.entries.insert(token.clone(), entry);
        Some(token)
    }

    fn next(&mut self, name: &str) -> Token {
        let count = self.counts.entry(name.to_owned()).or_default();
        *count += 1;
        Token {
            name: name.to_owned(),
            number: *count,
        }
    }

    /// A digest that only this session has of a value.
    pub(crate) fn digest(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut bytes = b"veil\0".to_vec();
        for part in [self.session.as_str().as_bytes()].iter().chain(parts) {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        }
        self.provenance.vault_digest(&bytes)
    }

    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// What waits to be made durable. Until [`Table::settle`] nobody may be shown its tokens.
    pub(crate) fn take_waiting(&mut self) -> Vec<Issue> {
        std::mem::take(&mut self.waiting)
    }

    /// Takes up what was made durable.
    pub(crate) fn settle(&mut self, issued: Vec<Issued>) {
        issued.into_iter().for_each(|token| self.take_up(token));
    }
}

const fn kind_byte(kind: TokenKind) -> u8 {
    match kind {
        TokenKind::Text => 0,
        TokenKind::Json => 1,
        TokenKind::Sealed => 2,
        TokenKind::Selection => 3,
    }
}
