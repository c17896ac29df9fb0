//! `tidegate token`: who may speak to the gateway.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use tidegate_core::{Ident, Role, is_vouched};
use tidegate_gateway::{NewToken, new_token};
use tidegate_store::TokenStore;

use crate::commands::{answer_now, moment};
use crate::failure::Failure;
use crate::source::Places;
use crate::state::{open_kept_store, open_store};
use crate::terminal::{answer, note};
use crate::wiring::now;

/// Create, list and revoke tokens
///
/// Works on the data directory, whether or not a gateway is running on it; a running one sees the change at once.
#[derive(Args, Debug)]
#[command(after_help = "\
Roles:
  agent                    works in its own sessions
  connector                fetches data for agents and tags their sessions
  human-operator           sees sessions and decides what is held
  pii-authorized-reviewer  the same, and may be shown personal data
  auditor                  reads the record
  admin                    the only one who resets a label

Examples:
  TOKEN=$(tidegate token create --role agent --principal alice --agent assistant)
  tidegate token list
  tidegate token revoke tok_1a2b3c4d")]
pub(crate) struct Token {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Create a token and print it, alone, on standard output; it is shown this once
    Create {
        /// What it is good for
        #[arg(long, value_parser = PossibleValuesParser::new(Role::ALL.map(Role::as_str)).try_map(|name| name.parse::<Role>()))]
        role: Role,
        /// Who holds it
        #[arg(long, value_name = "NAME", value_parser = principal)]
        principal: Ident,
        /// The one agent it is for [default: any agent of its principal]
        #[arg(long, value_name = "NAME", value_parser = Ident::parse)]
        agent: Option<Ident>,
        #[command(flatten)]
        places: Places,
    },
    /// List every token: what it is for, never the token itself
    List {
        #[command(flatten)]
        places: Places,
    },
    /// Revoke a token by its id; exits with 1 when there is none
    Revoke {
        /// The id, as `tidegate token list` shows it
        #[arg(value_parser = Ident::parse)]
        id: Ident,
        #[command(flatten)]
        places: Places,
    },
}

/// A principal who may hold a token: the names of those whom a provider vouches for are the provider's to give.
fn principal(text: &str) -> Result<Ident, String> {
    let principal = Ident::parse(text).map_err(|error| error.to_string())?;
    match is_vouched(&principal) {
        true => Err("names that begin with oidc: are for people who sign in by a provider".to_owned()),
        false => Ok(principal),
    }
}

impl Token {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.verb {
            Verb::Create {
                role,
                principal,
                agent,
                places,
            } => {
                let config = places.load(None)?;
                let token = answer_now(async {
                    let store = open_store(&config).await?;
                    issue(&*store, role, principal, agent).await
                })??;
                note(format_args!(
                    "token {} with the role {role}; it is shown this once",
                    token.record.id
                ));
                answer(token.text)
            }
            Verb::List { places } => list(&places),
            Verb::Revoke { id, places } => {
                let config = places.load(None)?;
                let revoked = answer_now(async {
                    let store = open_kept_store(&config).await?;
                    store.revoke(&id, now()).await.map_err(Failure::environment)
                })??;
                if !revoked {
                    return Err(Failure::no(format_args!("there is no token {id}")));
                }
                note(format_args!("token {id} is revoked"));
                Ok(())
            }
        }
    }
}

/// Makes a token and keeps its digest.
pub(crate) async fn issue(
    store: &dyn TokenStore,
    role: Role,
    principal: Ident,
    agent: Option<Ident>,
) -> Result<NewToken, Failure> {
    let token = new_token(role, principal, agent, now()).map_err(Failure::environment)?;
    store
        .issue(token.record.clone())
        .await
        .map_err(Failure::environment)?;
    Ok(token)
}

fn list(places: &Places) -> Result<(), Failure> {
    let config = places.load(None)?;
    let tokens = answer_now(async {
        let store = open_kept_store(&config).await?;
        store.tokens().await.map_err(Failure::environment)
    })??;
    answer(format_args!(
        "{:<14} {:<24} {:<20} {:<20} {:<25} REVOKED",
        "ID", "ROLE", "PRINCIPAL", "AGENT", "ISSUED"
    ))?;
    for token in tokens {
        let agent = token.agent.as_ref().map_or("any", Ident::as_str);
        let revoked = token.revoked_at.map_or_else(|| "-".to_owned(), moment);
        answer(format_args!(
            "{:<14} {:<24} {:<20} {agent:<20} {:<25} {revoked}",
            token.id,
            token.role,
            token.principal,
            moment(token.issued_at),
        ))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_token_speaks_for_somebody_whom_a_provider_vouches_for() {
        for (name, is_good) in [
            ("alice", true),
            ("alice@corp.example", true),
            ("oidc:alice", false),
            ("OIDC:alice", false),
            ("al ice", false),
        ] {
            assert_eq!(principal(name).is_ok(), is_good, "{name}");
        }
    }
}
