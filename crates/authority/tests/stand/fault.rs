//! A server between the gateway and OpenFGA that passes everything on, until it is told to do something worse.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It reaches the server, and the answer comes back.
    Pass,
    /// It is answered with these bytes.
    Say(&'static str),
    /// The connection is closed without an answer.
    Cut,
    /// It is never answered.
    Silent,
    /// Its answer begins and never ends.
    Endless,
}

/// The server in between.
pub struct Between {
    pub url: String,
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    mode: Mode,
    open: Vec<TcpStream>,
}

impl Between {
    /// Stands before the server at this address.
    pub fn before(url: &str) -> Self {
        let upstream = url.strip_prefix("http://").unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Mutex::new(Shared {
            mode: Mode::Pass,
            open: Vec::new(),
        }));
        let seen = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut shared = seen.lock().unwrap();
                shared.open.extend(stream.try_clone());
                let mode = shared.mode;
                let upstream = upstream.clone();
                thread::spawn(move || serve(stream, mode, &upstream));
            }
        });
        Self { url, shared }
    }

    /// From now on, for connections that are open as well.
    pub fn set(&self, mode: Mode) {
        let mut shared = self.shared.lock().unwrap();
        shared.mode = mode;
        for stream in shared.open.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn serve(mut stream: TcpStream, mode: Mode, upstream: &str) {
    match mode {
        Mode::Pass => pass(stream, upstream),
        Mode::Cut => {
            let _ = stream.shutdown(Shutdown::Both);
        }
        Mode::Silent => while matches!(stream.read(&mut [0; 4096]), Ok(1..)) {},
        Mode::Say(answer) => {
            while matches!(stream.read(&mut [0; 65_536]), Ok(1..)) {
                if stream.write_all(answer.as_bytes()).is_err() {
                    return;
                }
            }
        }
        Mode::Endless => {
            let _ = stream.read(&mut [0; 65_536]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n");
            while stream.write_all(&[b'['; 65_536]).is_ok() {}
        }
    }
}

fn pass(mut near: TcpStream, upstream: &str) {
    let Ok(mut far) = TcpStream::connect(upstream) else {
        return;
    };
    let (mut near_back, mut far_back) = (near.try_clone().unwrap(), far.try_clone().unwrap());
    thread::spawn(move || {
        let _ = std::io::copy(&mut far_back, &mut near_back);
        let _ = near_back.shutdown(Shutdown::Both);
    });
    let _ = std::io::copy(&mut near, &mut far);
    let _ = far.shutdown(Shutdown::Both);
}
