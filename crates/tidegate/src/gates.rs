//! What a gateway does about gates beside serving: it ends what nobody decided, and tells whoever wants to be told.

use std::sync::Arc;
use std::time::Duration;

use tidegate_engine::Engine;
use tidegate_gateway::webhook::Webhook;
use tidegate_store::Hidden;

use crate::config::Gates;
use crate::failure::Failure;
use crate::terminal::note;

/// How often gates are looked through for what has run out of time.
const CLOSING_INTERVAL: Duration = Duration::from_secs(1);

/// Who is told, with the secret that the environment holds.
pub(crate) fn webhook(config: &Gates) -> Result<Option<Webhook>, Failure> {
    let Some(configured) = &config.webhook else {
        return Ok(None);
    };
    let variable = &configured.secret_variable;
    let secret = std::env::var(variable).ok().filter(|secret| !secret.is_empty());
    let secret = secret.ok_or_else(|| {
        Failure::usage(format_args!(
            "gates.webhook.secret_env: the environment has no {variable}"
        ))
    })?;
    Ok(Some(Webhook {
        url: configured.url.clone(),
        secret: Hidden::new(&secret),
        pause: Webhook::PAUSE,
    }))
}

/// Goes on until it is stopped.
pub(crate) async fn keep(engine: Arc<Engine>, webhook: Option<Webhook>) {
    let telling = async {
        if let (Some(webhook), Some(news)) = (webhook, engine.gate_news()) {
            webhook.tell(news).await;
        }
    };
    tokio::join!(telling, keep_closing(&engine));
}

/// Writes down which gates have run out of time. They are denied from that moment on, whether or not it is written down.
async fn keep_closing(engine: &Engine) {
    let mut ticks = tokio::time::interval(CLOSING_INTERVAL);
    loop {
        ticks.tick().await;
        if let Err(error) = engine.expire_gates().await {
            note(format_args!("gates past their time could not be closed: {error}"));
        }
    }
}
