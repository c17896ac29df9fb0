//! Where a name leads: asked once, by the proxy alone, and every answer checked.
//!
//! A name that leads to a harmless address when it is checked and to an inner one when it is used would pass any check. So
//! the addresses that were checked are the ones that are connected to, and the name is not asked for again. An answer
//! that holds an inner address beside public ones is refused whole: whoever answers so is up to something.

use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::{MaybeDone, maybe_done};
use tidegate_core::Fault;
use tidegate_engine::egress::{Destination, Host, Target};
use tokio::net::TcpStream;

/// The most addresses of one name that are looked at.
const MOST_ADDRESSES: usize = 32;

/// The most addresses of one name that are tried.
const MOST_TRIES: usize = 4;

/// The addresses of a name, some time from now.
pub type Addresses<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Whoever knows where names lead.
pub trait Resolve: Send + Sync {
    /// The addresses of a name in lower case.
    fn addresses<'a>(&'a self, name: &'a str) -> Addresses<'a>;
}

/// The machine's own resolver.
#[derive(Clone, Copy, Debug)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn addresses<'a>(&'a self, name: &'a str) -> Addresses<'a> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// The addresses that were checked for one connection.
#[derive(Clone, Debug)]
pub(super) struct Route(Vec<SocketAddr>);

/// Finds the way to a target, or what is wrong with it.
pub(super) async fn find(
    resolver: &dyn Resolve,
    own: &[SocketAddr],
    target: &Target,
    destination: &Destination,
    timeout: Duration,
) -> Result<Route, Fault> {
    let addresses = match &target.host {
        Host::Address(address) => vec![*address],
        Host::Name(name) => {
            let asked = tokio::time::timeout(timeout, resolver.addresses(name)).await;
            asked.ok().and_then(Result::ok).ok_or(Fault::Unresolvable)?
        }
    };
    if addresses.is_empty() || addresses.len() > MOST_ADDRESSES {
        return Err(Fault::Unresolvable);
    }
    for address in &addresses {
        let leads_to = SocketAddr::new(*address, target.port);
        if own.iter().any(|own| is_same(*own, leads_to)) {
            return Err(Fault::OwnAddress);
        }
        destination.admits(*address)?;
    }
    let route = addresses
        .into_iter()
        .map(|address| SocketAddr::new(address, target.port));
    Ok(Route(route.collect()))
}

/// Whether an address leads to a listener. One that listens on every address is reached by each of this machine's.
fn is_same(listener: SocketAddr, address: SocketAddr) -> bool {
    let ip = address.ip().to_canonical();
    let is_here = || ip.is_unspecified() || UdpSocket::bind((ip, 0)).is_ok();
    listener.port() == address.port()
        && (listener.ip().to_canonical() == ip
            || listener.ip().is_unspecified() && is_here()
            || ip.is_unspecified())
}

impl Route {
    /// Begins to connect: the first address is asked, and the system goes on with that while whoever called does something
    /// else. Nothing is sent by it but what it takes to connect. It is a step and not a task of its own: waking another
    /// thread for it would take longer than the step.
    pub(super) async fn begin(self, timeout: Duration) -> Beginning {
        let connecting: Connecting = Box::pin(async move { self.connect(timeout).await });
        let mut beginning = Beginning(maybe_done(connecting));
        poll_fn(|context| Poll::Ready(Pin::new(&mut beginning.0).poll(context).is_ready())).await;
        beginning
    }

    /// Connects to the first address that answers.
    pub(super) async fn connect(&self, timeout: Duration) -> io::Result<TcpStream> {
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in self.0.iter().take(MOST_TRIES) {
            match tokio::time::timeout(timeout, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    // Small records wait for nothing.
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Ok(Err(error)) => last = error,
                Err(_) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(last)
    }
}

/// A connection that is being made. Dropped, it is given up.
pub(super) struct Beginning(MaybeDone<Connecting>);

type Connecting = Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send>>;

impl Beginning {
    /// The connection, once it stands.
    pub(super) async fn finish(mut self) -> io::Result<TcpStream> {
        let mut connecting = Pin::new(&mut self.0);
        connecting.as_mut().await;
        let connected = connecting.take_output();
        connected.unwrap_or_else(|| Err(io::ErrorKind::ConnectionAborted.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gateway_is_known_by_each_of_its_addresses() {
        for (listener, address, same) in [
            ("127.0.0.1:7413", "127.0.0.1:7413", true),
            ("127.0.0.1:7413", "127.0.0.1:7414", false),
            ("127.0.0.1:7413", "[::ffff:127.0.0.1]:7413", true),
            ("127.0.0.1:7413", "0.0.0.0:7413", true),
            ("0.0.0.0:7413", "127.0.0.1:7413", true),
            ("0.0.0.0:7413", "127.9.9.9:7413", true),
            ("0.0.0.0:7413", "8.8.8.8:7413", false),
            ("127.0.0.1:7413", "8.8.8.8:7413", false),
        ] {
            assert_eq!(
                is_same(listener.parse().unwrap(), address.parse().unwrap()),
                same,
                "{listener} {address}"
            );
        }
    }
}
