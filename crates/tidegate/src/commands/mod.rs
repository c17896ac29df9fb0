//! One module for each command: its arguments and what it does.

mod asking;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod egress;
pub(crate) mod evidence;
pub(crate) mod explain;
pub(crate) mod fga;
pub(crate) mod gates;
pub(crate) mod init;
pub(crate) mod ledger;
pub(crate) mod mcp;
pub(crate) mod pdf_text;
pub(crate) mod pins;
pub(crate) mod remote;
pub(crate) mod reviews;
pub(crate) mod run;
pub(crate) mod scan;
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod token;
pub(crate) mod wrap;

use tidegate_core::Moment;

use crate::failure::Failure;

/// Runs what a command asks of the store, on this thread.
fn answer_now<T>(question: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::environment(format_args!("cannot start: {error}")))?;
    Ok(runtime.block_on(question))
}

/// A moment as people read it.
fn moment(moment: Moment) -> String {
    let time = jiff::Timestamp::from_millisecond(moment.0);
    time.map_or_else(|_| moment.0.to_string(), |time| time.to_string())
}
