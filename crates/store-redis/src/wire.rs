//! A connection to one server, shared by any number of questions.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Client, Cmd, ErrorKind, RedisError, RedisResult, ServerErrorKind, Value};
use tidegate_store::StoreError;

use crate::cluster::connect;
use crate::failure::unreachable;
use crate::question::Question;

/// INVARIANT (durable before acknowledged): what is sent over it reaches this one server over this one connection, or nobody. So the
/// replicas that a server counts have what was written before, and not what another server was told.
#[derive(Clone)]
pub(crate) struct Wire(MultiplexedConnection);

impl Wire {
    pub(crate) async fn open(client: &Client, timeout: Duration) -> Result<Self, StoreError> {
        let opened = connect(client, timeout).await;
        opened.map(Self).map_err(|error| unreachable(&error))
    }

    /// Asks all of it in one go. A script that the server does not know has changed nothing, so it is told and all is asked again.
    pub(crate) async fn ask(&mut self, question: &Question<'_>) -> RedisResult<Vec<Value>> {
        match (self.send(&question.commands).await, question.script) {
            (Err(error), Some(script)) if is_unknown_script(&error) => {
                let _: String = script.load_async(&mut self.0).await?;
                self.send(&question.commands).await
            }
            (answer, _) => answer,
        }
    }

    /// Sends commands in one go, and gives all their answers or the first refusal among them.
    pub(crate) async fn send(&mut self, commands: &[Cmd]) -> RedisResult<Vec<Value>> {
        let mut all = redis::pipe();
        for command in commands {
            all.add_command(command.clone());
        }
        let answers: Vec<RedisResult<Value>> = all.ignore_errors().query_async(&mut self.0).await?;
        answers.into_iter().collect()
    }
}

fn is_unknown_script(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
}
