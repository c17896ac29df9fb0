//! The first words of TLS: which host they name.
//!
//! A tunnel is asked for by one name. If TLS then names another, a front that serves both would carry the session to a
//! host that nobody decided about. The names must agree; what names nobody leads to an address that the policy lists.

use std::time::Duration;

use rustls::server::Acceptor;
use tidegate_core::Fault;
use tidegate_engine::egress::Host;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The most bytes that the first message may have: one with every extension in use has a tenth of it.
const MOST_BYTES: usize = 32 * 1024;

/// The first byte of every TLS connection: a handshake record.
const HANDSHAKE: u8 = 0x16;

/// Reads on until TLS has named its host, and gives every byte that was read, to be passed on as it is.
pub(super) async fn read(
    from: &mut (impl AsyncRead + Unpin),
    mut bytes: Vec<u8>,
    host: &Host,
    timeout: Duration,
) -> Result<Vec<u8>, Fault> {
    let reading = async {
        let mut acceptor = Acceptor::default();
        let mut fed = 0;
        loop {
            if bytes.first().is_some_and(|first| *first != HANDSHAKE) {
                return Err(Fault::NotTls);
            }
            let mut news = bytes.get(fed..).unwrap_or_default();
            while !news.is_empty() {
                fed += acceptor.read_tls(&mut news).map_err(|_| Fault::NotTls)?;
            }
            if let Some(accepted) = acceptor.accept().map_err(|_| Fault::NotTls)? {
                agree(accepted.client_hello().server_name(), host)?;
                return Ok(());
            }
            if bytes.len() > MOST_BYTES {
                return Err(Fault::NotTls);
            }
            match from.read_buf(&mut bytes).await {
                Ok(0) | Err(_) => return Err(Fault::NotTls),
                Ok(_) => {}
            }
        }
    };
    let read = tokio::time::timeout(timeout, reading).await;
    read.map_err(|_| Fault::TooSlow)??;
    Ok(bytes)
}

/// Whether the name in TLS is the one that the tunnel was asked for. TLS never names an address.
pub(super) fn agree(named: Option<&str>, host: &Host) -> Result<(), Fault> {
    let agrees = match (host, named) {
        (Host::Name(host), Some(named)) => {
            Host::parse(named).is_ok_and(|named| named == Host::Name(host.clone()))
        }
        (Host::Address(_), None) => true,
        (Host::Name(_), None) | (Host::Address(_), Some(_)) => false,
    };
    if agrees { Ok(()) } else { Err(Fault::NameMismatch) }
}
