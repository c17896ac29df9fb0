//! `tidegate fga`: the OpenFGA store behind `[openfga]`, prepared from the control list and compared with it.

use clap::{Args, Subcommand};
use tidegate_authority::bootstrap::{Difference, Grantee, Wanted};
use tidegate_authority::{CallError, Client, OpenFga};
use tidegate_core::{Ident, Name};
use tidegate_engine::{Authority, Subject};

use super::answer_now;
use crate::authority;
use crate::config::Config;
use crate::failure::Failure;
use crate::source::Places;
use crate::terminal::{answer, note};

/// Prepare and check the OpenFGA store that says who may use which tool
#[derive(Args, Debug)]
pub(crate) struct Fga {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Write the model and the tags of the control list where they are missing
    ///
    /// Shows what would change and exits with 1; with --yes it is written. A store that has everything is left alone.
    Bootstrap {
        /// Write it
        #[arg(long)]
        yes: bool,
        /// Let these use every tool that is not blocked: agent:*, agent:USER/AGENT, user:NAME, team:NAME, session:ID
        #[arg(long, value_name = "WHO")]
        grant: Vec<Grantee>,
        /// Also delete tags that the control list does not have
        #[arg(long)]
        prune: bool,
        #[command(flatten)]
        places: Places,
    },
    /// Compare the store with the control list, or ask what an agent may use; exits with 1 when something is missing
    Check {
        /// Whose agent is asked about
        #[arg(long, value_name = "NAME", value_parser = Ident::parse)]
        user: Option<Ident>,
        /// The agent
        #[arg(long, value_name = "NAME", value_parser = Ident::parse, default_value = "default")]
        agent: Ident,
        /// The session it is in
        #[arg(long, value_name = "ID", value_parser = Ident::parse, default_value = "none")]
        session: Ident,
        /// Only this tool; exits with 1 when the agent may not use it
        #[arg(long, value_name = "NAME", value_parser = Name::parse, requires = "user")]
        tool: Option<Name>,
        #[command(flatten)]
        places: Places,
    },
}

impl Fga {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.verb {
            Verb::Bootstrap {
                yes,
                grant,
                prune,
                places,
            } => bootstrap(&places.load(None)?, &grant, yes, prune),
            Verb::Check {
                user: Some(user),
                agent,
                session,
                tool,
                places,
            } => {
                let subject = Subject {
                    user: &user,
                    agent: &agent,
                    session: &session,
                };
                ask(&places.load(None)?, subject, tool)
            }
            Verb::Check { places, .. } => check(&places.load(None)?),
        }
    }
}

fn bootstrap(config: &Config, grantees: &[Grantee], yes: bool, prune: bool) -> Result<(), Failure> {
    let client = Client::new(settings(config)?);
    let wanted = Wanted::of(&config.policy.control, grantees).map_err(Failure::usage)?;
    let difference = client.compare(&wanted).map_err(unanswered)?;
    show(&difference, prune)?;
    if difference.is_complete() && (difference.extra.is_empty() || !prune) {
        return answer("nothing to write");
    }
    if !yes {
        return Err(Failure::no(
            "nothing was written: run again with --yes to write this",
        ));
    }
    let (store, model) = client.apply(&difference, prune).map_err(unanswered)?;
    answer(format_args!("written: store {store}, model {model}"))?;
    if grantees.is_empty() {
        note("nobody was given leave to use a tool: --grant gives it, or write can_use tuples yourself");
    }
    Ok(())
}

fn check(config: &Config) -> Result<(), Failure> {
    let client = Client::new(settings(config)?);
    let wanted = Wanted::of(&config.policy.control, &[]).map_err(Failure::usage)?;
    let difference = client.compare(&wanted).map_err(unanswered)?;
    show(&difference, false)?;
    if difference.is_complete() && difference.extra.is_empty() {
        return answer("the store has what the control list says");
    }
    Err(Failure::no("the store and the control list differ"))
}

fn ask(config: &Config, subject: Subject<'_>, tool: Option<Name>) -> Result<(), Failure> {
    let authority = OpenFga::new(settings(config)?);
    let single = tool.is_some();
    let tools: Vec<_> = match tool {
        Some(tool) => vec![tool],
        None => config
            .policy
            .control
            .iter()
            .map(|tool| tool.name.clone())
            .collect(),
    };
    let permitted = answer_now(authority.permitted(subject, &tools))?.map_err(Failure::environment)?;
    for (tool, is_permitted) in tools.iter().zip(&permitted) {
        answer(format_args!(
            "{} {tool}",
            if *is_permitted { "may    " } else { "may not" }
        ))?;
    }
    if single && permitted != [true] {
        return Err(Failure::no("the agent may not use it"));
    }
    Ok(())
}

fn show(difference: &Difference, prune: bool) -> Result<(), Failure> {
    match &difference.store {
        Some(store) => answer(format_args!("  store {store}"))?,
        None => answer("+ store")?,
    }
    match &difference.model {
        Some(model) => answer(format_args!("  model {model}"))?,
        None => answer("+ model")?,
    }
    for tuple in &difference.missing {
        answer(format_args!("+ {tuple}"))?;
    }
    for tuple in &difference.extra {
        let kept = if prune {
            ""
        } else {
            "   (not in the control list; kept)"
        };
        answer(format_args!("{} {tuple}{kept}", if prune { "-" } else { "?" }))?;
    }
    Ok(())
}

fn settings(config: &Config) -> Result<tidegate_authority::Settings, Failure> {
    let configured = config.openfga.as_ref();
    let configured = configured.ok_or_else(|| Failure::usage("the configuration has no [openfga]"))?;
    authority::settings(configured)
}

fn unanswered(error: CallError) -> Failure {
    Failure::environment(error)
}
