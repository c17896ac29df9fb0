//! How the gateway is doing now.

use axum::extract::State;
use maud::{Markup, html};
use tidegate_engine::GateWanted;
use tidegate_store::Listed;

use super::Shown;
use crate::App;
use crate::console::charts;
use crate::console::layout::{self, Part};
use crate::console::pieces::{now, number};
use crate::console::visitor::Visitor;
use crate::problem::Problem;
use crate::router::Shared;
use crate::telemetry::samples;

/// The route whose answers are decisions.
const DECIDING: &str = "/v1/session/{id}/authorize";

pub(crate) async fn show(State(app): Shared, visitor: Visitor) -> Shown {
    let exits = app.engine.exits_used(&visitor.caller).await?;
    let ready = app.engine.ready().await;
    let counted = app.metrics.encode().map_err(|_| Problem::internal())?;
    let minutes = app.metrics.pace.last_hour(now());
    let total = |name| {
        samples(&counted, name)
            .map(|sample| whole(sample.value))
            .sum::<u64>()
    };
    let waiting = waiting(&app, &visitor).await;
    let mut exits: Vec<_> = exits.into_iter().collect();
    exits.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let content = html! {
        div.title { h1 { "Overview" } @match ready {
            Ok(()) => span.chip.tone-good { "deciding" },
            Err(_) => span.chip.tone-bad { "everything is refused: the store or the authority does not answer" },
        } }
        ul.tiles {
            @if let Some(waiting) = waiting { li { a href="/console/queue" { span { "Waiting for a person" } } b { (waiting) } small { "now" } } }
            (tile("Decisions", total("tidegate_decisions_total"), "since start"))
            (tile("Stopped", blocked(&counted).iter().map(|(_, count)| count).sum(), "since start"))
            (tile("Labels raised", total("tidegate_label_rises_total"), "since start"))
            (tile("Sessions opened", total("tidegate_sessions_opened_total"), "since start"))
        }
        section aria-labelledby="pace" { h2 id="pace" { "Decisions, last hour" } (charts::by_minute(&minutes)) }
        div.pair {
            section aria-labelledby="rules" { h2 id="rules" { "Stopped, by rule" } (charts::ranked("bad", &blocked(&counted), "Nothing was stopped yet.")) }
            section aria-labelledby="exits" { h2 id="exits" { "False-positive exits used" } (charts::ranked("wait", &exits, "No exit was used yet.")) }
        }
        section aria-labelledby="latency" { h2 id="latency" { "Time to decide" } (charts::steps(&latency(&counted))) }
    };
    Ok(layout::page(&visitor, Part::Overview, "Overview", &content))
}

/// How many gates wait, up to what a page holds; nothing where there are no gates to see.
async fn waiting(app: &App, visitor: &Visitor) -> Option<String> {
    const MOST: usize = 200;
    let wanted = GateWanted {
        listed: Listed::Open,
        kind: None,
        session: None,
        after: None,
        limit: MOST,
    };
    let page = app.engine.gates(&visitor.caller, wanted).await.ok()?;
    let more = if page.next.is_some() { "+" } else { "" };
    Some(format!("{}{more}", page.gates.len()))
}

fn tile(name: &str, count: u64, since: &str) -> Markup {
    html! { li { span { (name) } b { (number(count)) } small { (since) } } }
}

/// Calls that did not pass, by the rule that stopped them, most first.
fn blocked(counted: &str) -> Vec<(String, u64)> {
    let mut rules: Vec<(String, u64)> = samples(counted, "tidegate_decisions_total")
        .filter(|sample| sample.label("decision") != Some("allow"))
        .map(|sample| {
            let rule = sample.label("rule").unwrap_or_default().to_owned();
            (rule, whole(sample.value))
        })
        .collect();
    rules.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    rules
}

/// How many decisions took how long: each step's bound in seconds, and how many fell into it.
fn latency(counted: &str) -> Vec<(f64, u64)> {
    let mut bounds: Vec<(f64, u64)> = samples(counted, "tidegate_http_request_seconds_bucket")
        .filter(|sample| sample.label("route") == Some(DECIDING))
        .filter_map(|sample| Some((bound(sample.label("le")?)?, whole(sample.value))))
        .collect();
    bounds.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let mut below = 0;
    for (_, count) in &mut bounds {
        let up_to = *count;
        *count = up_to.saturating_sub(below);
        below = up_to;
    }
    bounds
}

fn bound(text: &str) -> Option<f64> {
    match text {
        "+Inf" => Some(f64::INFINITY),
        number => number.parse().ok(),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counters are whole numbers, and a cast keeps to the bounds"
)]
const fn whole(value: f64) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_become_rows() {
        let counted = "tidegate_decisions_total{decision=\"allow\",rule=\"none\"} 9\n\
                       tidegate_decisions_total{decision=\"deny\",rule=\"a\"} 2\n\
                       tidegate_decisions_total{decision=\"hold\",rule=\"b\"} 5\n";
        assert_eq!(blocked(counted), [("b".to_owned(), 5), ("a".to_owned(), 2)]);
    }

    #[test]
    fn buckets_are_told_apart() {
        let line = |le: &str, route: &str, count: u64| {
            format!("tidegate_http_request_seconds_bucket{{le=\"{le}\",route=\"{route}\"}} {count}\n")
        };
        let counted = line("+Inf", DECIDING, 9)
            + &line("0.1", DECIDING, 7)
            + &line("0.01", DECIDING, 7)
            + &line("0.1", "/other", 99);
        assert_eq!(latency(&counted), [(0.01, 7), (0.1, 0), (f64::INFINITY, 2)]);
    }
}
