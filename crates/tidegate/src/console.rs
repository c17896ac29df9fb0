//! What the pages for people are told, with the secrets that the environment holds.

use std::sync::Arc;

use tidegate_gateway::{ConsoleOptions, Oidc};
use tidegate_store::Hidden;

use crate::config::Console;
use crate::failure::Failure;

/// The console as configured. Where people sign in by a provider, whatever they need for it is made ready.
pub(crate) fn options(config: &Console) -> Result<ConsoleOptions, Failure> {
    let mut options = config.options.clone();
    let Some(configured) = &config.oidc else {
        return Ok(options);
    };
    let mut settings = configured.settings.clone();
    if let Some(variable) = &configured.secret_variable {
        let secret = std::env::var(variable).ok().filter(|secret| !secret.is_empty());
        let secret = secret.ok_or_else(|| {
            Failure::usage(format_args!(
                "console.oidc.client_secret_env: the environment has no {variable}"
            ))
        })?;
        settings.client_secret = Some(Hidden::new(&secret));
    }
    options.oidc = Some(Arc::new(Oidc::new(settings).map_err(Failure::environment)?));
    Ok(options)
}
