//! The fastest MCP server there is room for: one tool, which gives back the text it is given.

use std::io::{self, BufRead, Write};
use std::net::SocketAddr;

use axum::Router;
use axum::body::Bytes;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::stand::Outcome;

/// The tool's name: one that the stand declares external, so that all it is given is looked into.
pub const TOOL: &str = "web_0";

#[derive(Deserialize)]
struct Asked<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: &'a str,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    arguments: Option<Arguments<'a>>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    text: &'a RawValue,
}

/// The answer to a message; `None` when it wants none.
fn answer(message: &[u8]) -> Option<String> {
    let asked: Asked<'_> = serde_json::from_slice(message).ok()?;
    let id = asked.id?.get();
    let text = asked.params.and_then(|params| params.arguments);
    Some(match (asked.method, text) {
        ("tools/call", Some(Arguments { text })) => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":{}}}]}}}}"#,
            text.get()
        ),
        ("initialize", _) => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"echo","version":"1"}}}}}}"#
        ),
        ("tools/list", _) => {
            let schema =
                json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
            let tools = json!([{"name": TOOL, "description": "gives back a text", "inputSchema": schema}]);
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":{tools}}}}}"#)
        }
        ("ping", _) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
        _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no such method"}}}}"#),
    })
}

async fn take(body: Bytes) -> Response {
    match answer(&body) {
        Some(answer) => ([(header::CONTENT_TYPE, "application/json")], answer).into_response(),
        None => StatusCode::ACCEPTED.into_response(),
    }
}

/// Serves over HTTP for the rest of the process, and says where on standard output.
///
/// # Errors
/// When no port can be had.
pub async fn serve() -> Outcome<()> {
    let listener = tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    let mut out = io::stdout();
    writeln!(out, "{}", listener.local_addr()?)?;
    out.flush()?;
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
        let _ = stream.set_nodelay(true);
    });
    let routes = Router::new()
        .route("/mcp", post(take))
        .layer(axum::extract::DefaultBodyLimit::disable());
    axum::serve(listener, routes).await?;
    Ok(())
}

/// Serves on standard streams until they are closed.
///
/// # Errors
/// When they break.
pub fn serve_streams() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        if let Some(answer) = answer(line?.as_bytes()) {
            writeln!(out, "{answer}")?;
            out.flush()?;
        }
    }
    Ok(())
}
