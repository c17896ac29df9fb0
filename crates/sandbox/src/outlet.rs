//! Where connections from inside are carried.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net::{TcpStream, UnixStream};

/// One end of something that decides where a connection may go, such as a proxy that knows whose it is.
#[async_trait]
pub trait Outlet: Send + Sync {
    /// Carries one connection until it ends. Dropping the future ends it at once.
    async fn carry(&self, inside: TcpStream) -> io::Result<()>;
}

/// A proxy that listens on a unix socket.
#[derive(Clone, Debug)]
pub struct UnixSocket(pub PathBuf);

#[async_trait]
impl Outlet for UnixSocket {
    async fn carry(&self, inside: TcpStream) -> io::Result<()> {
        both_ways(inside, UnixStream::connect(&self.0).await?).await
    }
}

/// A proxy that listens on an address.
#[derive(Clone, Copy, Debug)]
pub struct Address(pub SocketAddr);

#[async_trait]
impl Outlet for Address {
    async fn carry(&self, inside: TcpStream) -> io::Result<()> {
        let outside = TcpStream::connect(self.0).await?;
        outside.set_nodelay(true)?;
        both_ways(inside, outside).await
    }
}

async fn both_ways(
    mut inside: TcpStream,
    mut outside: impl AsyncRead + AsyncWrite + Unpin,
) -> io::Result<()> {
    copy_bidirectional(&mut inside, &mut outside).await.map(|_| ())
}
