use super::*;
use crate::{Entry, Kinds, Moment, ToolFacts};
use proptest::prelude::*;

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn tool(text: &str, returns: Class, ceiling: Class) -> Tool {
    Tool::declared(ToolFacts {
        returns: Some(returns),
        ceiling: Some(ceiling),
        ..ToolFacts::named(name(text))
    })
}

fn control() -> ControlList {
    ControlList::new([
        tool("search_email", Class::Internal, Class::Secret),
        tool("web_search", Class::Public, Class::Public),
        tool("github_create_pr", Class::Public, Class::Internal),
        Tool {
            control: Control::Blocked,
            ..tool("gmail_send", Class::Public, Class::Secret)
        },
    ])
    .unwrap()
}

fn plan(calls: &[(&str, &[usize])]) -> Vec<PlannedCall> {
    calls
        .iter()
        .map(|(tool, after)| PlannedCall {
            tool: name(tool),
            after: after.to_vec(),
        })
        .collect()
}

fn at(class: Class) -> ContextState {
    let mut context = ContextState::clean();
    context.admit(Entry {
        class,
        kinds: Kinds::NONE,
        source: name("earlier"),
        at: Moment(0),
    });
    context
}

#[test]
fn an_external_call_moves_before_the_internal_one() {
    let calls = plan(&[
        ("search_email", &[]),
        ("web_search", &[]),
        ("github_create_pr", &[]),
    ]);
    let report = validate_plan(&control(), &ContextState::clean(), &calls).unwrap();
    assert_eq!(
        report.violations,
        [Violation {
            at_step: 1,
            tool: name("web_search"),
            reason: "web_search is blocked after search_email (step 0) loads internal data".into(),
            suggestion: "move web_search before search_email".into(),
        }]
    );
    assert_eq!(report.safe_ordering, Some(vec![1, 0, 2]));
}

#[test]
fn a_safe_plan_stays_as_it_is() {
    let calls = plan(&[
        ("web_search", &[]),
        ("search_email", &[0]),
        ("github_create_pr", &[1]),
    ]);
    let report = validate_plan(&control(), &ContextState::clean(), &calls).unwrap();
    assert!(report.is_valid());
    assert_eq!(report.safe_ordering, Some(vec![0, 1, 2]));
}

#[test]
fn no_order_is_said_plainly() {
    let needs_it = plan(&[("search_email", &[]), ("web_search", &[0])]);
    let report = validate_plan(&control(), &ContextState::clean(), &needs_it).unwrap();
    assert_eq!(report.safe_ordering, None);
    assert!(
        report.violations[0]
            .suggestion
            .starts_with("no order is safe: the steps need each other")
    );

    let proposal = Proposal {
        at_step: 0,
        tool: name("search_email"),
        way: Confinement::ChildSession,
    };
    assert_eq!(report.proposals, [proposal]);
    assert!(
        report.violations[0]
            .suggestion
            .ends_with("do search_email (step 0) in a child session that answers with declared values")
    );

    for (context, calls) in [
        (at(Class::Pii), plan(&[("web_search", &[])])),
        (ContextState::clean(), plan(&[("gmail_send", &[])])),
        (ContextState::clean(), plan(&[("nobody_knows", &[])])),
    ] {
        let report = validate_plan(&control(), &context, &calls).unwrap();
        assert!(!report.is_valid());
        assert_eq!(report.safe_ordering, None);
        assert_eq!(report.proposals, [], "nothing that is kept out would help");
    }
}

#[test]
fn a_result_that_only_sinks_need_is_sealed() {
    let mut tools: Vec<_> = control().iter().cloned().collect();
    tools.extend([
        tool("booking_lookup", Class::Pii, Class::Secret),
        Tool {
            sink: true,
            ..tool("draft_mail", Class::Public, Class::Pii)
        },
    ]);
    let control = ControlList::new(tools).unwrap();
    let check = |calls: &[(&str, &[usize])], expected: &[(usize, Confinement)]| {
        let report = validate_plan(&control, &ContextState::clean(), &plan(calls)).unwrap();
        let proposed: Vec<_> = report.proposals.iter().map(|p| (p.at_step, p.way)).collect();
        assert_eq!(proposed, expected, "{calls:?}");
    };
    let (seal, child) = (Confinement::Seal, Confinement::ChildSession);
    check(
        &[
            ("booking_lookup", &[]),
            ("draft_mail", &[0]),
            ("web_search", &[1]),
        ],
        &[(0, seal)],
    );
    check(
        &[
            ("booking_lookup", &[]),
            ("draft_mail", &[0]),
            ("web_search", &[0]),
        ],
        &[(0, child)],
    );
    check(
        &[
            ("search_email", &[]),
            ("booking_lookup", &[]),
            ("web_search", &[0, 1]),
            ("github_create_pr", &[1]),
        ],
        &[(0, child), (1, child)],
    );
    check(
        &[
            ("search_email", &[]),
            ("booking_lookup", &[0]),
            ("github_create_pr", &[1]),
        ],
        &[(1, child)],
    );
}

#[test]
fn a_step_before_what_it_needs_is_a_violation() {
    let calls = plan(&[("github_create_pr", &[1]), ("web_search", &[])]);
    let report = validate_plan(&control(), &ContextState::clean(), &calls).unwrap();
    assert_eq!(
        report.violations[0].suggestion,
        "move github_create_pr after web_search"
    );
    assert_eq!(report.safe_ordering, Some(vec![1, 0]));
}

#[test]
fn dependencies_must_name_other_steps() {
    let context = ContextState::clean();
    let missing = validate_plan(&control(), &context, &plan(&[("web_search", &[3])]));
    assert_eq!(missing, Err(BadPlan::NoSuchStep { step: 0, after: 3 }));
    let itself = validate_plan(&control(), &context, &plan(&[("web_search", &[0])]));
    assert_eq!(itself, Err(BadPlan::AfterItself { step: 0 }));
    let circle = plan(&[("web_search", &[1]), ("web_search", &[0])]);
    assert_eq!(
        validate_plan(&control(), &context, &circle)
            .unwrap()
            .safe_ordering,
        None
    );
}

/// The first order, by the plan's own numbering, in which every step passes: found by trying all of them.
fn brute_force(start: Label, steps: &[Step<'_>]) -> Option<Vec<usize>> {
    fn extend(label: Label, steps: &[Step<'_>], order: &mut Vec<usize>) -> bool {
        if order.len() == steps.len() {
            return true;
        }
        for next in 0..steps.len() {
            let step = &steps[next];
            let ready = !order.contains(&next) && step.after.iter().all(|before| order.contains(before));
            if ready && label.class() <= step.ceiling {
                order.push(next);
                if extend(label.raise(step.returns), steps, order) {
                    return true;
                }
                order.pop();
            }
        }
        false
    }
    let mut order = Vec::new();
    extend(start, steps, &mut order).then_some(order)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]
    #[test]
    fn safe_ordering_equals_brute_force(
        start in 0..3u8,
        raw in proptest::collection::vec((0..5u8, 0..5u8, proptest::collection::vec(0..7usize, 0..3)), 0..=7),
    ) {
        let class = |rank| Class::from_rank(rank).unwrap();
        let afters: Vec<Vec<usize>> = raw.iter().enumerate()
            .map(|(i, (_, _, after))| after.iter().copied().filter(|b| *b < raw.len() && *b != i).collect())
            .collect();
        let steps: Vec<Step<'_>> = raw.iter().zip(&afters)
            .map(|((returns, ceiling, _), after)| Step {
                returns: class(*returns), ceiling: class(*ceiling), sink: false, after,
            })
            .collect();
        let label = Label::CLEAN.raise(class(start));
        prop_assert_eq!(safe_ordering(label, &steps), brute_force(label, &steps));
    }

    #[test]
    fn valid_means_the_plans_own_order_is_safe(
        start in 0..4u8,
        picks in proptest::collection::vec((0..4usize, proptest::collection::vec(0..7usize, 0..2)), 0..=7),
    ) {
        let control = control();
        let tools: Vec<_> = control.iter().map(|tool| tool.name.clone()).collect();
        let calls: Vec<_> = picks.iter().enumerate().map(|(i, (pick, after))| PlannedCall {
            tool: tools[*pick].clone(),
            after: after.iter().copied().filter(|b| *b < picks.len() && *b != i).collect(),
        }).collect();
        let context = at(Class::from_rank(start).unwrap());
        let report = validate_plan(&control, &context, &calls).unwrap();
        let own_order: Vec<_> = (0..calls.len()).collect();
        prop_assert_eq!(report.is_valid(), report.safe_ordering == Some(own_order));
    }
}
