//! The picture of how data flowed: what came in, how high the label stands, and which gates are open.

use maud::{Markup, html};
use tidegate_core::Class;
use tidegate_ledger::event::Verdict;

use super::pieces::{class_chip, clock, framed, short, times, when};
use super::tally::{Flows, Sink, Source};

const WIDTH: usize = 980;
const ROW: usize = 58;
const BOX_WIDTH: usize = 270;
const TANK_X: usize = 385;
const TANK_WIDTH: usize = 210;
const SINK_X: usize = WIDTH - BOX_WIDTH;
const GATE_X: usize = 652;
/// Rows on each side; the rest is counted under them.
const MOST: usize = 12;

/// The picture, and the same as a table for whoever does not see it.
pub(super) fn picture(flows: &Flows) -> Markup {
    let rows = flows.sources.len().max(flows.sinks.len()).clamp(4, MOST + 1);
    let height = rows * ROW + 12;
    let stopped = flows
        .sinks
        .iter()
        .filter(|sink| sink.last != Verdict::Allow)
        .count();
    let summary = format!(
        "{} sources, the label at {}, {} destinations of which {stopped} closed",
        flows.sources.len(),
        flows.label,
        flows.sinks.len()
    );
    let drawn = html! {
        svg.flow viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label=(summary) {
            (tank(flows, height))
            @for (place, source) in flows.sources.iter().take(MOST).enumerate() { (draw_source(source, middle(place, flows.sources.len(), rows))) }
            @for (place, sink) in flows.sinks.iter().take(MOST).enumerate() { (draw_sink(sink, middle(place, flows.sinks.len(), rows))) }
            (more(flows.sources.len(), 0, height))
            (more(flows.sinks.len(), SINK_X, height))
            @if flows.sources.is_empty() { text.faint x="0" y=(height / 2) { "Nothing has come in yet." } }
            @if flows.sinks.is_empty() { text.faint x=(SINK_X) y=(height / 2) { "Nothing was sent anywhere." } }
        }
    };
    html! {
        figure {
            div.frame role="region" aria-label="How data flowed" tabindex="0" { (drawn) }
            details { summary { "The same as a table" } (table(flows)) }
        }
    }
}

/// Where a row's line runs: each side is centred on its own.
fn middle(place: usize, count: usize, rows: usize) -> usize {
    let above = (rows - count.min(MOST).min(rows)) * ROW / 2;
    above + place * ROW + ROW / 2 + 6
}

fn more(count: usize, x: usize, height: usize) -> Markup {
    html! { @if count > MOST { text.faint x=(x) y=(height - 14) { "and " (count - MOST) " more" } } }
}

/// The context as a lock chamber: the water stands as high as the label.
fn tank(flows: &Flows, height: usize) -> Markup {
    let (top, bottom) = (6, height - 6);
    let band = (bottom - top) / 5;
    let level = |class: Class| bottom - (usize::from(class.rank()) + 1) * band;
    let surface = level(flows.label) + band / 3;
    let water = format!(
        "M{TANK_X} {surface} q26 -9 52 0 t53 0 t53 0 t52 0 V{} q0 8 -8 8 H{} q-8 0 -8 -8 Z",
        bottom - 8,
        TANK_X + 8
    );
    html! {
        rect.tank x=(TANK_X) y=(top) width=(TANK_WIDTH) height=(bottom - top) rx="8" {}
        path class={ "water water-" (flows.label.as_str()) } d=(water) {}
        @for class in Class::ALL {
            @let y = level(class);
            line.tick x1=(TANK_X) x2=(TANK_X + 10) y1=(y + band / 3) y2=(y + band / 3) {}
            text.level.here[class == flows.label] x=(TANK_X + TANK_WIDTH / 2) y=(y + band / 2 + 8) text-anchor="middle" { (class) }
        }
        @if flows.halted {
            text.halted x=(TANK_X + TANK_WIDTH / 2) y=(top + 24) text-anchor="middle" { "halted" }
        }
    }
}

fn draw_source(source: &Source, y: usize) -> Markup {
    let (tone, second) = match &source.kept_out {
        Some(why) => ("stopped", format!("kept out {} · {why}", clock(source.last_ms))),
        None => (
            "open",
            format!(
                "{} · {} · {}",
                source.class,
                times(source.count),
                clock(source.last_ms)
            ),
        ),
    };
    let colour = format!("line line-{}", source.class.as_str());
    html! {
        g.(tone) {
            title { (source.name) ": " (second) }
            (labelled(0, y, &source.name, &second))
            @if source.kept_out.is_some() {
                line.line.faint-line x1=(BOX_WIDTH) x2=(TANK_X - 36) y1=(y) y2=(y) {}
                (closed(TANK_X - 32, y))
            } @else {
                line class=(colour) x1=(BOX_WIDTH) x2=(TANK_X - 8) y1=(y) y2=(y) {}
                path class={ "head head-" (source.class.as_str()) } d={ "M" (TANK_X - 10) " " (y - 5) " l9 5 l-9 5 z" } {}
            }
        }
    }
}

fn draw_sink(sink: &Sink, y: usize) -> Markup {
    let at = clock(sink.last_ms);
    let why = sink.rule.replace('-', " ");
    let (tone, second) = match sink.last {
        Verdict::Allow => ("open", format!("passed {} · {at}", times(sink.allowed))),
        Verdict::Hold => ("waiting", format!("held {at} · {why}")),
        Verdict::Deny => ("stopped", format!("blocked {at} · {why}")),
    };
    html! {
        g.(tone) {
            title { (sink.name) ": " (second) }
            (labelled(SINK_X, y, &sink.name, &second))
            line.line x1=(TANK_X + TANK_WIDTH) x2=(GATE_X - 8) y1=(y) y2=(y) {}
            @match sink.last {
                Verdict::Allow => {
                    line.line x1=(GATE_X - 8) x2=(SINK_X - 8) y1=(y) y2=(y) {}
                    path.head d={ "M" (SINK_X - 10) " " (y - 5) " l9 5 l-9 5 z" } {}
                    rect.gate x=(GATE_X) y=(y - 22) width="7" height="14" rx="2" {}
                }
                Verdict::Hold | Verdict::Deny => {
                    line.line.faint-line x1=(GATE_X + 12) x2=(SINK_X) y1=(y) y2=(y) {}
                    (closed(GATE_X, y))
                }
            }
        }
    }
}

fn closed(x: usize, y: usize) -> Markup {
    html! {
        rect.gate x=(x) y=(y - 17) width="7" height="34" rx="2" {}
    }
}

fn labelled(x: usize, y: usize, name: &str, second: &str) -> Markup {
    html! {
        rect.place x=(x + 1) y=(y - 22) width=(BOX_WIDTH - 2) height="44" rx="7" {}
        text.name x=(x + 14) y=(y - 3) { (short(name, 32)) }
        text.second x=(x + 14) y=(y + 14) { (short(second, 44)) }
    }
}

fn table(flows: &Flows) -> Markup {
    let rows = html! {
        table {
            thead { tr { th scope="col" { "Direction" } th scope="col" { "Name" } th scope="col" { "Class" } th scope="col" { "What happened" } th scope="col" { "Last" } } }
            tbody {
                @for source in &flows.sources {
                    tr {
                        td { "in" }
                        td { code { (source.name) } }
                        td { (class_chip(source.class)) }
                        td { @match &source.kept_out { Some(why) => { "kept out: " (why) } None => { "entered " (times(source.count)) } } }
                        td { (when(source.last_ms)) }
                    }
                }
                @for sink in &flows.sinks {
                    tr {
                        td { "out" }
                        td { code { (sink.name) } }
                        td { @if let Some(ceiling) = sink.ceiling { "up to " (class_chip(ceiling)) } }
                        td {
                            @match sink.last { Verdict::Allow => "passed", Verdict::Hold => "held: ", Verdict::Deny => "blocked: " }
                            @if sink.last != Verdict::Allow { (sink.rule) }
                            @if sink.allowed > 0 && sink.stopped > 0 { " (passed " (times(sink.allowed)) ", stopped " (times(sink.stopped)) ")" }
                        }
                        td { (when(sink.last_ms)) }
                    }
                }
            }
        }
    };
    framed("How data flowed, as a table", &rows)
}
