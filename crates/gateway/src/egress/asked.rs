//! Who asks the proxy for what.

use axum::http::{Method, header};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tidegate_core::{Fault, Ident};
use tidegate_engine::egress::Target;

use super::head::Head;

/// What a request to the proxy asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A tunnel.
    Tunnel(Target),
    /// One request in the clear, and the path that the other end is asked for.
    Request {
        /// Where it leads.
        target: Target,
        /// The path and the query.
        path: String,
    },
}

impl Asked {
    /// Reads what is asked for. The Host header must name the same place.
    pub(super) fn read(head: &Head) -> Result<Self, (Option<Target>, Fault)> {
        let malformed = |_| (None, Fault::Malformed);
        if head.method == Method::CONNECT {
            let target = Target::parse(&head.target, None).map_err(malformed)?;
            let host = host_of(head, target.port);
            return match host {
                Ok(None) => Ok(Self::Tunnel(target)),
                Ok(Some(host)) if host == target => Ok(Self::Tunnel(target)),
                Ok(Some(_)) => Err((Some(target), Fault::NameMismatch)),
                Err(fault) => Err((Some(target), fault)),
            };
        }
        let (scheme, rest) = head.target.split_at_checked(7).ok_or((None, Fault::Malformed))?;
        if !scheme.eq_ignore_ascii_case("http://") {
            return Err((None, Fault::Malformed));
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let target = Target::parse(authority, Some(80)).map_err(malformed)?;
        let path = origin_form(path).map_err(|fault| (Some(target.clone()), fault))?;
        match host_of(head, 80) {
            Ok(None) => Ok(Self::Request { target, path }),
            Ok(Some(host)) if host == target => Ok(Self::Request { target, path }),
            Ok(Some(_)) => Err((Some(target), Fault::NameMismatch)),
            Err(fault) => Err((Some(target), fault)),
        }
    }
}

/// What the Host header names.
pub(super) fn host_of(head: &Head, implied: u16) -> Result<Option<Target>, Fault> {
    let Some(host) = head.only(&header::HOST)? else {
        return Ok(None);
    };
    let target = Target::parse(host, Some(implied)).map_err(|_| Fault::Malformed)?;
    Ok(Some(target))
}

/// A path as the other end is asked for it.
pub(super) fn origin_form(path: &str) -> Result<String, Fault> {
    let fits = path.bytes().all(|b| b.is_ascii_graphic() && b != b'#');
    match path.as_bytes().first() {
        _ if !fits => Err(Fault::Malformed),
        None => Ok("/".to_owned()),
        Some(b'/') => Ok(path.to_owned()),
        Some(_) => Ok(format!("/{path}")),
    }
}

/// The id and the password in a request. The id may hold colons; the password does not.
pub(super) fn credential(head: &Head) -> Option<(Ident, String)> {
    let value = head.only(&header::PROXY_AUTHORIZATION).ok()??;
    let (scheme, encoded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = BASE64_STANDARD.decode(encoded.trim()).ok()?;
    let decoded = String::from_utf8(decoded).ok()?;
    let (id, password) = decoded.rsplit_once(':')?;
    Some((Ident::parse(id).ok()?, password.to_owned()))
}
