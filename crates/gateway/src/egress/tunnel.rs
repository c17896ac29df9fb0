//! CONNECT: bytes both ways, to the host that was asked for and to no other.

use tidegate_core::Fault;
use tidegate_engine::egress::{EgressSession, Passage, Protocol, Scan, Sent, Target};
use tokio::io::AsyncWriteExt as _;

use super::answer::{ESTABLISHED, Refused};
use super::head::Head;
use super::relay::Far;
use super::resolve::{Beginning, Route};
use super::wire::{Wire, finish};
use super::{Inner, hello};

/// The way to a destination that a session may connect to.
enum Way {
    /// For a tunnel that is opened here: the destination hears of it once its first request was decided.
    Known(Route),
    /// For one that is carried: the connection is made while the decision is written down. What it takes to connect says
    /// nothing of the session, and neither side is heard before the record is durable.
    Begun(Beginning),
}

impl Inner {
    /// Opens a tunnel where the engine lets it, and keeps it open as long as the session may have it.
    pub(super) async fn tunnel(&self, wire: Wire, head: Head, session: &EgressSession, target: &Target) {
        let is_opened = self.egress.destination(&target.host).scan == Scan::All;
        if is_opened && self.interception.is_none() {
            return self
                .refuse(wire, Some(session), Some(target), Fault::Unreadable)
                .await;
        }
        let sent = Sent::default();
        let finding = async {
            let route = self.way(target).await?;
            Ok(match is_opened {
                true => Way::Known(route),
                false => Way::Begun(route.begin(self.bounds.connect_timeout).await),
            })
        };
        let way = match self.egress.decide(session, target, &sent, finding).await {
            Ok(Passage::Open(cleared)) => cleared.into_inner(),
            Ok(Passage::Refused(refusal)) => return finish(wire, &Refused::by(&refusal).bytes()).await,
            Err(error) => return finish(wire, &Refused::unjudged(error).bytes()).await,
        };
        let carrying = async {
            match (way, &self.interception) {
                (Way::Begun(beginning), _) => self.carry(wire, head, session, target, beginning).await,
                (Way::Known(route), Some(by)) => self.intercept(by, wire, head, session, target, route).await,
                // Refused above.
                (Way::Known(_), None) => {}
            }
        };
        self.while_allowed(session, target, std::future::ready(()), carrying)
            .await;
    }

    /// Lets something go on for as long as the session may have a connection to the target; then it is dropped with all
    /// its connections, and that is put on the record. Until `decided` resolves there is no connection to cut, and whoever
    /// asks is to be told why there will be none.
    pub(super) async fn while_allowed(
        &self,
        session: &EgressSession,
        target: &Target,
        decided: impl Future<Output = ()>,
        going_on: impl Future<Output = ()>,
    ) {
        let closed = async {
            decided.await;
            self.egress.closed(session, target).await;
        };
        tokio::select! {
            // Whoever waits for the first answer does not wait for a look at the session that was just judged.
            biased;
            () = going_on => {}
            () = closed => {
                // What lost is dropped by now: cut first, then noted.
                if let Err(error) = self.egress.note_cut(session, target).await {
                    tracing::error!(%error, "a connection was cut and that could not be recorded");
                }
            }
        }
    }

    async fn carry(
        &self,
        mut wire: Wire,
        head: Head,
        session: &EgressSession,
        target: &Target,
        beginning: Beginning,
    ) {
        let Ok(there) = beginning.finish().await else {
            return finish(wire, &Refused::unreachable().bytes()).await;
        };
        let there = Far::new(there);
        if wire.write_all(ESTABLISHED).await.is_err() {
            return;
        }
        let early = head.rest().to_vec();
        let first = match self.egress.destination(&target.host).protocol {
            Protocol::Tcp => Ok(early),
            Protocol::Tls => hello::read(&mut wire, early, &target.host, self.bounds.request_timeout).await,
        };
        let first = match first {
            Ok(first) => first,
            // The tunnel stands, so there is nobody to answer to: the record has it, and nothing was sent on.
            Err(fault) => {
                self.refused(Some(session), Some(target), fault).await;
                return;
            }
        };
        // INVARIANT (durable before visible): what the destination sends counts before any of it is passed on.
        if let Err(error) = self.egress.admit(session, target).await {
            tracing::error!(%error, "a tunnel could not be opened");
            return;
        }
        there.relay(wire, &first).await;
    }
}
