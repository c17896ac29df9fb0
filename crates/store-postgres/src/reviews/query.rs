//! The statements for class reviews. One for each way of listing, so that each is planned for its own index.

use tidegate_store::Reviewed;

use crate::query::Query;

/// A statement about class reviews.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReviewStatement {
    Find,
    Latest,
    CountOpen,
    ListOpen,
    ListSettled,
    ListAll,
    Open,
    Settle,
}

macro_rules! reviews {
    ($rest:literal) => {
        concat!(
            "SELECT id, source, cause, class, ceiling, opened_at, seen_at, seen, settled_by, settled_role, verdict, reason, \
             settled_at, place FROM class_review WHERE ",
            $rest
        )
    };
}

impl ReviewStatement {
    /// Every statement.
    pub(crate) const ALL: [Query; 8] = [
        Query::Review(Self::Find),
        Query::Review(Self::Latest),
        Query::Review(Self::CountOpen),
        Query::Review(Self::ListOpen),
        Query::Review(Self::ListSettled),
        Query::Review(Self::ListAll),
        Query::Review(Self::Open),
        Query::Review(Self::Settle),
    ];

    /// The statement that lists these.
    pub(super) const fn listing(listed: Reviewed) -> Self {
        match listed {
            Reviewed::Open => Self::ListOpen,
            Reviewed::Settled => Self::ListSettled,
            Reviewed::All => Self::ListAll,
        }
    }

    pub(crate) const fn sql(self) -> &'static str {
        match self {
            Self::Find => reviews!("id = $1"),
            Self::Latest => reviews!("source = $1 AND cause = $2 ORDER BY place DESC LIMIT 1"),
            Self::CountOpen => "SELECT count(*) FROM class_review WHERE cause = $1 AND settled_at IS NULL",
            Self::ListOpen => reviews!("settled_at IS NULL AND place > $1 ORDER BY place LIMIT $2"),
            Self::ListSettled => {
                reviews!("settled_at IS NOT NULL AND place < $1 ORDER BY place DESC LIMIT $2")
            }
            Self::ListAll => reviews!("place < $1 ORDER BY place DESC LIMIT $2"),
            Self::Open => "SELECT verdict, its_id FROM open_class_review($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            Self::Settle => "SELECT outcome FROM settle_class_review($1, $2, $3, $4, $5, $6, $7, $8)",
        }
    }
}
