//! Addresses: one server, the primary that sentinels name, or a cluster.
//!
//! `redis://[user[:password]@]host[:port][/db]` and `rediss://` for TLS. `redis+sentinel://[user[:password]@]host[:port],host[:port]/name`
//! and `redis+cluster://[user[:password]@]host[:port],host[:port]`, with `rediss+` for TLS.

use std::path::Path;

use redis::sentinel::{SentinelClient, SentinelClientBuilder, SentinelServerType};
use redis::{Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, TlsCertificates, TlsMode};
use tidegate_store::{Remote, StoreError};
use tokio::sync::Mutex;

use crate::cluster::{Cluster, Node};
use crate::failure::{refused, unreachable};

/// Where the state is.
pub(crate) enum Address {
    /// One server.
    Server(Box<Client>),
    /// The primary that the sentinels name.
    Sentinel(Box<Mutex<SentinelClient>>),
    /// A cluster.
    Cluster(Box<Cluster>),
}

/// An address with several hosts, taken apart.
#[derive(Debug, PartialEq, Eq)]
struct Several<'a> {
    tls: bool,
    user: Option<&'a str>,
    password: Option<&'a str>,
    hosts: Vec<(&'a str, u16)>,
    name: &'a str,
}

impl Address {
    pub(crate) fn read(remote: &Remote) -> Result<Self, StoreError> {
        // The TLS library wants to be told which cryptography to use where a build holds several.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let url = remote.url.expose();
        let certificates = certificates(remote.ca_file.as_deref())?;
        let (scheme, rest) = url.split_once("://").ok_or_else(no_address)?;
        let password = remote.password.as_ref().map(|password| password.expose());
        match scheme {
            "redis" | "rediss" => server(url, password, certificates),
            "redis+sentinel" | "rediss+sentinel" => {
                let several = Several::read(scheme, rest, 26_379).ok_or_else(no_address)?;
                sentinel(&several, password, certificates)
            }
            "redis+cluster" | "rediss+cluster" => {
                let several = Several::read(scheme, rest, 6_379).ok_or_else(no_address)?;
                cluster(&several, password, certificates)
            }
            _ => Err(no_address()),
        }
    }

    /// A client of one server: the server, the primary of now, or this node of the cluster, or else any.
    pub(crate) async fn client(&self, node: Option<&Node>) -> Result<Client, StoreError> {
        match self {
            Self::Server(client) => Ok((**client).clone()),
            Self::Cluster(cluster) => {
                let node = node.or_else(|| cluster.seeds.first());
                cluster.client(node.ok_or_else(no_address)?)
            }
            Self::Sentinel(sentinel) => {
                let mut sentinel = sentinel.lock().await;
                sentinel
                    .async_get_client()
                    .await
                    .map_err(|error| unreachable(&error))
            }
        }
    }
}

impl<'a> Several<'a> {
    fn read(scheme: &str, rest: &'a str, port: u16) -> Option<Self> {
        let (login, places) = rest
            .rsplit_once('@')
            .map_or((None, rest), |(login, places)| (Some(login), places));
        let (user, password) = match login.map(|login| login.split_once(':').unwrap_or((login, ""))) {
            None => (None, None),
            Some((user, password)) => (filled(user), filled(password)),
        };
        let (hosts, name) = places.split_once('/').unwrap_or((places, ""));
        let hosts = hosts.split(',').map(|host| match host.rsplit_once(':') {
            Some((host, given)) => Some((host, given.parse().ok()?)),
            None => Some((host, port)),
        });
        let hosts: Vec<_> = hosts.collect::<Option<_>>()?;
        let complete = hosts.iter().all(|(host, _)| !host.is_empty());
        complete.then_some(Self {
            tls: scheme.starts_with("rediss"),
            user,
            password,
            hosts,
            name,
        })
    }

    fn addresses(&self) -> impl Iterator<Item = ConnectionAddr> {
        self.hosts.iter().map(|(host, port)| {
            if self.tls {
                ConnectionAddr::TcpTls {
                    host: (*host).to_owned(),
                    port: *port,
                    insecure: false,
                    tls_params: None,
                }
            } else {
                ConnectionAddr::Tcp((*host).to_owned(), *port)
            }
        })
    }
}

fn server(
    url: &str,
    password: Option<&str>,
    certificates: Option<TlsCertificates>,
) -> Result<Address, StoreError> {
    let mut info = url.into_connection_info().map_err(|_| no_address())?;
    if let Some(password) = password {
        let settings = info.redis_settings().clone().set_password(password);
        info = info.set_redis_settings(settings);
    }
    Ok(Address::Server(Box::new(client(info, certificates)?)))
}

fn sentinel(
    several: &Several<'_>,
    password: Option<&str>,
    certificates: Option<TlsCertificates>,
) -> Result<Address, StoreError> {
    if several.name.is_empty() {
        return Err(refused(
            "the address of sentinels ends with the name of the primary: /mymaster",
        ));
    }
    let builder = SentinelClientBuilder::new(several.addresses(), several.name, SentinelServerType::Master);
    let mut builder = builder.map_err(|_| no_address())?;
    if several.tls {
        builder = builder.set_client_to_redis_tls_mode(TlsMode::Secure);
        builder = builder.set_client_to_sentinel_tls_mode(TlsMode::Secure);
    }
    if let Some(user) = several.user {
        builder = builder.set_client_to_redis_username(user);
    }
    if let Some(password) = password.or(several.password) {
        builder = builder.set_client_to_redis_password(password);
    }
    if let Some(certificates) = certificates {
        builder = builder.set_client_to_redis_certificates(certificates.clone());
        builder = builder.set_client_to_sentinel_certificates(certificates);
    }
    let client = builder.build().map_err(|_| no_address())?;
    Ok(Address::Sentinel(Box::new(Mutex::new(client))))
}

fn cluster(
    several: &Several<'_>,
    password: Option<&str>,
    certificates: Option<TlsCertificates>,
) -> Result<Address, StoreError> {
    let first = several.addresses().next().ok_or_else(no_address)?;
    let mut login = first.into_connection_info().map_err(|_| no_address())?;
    let mut settings = login.redis_settings().clone();
    if let Some(user) = several.user {
        settings = settings.set_username(user);
    }
    if let Some(password) = password.or(several.password) {
        settings = settings.set_password(password);
    }
    login = login.set_redis_settings(settings);
    let seeds = several.hosts.iter().map(|(host, port)| Node {
        host: (*host).to_owned(),
        port: *port,
    });
    Ok(Address::Cluster(Box::new(Cluster {
        seeds: seeds.collect(),
        tls: several.tls,
        login,
        certificates,
    })))
}

pub(crate) fn client(
    info: ConnectionInfo,
    certificates: Option<TlsCertificates>,
) -> Result<Client, StoreError> {
    let encrypted = matches!(info.addr(), ConnectionAddr::TcpTls { .. });
    let client = match certificates.filter(|_| encrypted) {
        Some(certificates) => Client::build_with_tls(info, certificates),
        None => Client::open(info),
    };
    client.map_err(|error| unreachable(&error))
}

fn certificates(ca_file: Option<&Path>) -> Result<Option<TlsCertificates>, StoreError> {
    let Some(path) = ca_file else { return Ok(None) };
    let pem = std::fs::read(path).map_err(|_| refused("the store's ca_file cannot be read"))?;
    Ok(Some(TlsCertificates {
        client_tls: None,
        root_cert: Some(pem),
    }))
}

fn filled(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn no_address() -> StoreError {
    refused("the store's url is no address of a Redis server, of sentinels or of a cluster")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_are_read_and_those_that_are_not() {
        for (url, good) in [
            ("redis://127.0.0.1", true),
            ("redis://user:word@127.0.0.1:7000/2", true),
            ("rediss://redis.example:6380", true),
            ("redis+sentinel://a:26379,b/mymaster", true),
            ("rediss+sentinel://user:word@a,b,c/mymaster", true),
            ("redis+sentinel://a,b", false),
            ("redis+cluster://a:7000,b:7001,c", true),
            ("rediss+cluster://:word@a", true),
            ("redis+cluster://a:port", false),
            ("redis+cluster://", false),
            ("http://a", false),
            ("redis", false),
        ] {
            assert_eq!(Address::read(&Remote::at(url)).is_ok(), good, "{url}");
        }
    }

    #[test]
    fn logins_and_hosts_are_taken_apart() {
        let several = Several::read("rediss+sentinel", "user:w:rd@a,b:9/main", 1).unwrap();
        let expected = Several {
            tls: true,
            user: Some("user"),
            password: Some("w:rd"),
            hosts: vec![("a", 1), ("b", 9)],
            name: "main",
        };
        assert_eq!(several, expected);
    }
}
