//! One session: its label, how data flowed in it, and everything that happened.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::response::Html;
use axum::response::sse::{Event, Sse};
use futures_util::stream::Stream;
use maud::{Markup, html};
use serde::Deserialize;
use tidegate_core::{Ident, Name};
use tidegate_engine::{ContextView, Tools, Trail};
use tidegate_ledger::{Cursor, Page, Record};

use super::sessions::{cursor, state_of};
use super::{Refused, Shown};
use crate::App;
use crate::console::layout::{self, Part};
use crate::console::pieces::{class_chip, when};
use crate::console::visitor::Visitor;
use crate::console::{flow, live, story, tally};
use crate::extract::SessionId;
use crate::router::Shared;

/// How many records the picture is drawn from.
const DRAWN: usize = 1_000;
/// How many records the timeline shows at once.
const TOLD: usize = 50;
/// How often the record is looked at for something new.
const LOOK_EVERY: Duration = Duration::from_millis(500);

#[derive(Deserialize)]
pub(crate) struct Wanted {
    before: Option<String>,
}

pub(crate) async fn show(
    State(app): Shared,
    visitor: Visitor,
    SessionId(id): SessionId,
    Query(wanted): Query<Wanted>,
) -> Shown {
    let trail = app.engine.trail(&visitor.caller, &id).await?;
    if let Some(before) = wanted.before.as_deref().map(cursor).transpose()? {
        return earlier(&visitor, &id, &trail, before).await;
    }
    let mut part = Following::new(app, &visitor, id.clone(), trail).await?;
    let view = part.whole().await?;
    let content = html! {
        nav.crumbs aria-label="Where you are" { a href="/console/sessions" { "Sessions" } }
        div data-live={ "/console/sessions/" (id) "/stream" } { (view) }
    };
    Ok(layout::page(&visitor, Part::Sessions, id.as_str(), &content))
}

/// The session's page, each time that something happens in it.
pub(crate) async fn stream(
    State(app): Shared,
    visitor: Visitor,
    SessionId(id): SessionId,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refused> {
    let trail = app.engine.trail(&visitor.caller, &id).await?;
    let part = Following::new(app.clone(), &visitor, id, trail).await?;
    live::follow(&app, &visitor, part)
}

async fn earlier(
    visitor: &Visitor,
    id: &Ident,
    trail: &Trail,
    before: Cursor,
) -> Result<Html<String>, Refused> {
    let page = trail.latest(Some(before), TOLD).await?;
    let content = html! {
        nav.crumbs aria-label="Where you are" { a href="/console/sessions" { "Sessions" } " / " a.mono href={ "/console/sessions/" (id) } { (id) } }
        div.title { h1 { "Earlier" } }
        (timeline(id, &page.records, page.next))
    };
    Ok(layout::page(visitor, Part::Sessions, id.as_str(), &content))
}

/// A session that somebody looks at. Leave to look was given when it was made.
struct Following {
    app: App,
    trail: Trail,
    id: Ident,
    caller: tidegate_engine::Caller,
    tools: Tools,
    /// The newest record that was shown.
    newest: Option<u64>,
}

impl Following {
    async fn new(app: App, visitor: &Visitor, id: Ident, trail: Trail) -> Result<Self, Refused> {
        let tools = app.engine.tools(&visitor.caller).await?;
        Ok(Self {
            app,
            trail,
            id,
            caller: visitor.caller.clone(),
            tools,
            newest: None,
        })
    }

    async fn whole(&mut self) -> Result<Markup, Refused> {
        let view = self.app.engine.context(&self.caller, &self.id).await?;
        let page = self.trail.latest(None, DRAWN).await?;
        self.newest = page.records.first().map(|record| record.index);
        Ok(shown(&view, &self.tools, &page))
    }
}

impl live::Part for Following {
    async fn changed(&mut self) -> Option<()> {
        loop {
            let page = self.trail.latest(None, 1).await.ok()?;
            let newest = page.records.first().map(|record| record.index);
            if newest != self.newest {
                return Some(());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn render(&mut self) -> Option<Markup> {
        self.whole().await.ok()
    }
}

fn shown(view: &ContextView, tools: &Tools, page: &Page) -> Markup {
    let session = &view.session;
    let flows = tally::gather(session, &tools.control, page.records.iter().rev());
    let told = page.records.get(..TOLD).unwrap_or(&page.records);
    let next = match page.records.len() > TOLD {
        true => told
            .last()
            .and_then(|last| Cursor::parse(&last.index.to_string())),
        false => page.next,
    };
    html! {
        div.title { h1.mono { (session.id) } (class_chip(session.context.label().class())) (state_of(session)) }
        (facts(view))
        section aria-labelledby="flow" { h2 id="flow" { "How data flowed" } (flow::picture(&flows)) }
        section aria-labelledby="trail" {
            h2 id="trail" { "What happened" }
            @if told.is_empty() { p.nothing { "This gateway's record says nothing of this session. Another gateway on the same state may have opened it, and its own record tells what happened." } }
            (timeline(&session.id, told, next))
        }
    }
}

fn facts(view: &ContextView) -> Markup {
    let session = &view.session;
    let context = &session.context;
    html! {
        dl.facts {
            div { dt { "User" } dd { (session.user) } }
            div { dt { "Agent" } dd { (session.agent) } }
            div { dt { "Opened" } dd { (when(session.opened_at.0)) } }
            @if let Some(at) = context.contaminated_at() {
                div { dt { "Private since" } dd { (when(at.0)) @if let Some(source) = context.contamination_source() { ", by " code { (source) } } } }
            }
            @if let Some(halt) = context.halted().filter(|halt| !halt.is_end()) {
                div { dt { "Halted" } dd { (when(halt.at.0)) ", by content from " code { (halt.source) } } }
            }
            @if !context.datasets().is_empty() {
                div { dt { "Datasets" } dd { @for set in context.datasets().iter().take(20) { code { (set.name) } " " (class_chip(set.class)) " " } } }
            }
            div { dt { "Closed tools" } dd { @if view.blocked_tools.is_empty() { span.faint { "none" } } @else { (names(&view.blocked_tools)) } } }
        }
        p { a href={ "/console/plan?session=" (session.id.as_str().replace('+', "%2B")) } { "Check a plan for this session" } }
    }
}

/// So many that a line stays readable.
fn names(tools: &[Name]) -> Markup {
    const MOST: usize = 12;
    html! {
        @for tool in tools.iter().take(MOST) { code { (tool) } " " }
        @if tools.len() > MOST { span.faint { "and " (tools.len() - MOST) " more" } }
    }
}

/// What happened, newest first.
fn timeline(id: &Ident, records: &[Record], next: Option<Cursor>) -> Markup {
    html! {
        (story::timeline(records))
        @if let Some(next) = next { p { a.button rel="next" href={ "/console/sessions/" (id) "?before=" (next) } { "Earlier" } } }
    }
}
