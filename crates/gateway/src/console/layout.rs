//! The frame of every page.

use axum::response::Html;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use tidegate_engine::access::{may_audit, reach};
use tidegate_engine::{Act, Reach};

use super::assets;
use super::visitor::Visitor;

/// The parts of the console, in the order of the menu.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Overview,
    Queue,
    Reviews,
    Sessions,
    Tools,
    Plan,
    Record,
}

impl Part {
    const ALL: [Self; 7] = [
        Self::Overview,
        Self::Queue,
        Self::Reviews,
        Self::Sessions,
        Self::Tools,
        Self::Plan,
        Self::Record,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Queue => "Queue",
            Self::Reviews => "Class reviews",
            Self::Sessions => "Sessions",
            Self::Tools => "Tools",
            Self::Plan => "Plan check",
            Self::Record => "Record",
        }
    }

    const fn address(self) -> &'static str {
        match self {
            Self::Overview => "/console",
            Self::Queue => "/console/queue",
            Self::Reviews => "/console/reviews",
            Self::Sessions => "/console/sessions",
            Self::Tools => "/console/tools",
            Self::Plan => "/console/plan",
            Self::Record => "/console/record",
        }
    }

    /// Whether the menu offers it. Whether it may be had is the engine's to say, when it is asked for.
    fn is_for(self, visitor: &Visitor) -> bool {
        match self {
            Self::Queue | Self::Reviews => reach(visitor.caller.role, Act::Review) == Reach::All,
            Self::Record => may_audit(visitor.caller.role),
            Self::Overview | Self::Sessions | Self::Tools | Self::Plan => true,
        }
    }
}

/// A page of a signed-in person.
pub(super) fn page(visitor: &Visitor, part: Part, title: &str, content: &Markup) -> Html<String> {
    let body = html! {
        a.skip href="#content" { "Skip to the content" }
        header.side {
            a.brand href="/console" { (gate_mark()) span { "Tidegate" } }
            nav aria-label="Console" {
                ul {
                    @for each in Part::ALL.into_iter().filter(|part| part.is_for(visitor)) {
                        li { a href=(each.address()) aria-current=[(each == part).then_some("page")] { (each.name()) } }
                    }
                }
            }
            div.who {
                span.principal { (visitor.caller.principal) }
                span.role { (visitor.caller.role) }
                form method="post" action="/console/sign-out" {
                    (csrf(visitor))
                    button.quiet type="submit" { "Sign out" }
                }
            }
        }
        main id="content" tabindex="-1" { (content) }
    };
    Html(document(title, "inside", &body).into_string())
}

/// A page for nobody in particular.
pub(super) fn outside(title: &str, content: &Markup) -> Markup {
    let body = html! {
        main.card id="content" {
            p.brand { (gate_mark()) span { "Tidegate" } }
            (content)
        }
    };
    document(title, "outside", &body)
}

/// The secret of the visit, for a form.
pub(super) fn csrf(visitor: &Visitor) -> Markup {
    html! { input type="hidden" name="csrf" value=(visitor.csrf); }
}

fn document(title: &str, place: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Tidegate" }
                link rel="icon" type="image/svg+xml" href=(assets::address("mark.svg"));
                link rel="stylesheet" href=(assets::address("console.css"));
                script src=(assets::address("console.js")) defer {}
            }
            body.(place) { (body) }
        }
    }
}

/// Two posts, a raised gate, and the tide under it.
fn gate_mark() -> Markup {
    PreEscaped(assets::MARK.to_owned())
}
