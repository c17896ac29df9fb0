//! What waits for a person, longest waiting first, without reloading.

use std::convert::Infallible;

use axum::extract::{Query, State};
use axum::response::sse::{Event, Sse};
use futures_util::stream::Stream;
use maud::{Markup, html};
use serde::Deserialize;
use tidegate_engine::{Caller, GateFeed, GateView, GateWanted};
use tidegate_store::{GateKind, GateState, Listed};

use super::{Refused, Shown};
use crate::App;
use crate::console::layout::{self, Part};
use crate::console::live;
use crate::console::pieces::{chip, class_chip, when};
use crate::console::visitor::Visitor;
use crate::router::Shared;

/// How many gates a page shows.
const PAGE: usize = 50;

#[derive(Deserialize)]
pub(crate) struct Wanted {
    #[serde(default)]
    show: String,
    after: Option<i64>,
}

pub(crate) async fn show(State(app): Shared, visitor: Visitor, Query(wanted): Query<Wanted>) -> Shown {
    let is_decided = wanted.show == "decided";
    let listed = if is_decided { Listed::Decided } else { Listed::Open };
    let page = app
        .engine
        .gates(&visitor.caller, asked(listed, wanted.after))
        .await?;
    let is_first = !is_decided && wanted.after.is_none();
    let content = html! {
        div.title { h1 { "Queue" } span.state data-state="" role="status" {} }
        div.bar { ul.tabs {
            li { a href="/console/queue" aria-current=[(!is_decided).then_some("true")] { "Waiting" } }
            li { a href="/console/queue?show=decided" aria-current=[is_decided.then_some("true")] { "Decided" } }
        } }
        div data-live=[is_first.then_some("/console/queue/stream")] { (listing(&page.gates, is_decided)) }
        @if let Some(next) = page.next {
            p { a.button rel="next" href={ "/console/queue?after=" (next) @if is_decided { "&show=decided" } } { "More" } }
        }
        (keys())
    };
    Ok(layout::page(&visitor, Part::Queue, "Queue", &content))
}

/// The first page of the queue, each time that a gate opens, is decided or runs out.
pub(crate) async fn stream(
    State(app): Shared,
    visitor: Visitor,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refused> {
    let feed = app.engine.follow_gates(&visitor.caller, None).await?;
    let part = Waiting {
        app: app.clone(),
        caller: visitor.caller.clone(),
        feed,
    };
    live::follow(&app, &visitor, part)
}

struct Waiting {
    app: App,
    caller: Caller,
    feed: GateFeed,
}

impl live::Part for Waiting {
    async fn changed(&mut self) -> Option<()> {
        self.feed.next().await.ok().map(|_| ())
    }

    async fn render(&mut self) -> Option<Markup> {
        let page = self
            .app
            .engine
            .gates(&self.caller, asked(Listed::Open, None))
            .await;
        Some(listing(&page.ok()?.gates, false))
    }
}

fn asked(listed: Listed, after: Option<i64>) -> GateWanted {
    GateWanted {
        listed,
        kind: None,
        session: None,
        after,
        limit: PAGE,
    }
}

fn listing(gates: &[GateView], is_decided: bool) -> Markup {
    let state = if is_decided { "decided" } else { "waiting" };
    html! {
        p.unseen role="status" data-open=(gates.len()) { (gates.len()) " " (state) }
        @if gates.is_empty() {
            p.nothing {
                @if is_decided { "Nothing was decided yet." } @else { "Nothing waits for you. What an agent is held at appears here by itself." }
            }
        }
        ol.queue { @for view in gates { (row(view)) } }
    }
}

fn row(view: &GateView) -> Markup {
    let gate = &view.gate;
    html! {
        li data-gate=(gate.id) {
            a href={ "/console/gates/" (gate.id) } {
                strong { (question(view)) }
                span { (class_chip(gate.class)) " " (state_chip(view.state)) }
                span.why { (view.reason) }
                span.meta {
                    span { (gate.agent) " for " (gate.user) }
                    span { "asked " (when(gate.opened_at.0)) }
                    @match (&gate.end, view.state) {
                        (Some(end), _) => span { (view.state) " " (when(end.at.0)) @if let Some(by) = &end.by { " by " (by) } },
                        (None, GateState::Open) => span { "denied if nobody answers by " (when(gate.expires_at.0)) },
                        (None, _) => {}
                    }
                }
            }
        }
    }
}

/// The question in a few words.
pub(super) fn question(view: &GateView) -> Markup {
    let tool = view.gate.tool.as_ref().map_or("a tool", |tool| tool.as_str());
    html! {
        @match view.gate.kind {
            GateKind::ToolApproval => { "Call " span.mono { (tool) } "?" }
            GateKind::InjectionHalt => { "Go on after orders from " span.mono { (tool) } "?" }
            GateKind::PiiLeakRisk => { "Show a text with personal data?" }
            GateKind::ToolChanged => { "Trust the new " span.mono { (tool) } "?" }
            GateKind::LowerLabel => { "Start the label anew?" }
        }
    }
}

pub(super) fn state_chip(state: GateState) -> Markup {
    let tone = match state {
        GateState::Open => "wait",
        GateState::Approved | GateState::Spent => "good",
        GateState::Denied | GateState::Expired => "bad",
    };
    let word = match state {
        GateState::Open => "waiting",
        GateState::Approved => "approved",
        GateState::Spent => "approved, used",
        GateState::Denied => "denied",
        GateState::Expired => "expired",
    };
    chip(tone, word)
}

/// The keys, for those who like them.
pub(super) fn keys() -> Markup {
    let all = [
        ("j", "next"),
        ("k", "previous"),
        ("Enter", "open"),
        ("a", "approve"),
        ("d", "deny"),
        ("q", "queue"),
        ("?", "all keys"),
    ];
    html! {
        p.keys { @for (key, what) in all { span { kbd { (key) } " " (what) } } }
        dialog data-keys="" aria-labelledby="keys" {
            h2 id="keys" { "Keys" }
            dl { @for (key, what) in all { dt { kbd { (key) } } dd { (what) } } }
            form method="dialog" { button { "Close" } }
        }
    }
}
