//! A client on standard streams: one message a line, in and out.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;

use crate::mcp::message::{Envelope, Message};
use crate::mcp::outlet::{Outgoing, Outlet};
use crate::mcp::session::Session;

/// How long answers under way are waited for after the client closed its end. The official clients end a server that
/// takes two seconds to leave, and what nobody waits for is to be given up before that.
const PARTING: Duration = Duration::from_secs(1);

/// How long giving up and writing what is left may take.
const FAREWELL: Duration = Duration::from_secs(5);

/// Serves a client until it closes its end.
pub(crate) async fn serve(
    session: &Arc<Session>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) {
    let (outlet, outgoing) = Outlet::new();
    session.ways.open_general(outlet.clone());
    let writing = tokio::spawn(write(output, outgoing));
    read(session, input, &outlet).await;
    if tokio::time::timeout(PARTING, finished(session)).await.is_err() {
        session.abandon();
        let _ = tokio::time::timeout(FAREWELL, finished(session)).await;
    }
    session.ways.close_general();
    drop(outlet);
    let _ = tokio::time::timeout(FAREWELL, writing).await;
}

async fn finished(session: &Session) {
    while session.ways.under_way() > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn read(session: &Arc<Session>, input: impl AsyncRead + Unpin, outlet: &Outlet) {
    let most = session.message_bytes();
    let mut lines = BufReader::with_capacity(64 << 10, input);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = tokio::io::AsyncReadExt::take(&mut lines, u64::try_from(most).unwrap_or(u64::MAX));
        match limited.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if line.len() >= most && line.last() != Some(&b'\n') {
            let refusal = Envelope::refusal(
                "null",
                crate::mcp::message::code::INVALID_REQUEST,
                "the message is too large",
            );
            outlet.answer(&refusal).await;
            return;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        take(session, &line, outlet).await;
    }
}

async fn take(session: &Arc<Session>, line: &[u8], outlet: &Outlet) {
    let text = std::str::from_utf8(line).unwrap_or_default();
    match Message::read(text) {
        Ok(Message::Request(request)) => {
            tokio::spawn(Arc::clone(session).handle(request, outlet.clone()));
        }
        Ok(Message::Notification(told)) => session.told(told).await,
        Ok(Message::Response(answer)) => session.answered(answer),
        Err(bad) => {
            let refusal = Envelope::refusal(bad.id(), bad.code(), &bad.to_string());
            outlet.answer(&refusal).await;
        }
    }
}

async fn write(mut output: impl AsyncWrite + Unpin, mut outgoing: mpsc::Receiver<Outgoing>) {
    while let Some(message) = outgoing.recv().await {
        let mut line = message.into_line();
        line.push('\n');
        if output.write_all(line.as_bytes()).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}
