//! Which results to keep out of a context so that a plan has a safe order.

use super::{Confinement, PlannedCall, Proposal, Step, safe_ordering};
use crate::{Class, Label};

/// The fewest steps, by leaving each out in turn, whose results must not enter for all steps to have an order. None
/// when even that does not help: the session's label is above a ceiling already, or the steps wait for each other.
pub(super) fn proposals(start: Label, calls: &[PlannedCall], steps: &[Step<'_>]) -> Vec<Proposal> {
    let mut kept_out: Vec<bool> = steps.iter().map(|step| step.returns > start.class()).collect();
    if !is_safe(start, steps, &kept_out) {
        return Vec::new();
    }
    // The highest are tried last: what is let in again first is what does the least harm.
    let mut order: Vec<usize> = (0..steps.len()).collect();
    order.sort_by_key(|index| steps.get(*index).map(|step| step.returns));
    for index in order {
        let Some(flag) = kept_out.get_mut(index).filter(|flag| **flag) else {
            continue;
        };
        *flag = false;
        if !is_safe(start, steps, &kept_out)
            && let Some(flag) = kept_out.get_mut(index)
        {
            *flag = true;
        }
    }
    let numbered = calls.iter().zip(steps).enumerate();
    numbered
        .zip(kept_out)
        .filter(|(_, is_kept_out)| *is_kept_out)
        .map(|((at_step, (call, step)), _)| Proposal {
            at_step,
            tool: call.tool.clone(),
            way: way(at_step, step.returns, steps),
        })
        .collect()
}

fn is_safe(start: Label, steps: &[Step<'_>], kept_out: &[bool]) -> bool {
    let confined: Vec<Step<'_>> = steps
        .iter()
        .zip(kept_out)
        .map(|(step, is_kept_out)| Step {
            returns: if *is_kept_out { Class::Public } else { step.returns },
            ..*step
        })
        .collect();
    safe_ordering(start, &confined).is_some()
}

/// A seal serves where the result is only passed on, to sinks that may be given it. Elsewhere somebody has to read it.
fn way(at_step: usize, class: Class, steps: &[Step<'_>]) -> Confinement {
    let mut needing = steps
        .iter()
        .filter(|step| step.after.contains(&at_step))
        .peekable();
    let is_passed_on = needing.peek().is_some() && needing.all(|step| step.sink && step.ceiling >= class);
    if is_passed_on {
        Confinement::Seal
    } else {
        Confinement::ChildSession
    }
}
