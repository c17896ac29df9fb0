//! Hearing from the other gateways which session changed; the script that changes one tells it. What is lost on the way costs
//! nothing but time, since whoever listens also looks; after a broken connection the listeners are told that they may have missed something.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use tidegate_core::Ident;
use tidegate_store::Change;
use tokio::sync::broadcast;
use tokio::task::JoinHandle;

use crate::address::Address;

/// How many changes a slow listener may be behind.
const BEHIND: usize = 4_096;
/// How long to wait before a new attempt to connect.
const PAUSE: Duration = Duration::from_millis(250);
/// How long a silent connection is believed. Then a new one is made, which costs little.
const SILENCE: Duration = Duration::from_secs(10);

/// The news of changes.
pub(crate) struct Changes {
    incoming: broadcast::Sender<Change>,
    task: JoinHandle<()>,
}

impl Changes {
    pub(crate) fn follow(address: Arc<Address>, channel: String, timeout: Duration) -> Self {
        let (incoming, _) = broadcast::channel(BEHIND);
        let task = tokio::spawn(listen(address, channel, timeout, incoming.clone()));
        Self { incoming, task }
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.incoming.subscribe()
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn listen(
    address: Arc<Address>,
    channel: String,
    timeout: Duration,
    incoming: broadcast::Sender<Change>,
) {
    loop {
        let connecting = async {
            let client = address.client(None).await.ok()?;
            let mut news = client.get_async_pubsub().await.ok()?;
            news.subscribe(&channel).await.ok()?;
            Some(news)
        };
        if let Ok(Some(news)) = tokio::time::timeout(timeout, connecting).await {
            // Between the last connection and this one, anything may have changed.
            let _ = incoming.send(Change::Missed);
            let mut news = news.into_on_message();
            while let Ok(Some(message)) = tokio::time::timeout(SILENCE, news.next()).await {
                let id = message.get_payload::<String>().ok();
                if let Some(id) = id.and_then(|text| Ident::parse(&text).ok()) {
                    let _ = incoming.send(Change::Session(id));
                }
            }
        } else {
            tokio::time::sleep(PAUSE).await;
        }
    }
}
