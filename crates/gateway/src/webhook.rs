//! Telling another program what happens at the gates: a chat, a pager, a ticket system.
//!
//! A message says which gate changed and how, in names and classes; whoever wants to see more comes to the gateway with a token. It
//! is signed with a shared secret, together with the time, so that a receiver can tell it from a forged or a replayed one.
//! What a receiver does not take is sent again, later and later, up to a bound; then the next message has its turn. A receiver that
//! is deaf for long loses messages, and nothing else: the queue in the gateway is what counts.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::json;
use sha2::Sha256;
use tidegate_core::Name;
use tidegate_engine::GateNews;
use tidegate_store::Hidden;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use ureq::Agent;

use crate::api::rfc3339;

/// The header with the signature: `v1=` and the hex digits of HMAC-SHA-256 over the timestamp, a dot and the body.
pub const SIGNATURE: &str = "tidegate-signature";
/// The header with the time of sending, in seconds since 1970.
pub const TIMESTAMP: &str = "tidegate-timestamp";
/// The header with the message's own id, which stays the same when it is sent again.
pub const DELIVERY: &str = "tidegate-delivery";

/// How often one message is tried.
const TRIES: u32 = 8;
/// How long one try may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Who is told, and how they know that it was this gateway.
#[derive(Clone, Debug)]
pub struct Webhook {
    /// Where messages are posted.
    pub url: String,
    /// The shared secret.
    pub secret: Hidden,
    /// The pause before the second try; it doubles each time.
    pub pause: Duration,
}

impl Webhook {
    /// The pause when nobody says otherwise.
    pub const PAUSE: Duration = Duration::from_millis(500);

    /// Tells of everything that is heard, one after the other, until the gateway is gone.
    pub async fn tell(self, mut news: broadcast::Receiver<GateNews>) {
        let agent = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .max_redirects(0)
            .http_status_as_error(false)
            .build();
        let agent: Agent = agent.into();
        let this = Arc::new(self);
        loop {
            match news.recv().await {
                Ok(heard) => Arc::clone(&this).deliver(&agent, &heard).await,
                Err(RecvError::Lagged(lost)) => {
                    tracing::warn!(
                        lost,
                        "the webhook was too slow: messages about gates were not sent"
                    );
                }
                Err(RecvError::Closed) => return,
            }
        }
    }

    async fn deliver(self: Arc<Self>, agent: &Agent, news: &GateNews) {
        let delivery: Arc<str> = format!("{}-{}", news.gate.id, news.gate.tick).into();
        let body: Arc<str> = message(news).into();
        let mut pause = self.pause;
        for attempt in 1..=TRIES {
            let (this, agent) = (Arc::clone(&self), agent.clone());
            let (sent_body, id) = (Arc::clone(&body), Arc::clone(&delivery));
            let sent = tokio::task::spawn_blocking(move || this.post(&agent, &id, &sent_body)).await;
            match sent.unwrap_or(Outcome::Again) {
                Outcome::Taken => return,
                Outcome::Refused(status) => {
                    tracing::warn!(status, "the webhook's receiver refuses messages about gates");
                    return;
                }
                Outcome::Again if attempt < TRIES => {
                    tokio::time::sleep(pause).await;
                    pause = pause.saturating_mul(2);
                }
                Outcome::Again => {
                    tracing::warn!(
                        "the webhook's receiver does not answer: a message about a gate was not sent"
                    );
                }
            }
        }
    }

    fn post(&self, agent: &Agent, delivery: &str, body: &str) -> Outcome {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let timestamp = at.as_secs().to_string();
        let sent = agent
            .post(&self.url)
            .header("content-type", "application/json")
            .header(TIMESTAMP, &timestamp)
            .header(SIGNATURE, signature(self.secret.expose(), &timestamp, body))
            .header(DELIVERY, delivery)
            .send(body);
        match sent {
            Err(_) => Outcome::Again,
            Ok(answer) => match answer.status().as_u16() {
                200..=299 => Outcome::Taken,
                408 | 425 | 429 | 500..=599 => Outcome::Again,
                status => Outcome::Refused(status),
            },
        }
    }
}

/// What came of one try.
enum Outcome {
    Taken,
    Refused(u16),
    Again,
}

/// What a receiver computes to know that a message is the gateway's.
#[must_use]
pub fn signature(secret: &str, timestamp: &str, body: &str) -> String {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else {
        return String::new();
    };
    for part in [timestamp, ".", body] {
        mac.update(part.as_bytes());
    }
    let digest: [u8; 32] = mac.finalize().into_bytes().into();
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("v1={hex}")
}

/// What is told: names, classes and times. Neither arguments nor anybody's reason.
fn message(news: &GateNews) -> String {
    let gate = &news.gate;
    let approvals = gate.approvals.iter().map(|given| given.by.to_string());
    json!({
        "event": news.event,
        "gate_id": gate.id.as_str(),
        "kind": gate.kind.as_str(),
        "state": gate.state.as_str(),
        "session_id": gate.session.as_str(),
        "user": gate.user.as_str(),
        "agent": gate.agent.as_str(),
        "tool": gate.tool.as_ref().map(Name::as_str),
        "class": gate.class.as_str(),
        "rule": gate.rule,
        "opened_at": rfc3339(gate.opened_at),
        "expires_at": rfc3339(gate.expires_at),
        "approvals": approvals.collect::<Vec<_>>(),
        "approvals_needed": gate.needed,
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_covers_time_and_body() {
        // printf '1700000000.{}' | openssl dgst -sha256 -hmac secret
        let made = signature("secret", "1700000000", "{}");
        assert_eq!(
            made,
            "v1=b8569b78799ff9e3cbff0fc2d63a33a2b57f3282abd07c37ae5e8e7d79a5f163"
        );
        for (secret, at, body) in [
            ("Secret", "1700000000", "{}"),
            ("secret", "1700000001", "{}"),
            ("secret", "1700000000", "{} "),
        ] {
            assert_ne!(signature(secret, at, body), made);
        }
    }
}
