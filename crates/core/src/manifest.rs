//! What an agent is told before it plans: each tool's mark, and what calling it would close.

use crate::{Class, ContextState, Control, ControlList, Label, Name, SealRule, Tool};

/// How a tool is marked for planning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sensitivity {
    /// Its answers raise the label.
    InternalSource,
    /// It carries what it is given out.
    External,
    /// Neither.
    Neutral,
}

impl Sensitivity {
    /// The mark of a tool. What a source lets in matters more for planning than that it also reaches out.
    #[must_use]
    pub fn of(tool: &Tool) -> Self {
        if tool.is_internal_source() {
            Self::InternalSource
        } else if tool.external {
            Self::External
        } else {
            Self::Neutral
        }
    }

    /// The name used on every wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InternalSource => "internal_source",
            Self::External => "external",
            Self::Neutral => "neutral",
        }
    }
}

/// One tool in a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestTool {
    /// Its name.
    pub name: Name,
    /// Its mark.
    pub sensitivity: Sensitivity,
    /// The class of what it returns.
    pub class: Class,
    /// The highest class it may be given.
    pub ceiling: Class,
    /// What calling it would do to the other tools, from the session's state now.
    pub consequence: String,
    /// Whether it is closed now.
    pub blocked: bool,
    /// When its result is sealed. Whatever it says, an agent may ask for a seal.
    pub seal: SealRule,
    /// Whether stubs and handles resolve in calls to it.
    pub sink: bool,
    /// Whether its result is split by field.
    pub split: bool,
}

/// What a session's agent may know before it plans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Every tool, in the order of the control list.
    pub tools: Vec<ManifestTool>,
    /// The rule of thumb.
    pub ordering_hint: &'static str,
    /// The same for a system prompt, naming the tools.
    pub planning_constraint: String,
}

/// Computes the manifest from the session's state now.
#[must_use]
pub fn manifest(control: &ControlList, context: &ContextState) -> Manifest {
    let tools = control.iter().map(|tool| ManifestTool {
        name: tool.name.clone(),
        sensitivity: Sensitivity::of(tool),
        class: tool.returns,
        ceiling: tool.ceiling,
        consequence: consequence(control, context, tool),
        blocked: is_closed(tool, context),
        seal: tool.seal,
        sink: tool.sink,
        split: !tool.fields.is_empty(),
    });
    Manifest {
        tools: tools.collect(),
        ordering_hint: "complete all external tool calls before calling internal_source tools",
        planning_constraint: planning_constraint(control, context),
    }
}

/// The tools that a session's own state closes: by its label, or because it is halted.
pub fn closed_by_context<'a>(
    control: &'a ControlList,
    context: &'a ContextState,
) -> impl Iterator<Item = &'a Tool> {
    control.iter().filter(|tool| is_closed_by_context(tool, context))
}

fn is_closed_by_context(tool: &Tool, context: &ContextState) -> bool {
    context.halted().is_some() || context.label().class() > tool.ceiling
}

/// Whether a tool is closed to a session whatever its arguments are.
pub(crate) fn is_closed(tool: &Tool, context: &ContextState) -> bool {
    tool.control == Control::Blocked || is_closed_by_context(tool, context)
}

fn closed_by<'a>(
    control: &'a ControlList,
    context: &'a ContextState,
    tool: &Tool,
) -> impl Iterator<Item = &'a Tool> {
    let raised = context.label().raise(tool.enters()).class();
    control
        .iter()
        .filter(move |other| !is_closed(other, context) && raised > other.ceiling)
}

fn consequence(control: &ControlList, context: &ContextState, tool: &Tool) -> String {
    if context.halted().is_some() {
        return "blocked now: the session is halted until a person decides".into();
    }
    if tool.control == Control::Blocked {
        return "blocked always by the control list".into();
    }
    let label = context.label().class();
    if label > tool.ceiling {
        return format!(
            "blocked now: the session is labelled {label}, this tool may be given at most {}",
            tool.ceiling
        );
    }
    let closed: Vec<_> = closed_by(control, context, tool)
        .map(|other| other.name.as_str())
        .collect();
    if !closed.is_empty() {
        return format!("calling this tool will block: {}", closed.join(", "));
    }
    match Sensitivity::of(tool) {
        Sensitivity::External if label == Class::Public => "none — safe to call before internal tools".into(),
        _ => "none — safe to call in any order".into(),
    }
}

fn planning_constraint(control: &ControlList, context: &ContextState) -> String {
    if context.halted().is_some() {
        return "This session is halted: no tool may be called until a person has reviewed it.".into();
    }
    let mut lines = vec!["Tool ordering constraint (enforced by Tidegate, not by this prompt):".to_owned()];
    let closing = closing_lines(control, context);
    if !closing.is_empty() {
        lines.push(
            "- Tools marked [internal] will close tools marked [external] for the rest of this session."
                .into(),
        );
        lines.push("- If the task needs both, call the [external] tools first.".into());
        lines.extend(closing);
    }
    let label = context.label();
    let closed = names(control.iter().filter(|tool| is_closed(tool, context)));
    if !closed.is_empty() {
        lines.push(format!("- Closed now{}: {closed}", label_note(label)));
    }
    let safe = names(
        control
            .iter()
            .filter(|tool| is_safe_in_any_order(control, context, tool)),
    );
    if !safe.is_empty() {
        lines.push(format!("- Safe to call in any order: {safe}"));
    }
    lines.join("\n")
}

fn label_note(label: Label) -> String {
    if label.is_private() {
        format!(" (this session holds {} data)", label.class())
    } else {
        String::new()
    }
}

/// One line for each class that a call could raise the label to, and what that would close.
fn closing_lines(control: &ControlList, context: &ContextState) -> Vec<String> {
    let open = |tool: &&Tool| !is_closed(tool, context);
    let mut lines = Vec::new();
    for class in Class::ALL
        .into_iter()
        .filter(|class| *class > context.label().class())
    {
        let sources = control.iter().filter(open).filter(|tool| tool.enters() == class);
        let sources: Vec<_> = sources.map(|tool| format!("{} [internal]", tool.name)).collect();
        let closed = names(control.iter().filter(open).filter(|tool| tool.ceiling < class));
        if !sources.is_empty() && !closed.is_empty() {
            lines.push(format!("- {} → closes {closed}", sources.join(", ")));
        }
    }
    lines
}

/// Closes nothing when called, and nothing that is open now would close it.
fn is_safe_in_any_order(control: &ControlList, context: &ContextState, tool: &Tool) -> bool {
    let open_sources = control.iter().filter(|other| !is_closed(other, context));
    let highest = open_sources
        .map(Tool::enters)
        .fold(context.label(), Label::raise)
        .class();
    !is_closed(tool, context) && highest <= tool.ceiling && closed_by(control, context, tool).next().is_none()
}

fn names<'a>(tools: impl Iterator<Item = &'a Tool>) -> String {
    tools
        .map(|tool| tool.name.as_str())
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Entry, Kinds, Moment, ToolFacts};

    fn control() -> ControlList {
        let facts = |name: &str| ToolFacts::named(Name::parse(name).unwrap());
        let source = |name| ToolFacts {
            returns: Some(Class::Internal),
            ..facts(name)
        };
        let external = |name| ToolFacts {
            external: true,
            ..facts(name)
        };
        let list = [
            source("search_email"),
            external("web_search"),
            external("slack_post"),
            ToolFacts {
                ceiling: Some(Class::Internal),
                ..external("github_create_pr")
            },
            ToolFacts {
                control: Control::Blocked,
                ..external("gmail_send")
            },
        ];
        ControlList::new(list.map(Tool::declared)).unwrap()
    }

    fn consequence_of<'a>(manifest: &'a Manifest, name: &str) -> &'a str {
        &manifest
            .tools
            .iter()
            .find(|tool| tool.name.as_str() == name)
            .unwrap()
            .consequence
    }

    #[test]
    fn a_clean_session_is_told_what_would_close() {
        let manifest = manifest(&control(), &ContextState::clean());
        assert_eq!(
            consequence_of(&manifest, "search_email"),
            "calling this tool will block: web_search, slack_post"
        );
        assert_eq!(
            consequence_of(&manifest, "web_search"),
            "none — safe to call before internal tools"
        );
        assert_eq!(
            consequence_of(&manifest, "gmail_send"),
            "blocked always by the control list"
        );
        let text = &manifest.planning_constraint;
        assert!(
            text.contains("search_email [internal] → closes web_search, slack_post"),
            "{text}"
        );
        assert!(
            text.contains("Safe to call in any order: github_create_pr"),
            "{text}"
        );
    }

    #[test]
    fn a_private_session_is_told_what_is_closed() {
        let mut context = ContextState::clean();
        let source = Name::parse("search_email").unwrap();
        context.admit(Entry {
            class: Class::Internal,
            kinds: Kinds::NONE,
            source,
            at: Moment(0),
        });
        let manifest = manifest(&control(), &context);
        let blocked: Vec<_> = manifest
            .tools
            .iter()
            .filter(|t| t.blocked)
            .map(|t| t.name.as_str())
            .collect();
        assert_eq!(blocked, ["web_search", "slack_post", "gmail_send"]);
        assert_eq!(
            consequence_of(&manifest, "search_email"),
            "none — safe to call in any order"
        );
        assert!(consequence_of(&manifest, "web_search").starts_with("blocked now"));
        assert!(
            manifest
                .planning_constraint
                .contains("Closed now (this session holds internal data)")
        );
    }
}
