//! A connection to one server or to a cluster, used in the same way.

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{MultipleNodeRoutingInfo, Route, RoutingInfo, SingleNodeRoutingInfo, SlotAddr};
use redis::{
    AsyncConnectionConfig, Cmd, ErrorKind, FromRedisValue, Pipeline, RedisError, RedisFuture, RedisResult,
    ServerErrorKind, Value,
};
use std::collections::HashMap;
use std::time::Duration;
use tidegate_store::StoreError;

use crate::address::Address;
use crate::failure::unreachable;
use crate::question::Question;

/// A connection that any number of questions share.
#[derive(Clone)]
pub(crate) enum Wire {
    One(MultiplexedConnection),
    Cluster(ClusterConnection),
}

impl Wire {
    pub(crate) async fn open(address: &Address, timeout: Duration) -> Result<Self, StoreError> {
        let opened = match address {
            Address::Cluster(nodes, _) => nodes.get_async_connection().await.map(Self::Cluster),
            Address::Server(_) | Address::Sentinel(_) => {
                let config = AsyncConnectionConfig::new()
                    .set_connection_timeout(Some(timeout))
                    .set_response_timeout(Some(timeout));
                let client = address.client().await?;
                let connection = client.get_multiplexed_async_connection_with_config(&config).await;
                connection.map(Self::One)
            }
        };
        opened.map_err(|error| unreachable(&error))
    }

    /// Asks the server, or every primary of the cluster, and gives all their answers.
    pub(crate) async fn ask_all<T: FromRedisValue>(&mut self, cmd: Cmd) -> RedisResult<Vec<T>> {
        match self {
            Self::One(connection) => Ok(vec![cmd.query_async(connection).await?]),
            Self::Cluster(connection) => {
                let all = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
                let answers = connection.route_command(cmd, all).await?;
                let answers: HashMap<String, T> = redis::from_redis_value(answers)?;
                Ok(answers.into_values().collect())
            }
        }
    }

    /// Asks one command after the other of the server that holds `key`.
    pub(crate) async fn send(&mut self, key: &str, question: &Question<'_>) -> RedisResult<Vec<Value>> {
        let mut answers = Vec::with_capacity(question.commands.len());
        for command in &question.commands {
            let answer = match (self.route(key, command).await, question.script) {
                (Err(error), Some(script)) if is_unknown_script(&error) => {
                    let _: String = script.load_async(self).await?;
                    self.route(key, command).await
                }
                (answer, _) => answer,
            };
            answers.push(answer?);
        }
        Ok(answers)
    }

    async fn route(&mut self, key: &str, command: &Cmd) -> RedisResult<Value> {
        match self {
            Self::One(connection) => command.query_async(connection).await,
            Self::Cluster(connection) => {
                let route = Route::new(slot(key), SlotAddr::Master);
                let place = RoutingInfo::SingleNode(SingleNodeRoutingInfo::SpecificNode(route));
                let answer = connection.route_command(command.clone(), place).await;
                answer.and_then(Value::extract_error)
            }
        }
    }
}

fn is_unknown_script(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
}

impl ConnectionLike for Wire {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Self::One(connection) => connection.req_packed_command(cmd),
            Self::Cluster(connection) => connection.req_packed_command(cmd),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self {
            Self::One(connection) => connection.req_packed_commands(pipeline, offset, count),
            Self::Cluster(connection) => connection.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Self::One(connection) => connection.get_db(),
            Self::Cluster(connection) => connection.get_db(),
        }
    }
}

/// The slot of a cluster that a key is in: of what stands in braces, or of all of it.
fn slot(key: &str) -> u16 {
    let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
    let hashed = tag.map_or(key, |(tag, _)| tag);
    crc16::State::<crc16::XMODEM>::calculate(hashed.as_bytes()) % 16_384
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_with_one_tag_share_a_slot() {
        assert_eq!(slot("123456789"), 0x31c3);
        assert_eq!(slot("tidegate:{s07}:session:a"), slot("tidegate:{s07}:ids"));
        assert_ne!(slot("tidegate:{s07}:ids"), slot("tidegate:{s08}:ids"));
    }
}
