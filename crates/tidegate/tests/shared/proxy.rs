//! A TCP proxy of the test's own, between one gateway and the server, that can be told to misbehave.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// How the network is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weather {
    /// As it should be.
    Fair = 0,
    /// Everything is late.
    Slow = 1,
    /// Nothing arrives, and nobody is told.
    Silent = 2,
    /// Connections break, and new ones are refused.
    Cut = 3,
}

pub(crate) struct Proxy {
    pub(crate) port: u16,
    weather: Arc<AtomicU8>,
}

impl Proxy {
    /// A proxy to this port; it runs until the test ends.
    pub(crate) fn to(target: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let weather = Arc::new(AtomicU8::new(Weather::Fair as u8));
        let shared = Arc::clone(&weather);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if shared.load(Ordering::SeqCst) == Weather::Cut as u8 {
                    continue;
                }
                let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, target)) else {
                    continue;
                };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let weather = Arc::clone(&shared);
                    std::thread::spawn(move || pump(from, to, &weather));
                }
            }
        });
        Self { port, weather }
    }

    pub(crate) fn set(&self, weather: Weather) {
        self.weather.store(weather as u8, Ordering::SeqCst);
    }
}

fn pump(mut from: TcpStream, mut to: TcpStream, weather: &AtomicU8) {
    let _ = from.set_nodelay(true);
    let _ = from.set_read_timeout(Some(Duration::from_millis(20)));
    let is = |kind: Weather| weather.load(Ordering::SeqCst) == kind as u8;
    let mut bytes = [0; 16_384];
    loop {
        if is(Weather::Cut) {
            break;
        }
        let read = match from.read(&mut bytes) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
            Err(_) => break,
        };
        if is(Weather::Slow) {
            std::thread::sleep(Duration::from_millis(100));
        }
        while is(Weather::Silent) {
            std::thread::sleep(Duration::from_millis(20));
        }
        if is(Weather::Cut) || to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
