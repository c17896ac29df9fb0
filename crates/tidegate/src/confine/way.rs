//! The way out of a sandbox: a proxy that knows whose it is, and a flow that says whether there is any.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use tidegate_core::{Class, Ident};
use tidegate_engine::egress::EgressSession;
use tidegate_engine::{AccessError, Caller, Engine};
use tidegate_gateway::egress::Proxy;
use tidegate_sandbox::{Flow, Outlet};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::follow::follow;

/// A way out, for as long as it is held.
pub(crate) struct Way {
    /// Where connections are carried.
    pub(crate) outlet: Arc<dyn Outlet>,
    /// Whether any are.
    pub(crate) flow: watch::Receiver<Flow>,
}

impl Way {
    /// The way out of a session through a proxy in this process.
    pub(crate) async fn through(
        proxy: &Proxy,
        engine: &Arc<Engine>,
        caller: &Caller,
        id: &Ident,
    ) -> Result<Self, AccessError> {
        let session = proxy.egress().bind(caller, id).await?;
        let highest = proxy.egress().highest_ceiling();
        let flow = follow(Arc::clone(engine), caller.clone(), id.clone(), highest).await;
        let outlet = Arc::new(Proxied {
            proxy: proxy.clone(),
            session,
        });
        Ok(Self { outlet, flow })
    }

    /// No way out at all.
    pub(crate) fn none() -> Self {
        Self {
            outlet: Arc::new(Nowhere),
            flow: watch::channel(Flow::Shut).1,
        }
    }
}

/// Where nothing is carried.
struct Nowhere;

#[async_trait]
impl Outlet for Nowhere {
    async fn carry(&self, _inside: TcpStream) -> io::Result<()> {
        Err(io::ErrorKind::ConnectionRefused.into())
    }
}

/// Whether a session with this label has any way out, if this is the most that any destination may be given.
pub(super) fn flow_of(label: Class, is_halted: bool, highest: Option<Class>) -> Flow {
    match highest {
        Some(highest) if label <= highest && !is_halted => Flow::Open,
        Some(_) | None => Flow::Shut,
    }
}

/// A proxy in this process, on behalf of one session.
struct Proxied {
    proxy: Proxy,
    session: EgressSession,
}

#[async_trait]
impl Outlet for Proxied {
    async fn carry(&self, inside: TcpStream) -> io::Result<()> {
        self.proxy.serve_stream(inside, self.session.clone()).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_above_every_ceiling() {
        for (label, is_halted, highest, flow) in [
            (Class::Public, false, Some(Class::Public), Flow::Open),
            (Class::Public, true, Some(Class::Secret), Flow::Shut),
            (Class::Internal, false, Some(Class::Public), Flow::Shut),
            (Class::Internal, false, Some(Class::Confidential), Flow::Open),
            (Class::Secret, false, Some(Class::Pii), Flow::Shut),
            (Class::Public, false, None, Flow::Shut),
        ] {
            assert_eq!(flow_of(label, is_halted, highest), flow, "{label} {highest:?}");
        }
    }
}
