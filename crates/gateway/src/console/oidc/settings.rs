//! What an operator says of a provider.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use tidegate_core::{Ident, Role};
use tidegate_store::Hidden;

/// What signing in by a provider is told.
#[derive(Clone, Debug)]
pub struct OidcSettings {
    /// What people call the provider.
    pub name: String,
    /// What the provider calls itself; also where its description is found.
    pub issuer: String,
    /// What the provider calls this gateway.
    pub client_id: String,
    /// What this gateway shows the provider, if it was given a secret.
    pub client_secret: Option<Hidden>,
    /// Where people reach this gateway.
    pub public_url: String,
    /// What is asked for beside `openid`.
    pub scopes: Vec<String>,
    /// The claim that names a person.
    pub principal_claim: String,
    /// The claim whose values are mapped to roles.
    pub roles_claim: String,
    /// Which value stands for which role. The first that a person has counts.
    pub roles: Vec<(String, Role)>,
    /// What people are called here whom the provider calls otherwise.
    pub people: BTreeMap<String, Ident>,
    /// The authorities that are trusted for TLS instead of those that browsers trust.
    pub ca_file: Option<PathBuf>,
    /// How long one answer of the provider may take.
    pub patience: Duration,
}

impl OidcSettings {
    /// What serves when no more than this is said. Nobody has a role yet.
    #[must_use]
    pub fn of(issuer: &str, client_id: &str, public_url: &str) -> Self {
        Self {
            name: "your organisation".to_owned(),
            issuer: issuer.to_owned(),
            client_id: client_id.to_owned(),
            client_secret: None,
            public_url: public_url.to_owned(),
            scopes: Vec::new(),
            principal_claim: "sub".to_owned(),
            roles_claim: "groups".to_owned(),
            roles: Vec::new(),
            people: BTreeMap::new(),
            ca_file: None,
            patience: Duration::from_secs(5),
        }
    }
}
