//! `tidegate evidence`: destroying evidence and changing its key, on the record.

use clap::{Args, Subcommand};
use tidegate_core::Ident;
use tidegate_engine::{Engine, RecordError};
use tidegate_ledger::EvidencePointer;

use crate::commands::answer_now;
use crate::config::Config;
use crate::failure::Failure;
use crate::source::Places;
use crate::state::open_kept_store;
use crate::terminal::note;
use crate::wiring::lone_engine;

/// Destroy evidence and change the key it is kept under
///
/// Works on the data directory while no gateway is running on it. A running gateway destroys by itself what the retention section
/// of the configuration says, once an hour.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tidegate evidence rotate                     put everything under a new key, forget the old one
  tidegate evidence destroy evidence://pii/0123456789abcdef0123456789abcdef
  tidegate evidence expire                     destroy what is older than [retention] allows")]
pub(crate) struct Evidence {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Put all evidence under a new key and forget the old one
    Rotate {
        #[command(flatten)]
        places: Places,
    },
    /// Destroy pieces of evidence by the pointers that records hold; exits with 1 when one leads nowhere
    Destroy {
        /// The pointers
        #[arg(required = true, value_name = "POINTER", value_parser = EvidencePointer::parse)]
        pointers: Vec<EvidencePointer>,
        #[command(flatten)]
        places: Places,
    },
    /// Destroy what has outlived the retention section of the configuration
    Expire {
        #[command(flatten)]
        places: Places,
    },
}

impl Evidence {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let by = Ident::parse("local-administrator").map_err(Failure::environment)?;
        match self.verb {
            Verb::Rotate { places } => {
                let rewrapped = answer_now(async {
                    let (_, engine) = open(&places).await?;
                    engine.rotate_evidence_key(&by).await.map_err(failed)
                })??;
                note(format_args!(
                    "a new key is in use; pieces put under it: {rewrapped}"
                ));
                Ok(())
            }
            Verb::Destroy { pointers, places } => answer_now(async {
                let (_, engine) = open(&places).await?;
                destroy(&engine, &pointers, &by).await
            })?,
            Verb::Expire { places } => {
                let expired = answer_now(async {
                    let (config, engine) = open(&places).await?;
                    engine.expire_evidence(&config.retention).await.map_err(failed)
                })??;
                note(format_args!("destroyed: {expired}"));
                Ok(())
            }
        }
    }
}

async fn open(places: &Places) -> Result<(Config, Engine), Failure> {
    let config = places.load(None)?;
    let store = open_kept_store(&config).await?;
    let engine = lone_engine(&config, store).await?;
    Ok((config, engine))
}

async fn destroy(engine: &Engine, pointers: &[EvidencePointer], by: &Ident) -> Result<(), Failure> {
    let mut nowhere = 0;
    for pointer in pointers {
        if engine.destroy_evidence(*pointer, by).await.map_err(failed)? {
            note(format_args!("{pointer} is destroyed"));
        } else {
            note(format_args!(
                "{pointer} leads nowhere: unknown, or destroyed already"
            ));
            nowhere += 1;
        }
    }
    match nowhere {
        0 => Ok(()),
        _ => Err(Failure::no(format_args!("pointers that lead nowhere: {nowhere}"))),
    }
}

fn failed(error: RecordError) -> Failure {
    Failure::environment(error)
}
