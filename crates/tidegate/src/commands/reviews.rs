//! `tidegate reviews`: sources whose class a person should look at, at a running gateway.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::asking::{Asking, field};
use crate::failure::Failure;
use crate::terminal::{answer, note};

/// See and settle which classes a person should look at
///
/// It asks a running gateway, with a token of a human-operator or an administrator. Settling changes no class: change it in the
/// configuration, and say here that you did.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tidegate reviews list
  tidegate reviews settle review_1234 --verdict assigned-right --reason \"public pages only\"
  tidegate reviews settle review_1234 --verdict changed --reason \"it returns guests: now pii\"")]
pub(crate) struct Reviews {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// List what is open, longest open first; exits with 1 when nothing is
    List {
        /// open, settled or all
        #[arg(long, default_value = "open")]
        state: String,
        #[command(flatten)]
        asking: Asking,
    },
    /// Say what you found
    Settle {
        /// The review
        id: String,
        /// assigned-right, or changed when you edited the configuration
        #[arg(long)]
        verdict: String,
        /// Why, without values
        #[arg(long)]
        reason: String,
        #[command(flatten)]
        asking: Asking,
    },
}

impl Reviews {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.verb {
            Verb::List { state, asking } => list(&asking, &state),
            Verb::Settle {
                id,
                verdict,
                reason,
                asking,
            } => {
                let body = json!({"verdict": verdict, "reason": reason});
                let review = asking.ask(&["v1", "class-reviews", &id], Some(body))?;
                note(field(&review, "state"));
                Ok(())
            }
        }
    }
}

fn list(asking: &Asking, state: &str) -> Result<(), Failure> {
    let page = asking.page(&["v1", "class-reviews"], state)?;
    let reviews = page.get("reviews").and_then(Value::as_array);
    let reviews = reviews.map(Vec::as_slice).unwrap_or_default();
    for review in reviews {
        let field = |name: &str| field(review, name);
        let seen = review.get("seen").and_then(Value::as_u64).unwrap_or_default();
        answer(format_args!(
            "{} {:<8} {:<13} returns {:<12} up to {:<12} seen {seen:<4} {}",
            field("review_id"),
            field("state"),
            field("cause"),
            field("class"),
            field("ceiling"),
            field("source")
        ))?;
    }
    if page.get("next").is_some_and(Value::is_string) {
        note("there are more");
    }
    if reviews.is_empty() {
        return Err(Failure::no("there is no class review in this state"));
    }
    Ok(())
}
