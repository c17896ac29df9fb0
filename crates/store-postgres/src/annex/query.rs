//! The statements for notes, kinship and origins.

/// A statement of the annex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnnexQuery {
    Page,
    LeftBehind,
    Kin,
    Children,
    Recall,
    OriginMemory,
    TurnPage,
    ClearShelf,
    Adopt,
    TakeAnswer,
    BeginOrigins,
    KeepOrigins,
}

impl AnnexQuery {
    pub(crate) const fn sql(self) -> &'static str {
        match self {
            Self::Page => {
                "SELECT pointer, class, at FROM page WHERE shelf = $1 AND of_user = $2 AND owner = $3"
            }
            Self::LeftBehind => {
                "SELECT session.id FROM page JOIN session ON session.id = page.owner
                 WHERE page.shelf = 'run' AND session.document -> 'halt' ->> 'source' = $1 ORDER BY session.id LIMIT $2"
            }
            Self::Kin => "SELECT child, parent, answer, answer_bits, at FROM kin WHERE child = $1",
            Self::Children => "SELECT child FROM kin WHERE parent = $1 ORDER BY place",
            // A session without a memory, and a memory without chunks, are each one row.
            Self::Recall => {
                "SELECT origin.closed, origin.last, chunk.origin, chunk.source, chunk.digests
                 FROM session LEFT JOIN origin ON origin.session = session.id
                 LEFT JOIN origin_chunk AS chunk ON chunk.session = session.id AND chunk.place > $2
                 WHERE session.id = $1 ORDER BY chunk.place"
            }
            Self::OriginMemory => {
                "SELECT version, closed, operator_kept, others_kept FROM origin WHERE session = $1"
            }
            Self::TurnPage => "SELECT turn_page($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            Self::ClearShelf => {
                "DELETE FROM page WHERE shelf = $1 AND of_user = $2 AND owner = $3 RETURNING pointer, class, at"
            }
            Self::Adopt => "SELECT adopt($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            Self::TakeAnswer => "SELECT verdict, taken FROM take_answer($1, $2, $3, $4, $5)",
            Self::BeginOrigins => {
                "WITH known AS (SELECT id FROM session WHERE id = $1),
                 begun AS (INSERT INTO origin (session, closed) SELECT id, $2 FROM known ON CONFLICT DO NOTHING)
                 SELECT count(*) FROM known"
            }
            // INVARIANT (origins compare and replace): the version is compared in the very statement that keeps the chunks.
            Self::KeepOrigins => {
                "WITH grown AS (
                     UPDATE origin SET version = version + 1, closed = $5, operator_kept = $6, others_kept = $7,
                            last = last + cardinality($8::text[])
                     WHERE session = $3 AND version = $4 AND NOT is_fenced_off($1, $2)
                     RETURNING session, last - cardinality($8::text[]) AS before),
                 kept AS (
                     INSERT INTO origin_chunk (session, place, origin, source, digests)
                     SELECT grown.session, grown.before + chunk.place, chunk.origin, chunk.source, chunk.digests
                     FROM grown, unnest($8::text[], $9::text[], $10::bytea[])
                          WITH ORDINALITY AS chunk (origin, source, digests, place))
                 SELECT (SELECT count(*) FROM grown), is_fenced_off($1, $2)"
            }
        }
    }
}
