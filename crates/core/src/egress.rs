//! What is wrong with a connection that somebody wants to make, whatever the session holds.
//!
//! The label and the destination's ceiling are judged by the one rule in [`crate::decide`]. These are the faults that
//! lie in the connection itself: where it really leads, what it claims to be, how it is spelled.

use std::fmt;

/// Why a connection is refused whatever the session's label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Nobody who may use the proxy asked for it.
    NoCredential,
    /// It is not spelled in the one way that every reader understands alike.
    Malformed,
    /// Its head is larger than the bound.
    HeadTooLarge,
    /// It did not come in time.
    TooSlow,
    /// It asks to become another protocol.
    Upgrade,
    /// The destination is not reached on this port.
    PortNotListed,
    /// The name leads nowhere.
    Unresolvable,
    /// The name leads into a network that is not the public internet, and nobody listed that.
    ReservedAddress,
    /// It leads back to the gateway itself.
    OwnAddress,
    /// It names one host here and another there.
    NameMismatch,
    /// What runs through the tunnel is not TLS.
    NotTls,
    /// It cannot be looked into: too large, or encoded.
    Unreadable,
    /// The session has as many connections as it may have.
    TooManyConnections,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 13] = [
        Self::NoCredential,
        Self::Malformed,
        Self::HeadTooLarge,
        Self::TooSlow,
        Self::Upgrade,
        Self::PortNotListed,
        Self::Unresolvable,
        Self::ReservedAddress,
        Self::OwnAddress,
        Self::NameMismatch,
        Self::NotTls,
        Self::Unreadable,
        Self::TooManyConnections,
    ];

    /// The name used on every wire and in every file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoCredential => "no-credential",
            Self::Malformed => "malformed-request",
            Self::HeadTooLarge => "head-too-large",
            Self::TooSlow => "too-slow",
            Self::Upgrade => "upgrade",
            Self::PortNotListed => "port-not-listed",
            Self::Unresolvable => "unresolvable-host",
            Self::ReservedAddress => "reserved-address",
            Self::OwnAddress => "own-address",
            Self::NameMismatch => "name-mismatch",
            Self::NotTls => "not-tls",
            Self::Unreadable => "unreadable-body",
            Self::TooManyConnections => "too-many-connections",
        }
    }

    /// What is wrong.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NoCredential => "no valid credential of a session came with it",
            Self::Malformed => {
                "the request is not spelled strictly, so two readers could take it for two different requests"
            }
            Self::HeadTooLarge => "the head of the request is larger than the proxy reads",
            Self::TooSlow => "the request did not come in time",
            Self::Upgrade => "the request asks to become another protocol",
            Self::PortNotListed => "this destination is not reached on this port",
            Self::Unresolvable => "its name leads to no address",
            Self::ReservedAddress => {
                "it leads into a private, local or otherwise reserved network that the policy does not list for it"
            }
            Self::OwnAddress => "it leads back to the gateway itself",
            Self::NameMismatch => {
                "the connection names one host and what is sent over it names another, or none"
            }
            Self::NotTls => "what is sent through the tunnel is not TLS",
            Self::Unreadable => {
                "its body cannot be looked into, because it is too large or encoded, or JSON that can be read in two ways"
            }
            Self::TooManyConnections => "too many connections are open",
        }
    }

    /// What to do instead.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::NoCredential => {
                "ask the gateway for the session's credential (POST /v1/session/{id}/egress) and send it as \
                 Proxy-Authorization"
            }
            Self::Malformed => {
                "send one plain HTTP/1.1 request: CONNECT host:port, or an absolute http:// URL with the same Host, one \
                 Content-Length or chunked, lower-case ASCII names and no user in the URL"
            }
            Self::HeadTooLarge => "send fewer or shorter headers",
            Self::TooSlow => "send the whole request at once; if the network was slow, try again",
            Self::Upgrade => "send the request without Upgrade",
            Self::PortNotListed => {
                "use a port that the policy lists (443 and 80 unless it says otherwise), or ask an administrator to list it"
            }
            Self::Unresolvable => "check the name",
            Self::ReservedAddress => {
                "use the public name of the service, or ask an administrator to list its addresses for this destination"
            }
            Self::OwnAddress => "speak to the gateway directly, not through its proxy",
            Self::NameMismatch => {
                "let the TLS server name and the Host header name the host that the connection was asked for"
            }
            Self::NotTls => {
                "send plain HTTP as a request with an absolute http:// URL, or ask an administrator to list the \
                 destination with protocol = \"tcp\""
            }
            Self::Unreadable => {
                "send a smaller body, without Content-Encoding, in which no JSON object names a member twice"
            }
            Self::TooManyConnections => "close some connections, or try again in a moment",
        }
    }

    /// Whether the same request may pass later, or in another spelling, in this session.
    #[must_use]
    pub const fn retryable(self) -> bool {
        match self {
            Self::NoCredential
            | Self::Malformed
            | Self::HeadTooLarge
            | Self::TooSlow
            | Self::Upgrade
            | Self::Unresolvable
            | Self::NameMismatch
            | Self::NotTls
            | Self::Unreadable
            | Self::TooManyConnections => true,
            Self::PortNotListed | Self::ReservedAddress | Self::OwnAddress => false,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_says_what_to_do() {
        for (index, fault) in Fault::ALL.into_iter().enumerate() {
            assert!(
                !fault.reason().is_empty() && !fault.remedy().is_empty(),
                "{fault}"
            );
            let others = Fault::ALL.into_iter().skip(index + 1);
            assert!(others.into_iter().all(|other| other.as_str() != fault.as_str()));
        }
    }
}
