//! Charts, drawn here and shown as they are: no script, no picture from elsewhere.

use maud::{Markup, html};

use super::pieces::number;
use crate::telemetry::Minute;

const HEIGHT: u64 = 150;
const PITCH: usize = 12;

/// Decisions minute by minute, stacked: passed, held, blocked.
pub(super) fn by_minute(minutes: &[Minute]) -> Markup {
    let most = minutes.iter().map(Minute::total).max().unwrap_or(0).max(1);
    let scaled = |count: u64| count * HEIGHT / most;
    let width = minutes.len() * PITCH;
    let sum = |count: fn(&Minute) -> u64| minutes.iter().map(count).sum::<u64>();
    let (allowed, held, denied) = (
        sum(|minute| minute.allowed),
        sum(|minute| minute.held),
        sum(|minute| minute.denied),
    );
    let summary =
        format!("In the last hour {allowed} calls passed, {held} were held and {denied} were blocked.");
    html! {
        svg.chart viewBox={ "0 -6 " (width) " " (HEIGHT + 30) } role="img" aria-label=(summary) {
            line.axis x1="0" x2=(width) y1=(HEIGHT) y2=(HEIGHT) {}
            line.grid x1="0" x2=(width) y1="0" y2="0" {}
            @for (place, minute) in minutes.iter().enumerate() {
                @let x = place * PITCH + 2;
                @let (low, mid, high) = (scaled(minute.allowed), scaled(minute.held), scaled(minute.denied));
                rect.bar-good x=(x) y=(HEIGHT - low) width=(PITCH - 4) height=(low) rx="1.5" {}
                rect.bar-wait x=(x) y=(HEIGHT - low - mid) width=(PITCH - 4) height=(mid) rx="1.5" {}
                rect.bar-bad x=(x) y=(HEIGHT - low - mid - high) width=(PITCH - 4) height=(high) rx="1.5" {}
            }
            text x="2" y="12" { (number(most)) " a minute" }
            text x="2" y=(HEIGHT + 18) { "an hour ago" }
            text x=(width - 2) y=(HEIGHT + 18) text-anchor="end" { "now" }
        }
        ul.legend {
            li.good { "passed " b { (number(allowed)) } }
            li.wait { "held " b { (number(held)) } }
            li.bad { "blocked " b { (number(denied)) } }
        }
    }
}

/// Named counts, longest first.
pub(super) fn ranked(tone: &str, rows: &[(String, u64)], nothing: &str) -> Markup {
    let most = rows.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    html! {
        @if rows.is_empty() { p.faint { (nothing) } }
        dl.ranked {
            @for (name, count) in rows {
                div {
                    dt { (name) }
                    dd {
                        svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" focusable="false" {
                            rect class={ "bar-" (tone) } width=((count * 100 / most).max(1)) height="6" rx="1" {}
                        }
                        b { (number(*count)) }
                    }
                }
            }
        }
    }
}

/// How long answers took: the bound of each step in seconds, and how many took no longer than it and longer than the one
/// before.
pub(super) fn steps(steps: &[(f64, u64)]) -> Markup {
    let rows: Vec<_> = steps
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(bound, count)| (bound_in_words(*bound), *count))
        .collect();
    let all: u64 = steps.iter().map(|(_, count)| count).sum();
    html! {
        @if all > 0 {
            ul.quantiles {
                @for (name, percent) in [("half", 50), ("95 %", 95), ("99 %", 99)] {
                    li { span { (name) } b { (within(steps, all, percent)) } }
                }
            }
        }
        (ranked("calm", &rows, "No decision was asked for yet."))
    }
}

fn within(steps: &[(f64, u64)], all: u64, percent: u64) -> String {
    let mut reached = 0;
    for (bound, count) in steps {
        reached += count;
        if reached * 100 >= all * percent {
            return bound_in_words(*bound);
        }
    }
    "more".to_owned()
}

fn bound_in_words(seconds: f64) -> String {
    if seconds.is_infinite() {
        return "over 10 s".to_owned();
    }
    if seconds >= 1.0 {
        return format!("≤ {seconds} s");
    }
    let millis = (seconds * 1e5).round() / 100.0;
    format!("≤ {millis} ms")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read_as_people_say_them() {
        for (seconds, words) in [
            (0.0001, "≤ 0.1 ms"),
            (0.0025, "≤ 2.5 ms"),
            (0.25, "≤ 250 ms"),
            (1.0, "≤ 1 s"),
            (f64::INFINITY, "over 10 s"),
        ] {
            assert_eq!(bound_in_words(seconds), words);
        }
    }

    #[test]
    fn quantiles_are_the_first_bound_that_covers_them() {
        let steps = [(0.001, 50), (0.01, 45), (0.1, 5)];
        assert_eq!(within(&steps, 100, 50), "≤ 1 ms");
        assert_eq!(within(&steps, 100, 95), "≤ 10 ms");
        assert_eq!(within(&steps, 100, 99), "≤ 100 ms");
    }

    #[test]
    fn an_empty_hour_is_drawn() {
        let minutes = vec![Minute::default(); 60];
        assert!(by_minute(&minutes).into_string().contains("0 calls passed"));
    }
}
