//! The one way out, open or shut from outside.
//!
//! A valve that was shut stays shut: what lies behind it may have seen what shut it. It also shuts when nobody is left who
//! could tell it to, because a label that is not heard of may be any.

use std::io;
use std::net::TcpListener as Made;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::net::{Shutdown, shutdown};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::Outlet;

/// The port that programs inside find their proxy on.
pub const PROXY_PORT: u16 = 3128;

/// The most connections from inside at once; those beyond wait.
const MOST_CONNECTIONS: usize = 512;

/// Whether anything may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// What the proxy lets pass.
    Open,
    /// Nothing at all.
    Shut,
}

/// The way out of one sandbox.
#[derive(Debug)]
pub struct Valve {
    serving: JoinHandle<()>,
}

impl Valve {
    /// Serves the socket that was handed out, for as long as the flow is open.
    ///
    /// # Errors
    /// When the socket cannot be waited on.
    pub fn open(inside: Made, outlet: Arc<dyn Outlet>, flow: watch::Receiver<Flow>) -> io::Result<Self> {
        inside.set_nonblocking(true)?;
        let inside = TcpListener::from_std(inside)?;
        let serving = tokio::spawn(serve(inside, outlet, flow));
        Ok(Self { serving })
    }
}

impl Drop for Valve {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(inside: TcpListener, outlet: Arc<dyn Outlet>, mut flow: watch::Receiver<Flow>) {
    let connections = Connections::default();
    tokio::select! {
        () = shut(&mut flow) => {}
        () = connections.carry_all(&inside, outlet) => {}
    }
    drop(inside);
    connections.cut();
}

/// Waits until the flow is shut, or nobody is left who could shut it.
async fn shut(flow: &mut watch::Receiver<Flow>) {
    let _ = flow.wait_for(|flow| *flow == Flow::Shut).await;
}

/// The open connections, so that they can be cut without asking whoever serves them.
#[derive(Default)]
struct Connections(Arc<Mutex<Vec<Option<OwnedFd>>>>);

impl Connections {
    /// Dropping this ends every connection; its tasks end with it.
    async fn carry_all(&self, inside: &TcpListener, outlet: Arc<dyn Outlet>) {
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let mut tasks = JoinSet::new();
        loop {
            while tasks.try_join_next().is_some() {}
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                return;
            };
            let Ok((connection, _)) = inside.accept().await else {
                // Out of files, most likely; those that end make room.
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                continue;
            };
            let Some(held) = self.hold(&connection) else {
                continue;
            };
            let outlet = Arc::clone(&outlet);
            tasks.spawn(async move {
                let _ = connection.set_nodelay(true);
                let _ = outlet.carry(connection).await;
                drop(held);
                drop(place);
            });
        }
    }

    fn hold(&self, connection: &TcpStream) -> Option<Held> {
        let end = connection.as_fd().try_clone_to_owned().ok()?;
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = held.iter().position(Option::is_none).unwrap_or_else(|| {
            held.push(None);
            held.len() - 1
        });
        *held.get_mut(index)? = Some(end);
        Some(Held {
            connections: Arc::clone(&self.0),
            index,
        })
    }

    fn cut(&self) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for end in held.drain(..).flatten() {
            let _ = shutdown(&end, Shutdown::Both);
        }
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        self.cut();
    }
}

/// A connection that is being carried.
struct Held {
    connections: Arc<Mutex<Vec<Option<OwnedFd>>>>,
    index: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut held = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = held.get_mut(self.index) {
            *place = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// Says back what it hears.
    struct Echo;

    #[async_trait]
    impl Outlet for Echo {
        async fn carry(&self, mut inside: TcpStream) -> io::Result<()> {
            let (mut from, mut to) = inside.split();
            tokio::io::copy(&mut from, &mut to).await.map(|_| ())
        }
    }

    async fn check(shut: impl FnOnce(watch::Sender<Flow>) -> Option<watch::Sender<Flow>>) {
        let (tell, flow) = watch::channel(Flow::Open);
        let inside = Made::bind("127.0.0.1:0").unwrap();
        let address = inside.local_addr().unwrap();
        let _valve = Valve::open(inside, Arc::new(Echo), flow).unwrap();
        let mut open = TcpStream::connect(address).await.unwrap();
        open.write_all(b"before").await.unwrap();
        let mut heard = [0; 6];
        open.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"before");
        let tell = shut(tell);
        let ended = open.read(&mut heard).await;
        assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
        for _ in 0..500 {
            if TcpStream::connect(address).await.is_err() {
                // Told again, it stays as it is.
                if let Some(tell) = tell {
                    tell.send_replace(Flow::Open);
                    assert!(TcpStream::connect(address).await.is_err());
                }
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("the socket still takes connections");
    }

    #[tokio::test]
    async fn what_is_open_ends_when_it_shuts_and_stays_ended() {
        check(|tell| {
            tell.send_replace(Flow::Shut);
            Some(tell)
        })
        .await;
    }

    #[tokio::test]
    async fn it_shuts_when_nobody_can_tell_any_more() {
        check(|tell| {
            drop(tell);
            None
        })
        .await;
    }
}
