//! Every statement there is. Each does one thing whole.

use crate::annex::AnnexQuery;
use crate::gates::GateStatement;
use crate::records::RecordQuery;
use crate::reviews::ReviewStatement;
use crate::vault::VaultQuery;

/// A statement that is prepared on every connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Query {
    Read,
    Page,
    Count,
    Resets,
    FindToken,
    Tokens,
    Insert,
    Replace,
    Reset,
    Issue,
    Revoke,
    Claim,
    Probe,
    Annex(AnnexQuery),
    Gate(GateStatement),
    Review(ReviewStatement),
    Vault(VaultQuery),
    Record(RecordQuery),
}

impl Query {
    /// What only reads, and what writes: each goes over connections of its own.
    pub(crate) const READS: [Self; 14] = [
        Self::Read,
        Self::Page,
        Self::Count,
        Self::Resets,
        Self::FindToken,
        Self::Tokens,
        Self::Annex(AnnexQuery::Page),
        Self::Annex(AnnexQuery::LeftBehind),
        Self::Annex(AnnexQuery::Kin),
        Self::Annex(AnnexQuery::Children),
        Self::Annex(AnnexQuery::Recall),
        Self::Annex(AnnexQuery::OriginMemory),
        Self::Record(RecordQuery::Last),
        Self::Record(RecordQuery::Records),
    ];
    pub(crate) const WRITES: [Self; 14] = [
        Self::Insert,
        Self::Replace,
        Self::Reset,
        Self::Issue,
        Self::Revoke,
        Self::Claim,
        Self::Probe,
        Self::Annex(AnnexQuery::TurnPage),
        Self::Annex(AnnexQuery::ClearShelf),
        Self::Annex(AnnexQuery::Adopt),
        Self::Annex(AnnexQuery::TakeAnswer),
        Self::Annex(AnnexQuery::BeginOrigins),
        Self::Annex(AnnexQuery::KeepOrigins),
        Self::Record(RecordQuery::Publish),
    ];

    /// Those of the vault, which has connections of its own.
    pub(crate) const VAULT: [Self; 19] = [
        Self::Vault(VaultQuery::KeyIds),
        Self::Vault(VaultQuery::KeepCommon),
        Self::Vault(VaultQuery::Common),
        Self::Vault(VaultQuery::Put),
        Self::Vault(VaultQuery::Find),
        Self::Vault(VaultQuery::Bury),
        Self::Vault(VaultQuery::BuryMemory),
        Self::Vault(VaultQuery::EndSession),
        Self::Vault(VaultQuery::Owed),
        Self::Vault(VaultQuery::Settle),
        Self::Vault(VaultQuery::Buried),
        Self::Vault(VaultQuery::StoredBefore),
        Self::Vault(VaultQuery::Issued),
        Self::Vault(VaultQuery::Generation),
        Self::Vault(VaultQuery::MarkResolved),
        Self::Vault(VaultQuery::Withdraw),
        Self::Vault(VaultQuery::RewrapCommon),
        Self::Vault(VaultQuery::UnderOtherKeys),
        Self::Vault(VaultQuery::Rewrap),
    ];

    pub(crate) const fn sql(self) -> &'static str {
        match self {
            Self::Read => {
                "SELECT version, epoch, label, document::text, (SELECT fence FROM writer WHERE ledger = $2::text)
                 FROM session WHERE id = $1"
            }
            Self::Page => {
                "SELECT id, version, epoch, label, document::text FROM session WHERE id > $1 ORDER BY id LIMIT $2"
            }
            Self::Count => "SELECT count(*) FROM session",
            Self::Resets => "SELECT decided_by, reason, at FROM reset WHERE session = $1 ORDER BY epoch",
            Self::FindToken => {
                "SELECT id, digest, role, principal, agent, issued_at, revoked_at FROM token WHERE digest = $1"
            }
            Self::Tokens => {
                "SELECT id, digest, role, principal, agent, issued_at, revoked_at FROM token ORDER BY issued_at, place"
            }
            Self::Insert => {
                "INSERT INTO session (id, version, epoch, label, document) SELECT $1, $2, $3, $4, $5::text::jsonb
                 WHERE $6::text IS NULL OR EXISTS (SELECT 1 FROM writer WHERE ledger = $6::text AND fence = $7)
                 ON CONFLICT (id) DO NOTHING"
            }
            // INVARIANT (ratchet monotone): the version is compared in the very statement that replaces the row.
            Self::Replace => {
                "UPDATE session SET version = $2, epoch = $3, label = $4, document = $5::text::jsonb
                 WHERE id = $1 AND version = $2::bigint - 1 AND epoch = $3::bigint
                 AND ($6::text IS NULL OR EXISTS (SELECT 1 FROM writer WHERE ledger = $6::text AND fence = $7))"
            }
            Self::Reset => {
                "WITH started_anew AS (
                     UPDATE session SET version = $2, epoch = $3, label = $4, document = $5::text::jsonb
                     WHERE id = $1 AND version = $2::bigint - 1 AND epoch = $3::bigint - 1
                     AND ($6::text IS NULL OR EXISTS (SELECT 1 FROM writer WHERE ledger = $6::text AND fence = $7))
                     RETURNING id)
                 INSERT INTO reset (session, epoch, decided_by, reason, at) SELECT id, $3, $8, $9, $10 FROM started_anew"
            }
            Self::Issue => {
                "INSERT INTO token (id, digest, role, principal, agent, issued_at, revoked_at)
                 VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING"
            }
            Self::Revoke => "UPDATE token SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1",
            Self::Claim => {
                "INSERT INTO writer (ledger, fence) VALUES ($1, 1)
                 ON CONFLICT (ledger) DO UPDATE SET fence = writer.fence + 1 RETURNING fence"
            }
            Self::Probe => "UPDATE store SET probes = probes + 1",
            Self::Annex(query) => query.sql(),
            Self::Gate(query) => query.sql(),
            Self::Review(query) => query.sql(),
            Self::Vault(query) => query.sql(),
            Self::Record(query) => query.sql(),
        }
    }
}
