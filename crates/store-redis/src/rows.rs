//! Sessions as hashes.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::try_join_all;
use redis::{Cmd, FromRedisValue, Script, Value};
use serde::{Deserialize, Serialize};
use tidegate_core::{Class, Ident, Moment};
use tidegate_store::{Change, Remote, Reset, Row, Rows, StoreError};
use tokio::sync::broadcast;

use crate::address::Address;
use crate::changes::Changes;
use crate::failure::{damaged, refused};
use crate::keys::{Keys, SHARDS};
use crate::lanes::Lanes;
use crate::question::{Question, believed};
use crate::scripts::Scripts;

/// Sessions in Redis.
pub struct RedisRows {
    lanes: Lanes,
    pub(crate) keys: Keys,
    pub(crate) scripts: Scripts,
    changes: Changes,
    /// How many replicas must have what is acknowledged, and what is read.
    replicas: u32,
    timeout: Duration,
    /// The ledger this handle writes to, and the fence it was given.
    claim: RwLock<Option<(Ident, i64)>>,
}

/// A reset as it is kept.
#[derive(Serialize, Deserialize)]
struct KeptReset {
    by: String,
    reason: String,
    at: i64,
}

impl RedisRows {
    pub(crate) async fn connect(remote: &Remote) -> Result<Self, StoreError> {
        if !Remote::is_namespace(&remote.namespace) {
            return Err(refused("the store's namespace is no plain word"));
        }
        let address = Arc::new(Address::read(remote)?);
        let replicas = match (&*address, remote.replicas) {
            (Address::Sentinel(_), None | Some(0)) | (Address::Cluster(_), None) => {
                return Err(refused(
                    "with sentinels or a cluster, say how many replicas must have a change before it counts (replicas = 1 or more; \
                     0 for a cluster without replicas): without that, a failover would forget labels",
                ));
            }
            (_, replicas) => replicas.unwrap_or(0),
        };
        let keys = Keys::new(&remote.namespace);
        let rows = Self {
            lanes: Lanes::new(Arc::clone(&address), &keys, remote.timeout),
            scripts: Scripts::new(),
            changes: Changes::follow(Arc::clone(&address), keys.channel(), remote.timeout),
            replicas,
            timeout: remote.timeout,
            claim: RwLock::new(None),
            keys,
        };
        rows.ready().await?;
        Ok(rows)
    }

    /// Asks the server that holds `reads`, and gives the answers that so many replicas vouch for as must.
    pub(crate) async fn ask<T: FromRedisValue>(
        &self,
        reads: &str,
        question: Question<'_>,
    ) -> Result<T, StoreError> {
        let answers = match self.replicas {
            0 => self.lanes.ask(reads, &question).await?,
            replicas => {
                let question = question.proven(reads, replicas, self.timeout);
                believed(self.lanes.ask(reads, &question).await?, replicas)?
            }
        };
        redis::from_redis_value(Value::Array(answers)).map_err(|_| damaged())
    }

    /// Calls a script. All its keys are in the slot of `reads`.
    pub(crate) async fn call(
        &self,
        reads: &str,
        script: &Script,
        keys: &[&str],
        args: &[&str],
    ) -> Result<Vec<String>, StoreError> {
        let (answer,) = self.ask(reads, Question::call(script, keys, args)).await?;
        Ok(answer)
    }

    /// The ledger and the fence, as scripts want them: empty when nothing was claimed.
    fn claim(&self) -> (String, String) {
        let claim = self.claim.read().unwrap_or_else(PoisonError::into_inner);
        let parts = claim.as_ref();
        parts.map_or_else(Default::default, |(ledger, fence)| {
            (ledger.to_string(), fence.to_string())
        })
    }

    async fn row(&self, id: &Ident, claim: &(String, String)) -> Result<Option<Row>, StoreError> {
        let shard = Keys::shard(id);
        let (session, writers) = (self.keys.session(id), self.keys.writers(shard));
        let (keys, args) = ([session.as_str(), &writers], [claim.0.as_str(), &claim.1]);
        let reads = self.keys.reads(shard);
        let answer = self.call(&reads, &self.scripts.read, &keys, &args).await?;
        match verdict(&answer)? {
            "row" => read_row(answer.get(1..).unwrap_or_default()).map(Some),
            "none" => Ok(None),
            _ => Err(damaged()),
        }
    }
}

#[async_trait]
impl Rows for RedisRows {
    async fn insert(&self, id: &Ident, row: &Row) -> Result<bool, StoreError> {
        let (ledger, fence) = self.claim();
        let shard = Keys::shard(id);
        let (session, ids, writers) = (
            self.keys.session(id),
            self.keys.ids(shard),
            self.keys.writers(shard),
        );
        let (version, epoch, rank) = numbers(row);
        let args = [
            &ledger,
            &fence,
            id.as_str(),
            &version,
            &epoch,
            row.label.as_str(),
            &rank,
            &row.document,
        ];
        let (keys, reads) = ([session.as_str(), &ids, &writers], self.keys.reads(shard));
        let answer = self.call(&reads, &self.scripts.insert, &keys, &args).await?;
        match verdict(&answer)? {
            "done" => Ok(true),
            "taken" => Ok(false),
            _ => Err(damaged()),
        }
    }

    async fn read(&self, id: &Ident) -> Result<Option<Row>, StoreError> {
        self.row(id, &self.claim()).await
    }

    async fn replace(&self, id: &Ident, after: &Row, reset: Option<&Reset>) -> Result<bool, StoreError> {
        let (ledger, fence) = self.claim();
        let shard = Keys::shard(id);
        let (session, resets, writers) = (
            self.keys.session(id),
            self.keys.resets(id),
            self.keys.writers(shard),
        );
        let kept = reset.map(|reset| KeptReset {
            by: reset.by.to_string(),
            reason: reset.reason.clone(),
            at: reset.at.0,
        });
        let kept = kept.map(|kept| serde_json::to_string(&kept)).transpose();
        let kept = kept.map_err(|_| damaged())?.unwrap_or_default();
        let (version, epoch, rank) = numbers(after);
        let channel = self.keys.channel();
        let args = [
            ledger.as_str(),
            &fence,
            &version,
            &epoch,
            after.label.as_str(),
            &rank,
            &after.document,
            &kept,
            &channel,
            id.as_str(),
        ];
        let (keys, reads) = ([session.as_str(), &resets, &writers], self.keys.reads(shard));
        let answer = self.call(&reads, &self.scripts.replace, &keys, &args).await?;
        match verdict(&answer)? {
            "done" => Ok(true),
            "stale" => Ok(false),
            "none" => Err(StoreError::NoSession),
            _ => Err(damaged()),
        }
    }

    async fn resets(&self, id: &Ident) -> Result<Vec<Reset>, StoreError> {
        let reads = self.keys.reads(Keys::shard(id));
        let question = Question::of([Cmd::lrange(self.keys.resets(id), 0, -1)]);
        let (kept,): (Vec<String>,) = self.ask(&reads, question).await?;
        let read = |text: &String| {
            let kept: KeptReset = serde_json::from_str(text).map_err(|_| damaged())?;
            Ok(Reset {
                by: Ident::parse(&kept.by).map_err(|_| damaged())?,
                reason: kept.reason,
                at: Moment(kept.at),
            })
        };
        kept.iter().map(read).collect()
    }

    async fn page(&self, after: &str, limit: usize) -> Result<Vec<(Ident, Row)>, StoreError> {
        let from = if after.is_empty() {
            "-".to_owned()
        } else {
            format!("({after}")
        };
        let count = isize::try_from(limit).unwrap_or(isize::MAX);
        let of_shard = |shard: u32| {
            let ids = Cmd::zrangebylex_limit(self.keys.ids(shard), &from, "+", 0, count);
            async move {
                let (ids,): (Vec<String>,) = self.ask(&self.keys.reads(shard), Question::of([ids])).await?;
                Ok::<_, StoreError>(ids)
            }
        };
        let mut ids = try_join_all((0..SHARDS).map(of_shard)).await?.concat();
        ids.sort_unstable();
        ids.truncate(limit);
        let claim = (String::new(), String::new());
        let mut page = Vec::with_capacity(ids.len());
        for some in ids.chunks(64) {
            let rows = some.iter().map(|id| async {
                let id = Ident::parse(id).map_err(|_| damaged())?;
                let row = self.row(&id, &claim).await?;
                Ok::<_, StoreError>((id, row.ok_or_else(damaged)?))
            });
            page.extend(try_join_all(rows).await?);
        }
        Ok(page)
    }

    async fn count(&self) -> Result<u64, StoreError> {
        let of_shard = |shard: u32| async move {
            let question = Question::of([Cmd::zcard(self.keys.ids(shard))]);
            let (count,): (u64,) = self.ask(&self.keys.reads(shard), question).await?;
            Ok::<_, StoreError>(count)
        };
        let counts = try_join_all((0..SHARDS).map(of_shard)).await?;
        Ok(counts.into_iter().sum())
    }

    async fn ready(&self) -> Result<(), StoreError> {
        let counters = self.lanes.one_for_each_server(self.keys.counters()).await?;
        let probes = counters.iter().map(|key| async move {
            let (_,): (i64,) = self.ask(key, Question::of([Cmd::incr(key, 1)])).await?;
            Ok::<_, StoreError>(())
        });
        try_join_all(probes).await.map(|_| ())
    }

    async fn claim(&self, ledger: &Ident) -> Result<(), StoreError> {
        // The first shard counts, the others follow; a gateway with an older fence is refused in each shard from then on.
        let raise = Question::of([Cmd::hincr(self.keys.writers(0), ledger.as_str(), 1)]);
        let (fence,): (i64,) = self.ask(&self.keys.reads(0), raise).await?;
        for shard in 1..SHARDS {
            let (writers, reads) = (self.keys.writers(shard), self.keys.reads(shard));
            let args = [ledger.as_str(), &fence.to_string()];
            let answer = self.call(&reads, &self.scripts.fence, &[&writers], &args).await?;
            verdict(&answer)?;
        }
        let mut claim = self.claim.write().unwrap_or_else(PoisonError::into_inner);
        *claim = Some((ledger.clone(), fence));
        Ok(())
    }

    fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }
}

/// What a script came to, unless that is a refusal.
pub(crate) fn verdict(answer: &[String]) -> Result<&str, StoreError> {
    match answer.first().map(String::as_str) {
        Some("fenced") => Err(StoreError::Fenced),
        Some("expires") => Err(refused(
            "a session in Redis is set to expire, which would clear its label: take that away (PERSIST) and find out who set it",
        )),
        Some("lower") => Err(refused("a change would have lowered a label")),
        Some(other) => Ok(other),
        None => Err(damaged()),
    }
}

fn numbers(row: &Row) -> (String, String, String) {
    (
        row.version.to_string(),
        row.epoch.to_string(),
        row.label.rank().to_string(),
    )
}

fn read_row(parts: &[String]) -> Result<Row, StoreError> {
    let [version, epoch, label, document] = parts else {
        return Err(damaged());
    };
    let label = Class::ALL.into_iter().find(|class| class.as_str() == label);
    Ok(Row {
        version: version.parse().map_err(|_| damaged())?,
        epoch: epoch.parse().map_err(|_| damaged())?,
        label: label.ok_or_else(damaged)?,
        document: document.clone(),
    })
}
