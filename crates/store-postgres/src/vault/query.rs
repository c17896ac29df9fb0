//! The statements of the vault.

/// A statement of the vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VaultQuery {
    KeyIds,
    KeepCommon,
    Common,
    Put,
    Find,
    Bury,
    BuryMemory,
    EndSession,
    Owed,
    Settle,
    Buried,
    StoredBefore,
    Issued,
    Generation,
    MarkResolved,
    Withdraw,
    RewrapCommon,
    UnderOtherKeys,
    Rewrap,
}

impl VaultQuery {
    pub(crate) const fn sql(self) -> &'static str {
        match self {
            Self::KeyIds => {
                "SELECT key_id FROM vault UNION SELECT DISTINCT key_id FROM evidence WHERE key_id IS NOT NULL"
            }
            Self::KeepCommon => {
                "INSERT INTO vault (key_id, wrapped, content) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
            }
            Self::Common => "SELECT key_id, wrapped, content FROM vault",
            Self::Put => {
                "SELECT put_away($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"
            }
            Self::Find => {
                "SELECT destroyed_ms, key_id, wrapped, content FROM evidence WHERE id = $1 AND class = $2"
            }
            Self::Bury => {
                "WITH buried AS (
                     UPDATE evidence SET destroyed_ms = $3, holder = NULL, key_id = NULL, wrapped = NULL, content = NULL
                     FROM unnest($1::bytea[], $2::smallint[]) AS meant (id, class)
                     WHERE evidence.id = meant.id AND evidence.class = meant.class AND evidence.destroyed_ms IS NULL
                     RETURNING evidence.id, evidence.class),
                 told AS (
                     INSERT INTO owed (id, cause, asker, holder)
                     SELECT id, $4::smallint, $5::text, $6::text FROM buried WHERE $4::smallint IS NOT NULL)
                 SELECT id, class FROM buried"
            }
            // What this gateway held before it was started anew.
            Self::BuryMemory => {
                "UPDATE evidence SET destroyed_ms = $2, holder = NULL
                 WHERE destroyed_ms IS NULL AND content IS NULL AND holder = $1"
            }
            // Of a session, wherever it is held.
            Self::EndSession => {
                "WITH buried AS (
                     UPDATE evidence SET destroyed_ms = $2, holder = NULL
                     WHERE destroyed_ms IS NULL AND content IS NULL AND session = $1
                     RETURNING id)
                 INSERT INTO owed (id, cause, holder) SELECT id, $3::smallint, $4::text FROM buried"
            }
            Self::Owed => {
                "SELECT evidence.id, evidence.class, evidence.session, owed.cause, owed.asker
                 FROM owed JOIN evidence ON evidence.id = owed.id
                 WHERE owed.holder = $1 OR evidence.destroyed_ms < $2 LIMIT $3"
            }
            Self::Settle => "DELETE FROM owed WHERE id = ANY($1::bytea[])",
            Self::Buried => {
                "SELECT evidence.id, evidence.class
                 FROM evidence JOIN unnest($1::bytea[], $2::smallint[]) AS meant (id, class)
                 ON evidence.id = meant.id AND evidence.class = meant.class WHERE evidence.destroyed_ms IS NOT NULL"
            }
            Self::StoredBefore => {
                "SELECT id, class FROM evidence WHERE class = $1 AND stored_ms < $2 AND destroyed_ms IS NULL"
            }
            Self::Issued => {
                "SELECT name, number, kind, class, digest, pieces, resolved,
                        length(pieces) > 0 AND NOT EXISTS (
                            SELECT 1 FROM generate_series(0, length(issued.pieces) / 16 - 1) AS place
                            LEFT JOIN evidence ON evidence.id = substring(issued.pieces FROM place * 16 + 1 FOR 16)
                                 AND evidence.class = issued.class AND evidence.destroyed_ms IS NULL
                            WHERE evidence.id IS NULL)
                 FROM issued WHERE session = $1 ORDER BY name, number"
            }
            Self::Generation => "SELECT generation FROM issuing WHERE session = $1",
            Self::MarkResolved => {
                "WITH marked AS (
                     UPDATE issued SET resolved = true FROM unnest($2::text[], $3::bigint[]) AS used (name, number)
                     WHERE issued.session = $1 AND issued.name = used.name AND issued.number = used.number
                     AND NOT issued.resolved)
                 UPDATE issuing SET generation = generation + 1 WHERE session = $1"
            }
            Self::Withdraw => {
                "WITH withdrawn AS (UPDATE issued SET digest = NULL WHERE session = $1)
                 UPDATE issuing SET generation = generation + 1 WHERE session = $1"
            }
            Self::RewrapCommon => {
                "UPDATE vault SET key_id = $2, wrapped = $3 WHERE key_id = $1"
            }
            Self::UnderOtherKeys => {
                "SELECT id, class, key_id, wrapped FROM evidence WHERE key_id IS NOT NULL AND key_id <> $1 LIMIT $2"
            }
            Self::Rewrap => {
                "UPDATE evidence SET key_id = $1, wrapped = new.wrapped
                 FROM unnest($2::bytea[], $3::bytea[], $4::bytea[]) AS new (id, key_id, wrapped)
                 WHERE evidence.id = new.id AND evidence.key_id = new.key_id"
            }
        }
    }
}
