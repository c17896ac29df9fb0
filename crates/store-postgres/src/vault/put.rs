//! What is put away, as columns.

use tidegate_core::Ident;
use tidegate_ledger::EvidencePointer;
use tidegate_ledger::vault::{Held, Issue, NewTokens, Row};

use super::{VaultQuery, rank};
use crate::lanes::{Lanes, Refused, Values};
use crate::query::Query;

/// Evidence and the tokens that lead to it, column by column.
pub(super) struct Putting {
    key_id: [u8; 8],
    holder: String,
    ids: Vec<Vec<u8>>,
    classes: Vec<i16>,
    sessions: Vec<String>,
    stored: Vec<i64>,
    key_ids: Vec<Option<Vec<u8>>>,
    wrapped: Vec<Option<Vec<u8>>>,
    contents: Vec<Option<Vec<u8>>>,
    tokens: Tokens,
}

#[derive(Default)]
struct Tokens {
    session: Option<String>,
    names: Vec<String>,
    numbers: Vec<i64>,
    kinds: Vec<i16>,
    classes: Vec<i16>,
    digests: Vec<Option<Vec<u8>>>,
    pieces: Vec<Vec<u8>>,
}

impl Putting {
    pub(super) fn new(key_id: [u8; 8], holder: String, rows: &[Row], tokens: Option<NewTokens<'_>>) -> Self {
        let sealed = |row: &Row| match &row.held {
            Held::Disk(sealed) => (
                Some(sealed.key_id.to_vec()),
                Some(sealed.wrapped.clone()),
                Some(sealed.content.clone()),
            ),
            Held::Memory | Held::Destroyed { .. } => (None, None, None),
        };
        let (key_ids, wrapped, contents) = rows.iter().map(sealed).collect();
        Self {
            key_id,
            holder,
            ids: rows.iter().map(|row| row.pointer.id().to_vec()).collect(),
            classes: rows.iter().map(|row| rank(row.pointer.class())).collect(),
            sessions: rows.iter().map(|row| row.session.to_string()).collect(),
            stored: rows.iter().map(|row| row.stored_ms).collect(),
            key_ids,
            wrapped,
            contents,
            tokens: tokens.map_or_else(Tokens::default, |(session, issues)| Tokens::new(session, issues)),
        }
    }

    pub(super) async fn run(&self, lanes: &Lanes) -> Result<Vec<tokio_postgres::Row>, Refused> {
        let (key_id, tokens) = (self.key_id.as_slice(), &self.tokens);
        let values: Values<'_> = &[
            &key_id,
            &self.holder,
            &self.ids,
            &self.classes,
            &self.sessions,
            &self.stored,
            &self.key_ids,
            &self.wrapped,
            &self.contents,
            &tokens.session,
            &tokens.names,
            &tokens.numbers,
            &tokens.kinds,
            &tokens.classes,
            &tokens.digests,
            &tokens.pieces,
        ];
        lanes.rows(Query::Vault(VaultQuery::Put), values).await
    }
}

impl Tokens {
    fn new(session: &Ident, issues: &[(Issue, Vec<EvidencePointer>)]) -> Self {
        let mut tokens = Self {
            session: Some(session.to_string()),
            ..Self::default()
        };
        for (issue, pieces) in issues {
            tokens.names.push(issue.name.clone());
            tokens.numbers.push(i64::from(issue.number));
            tokens.kinds.push(i16::from(issue.kind.number()));
            tokens.classes.push(rank(issue.class));
            tokens
                .digests
                .push(issue.kept_digest().map(|digest| digest.to_vec()));
            tokens
                .pieces
                .push(pieces.iter().flat_map(|piece| *piece.id()).collect());
        }
        tokens
    }
}

/// Pointers as two columns.
pub(super) fn columns(pointers: &[EvidencePointer]) -> (Vec<Vec<u8>>, Vec<i16>) {
    pointers
        .iter()
        .map(|pointer| (pointer.id().to_vec(), rank(pointer.class())))
        .unzip()
}
