use super::*;
use proptest::prelude::*;

fn ident(text: &str) -> Ident {
    Ident::parse(text).unwrap()
}

fn gate(needed: u32) -> Gate {
    Gate {
        id: ident("gate_1"),
        kind: GateKind::ToolApproval,
        session: ident("s-1"),
        user: ident("ada"),
        agent: ident("bot"),
        asked_by: ident("ada"),
        owner: ident("ledger"),
        binding: Binding([1; 32]),
        tool: None,
        class: Class::Internal,
        rule: "human-approval".to_owned(),
        policy: "p".to_owned(),
        document: "{}".to_owned(),
        evidence: None,
        opened_at: Moment(0),
        expires_at: Moment(10),
        needed,
        state: GateState::Open,
        approvals: Vec::new(),
        end: None,
        place: 0,
        tick: 0,
    }
}

fn answer(by: &str, approve: bool, at: i64) -> GateAnswer {
    GateAnswer {
        by: ident(by),
        role: Role::HumanOperator,
        approve,
        reason: "because".to_owned(),
        at: Moment(at),
        usable_until: Moment(at + 10),
    }
}

/// One step of a gate's life, as a number makes it.
fn step(gate: &mut Gate, number: u8, at: i64) {
    let people = ["ann", "bea", "cem"];
    let by = people[usize::from(number) % people.len()];
    match number % 5 {
        0 | 1 => drop(gate.answer(answer(by, true, at))),
        2 => drop(gate.answer(answer(by, false, at))),
        3 => drop(gate.spend(&Binding([1; 32]), Moment(at))),
        _ => drop(gate.expire("time", Moment(at))),
    }
}

proptest! {
    /// Whatever happens in whatever order: it is spent at most once, only with enough approvals of different people, and what is
    /// closed stays closed.
    #[test]
    fn a_gate_never_goes_back(needed in 1..3u32, steps in proptest::collection::vec((any::<u8>(), 0..4i64), 0..24)) {
        let mut gate = gate(needed);
        let (mut at, mut spent) = (0, 0);
        for (number, later) in steps {
            at += later;
            let before = gate.clone();
            step(&mut gate, number, at);
            if before.state != GateState::Spent && gate.state == GateState::Spent {
                spent += 1;
                prop_assert_eq!(before.standing(Moment(at)), GateState::Approved);
            }
            if matches!(before.state, GateState::Denied | GateState::Expired | GateState::Spent) {
                prop_assert_eq!(&before, &gate);
            }
            if matches!(gate.state, GateState::Approved | GateState::Spent) {
                let mut people: Vec<_> = gate.approvals.iter().map(|given| given.by.as_str()).collect();
                people.sort_unstable();
                people.dedup();
                prop_assert!(people.len() >= needed as usize);
            }
        }
        prop_assert!(spent <= 1);
    }
}

#[test]
fn time_denies_whether_or_not_somebody_wrote_it_down() {
    let mut waiting = gate(1);
    assert_eq!(waiting.standing(Moment(9)), GateState::Open);
    assert_eq!(waiting.standing(Moment(10)), GateState::Expired);
    let late = waiting.answer(answer("ann", true, 10));
    assert_eq!(late, Err(AnswerError::Closed(GateState::Expired)));
    waiting.answer(answer("ann", true, 9)).unwrap();
    assert!(!waiting.clone().spend(&Binding([1; 32]), Moment(19)));
    assert!(!waiting.clone().spend(&Binding([2; 32]), Moment(12)));
    assert!(waiting.spend(&Binding([1; 32]), Moment(18)));
}

#[test]
fn two_people_are_two() {
    let mut waiting = gate(2);
    waiting.answer(answer("ann", true, 1)).unwrap();
    assert_eq!((waiting.state, waiting.missing()), (GateState::Open, 1));
    assert_eq!(waiting.answer(answer("ann", true, 2)), Err(AnswerError::Twice));
    let mut refused = waiting.clone();
    refused.answer(answer("ann", false, 2)).unwrap();
    assert_eq!(refused.state, GateState::Denied);
    waiting.answer(answer("bea", true, 2)).unwrap();
    assert_eq!((waiting.state, waiting.missing()), (GateState::Approved, 0));
}

#[test]
fn a_person_counts_once_however_they_came_in() {
    for again in ["ann", "oidc:ann", "Ann"] {
        let mut gate = gate(2);
        gate.answer(answer("ann", true, 1)).unwrap();
        let twice = gate.answer(answer(again, true, 2));
        assert!(matches!(twice, Err(AnswerError::Twice)), "{again}");
        gate.answer(answer("oidc:bea", true, 3)).unwrap();
        assert_eq!(gate.state, GateState::Approved);
    }
}
