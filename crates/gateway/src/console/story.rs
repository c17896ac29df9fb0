//! What a record says, as a sentence.

use maud::{Markup, html};
use tidegate_ledger::event::{CitationOutcome, Disposition, GateOutcome, MemoryAct, MemoryKind, Verdict};
use tidegate_ledger::{Event, Record};

use super::pieces::{class_chip, when};

/// A record in words.
pub(super) struct Story {
    /// `good`, `wait`, `bad`, `rise` or `calm`.
    pub(super) tone: &'static str,
    /// What happened, in two words.
    pub(super) title: &'static str,
    /// What happened, in a sentence.
    pub(super) told: Markup,
}

/// What happened, in the order of the records. What was read in a call's arguments is told with the decision about it.
pub(super) fn timeline(records: &[Record]) -> Markup {
    let told = records.iter().filter_map(|record| match record.event() {
        Some(Event::ToolArgumentConstruction(_)) => None,
        event => Some((record, of(event.as_ref()))),
    });
    html! {
        ol.timeline {
            @for (record, story) in told {
                li.(story.tone) { (when(record.at_ms)) strong { (story.title) } span { (story.told) } }
            }
        }
    }
}

fn story(tone: &'static str, title: &'static str, told: Markup) -> Story {
    Story { tone, title, told }
}

/// A record in words. One of a type that this version does not know is told as such.
pub(super) fn of(event: Option<&Event>) -> Story {
    let Some(event) = event else {
        return story(
            "calm",
            "Unknown record",
            html! { "A newer version of Tidegate wrote this." },
        );
    };
    of_call(event)
        .or_else(|| of_data(event))
        .or_else(|| of_people(event))
        .unwrap_or_else(|| of_gateway(event))
}

fn of_call(event: &Event) -> Option<Story> {
    Some(match event {
        Event::Decision(event) => {
            let (tone, title) = match event.decision {
                Verdict::Allow => ("good", "Call allowed"),
                Verdict::Hold => ("wait", "Call held"),
                Verdict::Deny => ("bad", "Call blocked"),
            };
            let why = match event.decision {
                Verdict::Allow => html! {},
                Verdict::Hold | Verdict::Deny => {
                    html! { ", by the rule " code { (event.rule) } @if let Some(source) = &event.contamination_source { "; the label came from " code { (source) } } }
                }
            };
            story(
                tone,
                title,
                html! { code { (event.tool) } " at label " (class_chip(event.label)) @if let Some(class) = event.argument_class { ", with " (class_chip(class)) " arguments" } (why) "." },
            )
        }
        Event::ToolArgumentConstruction(event) => story(
            "calm",
            "Arguments read",
            html! { "The arguments for " code { (event.tool_id) } " hold " (class_chip(event.data_class)) " data at most." },
        ),
        Event::PiiEgressBlock(event) => story(
            "bad",
            "Leak stopped",
            html! { (class_chip(event.data_class)) " data was on its way to " code { (event.destination) } ". The rule " code { (event.blocking_rule) } " stopped it." },
        ),
        Event::CallUnanswered(event) => story(
            "wait",
            "No answer",
            html! { "A call of " code { (event.tool) } " brought nothing in: " code { (event.cause) } ". It may have had its effect." },
        ),
        Event::ExitUsed(event) => story(
            "calm",
            "Exit used",
            html! { "The exit " code { (event.exit) } " let a finding of " code { (event.rule) } " pass for " code { (event.tool) } "." },
        ),
        _ => return None,
    })
}

fn of_data(event: &Event) -> Option<Story> {
    Some(match event {
        Event::ContextAssembly(event) => story(
            "calm",
            "Data entered",
            html! { "From " code { (event.source_id) } ", as " (class_chip(event.data_class)) @if event.redaction_applied { ", after something was taken out" } "." },
        ),
        Event::Rise(event) => story(
            "rise",
            "Label rose",
            html! { (class_chip(event.from)) " → " (class_chip(event.to)) ", by " code { (event.source) } "." },
        ),
        Event::DatasetAdded(event) => story(
            "calm",
            "Dataset added",
            html! { code { (event.dataset) } " at " (class_chip(event.class)) ", by " (event.by) "." },
        ),
        Event::InjectionDetectionHit(event) => {
            let kept = match event.disposition {
                Disposition::Quarantine => "It was put away and did not enter.",
                Disposition::Allow => "It was let in.",
            };
            story(
                "bad",
                "Orders in content",
                html! { "Content" @if let Some(source) = &event.source_id { " from " code { (source) } } " tried to give instructions (" code { (event.injection_pattern_matched) } "). " (kept) },
            )
        }
        Event::ChunkBlocked(event) => story(
            "bad",
            "Chunk kept out",
            html! { "It was said to come from " code { (event.source_id) } ". The rule " code { (event.blocking_rule) } " kept it out." },
        ),
        Event::CitationChecked(event) => {
            let (tone, outcome) = match event.outcome {
                CitationOutcome::Verified => ("good", "is in its source of record"),
                CitationOutcome::HallucinatedCitation => ("bad", "is in no source of record"),
                CitationOutcome::Unverified => ("wait", "could not be looked up"),
            };
            story(
                tone,
                "Citation checked",
                html! { "A citation of the kind " code { (event.citation_kind) } " " (outcome) "." },
            )
        }
        Event::OutputDelivery(event) => story(
            "calm",
            "Output shown",
            html! { (class_chip(event.output_class)) " output went to a " (event.recipient_role) @if event.redaction_applied { ", after something was taken out" } "." },
        ),
        Event::MemoryAccess(event) => {
            let what = match event.memory {
                MemoryKind::Scratchpad => "scratchpad",
                MemoryKind::Memory => "memory",
            };
            let (tone, done) = match event.action {
                MemoryAct::Read => ("calm", "was read"),
                MemoryAct::Write => ("calm", "was written"),
                MemoryAct::Refuse => ("bad", "refused a note"),
                MemoryAct::Clear => ("calm", "was cleared"),
            };
            story(
                tone,
                "Notes",
                html! { "The " (what) " " (done) ", at " (class_chip(event.data_class)) "." },
            )
        }
        _ => return None,
    })
}

fn of_people(event: &Event) -> Option<Story> {
    Some(match event {
        Event::Reset(event) => story(
            "wait",
            "Label reset",
            html! { (class_chip(event.from)) " → " (class_chip(event.to)) ", by " (event.by) ": “" (event.reason.as_str()) "”" },
        ),
        Event::GateOpened(event) => story(
            "wait",
            "Gate opened",
            html! { "A person is asked (" code { (event.kind) } ")" @if let Some(tool) = &event.tool { " about " code { (tool) } } "." },
        ),
        Event::GateDecided(event) => {
            let (tone, title) = match event.decision {
                GateOutcome::Approved => ("good", "Gate approved"),
                GateOutcome::Denied => ("bad", "Gate denied"),
                GateOutcome::Expired => ("bad", "Gate expired"),
            };
            story(
                tone,
                title,
                html! { @match &event.by { Some(by) => { "By " (by) } None => "Nobody answered in time" } @if let Some(reason) = &event.reason { ": “" (reason.as_str()) "”" } @else { "." } },
            )
        }
        Event::GateSpent(event) => story(
            "good",
            "Approval used",
            html! { "What a person approved went on, this once" @if let Some(tool) = &event.tool { ": " code { (tool) } } "." },
        ),
        Event::GateRevealed(event) => story(
            "wait",
            "Values shown",
            html! { (event.by) " (" (event.role) ") was shown " (class_chip(event.data_class)) " data: “" (event.reason.as_str()) "”" },
        ),
        Event::ClassReviewOpened(event) => story(
            "wait",
            "Class to review",
            html! { code { (event.source) } ": " code { (event.cause) } "." },
        ),
        Event::ClassReviewSettled(event) => story(
            "good",
            "Class reviewed",
            html! { code { (event.source) } " is " code { (event.verdict) } ", by " (event.by) " (" (event.role) "): “" (event.reason.as_str()) "”" },
        ),
        Event::TokenUsedByAdmin(event) => story(
            "calm",
            "Administrator",
            html! { (event.principal) @match event.token_id.as_str().starts_with("oidc_") { true => " used the visit ", false => " used the token " } code { (event.token_id) } " to " (event.action) @if let Some(session) = &event.session { " session " code { (session) } } "." },
        ),
        Event::SessionOpened(event) => story(
            "calm",
            "Session opened",
            html! { "For " (event.user) ", with the agent " (event.agent) "." },
        ),
        Event::SessionEnded(event) => story(
            "calm",
            "Session ended",
            html! { "At " (class_chip(event.label)) ", by " (event.by) "." },
        ),
        Event::ChildOpened(event) => story(
            "calm",
            "Child opened",
            html! { code { (event.child) } " at " (class_chip(event.label)) "." },
        ),
        Event::ChildReturned(event) => story(
            "calm",
            "Child answered",
            html! { code { (event.child) } " answered; " (event.released_bits) " bits passed below " (class_chip(event.data_class)) "." },
        ),
        _ => return None,
    })
}

fn of_gateway(event: &Event) -> Story {
    match event {
        Event::PolicyChanged(event) => story(
            "wait",
            "Policy changed",
            html! { "Version " code { (event.policy_version) } " by " (event.by) "." },
        ),
        Event::DefinitionHeld(event) => story(
            "wait",
            "Definition held",
            html! { "What the server " code { (event.server) } " says of the " (event.kind) " " code { (event.offered) } " waits for a person: " code { (event.cause) } "." },
        ),
        Event::ConnectionRefused(event) => story(
            "bad",
            "Connection refused",
            html! { "It belonged to no session" @if let Some(destination) = &event.destination { " and was to lead to " code { (destination) } } ". The rule " code { (event.rule) } " refused it." },
        ),
        Event::EvidenceDestroyed(_) => story(
            "calm",
            "Evidence destroyed",
            html! { "What a pointer led to is gone for good." },
        ),
        Event::GatewayStarted(event) => story(
            "calm",
            "Gateway started",
            html! { "Version " (event.version) "." },
        ),
        Event::GatewayStopped(event) => {
            story("calm", "Gateway stopped", html! { "Cause: " (event.cause) "." })
        }
        other => story("calm", "Recorded", html! { code { (other.type_name()) } }),
    }
}
