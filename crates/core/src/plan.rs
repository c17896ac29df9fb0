//! Checking a plan before it runs, and finding an order in which all of it can.
//!
//! The order is found greedily and exactly. A call may go next if its own ceiling covers the label and the label
//! it would leave covers no other remaining call's ceiling from above. If such a call exists, taking it never spoils
//! a completion (moving it to the front leaves every other call at or under its ceiling); if none exists, every
//! choice strands some call for good, since labels do not fall. Taking the earliest such call each time gives the
//! first order, in the plan's own numbering, of all that are safe: the plan is disturbed as little as that allows.

mod confine;

use crate::manifest::is_closed;
use crate::{Class, ContextState, Control, ControlList, Label, Name, Tool};

/// One call of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedCall {
    /// The tool to be called.
    pub tool: Name,
    /// The steps whose results it needs.
    pub after: Vec<usize>,
}

/// A step that would not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which step, counted from zero.
    pub at_step: usize,
    /// Its tool.
    pub tool: Name,
    /// Why it would not pass.
    pub reason: String,
    /// What to do about it.
    pub suggestion: String,
}

/// A step that makes the rest of a plan possible where no order does, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Which step, counted from zero.
    pub at_step: usize,
    /// Its tool.
    pub tool: Name,
    /// How its result is kept out of this session's context.
    pub way: Confinement,
}

/// How a result is kept out of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confinement {
    /// Behind a handle: every step that needs it is an authorized sink for its class.
    Seal,
    /// In a child session that answers with declared values only.
    ChildSession,
}

impl Confinement {
    /// The name used on every wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Seal => "seal",
            Self::ChildSession => "child-session",
        }
    }
}

/// What is to be said of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanReport {
    /// The steps that would not pass, in order.
    pub violations: Vec<Violation>,
    /// The steps in an order in which all of them pass, if there is one.
    pub safe_ordering: Option<Vec<usize>>,
    /// Where there is no such order: the steps to keep out of this context so that there is one, if that helps.
    pub proposals: Vec<Proposal>,
}

impl PlanReport {
    /// Whether every step passes as planned.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.violations.is_empty()
    }
}

/// Why something is not a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadPlan {
    /// A dependency on a step that is not there.
    #[error("step {step} is to run after step {after}, which the plan does not have")]
    NoSuchStep {
        /// The step that depends.
        step: usize,
        /// What it names.
        after: usize,
    },
    /// A dependency on itself.
    #[error("step {step} is to run after itself")]
    AfterItself {
        /// The step.
        step: usize,
    },
}

/// Checks a plan against the control list, starting from the session's state now.
///
/// # Errors
/// When a dependency names no step of the plan, or the step itself.
pub fn validate_plan(
    control: &ControlList,
    context: &ContextState,
    calls: &[PlannedCall],
) -> Result<PlanReport, BadPlan> {
    check_dependencies(calls)?;
    let steps: Option<Vec<Step<'_>>> = calls
        .iter()
        .map(|call| Step::new(control.find(call.tool.as_str())?, &call.after))
        .collect();
    let steps = steps.filter(|_| context.halted().is_none());
    let safe_ordering = steps.as_ref().and_then(|s| safe_ordering(context.label(), s));
    let proposals = match (&steps, &safe_ordering) {
        (Some(steps), None) => confine::proposals(context.label(), calls, steps),
        _ => Vec::new(),
    };
    let violations = Walk {
        control,
        context,
        calls,
        safe_ordering: safe_ordering.as_deref(),
        proposals: &proposals,
    }
    .violations();
    Ok(PlanReport {
        violations,
        safe_ordering,
        proposals,
    })
}

fn check_dependencies(calls: &[PlannedCall]) -> Result<(), BadPlan> {
    for (step, call) in calls.iter().enumerate() {
        for &after in &call.after {
            if after >= calls.len() {
                return Err(BadPlan::NoSuchStep { step, after });
            }
            if after == step {
                return Err(BadPlan::AfterItself { step });
            }
        }
    }
    Ok(())
}

/// A step as the search sees it.
#[derive(Clone, Copy)]
struct Step<'a> {
    returns: Class,
    ceiling: Class,
    sink: bool,
    after: &'a [usize],
}

impl<'a> Step<'a> {
    fn new(tool: &Tool, after: &'a [usize]) -> Option<Self> {
        (tool.control != Control::Blocked).then_some(Self {
            returns: tool.returns,
            ceiling: tool.ceiling,
            sink: tool.sink,
            after,
        })
    }
}

fn safe_ordering(start: Label, steps: &[Step<'_>]) -> Option<Vec<usize>> {
    let mut label = start;
    let mut done = vec![false; steps.len()];
    let mut order = Vec::with_capacity(steps.len());
    while order.len() < steps.len() {
        let next = next_safe(label, steps, &done)?;
        *done.get_mut(next)? = true;
        label = label.raise(steps.get(next)?.returns);
        order.push(next);
    }
    Some(order)
}

/// The earliest step that can go now without stranding another.
fn next_safe(label: Label, steps: &[Step<'_>], done: &[bool]) -> Option<usize> {
    let is_done = |index: usize| done.get(index).copied().unwrap_or(false);
    let mut remaining: Vec<usize> = (0..steps.len()).filter(|index| !is_done(*index)).collect();
    let ceiling = |index: &usize| steps.get(*index).map(|step| step.ceiling);
    // The two lowest ceilings tell, for any step, the lowest ceiling among the others.
    let in_plan_order = remaining.clone();
    remaining.sort_by_key(ceiling);
    let lowest = remaining.first().copied();
    let second = remaining.get(1).and_then(ceiling);
    in_plan_order.into_iter().find(|index| {
        let Some(step) = steps.get(*index) else {
            return false;
        };
        let others = if lowest == Some(*index) {
            second
        } else {
            lowest.as_ref().and_then(ceiling)
        };
        let leaves = label.raise(step.returns).class();
        step.after.iter().all(|before| is_done(*before))
            && label.class() <= step.ceiling
            && others.is_none_or(|lowest| leaves <= lowest)
    })
}

/// A walk through the plan as it stands. A step that is blocked returns nothing, so it raises nothing.
struct Walk<'a> {
    control: &'a ControlList,
    context: &'a ContextState,
    calls: &'a [PlannedCall],
    safe_ordering: Option<&'a [usize]>,
    proposals: &'a [Proposal],
}

impl Walk<'_> {
    fn violations(&self) -> Vec<Violation> {
        let mut label = self.context.label();
        let mut raised_at: Option<usize> = None;
        let mut violations = Vec::new();
        for (at_step, call) in self.calls.iter().enumerate() {
            let found = self.control.find(call.tool.as_str());
            let problem = self.problem(at_step, call, found, label, raised_at);
            if let Some((reason, suggestion)) = problem {
                violations.push(Violation {
                    at_step,
                    tool: call.tool.clone(),
                    reason,
                    suggestion,
                });
            } else if let Some(tool) = found {
                let raised = label.raise(tool.returns);
                raised_at = if raised > label { Some(at_step) } else { raised_at };
                label = raised;
            }
        }
        violations
    }

    fn problem(
        &self,
        at_step: usize,
        call: &PlannedCall,
        tool: Option<&Tool>,
        label: Label,
        raised_at: Option<usize>,
    ) -> Option<(String, String)> {
        let name = &call.tool;
        let Some(tool) = tool else {
            return Some((
                format!("{name} is not in the control list"),
                "use a tool from the session's manifest".into(),
            ));
        };
        if tool.control == Control::Blocked || self.context.halted().is_some() {
            return Some((
                format!("{name} is blocked in this session whatever the order"),
                self.without_order(name),
            ));
        }
        if label.class() > tool.ceiling {
            let reason = self.raised_reason(tool, label, raised_at);
            return Some((reason, self.reordering(tool, raised_at)));
        }
        let needed = call.after.iter().find(|before| **before > at_step)?;
        let needed_tool = self
            .calls
            .get(*needed)
            .map_or("that step", |call| call.tool.as_str());
        Some((
            format!("{name} runs before {needed_tool} (step {needed}), whose result it needs"),
            format!("move {name} after {needed_tool}"),
        ))
    }

    fn raised_reason(&self, tool: &Tool, label: Label, raised_at: Option<usize>) -> String {
        let class = label.class();
        match raised_at.and_then(|step| self.calls.get(step).map(|call| (step, &call.tool))) {
            Some((step, source)) => {
                format!(
                    "{} is blocked after {source} (step {step}) loads {class} data",
                    tool.name
                )
            }
            None => {
                let source = self
                    .context
                    .contamination_source()
                    .map_or("an earlier call", Name::as_str);
                format!(
                    "{} is blocked already: {source} loaded {class} data into this session",
                    tool.name
                )
            }
        }
    }

    fn reordering(&self, tool: &Tool, raised_at: Option<usize>) -> String {
        let source = raised_at.and_then(|step| self.calls.get(step));
        match (source, self.safe_ordering) {
            (Some(source), Some(_)) => format!("move {} before {}", tool.name, source.tool),
            _ => self.without_order(&tool.name),
        }
    }

    /// What would help where no order does.
    fn without_order(&self, name: &Name) -> String {
        let closed_now = self
            .control
            .find(name.as_str())
            .is_some_and(|tool| is_closed(tool, self.context));
        let why = if closed_now {
            "it is closed in this session"
        } else {
            "the steps need each other the wrong way round"
        };
        if self.proposals.is_empty() || closed_now {
            return format!(
                "no order is safe: {why}; do {name} in a run that has not seen this data, or hand it to a person"
            );
        }
        let ways = self.proposals.iter().map(|proposal| match proposal.way {
            Confinement::Seal => format!(
                "have the result of {} (step {}) sealed and pass its handle on",
                proposal.tool, proposal.at_step
            ),
            Confinement::ChildSession => format!(
                "do {} (step {}) in a child session that answers with declared values",
                proposal.tool, proposal.at_step
            ),
        });
        let ways: Vec<_> = ways.collect();
        format!("no order is safe: {why}; {}", ways.join(", and "))
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
