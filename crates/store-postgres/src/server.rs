//! Connecting: only to a server that keeps what it acknowledges, and over TLS unless it is on this machine or the operator
//! wrote that it need not be.

use std::time::Duration;

use tidegate_store::{Remote, StoreError};
use tokio::task::JoinHandle;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, Client, Config, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::failure::{failed, too_slow, unreachable};
use crate::tls;

/// A connection on the wire.
pub(crate) type Wire =
    tokio_postgres::Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// Where the server is and how it is spoken to.
pub(crate) struct Server {
    config: Config,
    tls: MakeRustlsConnect,
    pub(crate) namespace: String,
    pub(crate) timeout: Duration,
}

/// A connection; when dropped, it is closed.
pub(crate) struct Link {
    pub(crate) client: Client,
    driver: JoinHandle<()>,
}

impl Server {
    pub(crate) fn new(remote: &Remote) -> Result<Self, StoreError> {
        let url = remote.url.expose();
        let mut config: Config = url.parse().map_err(|_| {
            StoreError::Backend("the store's url is no address of a PostgreSQL server".to_owned())
        })?;
        if !Remote::is_namespace(&remote.namespace) {
            return Err(StoreError::Backend(
                "the store's namespace is no plain word".to_owned(),
            ));
        }
        if let Some(password) = &remote.password {
            config.password(password.expose());
        }
        // Whatever the url says but `disable`: to prefer TLS is to do without it when somebody in between says so.
        if !is_local(&config) && config.get_ssl_mode() != SslMode::Disable {
            config.ssl_mode(SslMode::Require);
        }
        config
            .application_name("tidegate")
            // A standby may be behind: its answers would be labels of some time ago.
            .target_session_attrs(TargetSessionAttrs::ReadWrite)
            .connect_timeout(remote.timeout)
            .keepalives_idle(Duration::from_secs(10))
            .tcp_user_timeout(remote.timeout.saturating_mul(3));
        Ok(Self {
            config,
            tls: tls::connector(remote.ca_file.as_deref())?,
            namespace: remote.namespace.clone(),
            timeout: remote.timeout,
        })
    }

    /// A checked connection that speaks of this namespace.
    pub(crate) async fn connect(&self) -> Result<Link, StoreError> {
        self.connect_with(|connection| {
            tokio::spawn(async move {
                // Whoever waits for an answer hears of its end.
                let _ = connection.await;
            })
        })
        .await
    }

    /// The same, with the notifications that the server sends on it.
    pub(crate) async fn connect_with(
        &self,
        drive: impl FnOnce(Wire) -> JoinHandle<()>,
    ) -> Result<Link, StoreError> {
        let connecting = async {
            let (client, connection) = self
                .config
                .connect(self.tls.clone())
                .await
                .map_err(|error| unreachable(&error))?;
            let link = Link {
                client,
                driver: drive(connection),
            };
            self.check(&link.client).await?;
            // A function looks again after it has waited for a lock, whatever the database's own default is.
            let speak = format!(
                "SET search_path = {}; SET default_transaction_isolation = 'read committed'",
                self.namespace
            );
            link.client
                .batch_execute(&speak)
                .await
                .map_err(|error| failed(&error))?;
            Ok(link)
        };
        let answer = tokio::time::timeout(self.timeout, connecting).await;
        answer.unwrap_or_else(|_| Err(too_slow()))
    }

    /// INVARIANT (durable before acknowledged): what the server acknowledges must be on its disk. Looked at on every new
    /// connection, since a setting can change while a gateway runs.
    async fn check(&self, client: &Client) -> Result<(), StoreError> {
        let sql = "SELECT current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit')";
        let row = client.query_one(sql, &[]).await.map_err(|error| failed(&error))?;
        let setting = |column: usize| row.try_get::<_, String>(column).map_err(|error| failed(&error));
        for (column, name) in [(0, "fsync"), (1, "full_page_writes"), (2, "synchronous_commit")] {
            if setting(column)? == "off" {
                return Err(StoreError::Backend(format!(
                    "PostgreSQL runs with {name} = off, so a crash could lower a label: switch it on for this database"
                )));
            }
        }
        Ok(())
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// What the server says unasked, until the connection ends.
pub(crate) async fn messages(mut connection: Wire, mut hear: impl FnMut(AsyncMessage) + Send) {
    while let Some(Ok(message)) = std::future::poll_fn(|context| connection.poll_message(context)).await {
        hear(message);
    }
}

/// Whether every way to the server stays on this machine. An address goes before the name beside it.
fn is_local(config: &Config) -> bool {
    let (names, addresses) = (config.get_hosts(), config.get_hostaddrs());
    let named = names.iter().all(|host| match host {
        Host::Tcp(name) => {
            name == "localhost"
                || name
                    .parse::<std::net::IpAddr>()
                    .is_ok_and(|address| address.is_loopback())
        }
        Host::Unix(_) => true,
    });
    let is_somewhere = !names.is_empty() || !addresses.is_empty();
    is_somewhere && named && addresses.iter().all(std::net::IpAddr::is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_is_required_beyond_this_machine() {
        let (required, open) = (SslMode::Require, SslMode::Disable);
        let unsaid = SslMode::Prefer;
        for (url, mode) in [
            ("postgres://u@localhost/db", unsaid),
            ("postgres://u@127.0.0.1,[::1]/db", unsaid),
            ("postgres://u@%2Frun%2Fpostgresql/db", unsaid),
            ("postgres://u@localhost/db?hostaddr=127.0.0.1", unsaid),
            ("postgres://u@/db?hostaddr=127.0.0.2", unsaid),
            ("postgres://u@localhost/db?sslmode=require", required),
            ("postgres://u@db.example/db", required),
            ("postgres://u@localhost,db.example/db", required),
            ("postgres://u@/db?hostaddr=192.0.2.1", required),
            ("postgres://u@localhost/db?hostaddr=192.0.2.1", required),
            ("hostaddr=192.0.2.1 user=u", required),
            ("host=localhost,localhost hostaddr=127.0.0.1,192.0.2.1", required),
            ("user=u", required),
            ("postgres://u@db.example/db?sslmode=prefer", required),
            ("postgres://u:sslmode=@db.example/db", required),
            ("postgres://u:sslmode=disable@db.example/db", required),
            ("postgres://u@db.example/db?sslmode=disable", open),
            ("postgres://u@/db?hostaddr=192.0.2.1&sslmode=disable", open),
        ] {
            let server = Server::new(&Remote::at(url)).map(|server| server.config.get_ssl_mode());
            assert_eq!(server, Ok(mode), "{url}");
        }
    }
}
