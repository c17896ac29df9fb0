//! One gate: what would be sent where, why it was stopped, what led there, and the decision.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use tidegate_core::Ident;
use tidegate_engine::access::reach;
use tidegate_engine::{Act, GateError, GateView, Reach};
use tidegate_store::GateState;

use super::queue::{keys, question, state_chip};
use super::{Refused, Shown};
use crate::App;
use crate::console::layout::{self, Part, csrf};
use crate::console::pieces::{class_chip, when};
use crate::console::posted::Posted;
use crate::console::story;
use crate::console::visitor::Visitor;
use crate::extract::ident;
use crate::router::Shared;

/// How much of the trail that led here is shown.
const TRAIL: usize = 12;

#[derive(Deserialize)]
pub(crate) struct Deciding {
    #[serde(default)]
    decision: String,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
pub(crate) struct Revealing {
    #[serde(default)]
    reason: String,
}

pub(crate) async fn show(State(app): Shared, visitor: Visitor, Path(id): Path<String>) -> Shown {
    let view = app.engine.gate(&visitor.caller, &ident("gate", &id)?).await?;
    page(&app, &visitor, &view, None, None).await
}

/// A person's answer.
pub(crate) async fn decide(
    State(app): Shared,
    Path(id): Path<String>,
    Posted { visitor, form }: Posted<Deciding>,
) -> Result<Response, Refused> {
    let id = ident("gate", &id)?;
    let approve = match form.decision.as_str() {
        "approve" => true,
        "deny" => false,
        _ => return Err(Refused::unreadable()),
    };
    match app
        .engine
        .decide_gate(&visitor.caller, &id, approve, &form.reason)
        .await
    {
        Ok(_) => Ok(Redirect::to(&format!("/console/gates/{id}")).into_response()),
        Err(error) => again(&app, &visitor, &id, error).await,
    }
}

/// Shows the content raw to those who may, for a reason that is on the record first.
pub(crate) async fn reveal(
    State(app): Shared,
    Path(id): Path<String>,
    Posted { visitor, form }: Posted<Revealing>,
) -> Result<Response, Refused> {
    let id = ident("gate", &id)?;
    match app.engine.reveal_gate(&visitor.caller, &id, &form.reason).await {
        Ok(revealed) => {
            let shown = page(&app, &visitor, &revealed.view, Some(&revealed.arguments), None).await?;
            Ok(shown.into_response())
        }
        Err(error) => again(&app, &visitor, &id, error).await,
    }
}

/// The gate once more, with what kept the answer from being taken.
async fn again(app: &App, visitor: &Visitor, id: &Ident, error: GateError) -> Result<Response, Refused> {
    let refused = Refused::from(error);
    if refused.status != StatusCode::UNPROCESSABLE_ENTITY && refused.status != StatusCode::CONFLICT {
        return Err(refused);
    }
    let view = app.engine.gate(&visitor.caller, id).await?;
    let shown = page(app, visitor, &view, None, Some(&refused.detail)).await?;
    Ok((refused.status, shown).into_response())
}

async fn page(
    app: &App,
    visitor: &Visitor,
    view: &GateView,
    raw: Option<&Value>,
    mistake: Option<&str>,
) -> Result<Html<String>, Refused> {
    let gate = &view.gate;
    let trail = app.engine.trail(&visitor.caller, &gate.session).await?;
    let records = trail.latest(None, TRAIL).await?.records;
    let content = html! {
        nav.crumbs aria-label="Where you are" { a href="/console/queue" { "Queue" } }
        div.title { h1 { (question(view)) } (class_chip(gate.class)) (state_chip(view.state)) }
        @if let Some(mistake) = mistake { p.mistake role="alert" { (mistake) } }
        p.lead { (view.for_person) }
        (facts(view))
        section aria-labelledby="sent" {
            h2 id="sent" { @match raw { Some(_) => "What would be sent, as it is", None => "What would be sent" } }
            (content_of(raw.unwrap_or(&view.arguments)))
            @if raw.is_some() { p.faint { "That you looked, and why, is on the record." } }
            @if raw.is_none() && reach(visitor.caller.role, Act::Reveal) == Reach::All { (reveal_form(visitor, gate.id.as_str())) }
        }
        @if view.state == GateState::Open && reach(visitor.caller.role, Act::Decide) == Reach::All { (choice(visitor, gate.id.as_str())) }
        (outcome(view))
        section aria-labelledby="trail" { h2 id="trail" { "What led here" } (story::timeline(&records)) p { a href={ "/console/sessions/" (gate.session) } { "The whole session, with its picture" } } }
        (keys())
    };
    Ok(layout::page(visitor, Part::Queue, "Gate", &content))
}

fn facts(view: &GateView) -> Markup {
    let gate = &view.gate;
    html! {
        dl.facts {
            @if let Some(tool) = &gate.tool { div { dt { "Goes to" } dd { code { (tool) } } } }
            div { dt { "Agent" } dd { (gate.agent) " for " (gate.user) } }
            div { dt { "Session" } dd { a.mono href={ "/console/sessions/" (gate.session) } { (gate.session) } " at " (class_chip(view.label)) } }
            div { dt { "Asked" } dd { (when(gate.opened_at.0)) } }
            div { dt { "Denied if nobody answers by" } dd { (when(gate.expires_at.0)) } }
            div { dt { "Approvals needed" } dd { (gate.needed) } }
            div { dt { "Policy" } dd { code { (gate.policy) } } }
        }
        p { strong { "Why it was stopped: " } (view.reason) }
        @if let Some(note) = &view.note { p { strong { "They wrote: " } "“" (note) "”" } }
    }
}

/// Text as text, everything else as it is written in JSON.
fn content_of(value: &Value) -> Markup {
    let text = match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    html! { pre tabindex="0" aria-label="Content" role="region" { (text) } }
}

fn choice(visitor: &Visitor, id: &str) -> Markup {
    html! {
        section.choice aria-label="Your decision" {
            @for (decision, title, button) in [("approve", "Approve, because", "primary"), ("deny", "Deny, because", "danger")] {
                form method="post" action={ "/console/gates/" (id) "/decision" } {
                    (csrf(visitor))
                    input type="hidden" name="decision" value=(decision);
                    label for={ (decision) "-reason" } { (title) }
                    input id={ (decision) "-reason" } name="reason" required maxlength="500" autocomplete="off";
                    button.(button) type="submit" { @if decision == "approve" { "Approve, once" } @else { "Deny" } }
                }
            }
        }
    }
}

fn reveal_form(visitor: &Visitor, id: &str) -> Markup {
    html! {
        details {
            summary { "Show the values" }
            form.stack method="post" action={ "/console/gates/" (id) "/reveal" } {
                (csrf(visitor))
                label for="reveal-reason" { "Why you need to see them" }
                input id="reveal-reason" name="reason" required maxlength="500" autocomplete="off";
                p.hint { "Your name and this reason go on the record before anything is shown." }
                button type="submit" { "Show" }
            }
        }
    }
}

fn outcome(view: &GateView) -> Markup {
    let gate = &view.gate;
    html! {
        @if !gate.approvals.is_empty() || gate.end.is_some() {
            section aria-labelledby="outcome" {
                h2 id="outcome" { "What was decided" }
                ul {
                    @for approval in &gate.approvals { li { (approval.by) " (" (approval.role) ") approved, " (when(approval.at.0)) } }
                    @if let Some(end) = &gate.end { li { (state_chip(view.state)) " " @if let Some(by) = &end.by { "by " (by) ", " } (when(end.at.0)) ": “" (end.reason) "”" } }
                }
            }
        }
    }
}
