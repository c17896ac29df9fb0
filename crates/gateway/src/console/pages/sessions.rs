//! The sessions: newest first, or all of them by id.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use tidegate_core::{Halt, Ident};
use tidegate_ledger::Cursor;
use tidegate_store::Session;

use super::Refused;
use crate::console::layout::{self, Part};
use crate::console::pieces::{chip, class_chip, framed, short, when};
use crate::console::visitor::Visitor;
use crate::extract::ident;
use crate::problem::Problem;
use crate::router::Shared;

/// How many sessions a page shows.
const PAGE: usize = 50;

#[derive(Deserialize)]
pub(crate) struct Wanted {
    #[serde(default)]
    order: String,
    before: Option<String>,
    after: Option<String>,
    find: Option<String>,
}

pub(crate) async fn show(
    State(app): Shared,
    visitor: Visitor,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Refused> {
    if let Some(find) = wanted
        .find
        .as_deref()
        .map(str::trim)
        .filter(|find| !find.is_empty())
    {
        let id = ident("session", find)?;
        return Ok(Redirect::to(&format!("/console/sessions/{id}")).into_response());
    }
    let by_id = wanted.order == "id";
    let (sessions, next) = if by_id {
        let after = wanted
            .after
            .as_deref()
            .map(|text| ident("after", text))
            .transpose()?;
        let sessions = app
            .engine
            .sessions_by_id(&visitor.caller, after.as_ref(), PAGE)
            .await?;
        let next = sessions
            .last()
            .filter(|_| sessions.len() == PAGE)
            .map(|last| by_id_after(&last.id));
        (sessions, next)
    } else {
        let before = wanted.before.as_deref().map(cursor).transpose()?;
        let page = app.engine.newest_sessions(&visitor.caller, before, PAGE).await?;
        let next = page.next.map(|next| format!("/console/sessions?before={next}"));
        (page.sessions, next)
    };
    let content = html! {
        div.title { h1 { "Sessions" } }
        div.bar {
            ul.tabs {
                li { a href="/console/sessions" aria-current=[(!by_id).then_some("true")] { "Newest here" } }
                li { a href="/console/sessions?order=id" aria-current=[by_id.then_some("true")] { "All, by id" } }
            }
            form.inline method="get" action="/console/sessions" role="search" {
                label.unseen for="find" { "Session id" }
                input id="find" name="find" placeholder="Session id" maxlength="128" spellcheck="false" autocomplete="off";
                button type="submit" { "Open" }
            }
        }
        (listed(&sessions))
        @if let Some(next) = next { p { a.button href=(next) rel="next" { "More" } } }
    };
    Ok(layout::page(&visitor, Part::Sessions, "Sessions", &content).into_response())
}

/// Sessions as a table.
fn listed(sessions: &[Arc<Session>]) -> Markup {
    if sessions.is_empty() {
        return html! { p.nothing { "No session yet. One appears here as soon as an agent opens it." } };
    }
    let rows = html! {
        table {
            thead { tr {
                th scope="col" { "Session" } th scope="col" { "Label" } th scope="col" { "User" } th scope="col" { "Agent" }
                th scope="col" { "Raised by" } th scope="col" { "Opened" }
            } }
            tbody {
                @for session in sessions {
                    tr {
                        td { a.mono href={ "/console/sessions/" (session.id) } { (short(session.id.as_str(), 24)) } (state_of(session)) }
                        td { (class_chip(session.context.label().class())) }
                        td { (session.user) }
                        td { (session.agent) }
                        td { @if let Some(source) = session.context.contamination_source() { code { (short(source.as_str(), 32)) } } @else { span.faint { "nothing" } } }
                        td { (when(session.opened_at.0)) }
                    }
                }
            }
        }
    };
    framed("Sessions", &rows)
}

/// Whether it is halted or over.
pub(super) fn state_of(session: &Session) -> Markup {
    html! {
        @match session.context.halted() {
            None => {}
            Some(halt) if Halt::is_end(halt) => { " " (chip("calm", "ended")) }
            Some(_) => { " " (chip("bad", "halted")) }
        }
    }
}

pub(super) fn cursor(text: &str) -> Result<Cursor, Problem> {
    Cursor::parse(text)
        .ok_or_else(|| Problem::bad_request("bad-query", "this address is not one that a page gave"))
}

/// In a query a plus is a space, and an id may hold one.
fn by_id_after(id: &Ident) -> String {
    format!(
        "/console/sessions?order=id&after={}",
        id.as_str().replace('+', "%2B")
    )
}
