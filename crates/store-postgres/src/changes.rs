//! Telling the other gateways which session changed, and hearing it from them.
//!
//! A change is told after it is durable and by a connection of its own: `NOTIFY` in the statement that changes a row would make all
//! changes of all gateways wait for each other's disk. What is lost on the way costs nothing but time, since whoever listens also
//! looks; after a broken connection the listeners are told that they may have missed something.

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::Ident;
use tidegate_store::Change;
use tokio::sync::{broadcast, mpsc};
use tokio::task::JoinHandle;
use tokio_postgres::AsyncMessage;

use crate::lanes::Values;
use crate::server::{Link, Server, messages};

/// How many changes may wait to be told, and how many a slow listener may be behind.
const WAITING: usize = 4_096;
/// How long to wait before a new attempt to connect.
const PAUSE: Duration = Duration::from_millis(250);
/// How often the listening connection is asked whether it lives.
const PULSE: Duration = Duration::from_secs(2);

/// The news of changes, in both directions.
pub(crate) struct Changes {
    outgoing: mpsc::Sender<Ident>,
    incoming: broadcast::Sender<Change>,
    tasks: [JoinHandle<()>; 2],
}

impl Changes {
    pub(crate) fn follow(server: Arc<Server>) -> Self {
        let (outgoing, waiting) = mpsc::channel(WAITING);
        let (incoming, _) = broadcast::channel(WAITING);
        let tasks = [
            tokio::spawn(tell_all(Arc::clone(&server), waiting)),
            tokio::spawn(listen(server, incoming.clone())),
        ];
        Self {
            outgoing,
            incoming,
            tasks,
        }
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.incoming.subscribe()
    }

    /// Queues the news. When too much waits, it is dropped: others will look by themselves.
    pub(crate) fn tell(&self, id: &Ident) {
        let _ = self.outgoing.try_send(id.clone());
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

fn channel(server: &Server) -> String {
    format!("{}_changed", server.namespace)
}

async fn tell_all(server: Arc<Server>, mut waiting: mpsc::Receiver<Ident>) {
    let mut link: Option<Link> = None;
    let mut ids = Vec::new();
    while waiting.recv_many(&mut ids, WAITING).await > 0 {
        if link.as_ref().is_none_or(|link| link.client.is_closed()) {
            link = server.connect().await.ok();
        }
        let told = match &link {
            Some(link) => {
                let names: Vec<_> = ids.iter().map(Ident::as_str).collect();
                let channel = channel(&server);
                // Nothing depends on this transaction's durability: what it tells of is durable.
                let sql = "SELECT pg_notify($1, id), set_config('synchronous_commit', 'off', true) FROM unnest($2::text[]) AS id";
                let values: Values<'_> = &[&channel, &names];
                let telling = link.client.query(sql, values);
                matches!(tokio::time::timeout(server.timeout, telling).await, Ok(Ok(_)))
            }
            None => false,
        };
        if !told {
            link = None;
        }
        ids.clear();
    }
}

async fn listen(server: Arc<Server>, incoming: broadcast::Sender<Change>) {
    loop {
        let hear = {
            let incoming = incoming.clone();
            move |message| {
                if let AsyncMessage::Notification(news) = message
                    && let Ok(id) = Ident::parse(news.payload())
                {
                    let _ = incoming.send(Change::Session(id));
                }
            }
        };
        let link = server
            .connect_with(|connection| tokio::spawn(messages(connection, hear)))
            .await;
        if let Ok(link) = link {
            let listening = format!("LISTEN {}", channel(&server));
            if link.client.batch_execute(&listening).await.is_ok() {
                // Between the last connection and this one, anything may have changed.
                let _ = incoming.send(Change::Missed);
                watch_over(&server, &link).await;
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Returns when the connection does not answer any more.
async fn watch_over(server: &Server, link: &Link) {
    loop {
        tokio::time::sleep(PULSE).await;
        let asked = link.client.batch_execute("");
        if !matches!(tokio::time::timeout(server.timeout, asked).await, Ok(Ok(()))) {
            return;
        }
    }
}
