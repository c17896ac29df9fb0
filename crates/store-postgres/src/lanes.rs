//! A few connections, each used by many at once: questions are sent without waiting for the answers to earlier ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tidegate_store::StoreError;
use tokio::sync::Mutex;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};

use crate::failure::{failed, too_slow};
use crate::query::Query;
use crate::server::{Link, Server};

/// Connections for some of the statements.
pub(crate) struct Lanes {
    server: Arc<Server>,
    queries: &'static [Query],
    lanes: Vec<Lane>,
    /// How many questions may be under way on all of them.
    most: usize,
    under_way: AtomicUsize,
}

#[derive(Default)]
struct Lane {
    open: Mutex<Option<Arc<Open>>>,
    under_way: AtomicUsize,
}

struct Open {
    link: Link,
    prepared: Vec<(Query, Statement)>,
}

pub(crate) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Why a statement did not go through: what the server said, for the few who look at it.
pub(crate) enum Refused {
    Sql(tokio_postgres::Error),
    Store(StoreError),
}

impl From<Refused> for StoreError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Sql(error) => failed(&error),
            Refused::Store(error) => error,
        }
    }
}

impl Lanes {
    pub(crate) fn new(server: Arc<Server>, queries: &'static [Query], count: usize, most: usize) -> Self {
        Self {
            server,
            queries,
            lanes: (0..count.max(1)).map(|_| Lane::default()).collect(),
            most,
            under_way: AtomicUsize::new(0),
        }
    }

    /// The rows that a statement gives.
    pub(crate) async fn rows(&self, query: Query, values: Values<'_>) -> Result<Vec<Row>, Refused> {
        self.ask(query, async |open: Arc<Open>, statement| {
            open.link.client.query(&statement, values).await
        })
        .await
    }

    /// How many rows a statement changed.
    pub(crate) async fn execute(&self, query: Query, values: Values<'_>) -> Result<u64, Refused> {
        self.ask(query, async |open: Arc<Open>, statement| {
            open.link.client.execute(&statement, values).await
        })
        .await
    }

    async fn ask<T, F>(&self, query: Query, ask: impl FnOnce(Arc<Open>, Statement) -> F) -> Result<T, Refused>
    where
        F: Future<Output = Result<T, tokio_postgres::Error>>,
    {
        let _counted = Counted::new(&self.under_way);
        if self.under_way.load(Ordering::Relaxed) > self.most {
            return Err(Refused::Store(StoreError::Overloaded));
        }
        let lane = self.quietest()?;
        let _on_lane = Counted::new(&lane.under_way);
        let mut used = None;
        let asking = async {
            let open = lane.open(&self.server, self.queries).await?;
            used = Some(Arc::clone(&open));
            let statement = open.prepared.iter().find(|(known, _)| *known == query);
            let statement = statement
                .map(|(_, statement)| statement.clone())
                .ok_or_else(closed)?;
            ask(open, statement).await.map_err(Refused::Sql)
        };
        let answer = tokio::time::timeout(self.server.timeout, asking).await;
        let answer = answer.unwrap_or_else(|_| Err(Refused::Store(too_slow())));
        let lost = match &answer {
            Ok(_) => false,
            // The server looked at the statement and refused it; the connection is as good as before.
            Err(Refused::Sql(error)) => error.code().is_none(),
            Err(Refused::Store(_)) => true,
        };
        if let (true, Some(used)) = (lost, used) {
            lane.give_up(&used).await;
        }
        answer
    }

    fn quietest(&self) -> Result<&Lane, Refused> {
        let load = |lane: &&Lane| lane.under_way.load(Ordering::Relaxed);
        self.lanes.iter().min_by_key(load).ok_or_else(closed)
    }
}

impl Lane {
    async fn open(&self, server: &Server, queries: &[Query]) -> Result<Arc<Open>, Refused> {
        let mut slot = self.open.lock().await;
        if let Some(open) = slot.as_ref().filter(|open| !open.link.client.is_closed()) {
            return Ok(Arc::clone(open));
        }
        *slot = None;
        let link = server.connect().await.map_err(Refused::Store)?;
        let mut prepared = Vec::with_capacity(queries.len());
        for query in queries {
            let statement = link.client.prepare(query.sql()).await.map_err(Refused::Sql)?;
            prepared.push((*query, statement));
        }
        let open = Arc::new(Open { link, prepared });
        *slot = Some(Arc::clone(&open));
        Ok(open)
    }

    /// Lets go of a connection, unless somebody has done so already: the next question makes a new one.
    async fn give_up(&self, used: &Arc<Open>) {
        let mut slot = self.open.lock().await;
        if slot.as_ref().is_some_and(|open| Arc::ptr_eq(open, used)) {
            *slot = None;
        }
    }
}

fn closed() -> Refused {
    Refused::Store(StoreError::Backend("the store has no connection".to_owned()))
}

/// Counts for as long as it lives.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
