//! The record: what happened, whether it still is what was written, and the proof for each of it.

use axum::extract::{Path, Query, State};
use axum::response::Redirect;
use maud::{Markup, html};
use serde::Deserialize;
use tidegate_core::{Class, Ident};
use tidegate_engine::AuditError;
use tidegate_ledger::{Chain, Event, Filter, Name, Page, ProveError, Record};

use super::sessions::cursor;
use super::{Refused, Shown};
use crate::console::layout::{self, Part, csrf};
use crate::console::pieces::{chip, framed, hex, now, number, short, when};
use crate::console::posted::{Nothing, Posted};
use crate::console::visitor::Visitor;
use crate::console::{Verdict, story};
use crate::extract::ident;
use crate::problem::Problem;
use crate::router::Shared;

/// How many records a page shows.
const PAGE: usize = 50;

/// Which records are wanted. What is left empty says nothing.
#[derive(Clone, Default, Deserialize)]
pub(crate) struct Wanted {
    #[serde(default)]
    session: String,
    #[serde(default)]
    event: String,
    #[serde(default)]
    class: String,
    #[serde(default)]
    tool: String,
    before: Option<String>,
}

pub(crate) async fn show(State(app): Shared, visitor: Visitor, Query(wanted): Query<Wanted>) -> Shown {
    let before = wanted.before.as_deref().map(cursor).transpose()?;
    let page = app
        .engine
        .audit_back(&visitor.caller, wanted.filter()?, before, PAGE)
        .await?;
    let verdict = app.console.verdict();
    let content = html! {
        div.title { h1 { "Record" } }
        (verification(&visitor, verdict.as_ref()))
        (filters(&wanted))
        (listed(&page))
        @if let Some(next) = page.next { p { a.button rel="next" href={ "/console/record?" (wanted.query()) "before=" (next) } { "Earlier" } } }
    };
    Ok(layout::page(&visitor, Part::Record, "Record", &content))
}

/// Checks everything that is recorded, from the files.
pub(crate) async fn verify(State(app): Shared, posted: Posted<Nothing>) -> Result<Redirect, Refused> {
    let Ok(_alone) = app.console.verifying.try_lock() else {
        return Ok(Redirect::to("/console/record"));
    };
    let outcome = app.engine.verify_record(&posted.visitor.caller).await?;
    app.console.keep_verdict(Verdict {
        at: now(),
        outcome: outcome.map(Box::new).map_err(|bad| bad.to_string()),
    });
    Ok(Redirect::to("/console/record"))
}

#[derive(Deserialize)]
pub(crate) struct Which {
    #[serde(default)]
    session: String,
}

/// One record, and its proof.
pub(crate) async fn one(
    State(app): Shared,
    visitor: Visitor,
    Path(seq): Path<String>,
    Query(which): Query<Which>,
) -> Shown {
    let seq: u64 = seq
        .parse()
        .map_err(|_| Problem::bad_request("bad-query", "this address is not one that a page gave"))?;
    let chain = match which.session.as_str() {
        "" => Chain::Gateway,
        session => Chain::Session(ident("session", session)?),
    };
    let proof = app.engine.prove(&visitor.caller, chain.clone(), seq).await;
    let content = match proof {
        Ok((proof, key)) => {
            let proved = proof.verify(&key);
            html! {
                div.title { h1 { "Record " (seq) } @match &proved { Ok(_) => (chip("good", "proved")), Err(_) => (chip("bad", "not proved")) } }
                @match &proved {
                    Ok(proved) => {
                        p.lead { (story::of(Some(&proved.event)).told) }
                        dl.facts {
                            div { dt { "When" } dd { (when(proved.at_ms)) } }
                            div { dt { "Chain" } dd { (proved.chain) } }
                            div { dt { "Place in the chain" } dd { (proved.seq) } }
                            div { dt { "Place in the record" } dd { (proved.index) } }
                            div { dt { "Hash" } dd.mono.long { (hex(&proved.hash)) } }
                            div { dt { "Signed with" } dd.mono.long { (key.to_text()) } }
                        }
                        h2 { "As it was written" }
                        pre tabindex="0" { (pretty(&proved.event)) }
                        h2 { "The proof" }
                        p { "It holds without this gateway: whoever has the public key can check it with any program that knows the format." }
                        details { summary { "Show the proof" } pre tabindex="0" { (proof.to_json()) } }
                    }
                    Err(why) => p.mistake role="alert" { "The proof does not hold: " (why) ". Check the whole record." },
                }
            }
        }
        Err(AuditError::Prove(ProveError::NotYetSigned)) => html! {
            div.title { h1 { "Record " (seq) } (chip("wait", "not yet signed")) }
            p { "The next checkpoint covers this record. It is written every few moments; open this page again then." }
        },
        Err(error) => return Err(error.into()),
    };
    let content = html! { nav.crumbs aria-label="Where you are" { a href="/console/record" { "Record" } " / " span { (chain) } } (content) };
    Ok(layout::page(&visitor, Part::Record, "One record", &content))
}

fn verification(visitor: &Visitor, verdict: Option<&Verdict>) -> Markup {
    html! {
        section.verdict aria-label="Verification" {
            div {
                @match verdict {
                    None => { (chip("calm", "not checked since start")) p { "Check that every record is linked to the one before it, and that the signed checkpoints cover them." } }
                    Some(Verdict { at, outcome: Ok(report) }) => {
                        (chip("good", "verified"))
                        p { "At " (when(at.0)) " all " b { (number(report.records)) } " records in " (number(report.chains)) " chains held, under "
                            (number(report.checkpoints)) " signed checkpoints. " @if report.unsigned > 0 { (number(report.unsigned)) " were linked and not yet signed." } }
                    }
                    Some(Verdict { at, outcome: Err(bad) }) => {
                        (chip("bad", "something was changed"))
                        p role="alert" { "At " (when(at.0)) ": " (bad) "." }
                    }
                }
            }
            form method="post" action="/console/record/verify" { (csrf(visitor)) button type="submit" { "Verify now" } }
        }
    }
}

fn filters(wanted: &Wanted) -> Markup {
    html! {
        form.filters method="get" action="/console/record" role="search" aria-label="Filter the record" {
            div { label for="session" { "Session" } input id="session" name="session" value=(wanted.session) maxlength="128" spellcheck="false" autocomplete="off"; }
            div { label for="event" { "Event" } select id="event" name="event" {
                option value="" { "any" }
                @for kind in Event::TYPES { option value=(kind) selected[*kind == wanted.event] { (kind.replace('_', " ")) } }
            } }
            div { label for="class" { "Class" } select id="class" name="class" {
                option value="" { "any" }
                @for class in Class::ALL { option value=(class) selected[class.as_str() == wanted.class] { (class) } }
            } }
            div { label for="tool" { "Tool" } input id="tool" name="tool" value=(wanted.tool) maxlength="200" spellcheck="false" autocomplete="off"; }
            button type="submit" { "Filter" }
        }
    }
}

fn listed(page: &Page) -> Markup {
    if page.records.is_empty() {
        return html! { p.nothing { "Nothing on the record matches." } };
    }
    let rows = html! {
        table.record {
            thead { tr { th scope="col" { "When" } th scope="col" { "What" } th scope="col" { "Session" } th scope="col" { "Record" } th scope="col" { "Hash" } } }
            tbody { @for record in &page.records { (row(record)) } }
        }
    };
    framed("Records", &rows)
}

fn row(record: &Record) -> Markup {
    let event = record.event();
    let story = story::of(event.as_ref());
    let session = record.chain.session();
    html! {
        tr {
            td { (when(record.at_ms)) }
            td { (chip(story.tone, story.title)) " " (story.told) }
            td { @if let Some(id) = session { a.mono href={ "/console/sessions/" (id) } { (short(id.as_str(), 18)) } } @else { span.faint { "gateway" } } }
            td { a href={ "/console/record/" (record.seq) (of_session(session)) } { "proof " (record.seq) } }
            td.mono title=(hex(&record.hash)) { (short(&hex(&record.hash), 13)) }
        }
    }
}

fn of_session(session: Option<&Ident>) -> String {
    session.map_or_else(String::new, |id| format!("?session={}", escaped(id.as_str())))
}

fn pretty(event: &Event) -> String {
    serde_json::to_string_pretty(event).unwrap_or_default()
}

impl Wanted {
    fn filter(&self) -> Result<Filter, Problem> {
        let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let bad = |detail: String| Problem::bad_request("bad-query", detail);
        let event = given(&self.event)
            .map(|text| match Event::TYPES.contains(&text.as_str()) {
                true => Ok(text),
                false => Err(bad(format!("event: one of {}", Event::TYPES.join(", ")))),
            })
            .transpose()?;
        let class = given(&self.class)
            .map(|text| text.parse::<Class>().map_err(|why| bad(format!("class: {why}"))))
            .transpose()?;
        let session = given(&self.session)
            .map(|text| ident("session", &text))
            .transpose()?;
        Ok(Filter {
            chain: session.map(Chain::Session),
            event,
            from: None,
            until: None,
            class,
            tool: given(&self.tool).map(|text| Name::or_unnameable(&text)),
        })
    }

    /// The same filters for the next page.
    fn query(&self) -> String {
        let fields = [
            ("session", &self.session),
            ("event", &self.event),
            ("class", &self.class),
            ("tool", &self.tool),
        ];
        let given = fields.into_iter().filter(|(_, value)| !value.is_empty());
        given
            .map(|(name, value)| format!("{name}={}&", escaped(value)))
            .collect()
    }
}

/// A value as one part of a query.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}
