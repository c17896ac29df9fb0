//! CONNECT: bytes both ways, to the host that was asked for and to no other.

use tidegate_engine::egress::{EgressSession, Passage, Protocol, Sent, Target};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::answer::{ESTABLISHED, Refused};
use super::head::Head;
use super::resolve::Route;
use super::wire::Wire;
use super::{Inner, hello};

/// How much is carried at once, each way.
const BUFFER_BYTES: usize = 256 * 1024;

impl Inner {
    /// Opens a tunnel where the engine lets it, and keeps it open as long as the session may have it.
    pub(super) async fn tunnel(&self, wire: Wire, head: Head, session: &EgressSession, target: &Target) {
        let sent = Sent::default();
        let decided = self.egress.decide(session, target, &sent, self.way(target));
        let route = match decided.await {
            Ok(Passage::Open(cleared)) => cleared.into_inner(),
            Ok(Passage::Refused(refusal)) => return wire.finish(&Refused::by(&refusal).bytes()).await,
            Err(error) => return wire.finish(&Refused::unjudged(error).bytes()).await,
        };
        tokio::select! {
            () = self.carry(wire, head, session, target, route) => {}
            () = self.egress.closed(session, target) => {
                // The losing branch is dropped by now, and both connections with it: cut first, then noted.
                if let Err(error) = self.egress.note_cut(session, target).await {
                    tracing::error!(%error, "a tunnel was cut and that could not be recorded");
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
        route: Route,
    ) {
        let Ok(mut there) = route.connect(self.bounds.connect_timeout).await else {
            return wire.finish(&Refused::unreachable().bytes()).await;
        };
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
        if there.write_all(&first).await.is_ok() {
            relay(&mut wire, &mut there).await;
        }
    }
}

/// Carries bytes both ways until both ends are done.
async fn relay(here: &mut Wire, there: &mut TcpStream) {
    // A broken connection is its ends' affair.
    let _ = tokio::io::copy_bidirectional_with_sizes(here, there, BUFFER_BYTES, BUFFER_BYTES).await;
}
