//! A cluster: which server holds which slot, and how each of its servers is reached.
//!
//! Nothing here sends a command to another server than the one that was meant: which one that is, is told by the cluster and asked
//! again when a server says that it is not, or cannot be reached.

use std::time::Duration;

use futures_util::future::join_all;
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, RedisError, RedisResult, TlsCertificates,
    Value,
};
use tidegate_store::StoreError;

use crate::address::client;
use crate::failure::{refused, unreachable};

/// How many slots there are.
const SLOTS: u16 = 16_384;

/// The servers of a cluster that are known beforehand, and how any of them is spoken to.
pub(crate) struct Cluster {
    pub(crate) seeds: Vec<Node>,
    pub(crate) tls: bool,
    /// Who asks. The address in it is a seed's.
    pub(crate) login: ConnectionInfo,
    pub(crate) certificates: Option<TlsCertificates>,
}

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// Slots, and the primary that holds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) first: u16,
    pub(crate) last: u16,
    pub(crate) by: Node,
}

/// What one server knows of the cluster.
#[derive(Debug, PartialEq, Eq)]
struct View {
    /// Whether it sees itself as part of a cluster that serves.
    serves: bool,
    /// How many changes of the cluster it has heard of.
    epoch: u64,
    held: Vec<Held>,
}

impl Cluster {
    pub(crate) fn client(&self, node: &Node) -> Result<Client, StoreError> {
        let (host, port) = (node.host.clone(), node.port);
        let address = match self.tls {
            true => ConnectionAddr::TcpTls {
                host,
                port,
                insecure: false,
                tls_params: None,
            },
            false => ConnectionAddr::Tcp(host, port),
        };
        client(self.login.clone().set_addr(address), self.certificates.clone())
    }

    /// Which primary holds which slots, by the server that has heard of the most changes. All that are known are asked: one that
    /// was cut off from the others answers too, with what it knew before.
    pub(crate) async fn held(&self, known: &[Held], timeout: Duration) -> Result<Vec<Held>, StoreError> {
        let mut nodes: Vec<&Node> = Vec::new();
        for node in self.seeds.iter().chain(known.iter().map(|held| &held.by)) {
            if !nodes.contains(&node) {
                nodes.push(node);
            }
        }
        let views = join_all(nodes.into_iter().map(|node| self.view(node, timeout))).await;
        let mut failure = refused("the cluster has no server");
        let mut best: Option<View> = None;
        for view in views {
            match view {
                Ok(view) if best.as_ref().is_none_or(|best| view.rank() > best.rank()) => best = Some(view),
                Ok(_) => {}
                Err(error) => failure = error,
            }
        }
        best.map(|view| view.held).ok_or(failure)
    }

    async fn view(&self, node: &Node, timeout: Duration) -> Result<View, StoreError> {
        let client = self.client(node)?;
        let asking = async {
            let mut connection = connect(&client, timeout).await?;
            let mut ask = redis::pipe();
            ask.cmd("CLUSTER").arg("INFO").cmd("CLUSTER").arg("SLOTS");
            ask.query_async::<(String, Vec<Value>)>(&mut connection).await
        };
        let answer = tokio::time::timeout(timeout, asking).await;
        let (info, slots) = answer
            .unwrap_or_else(|_| {
                Err(RedisError::from(std::io::Error::from(
                    std::io::ErrorKind::TimedOut,
                )))
            })
            .map_err(|error| unreachable(&error))?;
        View::read(&info, slots, node)
            .ok_or_else(|| refused("a server of the cluster gave an answer that is none"))
    }
}

impl View {
    const fn rank(&self) -> (bool, u64) {
        (self.serves, self.epoch)
    }

    fn read(info: &str, slots: Vec<Value>, asked: &Node) -> Option<Self> {
        let said = |name: &str| {
            let mut lines = info.lines().filter_map(|line| line.trim_end().split_once(':'));
            lines.find_map(|(key, value)| (key == name).then_some(value))
        };
        let held = slots.into_iter().map(|slots| read_held(slots, asked));
        Some(Self {
            serves: said("cluster_state")? == "ok",
            epoch: said("cluster_current_epoch")?.parse().ok()?,
            held: held.collect::<Option<_>>()?,
        })
    }
}

/// The first and the last slot, the primary, and its replicas. A server leaves out its host where it is the one that was asked for.
fn read_held(slots: Value, asked: &Node) -> Option<Held> {
    let Value::Array(parts) = slots else { return None };
    let mut parts = parts.into_iter();
    let first = redis::from_redis_value(parts.next()?).ok()?;
    let last = redis::from_redis_value(parts.next()?).ok()?;
    let Value::Array(primary) = parts.next()? else {
        return None;
    };
    let mut primary = primary.into_iter();
    let host: Option<String> = redis::from_redis_value(primary.next()?).ok()?;
    let host = match host.as_deref() {
        None | Some("" | "0.0.0.0" | "::") => asked.host.clone(),
        Some("?") => return None,
        Some(host) => host.to_owned(),
    };
    let port = redis::from_redis_value(primary.next()?).ok()?;
    let by = Node { host, port };
    Some(Held { first, last, by })
}

/// A connection to one server. It is never made anew by itself: what is sent over it reaches this server or nobody.
pub(crate) async fn connect(client: &Client, timeout: Duration) -> RedisResult<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(timeout))
        .set_response_timeout(Some(timeout));
    client.get_multiplexed_async_connection_with_config(&config).await
}

/// The slot of a cluster that a key is in: of what stands in braces, or of all of it.
pub(crate) fn slot(key: &str) -> u16 {
    let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
    let hashed = tag.map_or(key, |(tag, _)| tag);
    crc16::State::<crc16::XMODEM>::calculate(hashed.as_bytes()) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    fn slots(first: i64, last: i64, host: Value) -> Value {
        let replica = Value::Array(vec![text("192.0.2.9"), Value::Int(7_009)]);
        let primary = Value::Array(vec![host, Value::Int(7_001), text("id")]);
        Value::Array(vec![Value::Int(first), Value::Int(last), primary, replica])
    }

    fn held(first: u16, last: u16, host: &str) -> Held {
        let by = Node {
            host: host.to_owned(),
            port: 7_001,
        };
        Held { first, last, by }
    }

    #[test]
    fn keys_with_one_tag_share_a_slot() {
        assert_eq!(slot("123456789"), 0x31c3);
        assert_eq!(slot("tidegate:{s07}:session:a"), slot("tidegate:{s07}:ids"));
        assert_ne!(slot("tidegate:{s07}:ids"), slot("tidegate:{s08}:ids"));
    }

    #[test]
    fn a_view_names_the_primaries() {
        let asked = Node {
            host: "asked".to_owned(),
            port: 1,
        };
        let said = "cluster_state:ok\r\ncluster_slots_assigned:16384\r\ncluster_current_epoch:7\r\n";
        let read = |slots| View::read(said, slots, &asked);
        let whole = read(vec![
            slots(0, 5_460, text("192.0.2.1")),
            slots(5_461, 10_922, text("")),
            slots(10_923, 16_383, Value::Nil),
        ]);
        let expected = View {
            serves: true,
            epoch: 7,
            held: vec![
                held(0, 5_460, "192.0.2.1"),
                held(5_461, 10_922, "asked"),
                held(10_923, 16_383, "asked"),
            ],
        };
        assert_eq!(whole, Some(expected));
        assert_eq!(read(vec![slots(0, 16_383, text("?"))]), None);
        assert_eq!(read(vec![Value::Int(1)]), None);
        assert_eq!(View::read("cluster_state:ok", vec![], &asked), None);
    }
}
