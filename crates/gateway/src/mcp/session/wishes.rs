//! What a client wants to be told of: how much of the servers' logs, and which resources it watches.
//!
//! Wishes outlive a conversation: a server that is begun anew is told them again. In the stateless era they travel
//! otherwise than before, so each server is told in its own way: the older ones in requests of their own, the newer
//! ones with a stream that names everything that is wanted.

use std::collections::BTreeSet;

use serde_json::json;

use super::stopped::Stopped;
use super::{Session, locked};
use crate::mcp::era::Era;
use crate::mcp::message::{Envelope, code};
use crate::mcp::names::Surface;
use crate::mcp::object::{Object, raw};
use crate::mcp::outlet::{Listener, LogLevel, Outlet, Wanted};
use crate::mcp::upstream::Connection;

/// The most resources of one server that are watched.
const MOST_WATCHED: usize = 1_000;

/// The most resources that one stream may ask for.
const MOST_ASKED: usize = 100;

/// What a server is to tell.
#[derive(Default)]
pub(super) struct Wishes {
    level: Option<LogLevel>,
    watched: BTreeSet<String>,
}

impl Session {
    /// The client wants to know when a resource changes, or no longer does.
    pub(super) async fn watch(
        &self,
        key: u64,
        outlet: &Outlet,
        request: Envelope,
    ) -> Result<Envelope, Stopped> {
        let address = request.params().text("uri").unwrap_or_default();
        let server = self.server_of_address(&address).await?;
        let begins = request.method() == "resources/subscribe";
        let failed = |why| Stopped::at_server(self.name_of(server), &why);
        let connection = self.connection(server).await.map_err(failed)?;
        let answer = match connection.era() {
            Era::Greeted => {
                let surface = (server, Surface::Resources);
                self.on_surface(key, outlet, surface, request).await?
            }
            Era::Stateless => {
                let subject = self.surface(server, Surface::Resources)?;
                let permit = self.permit(&subject, json!({"uri": address})).await?;
                let done = Envelope::answer(request.id(), raw(&json!({})));
                permit.clear(done).into_inner()
            }
        };
        if answer.error().is_none() {
            self.wish(server, |wishes| {
                if !begins {
                    wishes.watched.remove(&address);
                } else if wishes.watched.len() < MOST_WATCHED {
                    wishes.watched.insert(address.clone());
                }
            });
            if connection.era() == Era::Stateless {
                self.listen_at(server, &connection).await;
            }
        }
        Ok(answer)
    }

    /// The client says how much of the servers' logs it wants, in a word of the protocol: the servers are told without a
    /// decision, so they are told nothing else. A server that cannot be reached hears of it later.
    pub(super) async fn set_level(&self, request: &Envelope) -> Result<Envelope, Stopped> {
        let level = request.params().text("level");
        let level = level.and_then(|level| LogLevel::named(&level));
        let level = level.ok_or_else(no_such_level)?;
        for server in 0..self.links.len() {
            self.wish(server, |wishes| wishes.level = Some(level));
            let current = match self.links.get(server) {
                Some(entry) => entry.link.current().await,
                None => None,
            };
            if let Some(connection) = current {
                self.tell_level(server, &connection).await;
            }
        }
        Ok(Envelope::answer(request.id(), raw(&json!({}))))
    }

    /// Whether the client said how much of a server's logs it wants.
    pub(super) fn asked_for_logs(&self, server: usize) -> bool {
        self.wish(server, |wishes| wishes.level.is_some())
            .unwrap_or(false)
    }

    /// Whether the client wants to know when a resource changes.
    pub(super) fn watches(&self, server: usize, address: &str) -> bool {
        self.wish(server, |wishes| wishes.watched.contains(address))
            .unwrap_or(false)
    }

    /// Whether the client wants to know when any of a server's resources changes.
    pub(super) fn watches_any(&self, server: usize) -> bool {
        self.wish(server, |wishes| !wishes.watched.is_empty())
            .unwrap_or(false)
    }

    /// Tells a server whose conversation was begun anew what the client wanted of it before.
    pub(super) async fn restore(&self, server: usize, connection: &Connection) {
        self.tell_level(server, connection).await;
        if connection.era() == Era::Stateless {
            self.listen_at(server, connection).await;
            return;
        }
        let watched = self.wish(server, |wishes| wishes.watched.clone());
        for address in watched.unwrap_or_default() {
            // The server was told this address before, after a decision.
            let params = raw(&json!({"uri": address}));
            let _ = connection
                .ask(Envelope::request("resources/subscribe", Some(params)))
                .await;
        }
    }

    async fn tell_level(&self, server: usize, connection: &Connection) {
        let level = self.wish(server, |wishes| wishes.level).flatten();
        let Some(level) = level.filter(|_| connection.can("logging")) else {
            return;
        };
        match connection.era() {
            Era::Greeted => {
                let params = Object::default().with("level", level.name()).to_raw();
                let _ = connection
                    .ask(Envelope::request("logging/setLevel", Some(params)))
                    .await;
            }
            Era::Stateless => connection.log_at(level),
        }
    }

    /// Asks a server of the stateless era for everything that the client may want to be told.
    async fn listen_at(&self, server: usize, connection: &Connection) {
        let watched = self.wish(server, |wishes| wishes.watched.clone());
        let mut wanted = json!({
            "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        });
        if let (Some(watched), Some(wanted)) = (watched, wanted.as_object_mut())
            && !watched.is_empty()
        {
            wanted.insert("resourceSubscriptions".into(), json!(watched));
        }
        let params = raw(&json!({"notifications": wanted}));
        connection
            .listen(Envelope::request("subscriptions/listen", Some(params)))
            .await;
    }

    fn wish<T>(&self, server: usize, change: impl FnOnce(&mut Wishes) -> T) -> Option<T> {
        let entry = self.links.get(server)?;
        Some(change(&mut locked(&entry.wishes)))
    }

    /// Keeps a stream for changes open, in the era that has no other way to tell of them.
    pub(super) async fn listen(
        &self,
        key: u64,
        outlet: &Outlet,
        request: &Envelope,
    ) -> Result<Envelope, Stopped> {
        let asked = request.params().object("notifications").unwrap_or_default();
        let mut wanted = Wanted::read(&asked);
        if wanted.addresses.len() > MOST_ASKED {
            let reason = format!("one stream asks for at most {MOST_ASKED} resources");
            let stopped = Stopped::by("too-many", reason, "ask for fewer, or on several streams");
            return Err(stopped.coded(code::INVALID_PARAMS));
        }
        self.begin_all().await;
        let mut watched = Vec::new();
        for address in std::mem::take(&mut wanted.addresses) {
            let params = raw(&json!({"uri": address}));
            let watching = Envelope::request("resources/subscribe", Some(params));
            let begun = self.watch(key, outlet, watching).await;
            if begun.is_ok_and(|answer| answer.error().is_none()) {
                watched.push(address);
            }
        }
        wanted.addresses = watched;
        let listener = Listener {
            key,
            id: request.id().to_owned(),
            outlet: outlet.clone(),
            wanted,
        };
        let acknowledged = Object::default().with("notifications", listener.wanted.shown());
        let acknowledged = Envelope::notification(
            "notifications/subscriptions/acknowledged",
            Some(acknowledged.to_raw()),
        );
        if !outlet.send(&listener.tagged(acknowledged)).await {
            return Err(Stopped::taken_back());
        }
        self.ways.listen(listener);
        tokio::select! {
            () = self.nobody_waits(Some(outlet)) => {}
            () = self.is_taken_back(key) => {}
        }
        self.ways.stop_listening(key);
        Err(Stopped::taken_back())
    }

    /// Tells the client of something that belongs to no request.
    pub(super) async fn announce(&self, told: Envelope) {
        for listener in self.ways.listeners(&told) {
            listener.outlet.send(&listener.tagged(told.clone())).await;
        }
        if locked(&self.client).era == Era::Greeted {
            self.ways.send_general(told).await;
        }
    }
}

fn no_such_level() -> Stopped {
    let reason = "there is no such level of logs";
    let remedy = "use debug, info, notice, warning, error, critical, alert or emergency";
    Stopped::by("unknown-level", reason, remedy).coded(code::INVALID_PARAMS)
}
