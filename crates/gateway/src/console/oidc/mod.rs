//! Signing in by an OpenID Connect provider: the authorization code flow with PKCE.
//!
//! A person goes to the provider and comes back with a code; this program takes the code to the provider itself and gets a token
//! that says who they are. What the token says is turned into a principal and a role, and a visit begins like any other (see
//! [`super::sign_ins`]). The token is kept nowhere, and whatever is not as it should be ends in a page that says so.

mod claims;
mod documents;
mod flow;
mod http;
mod settings;
mod token;

use std::fmt;

use axum::http::Uri;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use tidegate_core::Ident;
use tidegate_engine::Caller;
use tokio::sync::Semaphore;

use self::claims::{Identity, Stranger, identity};
use self::documents::{Documents, Unknown};
use self::flow::{Flow, Flows, Lost};
use self::http::{Http, NoAnswer};
pub use self::settings::OidcSettings;
use self::token::{Expected, Fault};
use crate::NoRandomness;

/// Where the provider sends people back to, below the gateway's own address.
pub(super) const BACK: &str = "/console/sign-in/oidc/callback";
/// The longest code that is taken to the provider.
const MOST_CODE_BYTES: usize = 4_096;
/// The most that are taken there at once.
const MOST_AT_ONCE: usize = 32;
/// What is written by its bytes in an address and in a form.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Signs people in by a provider.
pub struct Oidc {
    settings: OidcSettings,
    http: Http,
    flows: Flows,
    documents: Documents,
    at_once: Semaphore,
}

/// Why nobody can be signed in by a provider.
#[derive(Debug, Clone, Copy, thiserror::Error)]
pub enum OidcError {
    /// The file of authorities is of no use.
    #[error("console.oidc: {0}")]
    Authorities(&'static str),
    /// There are no secrets to be had.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}

/// What the provider's answer to a person's wish carries.
#[derive(Deserialize)]
pub(super) struct Back {
    #[serde(default)]
    state: String,
    code: Option<String>,
    error: Option<String>,
    iss: Option<String>,
}

/// Why a sign-in ends without a visit.
#[derive(Debug, Clone, Copy, thiserror::Error)]
pub(super) enum Refusal {
    #[error("nobody set out with this state from this browser, or too long ago, or it was used before")]
    Lost,
    #[error("the answer names another provider")]
    OtherProvider,
    #[error("the provider let the person not in")]
    Declined,
    #[error("the answer has no code")]
    NoCode,
    #[error("too many sign in at once")]
    Busy,
    #[error(transparent)]
    Provider(#[from] Unknown),
    #[error("the code was not taken: {0}")]
    Code(NoAnswer),
    #[error(transparent)]
    Token(#[from] Fault),
    #[error(transparent)]
    Stranger(#[from] Stranger),
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}

impl From<Lost> for Refusal {
    fn from(Lost: Lost) -> Self {
        Self::Lost
    }
}

/// Where a person is sent, and what their browser holds meanwhile.
pub(super) struct Leaving {
    pub(super) address: String,
    pub(super) cookie: String,
}

#[derive(Deserialize)]
struct Tokens {
    id_token: String,
}

impl Oidc {
    /// Ready to sign people in. The provider is asked when the first of them comes.
    ///
    /// # Errors
    /// When the file of authorities cannot be used, or the system has no random bytes.
    pub fn new(settings: OidcSettings) -> Result<Self, OidcError> {
        token::prepare();
        let http =
            Http::new(settings.ca_file.as_deref(), settings.patience).map_err(OidcError::Authorities)?;
        Ok(Self {
            http,
            flows: Flows::new()?,
            documents: Documents::of(&settings.issuer),
            at_once: Semaphore::new(MOST_AT_ONCE),
            settings,
        })
    }

    /// What people call the provider.
    pub(super) fn name(&self) -> &str {
        &self.settings.name
    }

    /// Sends a person to the provider.
    pub(super) async fn leave(&self) -> Result<Leaving, Refusal> {
        let places = self.documents.places(&self.http).await?;
        let flow = self.flows.begin()?;
        let scope = self.scope();
        let back = self.back();
        let query = form(&[
            ("response_type", "code"),
            ("client_id", &self.settings.client_id),
            ("redirect_uri", &back),
            ("scope", &scope),
            ("state", &flow.state),
            ("nonce", &flow.nonce),
            ("code_challenge", &flow.challenge()),
            ("code_challenge_method", "S256"),
        ]);
        let joint = if places.authorization.query().is_some() {
            '&'
        } else {
            '?'
        };
        Ok(Leaving {
            address: format!("{}{joint}{query}", places.authorization),
            cookie: flow.cookie,
        })
    }

    /// Who came back. Their browser's cookie is worth nothing afterwards, however this ends.
    pub(super) async fn receive(&self, cookie: &str, back: &Back) -> Result<Caller, Refusal> {
        let flow = self.flows.end(cookie, &back.state)?;
        if back
            .iss
            .as_ref()
            .is_some_and(|issuer| *issuer != self.settings.issuer)
        {
            return Err(Refusal::OtherProvider);
        }
        if back.error.is_some() {
            return Err(Refusal::Declined);
        }
        let code = back
            .code
            .as_deref()
            .filter(|code| !code.is_empty() && code.len() <= MOST_CODE_BYTES);
        let code = code.ok_or(Refusal::NoCode)?;
        let _place = self.at_once.try_acquire().map_err(|_| Refusal::Busy)?;
        let places = self.documents.places(&self.http).await?;
        if places.names_itself && back.iss.is_none() {
            return Err(Refusal::OtherProvider);
        }
        let token = self
            .exchange(&places.token, places.secret_in_form, code, &flow)
            .await?;
        let keys = self
            .documents
            .keys(&self.http, |keys| token::are_enough(&token, keys))
            .await?;
        let expected = Expected {
            issuer: &self.settings.issuer,
            client: &self.settings.client_id,
            nonce: &flow.nonce,
        };
        let claims = token::verified(&token, &keys, &expected)?;
        let Identity { principal, role } = identity(&self.settings, &claims)?;
        Ok(Caller {
            principal,
            agent: None,
            role,
            token_id: visit_id()?,
        })
    }

    /// Takes the code to the provider and gets a token for it.
    async fn exchange(&self, place: &Uri, in_form: bool, code: &str, flow: &Flow) -> Result<String, Refusal> {
        let back = self.back();
        let client = &self.settings.client_id;
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &back),
            ("code_verifier", &flow.verifier),
        ];
        let mut authorization = None;
        match &self.settings.client_secret {
            None => fields.push(("client_id", client)),
            Some(secret) if in_form => {
                fields.extend([("client_id", client.as_str()), ("client_secret", secret.expose())]);
            }
            Some(secret) => {
                let pair = format!("{}:{}", escaped(client), escaped(secret.expose()));
                authorization = Some(format!("Basic {}", STANDARD.encode(pair)));
            }
        }
        let tokens: Result<Tokens, NoAnswer> = self.http.post(place, authorization, form(&fields)).await;
        tokens.map(|tokens| tokens.id_token).map_err(Refusal::Code)
    }

    fn scope(&self) -> String {
        let others = self.settings.scopes.iter().map(String::as_str);
        let others = others.filter(|scope| *scope != "openid");
        std::iter::once("openid")
            .chain(others)
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn back(&self) -> String {
        format!("{}{BACK}", self.settings.public_url.trim_end_matches('/'))
    }
}

impl fmt::Debug for Oidc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Oidc")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// What stands on the record in place of a token's id.
fn visit_id() -> Result<Ident, NoRandomness> {
    let mut bytes = [0u8; 4];
    getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ident::parse(&format!("oidc_{}", super::pieces::hex(&bytes))).map_err(|_| NoRandomness)
}

fn form(fields: &[(&str, &str)]) -> String {
    let pairs = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", escaped(value)));
    pairs.collect::<Vec<_>>().join("&")
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}
