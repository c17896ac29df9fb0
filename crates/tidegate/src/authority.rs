//! The authority that the configuration names, with the secrets that the environment holds for it.

use tidegate_authority::{ClientCredentials, Credentials, Settings};
use tidegate_core::{Class, Confined};

use crate::config::{Login, OpenFga};
use crate::failure::Failure;

/// The settings with the secrets in them.
pub(crate) fn settings(configured: &OpenFga) -> Result<Settings, Failure> {
    let credentials = match &configured.login {
        Login::None => Credentials::None,
        Login::PresharedKey { variable } => Credentials::preshared_key(secret("token_env", variable)?),
        Login::ClientCredentials {
            token_url,
            client_id,
            secret_variable,
            audience,
            scopes,
        } => {
            let secret = secret("client_credentials.client_secret_env", secret_variable)?;
            Credentials::ClientCredentials(ClientCredentials {
                token_url: token_url.clone(),
                client_id: client_id.clone(),
                client_secret: Confined::new(Class::Secret, secret),
                audience: audience.clone(),
                scopes: scopes.clone(),
            })
        }
    };
    Ok(Settings {
        credentials,
        ..configured.settings.clone()
    })
}

fn secret(key: &str, variable: &str) -> Result<String, Failure> {
    let secret = std::env::var(variable).ok().filter(|secret| !secret.is_empty());
    secret.ok_or_else(|| {
        Failure::environment(format_args!("openfga.{key}: the variable {variable} is not set"))
    })
}
