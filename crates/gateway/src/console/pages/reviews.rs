//! Sources whose class somebody should look at, and the verdict.
//!
//! The page says what a source is assigned and takes what a person found. It changes no class: that is the operator's file.

use axum::extract::{Path, Query, State};
use axum::response::{Html, IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use tidegate_engine::access::reach;
use tidegate_engine::{Act, Reach, ReviewError, ReviewView};
use tidegate_store::{Assignment, ReviewCause, ReviewVerdict, Reviewed};

use super::{Refused, Shown};
use crate::App;
use crate::console::layout::{self, Part, csrf};
use crate::console::pieces::{chip, class_chip, when};
use crate::console::posted::Posted;
use crate::console::visitor::Visitor;
use crate::extract::ident;
use crate::router::Shared;

/// How many reviews a page shows.
const PAGE: usize = 50;

#[derive(Default, Deserialize)]
pub(crate) struct Wanted {
    #[serde(default)]
    show: String,
    after: Option<i64>,
}

#[derive(Deserialize)]
pub(crate) struct Settling {
    #[serde(default)]
    verdict: String,
    #[serde(default)]
    reason: String,
}

pub(crate) async fn show(State(app): Shared, visitor: Visitor, Query(wanted): Query<Wanted>) -> Shown {
    page(&app, &visitor, &wanted, None).await
}

/// A person's verdict.
pub(crate) async fn settle(
    State(app): Shared,
    Path(id): Path<String>,
    Posted { visitor, form }: Posted<Settling>,
) -> Result<Response, Refused> {
    let id = ident("review", &id)?;
    let verdict: ReviewVerdict = form.verdict.parse().map_err(|_| Refused::unreadable())?;
    match app
        .engine
        .settle_review(&visitor.caller, &id, verdict, &form.reason)
        .await
    {
        Ok(_) => Ok(Redirect::to("/console/reviews").into_response()),
        Err(error @ (ReviewError::Reason | ReviewError::Settled)) => {
            let refused = Refused::from(error);
            let shown = page(&app, &visitor, &Wanted::default(), Some(&refused.detail)).await?;
            Ok((refused.status, shown).into_response())
        }
        Err(error) => Err(error.into()),
    }
}

async fn page(
    app: &App,
    visitor: &Visitor,
    wanted: &Wanted,
    mistake: Option<&str>,
) -> Result<Html<String>, Refused> {
    let is_settled = wanted.show == "settled";
    let listed = if is_settled {
        Reviewed::Settled
    } else {
        Reviewed::Open
    };
    let page = app
        .engine
        .class_reviews(&visitor.caller, listed, wanted.after, PAGE)
        .await?;
    let content = html! {
        div.title { h1 { "Class reviews" } }
        @if let Some(mistake) = mistake { p.mistake role="alert" { (mistake) } }
        p.lead { "Is each of these sources assigned the right class and ceiling? Nothing waits for your answer. Classes are in the configuration: when one is wrong, change it there, and say here that you did." }
        div.bar { ul.tabs {
            li { a href="/console/reviews" aria-current=[(!is_settled).then_some("true")] { "Open" } }
            li { a href="/console/reviews?show=settled" aria-current=[is_settled.then_some("true")] { "Settled" } }
        } }
        @if page.reviews.is_empty() {
            p.nothing { @if is_settled { "Nothing was settled yet." } @else { "Nothing is to be looked at. New and changed tools, new connectors and stopped leaks appear here." } }
        }
        ul.cards { @for view in &page.reviews { (card(visitor, view)) } }
        @if let Some(next) = page.next {
            p { a.button rel="next" href={ "/console/reviews?after=" (next) @if is_settled { "&show=settled" } } { "More" } }
        }
    };
    Ok(layout::page(visitor, Part::Reviews, "Class reviews", &content))
}

fn card(visitor: &Visitor, view: &ReviewView) -> Markup {
    let review = &view.review;
    html! {
        li data-review=(review.id) {
            strong.mono { (review.source) } " " (cause_chip(review.cause))
            p { (assignment(review.assigned)) }
            @if view.now != review.assigned {
                p { "Now: " (assignment(view.now)) }
            }
            @if view.now.is_some() && !view.is_declared { p.faint { "The configuration says nothing of it." } }
            p.faint {
                "Since " (when(review.opened_at.0))
                @if review.seen > 1 { ", seen " (review.seen) " times, last " (when(review.seen_at.0)) }
            }
            @if let Some(settled) = &review.settled {
                p { (chip("good", settled.verdict.as_str())) " by " (settled.by) ", " (when(settled.at.0)) ": “" (settled.reason) "”" }
            } @else if reach(visitor.caller.role, Act::Settle) == Reach::All {
                (form(visitor, review.id.as_str()))
            }
        }
    }
}

fn cause_chip(cause: ReviewCause) -> Markup {
    match cause {
        ReviewCause::NewTool => chip("wait", "new tool"),
        ReviewCause::ChangedTool => chip("wait", "changed tool"),
        ReviewCause::NewConnector => chip("wait", "new connector"),
        ReviewCause::PiiLeakRisk => chip("bad", "leak stopped"),
    }
}

fn assignment(assigned: Option<Assignment>) -> Markup {
    html! {
        @match assigned {
            Some(Assignment { class, ceiling }) => { "Returns " (class_chip(class)) ", may be given up to " (class_chip(ceiling)) "." }
            None => "It is assigned nothing.",
        }
    }
}

fn form(visitor: &Visitor, id: &str) -> Markup {
    html! {
        details {
            summary { "Settle" }
            form.stack method="post" action={ "/console/reviews/" (id) } {
                (csrf(visitor))
                label for={ (id) "-verdict" } { "What you found" }
                select id={ (id) "-verdict" } name="verdict" {
                    option value="assigned-right" { "It is assigned right" }
                    option value="changed" { "I changed the configuration" }
                }
                label for={ (id) "-reason" } { "Why" }
                input id={ (id) "-reason" } name="reason" required maxlength="500" autocomplete="off";
                button type="submit" { "Settle" }
            }
        }
    }
}
