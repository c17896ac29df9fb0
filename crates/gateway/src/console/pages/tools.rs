//! The control list, and what in it waits for a person's eye.
//!
//! The console shows the list and never changes it: the list is policy, and policy is a file under the operator's own review.

use axum::extract::State;
use maud::{Markup, html};
use tidegate_core::{Permission, SealRule, Sensitivity, Tool};
use tidegate_engine::Tools;

use super::Shown;
use crate::console::Proposal;
use crate::console::layout::{self, Part};
use crate::console::pieces::{chip, class_chip, framed};
use crate::console::visitor::Visitor;
use crate::router::Shared;

pub(crate) async fn show(State(app): Shared, visitor: Visitor) -> Shown {
    let tools = app.engine.tools(&visitor.caller).await?;
    let proposals = &app.console.proposals;
    let content = html! {
        div.title { h1 { "Tools" } span.faint { "policy " code { (tools.version) } } }
        (to_review(&tools, proposals))
        section aria-labelledby="list" {
            h2 id="list" { "The control list" }
            (list(&tools, proposals))
        }
    };
    Ok(layout::page(&visitor, Part::Tools, "Tools", &content))
}

/// What was proposed or found, and nobody has looked at yet.
fn to_review(tools: &Tools, proposals: &[Proposal]) -> Markup {
    if proposals.is_empty() && tools.undeclared.is_empty() {
        return html! {};
    }
    html! {
        section.review aria-labelledby="review" {
            h2 id="review" { "To review" }
            p { "Nobody has looked at these yet. When you agree with a proposal, take the line " code { "# Proposed, to be reviewed" } " above it out of the configuration; when not, change what it says there. A tool that nobody declared may be called from a clean session only." }
            ul.cards {
                @for proposal in proposals {
                    @if let Some(tool) = tools.control.find(proposal.tool.as_str()) {
                        li { strong.mono { (tool.name) } " " (chip("wait", "proposed")) p { "Returns " (class_chip(tool.returns)) ", may be given up to " (class_chip(tool.ceiling)) "." } p.faint { "Because " (proposal.reason) "." } }
                    }
                }
                @for name in &tools.undeclared {
                    li { strong.mono { (name) } " " (chip("bad", "not declared")) p { "A server has it and the configuration says nothing of it." } }
                }
            }
        }
    }
}

fn list(tools: &Tools, proposals: &[Proposal]) -> Markup {
    let rows = html! {
        table {
            thead { tr { th scope="col" { "Tool" } th scope="col" { "Returns" } th scope="col" { "May be given" } th scope="col" { "A person" } th scope="col" { "Marks" } } }
            tbody {
                @for tool in tools.control.iter() {
                    tr {
                        th.mono scope="row" { (tool.name) @if proposals.iter().any(|proposal| proposal.tool == tool.name) { " " (chip("wait", "proposed")) } }
                        td { (class_chip(tool.returns)) }
                        td { "up to " (class_chip(tool.ceiling)) }
                        td { (tool.control.as_str()) }
                        td { (marks(tool)) }
                    }
                }
            }
        }
    };
    framed("The control list", &rows)
}

fn marks(tool: &Tool) -> Markup {
    let permissions = Permission::ALL
        .into_iter()
        .filter(|permission| tool.permissions.contains(*permission));
    html! {
        span.marks {
            span { (Sensitivity::of(tool).as_str().replace('_', " ")) }
            @for permission in permissions { span { (permission) } }
            @if tool.sink { span { "authorized sink" } }
            @if !tool.fields.is_empty() { span { "split by field" } }
            @if tool.seal != SealRule::OnRequest { span { "sealed " (tool.seal) } }
        }
    }
}
