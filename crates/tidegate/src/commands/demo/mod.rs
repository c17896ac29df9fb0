//! `tidegate demo`: the leak that nobody notices, stopped, and then avoided.
//!
//! It plays against a real gateway over HTTP, on a directory that goes away. Each step states what it expects; if the
//! gateway answers anything else the demo fails, so what it shows is what happens.

mod client;
mod running;
mod stage;

use clap::Args;
use serde_json::{Value, json};
use tidegate_gateway::telemetry::LogTarget;

use crate::config::{self, Config, Overrides};
use crate::failure::Failure;
use client::Client;
use running::Running;
use stage::{Expected, Stage};

/// See it work: a real gateway in a temporary directory, an agent, and a leak that does not happen
#[derive(Args, Debug)]
pub(crate) struct Demo {}

impl Demo {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let directory = tempfile::tempdir()
            .map_err(|error| Failure::environment(format_args!("no temporary directory: {error}")))?;
        let config = demo_config(directory.path())?;
        let runtime = tokio::runtime::Runtime::new()
            .map_err(|error| Failure::environment(format_args!("cannot start: {error}")))?;
        runtime.block_on(play(&config))
    }
}

/// The built-in example, on a port and a directory of its own.
fn demo_config(directory: &std::path::Path) -> Result<Config, Failure> {
    let overrides = Overrides {
        listen: Some(([127, 0, 0, 1], 0).into()),
        data_dir: Some(directory.join("state")),
        private_data_dir: None,
    };
    let checked = config::check(config::EXAMPLE, directory, &overrides);
    let mut config = checked
        .config
        .ok_or_else(|| Failure::environment("the built-in example is not valid"))?;
    config.telemetry.decision_log = LogTarget::File(directory.join("decisions.jsonl"));
    Ok(config)
}

async fn play(config: &Config) -> Result<(), Failure> {
    let running = Running::start(config).await?;
    let mut stage = Stage::open(running.client()?)?;
    stage.aside(format_args!(
        "A gateway is listening on {} with the example control list.",
        running.address()
    ))?;

    let leaking = the_leak(&mut stage).await?;
    planning_ahead(&mut stage).await?;
    the_ratchet(&mut stage, &leaking).await?;

    running.stop().await?;
    let again = Running::start(config).await?;
    stage.moved_to(again.client()?);
    after_a_restart(&mut stage, &leaking).await?;
    again.stop().await?;
    stage.close()
}

/// An agent reads mail and then searches the web with what it read.
async fn the_leak(stage: &mut Stage) -> Result<String, Failure> {
    stage.heading("1. A leak that nobody would notice")?;
    stage.aside("The agent is asked: compare our Q3 pricing proposal with what competitors charge.")?;
    let session = stage.open_session().await?;

    stage
        .call(
            &session,
            "search_email",
            json!({"query": "Q3 pricing proposal"}),
            Expected::Allow,
        )
        .await?;
    let mail =
        "Q3 proposal: the enterprise tier goes from 48 to 61 per seat, announced after the board meets.";
    stage.respond(&session, "search_email", mail, "internal").await?;

    let query = json!({"query": "competitor pricing, enterprise tier 61 per seat"});
    stage.call(&session, "web_search", query, Expected::Deny).await?;
    stage
        .call(
            &session,
            "slack_post",
            json!({"channel": "#general", "text": "new tier"}),
            Expected::Deny,
        )
        .await?;
    stage.aside("What stays inside still works, and so does what may be given internal data:")?;
    stage
        .call(
            &session,
            "search_docs",
            json!({"query": "pricing history"}),
            Expected::Allow,
        )
        .await?;
    stage
        .call(
            &session,
            "github_create_pr",
            json!({"title": "Update the price table"}),
            Expected::Allow,
        )
        .await?;
    stage.aside("And some calls always wait for a person:")?;
    stage
        .call(
            &session,
            "gmail_guest_draft",
            json!({"subject": "Your booking"}),
            Expected::Hold,
        )
        .await?;
    stage.show_state(&session, "internal").await?;
    Ok(session)
}

/// The same task, planned with what the gateway tells beforehand.
async fn planning_ahead(stage: &mut Stage) -> Result<(), Failure> {
    stage.heading("2. The same task, planned ahead")?;
    let session = stage.open_session().await?;
    stage
        .show_manifest(&session, &["search_email", "web_search", "github_create_pr"])
        .await?;
    let plan = ["search_email", "web_search", "github_create_pr"];
    let order = stage.validate_plan(&session, &plan).await?;
    stage.aside("The agent follows that order:")?;
    for tool in order {
        stage.call(&session, &tool, json!({}), Expected::Allow).await?;
        if tool == "search_email" {
            stage
                .respond(&session, "search_email", "Q3 proposal ...", "internal")
                .await?;
        }
    }
    stage.aside(
        "Same result and nothing blocked: the web was searched before anything internal was in the context.",
    )
}

/// Labels rise; an agent cannot lower one.
async fn the_ratchet(stage: &mut Stage, leaking: &str) -> Result<(), Failure> {
    stage.heading("3. The label only rises")?;
    stage
        .add_dataset(leaking, "patient_records", "confidential", "confidential")
        .await?;
    stage
        .add_dataset(leaking, "financials_q4", "secret", "secret")
        .await?;
    stage
        .add_dataset(leaking, "financials_q4", "public", "secret")
        .await?;
    stage.refused_reset(leaking).await
}

async fn after_a_restart(stage: &mut Stage, leaking: &str) -> Result<(), Failure> {
    stage.aside("The gateway is stopped and started again on the same directory:")?;
    stage.show_state(leaking, "secret").await?;
    stage
        .call(
            leaking,
            "web_search",
            json!({"query": "anything"}),
            Expected::Deny,
        )
        .await
}

/// The text at a place in an answer; what is not there reads as empty.
fn text_at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The texts in a list in an answer.
fn texts_at(value: &Value, pointer: &str) -> Vec<String> {
    let list = value.pointer(pointer).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}
