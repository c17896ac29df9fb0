//! What if an agent did this, then that?

use axum::extract::{Query, State};
use maud::{Markup, html};
use serde::Deserialize;
use tidegate_core::{Name, PlanReport, PlannedCall};

use super::Shown;
use crate::console::layout::{self, Part};
use crate::console::visitor::Visitor;
use crate::extract::ident;
use crate::router::Shared;

/// The longest list of calls that is read.
const MOST_BYTES: usize = 16 * 1024;

#[derive(Deserialize)]
pub(crate) struct Wanted {
    #[serde(default)]
    calls: String,
    #[serde(default)]
    session: String,
}

pub(crate) async fn show(State(app): Shared, visitor: Visitor, Query(wanted): Query<Wanted>) -> Shown {
    let tools = app.engine.tools(&visitor.caller).await?;
    let calls = read(&wanted.calls, app.limits.plan_calls);
    let answer = match &calls {
        Ok(calls) if calls.is_empty() => html! {},
        Ok(calls) => {
            let session = wanted.session.trim();
            let report = if session.is_empty() {
                app.engine.what_if(&visitor.caller, calls).await
            } else {
                let id = ident("session", session)?;
                app.engine.validate_plan(&visitor.caller, &id, calls).await
            };
            answered(calls, &report?)
        }
        Err(mistake) => html! { p.mistake role="alert" { (mistake) } },
    };
    let content = html! {
        div.title { h1 { "Plan check" } }
        p.lead { "Write down the calls an agent is to make, one on each line. Nothing is called: the answer says which steps would not pass, and in which order all of them do." }
        form.stack method="get" action="/console/plan" {
            label for="calls" { "Calls, in their order" }
            textarea id="calls" name="calls" rows="7" maxlength=(MOST_BYTES) spellcheck="false" autocomplete="off" placeholder="search_email\nweb_search" { (wanted.calls) }
            label for="session" { "From the state of a session " span.faint { "(left empty: from a clean one)" } }
            input id="session" name="session" maxlength="128" value=(wanted.session) spellcheck="false" autocomplete="off";
            button.primary type="submit" { "Check" }
        }
        (answer)
        details.known { summary { "Tools that can be named" } p { @for tool in tools.control.iter() { code { (tool.name) } " " } } }
    };
    Ok(layout::page(&visitor, Part::Plan, "Plan check", &content))
}

/// One call a line; blank lines say nothing.
fn read(text: &str, most: usize) -> Result<Vec<PlannedCall>, String> {
    if text.len() > MOST_BYTES {
        return Err("This plan is too long.".to_owned());
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut calls = Vec::new();
    for (place, line) in lines.enumerate() {
        if place == most {
            return Err(format!("A plan has at most {most} calls."));
        }
        let tool = Name::parse(line).map_err(|why| format!("Call {}: {why}.", place + 1))?;
        calls.push(PlannedCall {
            tool,
            after: Vec::new(),
        });
    }
    Ok(calls)
}

fn answered(calls: &[PlannedCall], report: &PlanReport) -> Markup {
    let violation = |step: usize| {
        report
            .violations
            .iter()
            .find(|violation| violation.at_step == step)
    };
    html! {
        section aria-labelledby="answer" {
            h2 id="answer" { @if report.is_valid() { "Every step passes." } @else { "Some steps would not pass." } }
            ol.steps start="0" {
                @for (step, call) in calls.iter().enumerate() {
                    @match violation(step) {
                        None => li.good { strong.mono { (call.tool) } span { "passes" } },
                        Some(violation) => li.bad { strong.mono { (call.tool) } span { (violation.reason) } em { (violation.suggestion) } },
                    }
                }
            }
            @if let (false, Some(order)) = (report.is_valid(), &report.safe_ordering) {
                h3 { "In this order all of them pass" }
                ol.order { @for call in order.iter().filter_map(|step| calls.get(*step)) { li { code { (call.tool) } } } }
            }
            @if !report.is_valid() && report.safe_ordering.is_none() {
                p { "No order lets all of them pass." }
                @if !report.proposals.is_empty() {
                    ul { @for proposal in &report.proposals { li { "Keep the result of " code { (proposal.tool) } " out of the context: " (proposal.way.as_str().replace('-', " ")) "." } } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_line_by_line() {
        let calls = read(" a \n\n b\n", 2).unwrap();
        let names: Vec<_> = calls.iter().map(|call| call.tool.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(read("a\nb\nc", 2).is_err());
        assert!(read("a\u{7}b", 2).is_err());
        assert!(read(&"x".repeat(MOST_BYTES + 1), 2).is_err());
        assert!(read("", 2).unwrap().is_empty());
    }
}
