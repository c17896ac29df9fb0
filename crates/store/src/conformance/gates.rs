//! The cases of [`GateStore`].

use std::sync::Arc;

use tidegate_core::{Class, Ident, Moment, Role};
use tokio::task::JoinSet;

use super::{Handles, ident, name, opening};
use crate::{
    AnswerError, Binding, Gate, GateAnswer, GateKind, GateQuery, GateState, GateStore, Listed, OpenGateError,
    Opened, SessionStore, StoreError,
};

pub(super) async fn open_keeps_everything<S: SessionStore + GateStore>(handles: &Handles<S>) {
    handles.one.open(opening("s-1")).await.unwrap();
    let bare = Gate {
        tool: None,
        evidence: None,
        ..gate("g-2", "s-1", 2)
    };
    for wanted in [gate("g-1", "s-1", 1), bare] {
        let kept = opened(&handles.one, wanted.clone()).await;
        let expected = Gate {
            place: kept.place,
            tick: kept.tick,
            ..wanted
        };
        assert_eq!(kept, expected);
        assert_eq!(handles.two.gate(&kept.id).await, Ok(Some(kept.clone())));
        assert_eq!(handles.two.latest(&kept.binding).await, Ok(Some(kept)));
    }
    assert_eq!(handles.one.gate(&ident("nobody")).await, Ok(None));
    assert_eq!(handles.one.latest(&Binding([9; 32])).await, Ok(None));
    let nowhere = handles.one.open_gate(gate("g-3", "nobody", 3), 9).await;
    assert_eq!(nowhere, Err(StoreError::NoSession.into()));
}

pub(super) async fn one_gate_waits_for_one_question<S: SessionStore + GateStore>(handles: &Handles<S>) {
    handles.one.open(opening("s-1")).await.unwrap();
    let first = opened(&handles.one, gate("g-1", "s-1", 1)).await;
    let again = handles.two.open_gate(gate("g-2", "s-1", 1), 9).await;
    assert_eq!(again, Ok(Opened::Known(first.clone())));
    handles.one.answer(&first.id, yes("ann", 20)).await.unwrap();
    let after = opened(&handles.two, gate("g-2", "s-1", 1)).await;
    assert_eq!(handles.one.latest(&after.binding).await, Ok(Some(after.clone())));
    let late = Gate {
        opened_at: after.expires_at,
        expires_at: Moment(9_000),
        ..gate("g-3", "s-1", 1)
    };
    assert_eq!(opened(&handles.one, late).await.id, ident("g-3"));
}

pub(super) async fn open_bounds_what_waits<S: SessionStore + GateStore>(handles: &Handles<S>) {
    for id in ["s-1", "s-2"] {
        handles.one.open(opening(id)).await.unwrap();
    }
    for number in 1..=2 {
        let wanted = gate(&format!("g-{number}"), "s-1", number);
        handles.one.open_gate(wanted, 2).await.unwrap();
    }
    let third = handles.two.open_gate(gate("g-3", "s-1", 3), 2).await;
    assert_eq!(third, Err(OpenGateError::TooMany));
    handles.two.open_gate(gate("g-4", "s-2", 4), 2).await.unwrap();
    handles.two.answer(&ident("g-1"), no("ann", 20)).await.unwrap();
    handles.two.open_gate(gate("g-3", "s-1", 3), 2).await.unwrap();
}

pub(super) async fn an_answer_counts_once<S: SessionStore + GateStore>(handles: &Handles<S>) {
    handles.one.open(opening("s-1")).await.unwrap();
    opened(&handles.one, gate("g-1", "s-1", 1)).await;
    opened(&handles.one, gate("g-2", "s-1", 2)).await;
    let approved = handles.one.answer(&ident("g-1"), yes("ann", 20)).await.unwrap();
    assert_eq!(approved.state, GateState::Approved);
    assert_eq!(approved.expires_at, yes("ann", 20).usable_until);
    assert_eq!(handles.two.gate(&ident("g-1")).await, Ok(Some(approved.clone())));
    let late = handles.two.answer(&ident("g-1"), no("bea", 21)).await;
    assert_eq!(late, Err(AnswerError::Closed(GateState::Approved)));
    let denied = handles.two.answer(&ident("g-2"), no("bea", 21)).await.unwrap();
    assert_eq!(denied.state, GateState::Denied);
    let end = handles
        .one
        .gate(&ident("g-2"))
        .await
        .unwrap()
        .unwrap()
        .end
        .unwrap();
    assert_eq!((end.by, end.reason.as_str()), (Some(ident("bea")), "no, because"));
    let nobody = handles.two.answer(&ident("nobody"), no("bea", 21)).await;
    assert_eq!(nobody, Err(AnswerError::NoGate));
}

pub(super) async fn two_people_must_be_two<S: SessionStore + GateStore>(handles: &Handles<S>) {
    handles.one.open(opening("s-1")).await.unwrap();
    let both = Gate {
        needed: 2,
        ..gate("g-1", "s-1", 1)
    };
    opened(&handles.one, both).await;
    let half = handles.one.answer(&ident("g-1"), yes("ann", 20)).await.unwrap();
    assert_eq!((half.state, half.missing()), (GateState::Open, 1));
    let twice = handles.two.answer(&ident("g-1"), yes("ann", 21)).await;
    assert_eq!(twice, Err(AnswerError::Twice));
    let spent = handles
        .two
        .spend(&ident("g-1"), &Binding([1; 32]), Moment(22))
        .await;
    assert_eq!(spent, Ok(None));
    let whole = handles.two.answer(&ident("g-1"), yes("bea", 23)).await.unwrap();
    assert_eq!((whole.state, whole.approvals.len()), (GateState::Approved, 2));
    assert_eq!(handles.one.gate(&ident("g-1")).await, Ok(Some(whole)));
}

pub(super) async fn an_approval_is_spent_once<S: SessionStore + GateStore>(handles: &Handles<S>) {
    handles.one.open(opening("s-1")).await.unwrap();
    let (id, binding) = (ident("g-1"), Binding([1; 32]));
    opened(&handles.one, gate("g-1", "s-1", 1)).await;
    assert_eq!(handles.one.spend(&id, &binding, Moment(20)).await, Ok(None));
    handles.one.answer(&id, yes("ann", 20)).await.unwrap();
    let other = handles.two.spend(&id, &Binding([2; 32]), Moment(21)).await;
    assert_eq!(other, Ok(None), "an approval fits what it was given for");
    let late = handles.two.spend(&id, &binding, Moment(5_000)).await;
    assert_eq!(late, Ok(None), "an approval does not last for ever");
    let spent = handles.two.spend(&id, &binding, Moment(21)).await.unwrap();
    assert_eq!(spent.map(|gate| gate.state), Some(GateState::Spent));
    assert_eq!(handles.one.spend(&id, &binding, Moment(22)).await, Ok(None));
    let nobody = handles.one.spend(&ident("nobody"), &binding, Moment(22)).await;
    assert_eq!(nobody, Ok(None));
}

pub(super) async fn time_ends_what_nobody_decided<S: SessionStore + GateStore>(handles: &Handles<S>) {
    handles.one.open(opening("s-1")).await.unwrap();
    for number in 1..=4 {
        let wanted = Gate {
            expires_at: Moment(100 * i64::from(number)),
            ..gate(&format!("g-{number}"), "s-1", number)
        };
        opened(&handles.one, wanted).await;
    }
    handles.one.answer(&ident("g-2"), yes("ann", 20)).await.unwrap();
    handles.one.answer(&ident("g-3"), no("ann", 20)).await.unwrap();
    let late = handles.two.answer(&ident("g-1"), yes("ann", 100)).await;
    assert_eq!(late, Err(AnswerError::Closed(GateState::Expired)));
    let overdue = |at, limit| handles.two.overdue(Moment(at), limit);
    assert_eq!(ids(&overdue(99, 9).await.unwrap()), Vec::<String>::new());
    assert_eq!(ids(&overdue(5_000, 9).await.unwrap()), ["g-1", "g-4", "g-2"]);
    assert_eq!(ids(&overdue(5_000, 1).await.unwrap()), ["g-1"]);
    let expired = handles.one.expire(&ident("g-1"), "silence", Moment(101)).await;
    let expired = expired.unwrap().unwrap();
    assert_eq!(expired.state, GateState::Expired);
    assert_eq!(expired.end.unwrap().reason, "silence");
    for done in ["g-1", "g-3", "nobody"] {
        let again = handles.two.expire(&ident(done), "silence", Moment(102)).await;
        assert_eq!(again, Ok(None), "{done}");
    }
    assert_eq!(ids(&overdue(5_000, 9).await.unwrap()), ["g-4", "g-2"]);
}

pub(super) async fn left_open_names_the_gateways_own<S: SessionStore + GateStore>(handles: &Handles<S>) {
    handles.one.open(opening("s-1")).await.unwrap();
    for (number, owner) in [(1, "here"), (2, "there"), (3, "here"), (4, "here")] {
        let wanted = Gate {
            owner: ident(owner),
            ..gate(&format!("g-{number}"), "s-1", number)
        };
        opened(&handles.one, wanted).await;
    }
    handles.one.answer(&ident("g-3"), yes("ann", 20)).await.unwrap();
    let left = handles.two.left_open(&ident("here"), 9).await.unwrap();
    assert_eq!(ids(&left), ["g-1", "g-4"]);
    assert_eq!(handles.two.left_open(&ident("here"), 1).await.unwrap().len(), 1);
}

pub(super) async fn list_pages_by_state_kind_and_session<S: SessionStore + GateStore>(handles: &Handles<S>) {
    for id in ["s-1", "s-2"] {
        handles.one.open(opening(id)).await.unwrap();
    }
    for number in 1..=8u8 {
        let wanted = Gate {
            kind: match number % 2 {
                0 => GateKind::ToolApproval,
                _ => GateKind::LowerLabel,
            },
            ..gate(
                &format!("g-{number}"),
                if number < 5 { "s-1" } else { "s-2" },
                number,
            )
        };
        opened(&handles.one, wanted).await;
    }
    for decided in ["g-2", "g-7"] {
        handles.two.answer(&ident(decided), no("ann", 20)).await.unwrap();
    }
    let calls = Some(GateKind::ToolApproval);
    check_pages(&handles.two, Listed::Open, None, None, &[1, 3, 4, 5, 6, 8]).await;
    check_pages(&handles.two, Listed::Decided, None, None, &[7, 2]).await;
    check_pages(&handles.two, Listed::All, None, None, &[8, 7, 6, 5, 4, 3, 2, 1]).await;
    check_pages(&handles.two, Listed::Open, calls, None, &[4, 6, 8]).await;
    check_pages(&handles.two, Listed::Decided, calls, None, &[2]).await;
    check_pages(&handles.two, Listed::Open, None, Some("s-1"), &[1, 3, 4]).await;
    check_pages(&handles.two, Listed::All, calls, Some("s-2"), &[8, 6]).await;
    let late = GateQuery {
        at: Moment(5_000),
        ..query(Listed::Open)
    };
    assert_eq!(
        handles.two.gates(&late).await,
        Ok(Vec::new()),
        "time ends what is open"
    );
}

pub(super) async fn changes_are_told_in_order<S: SessionStore + GateStore>(handles: &Handles<S>) {
    handles.one.open(opening("s-1")).await.unwrap();
    assert_eq!(handles.one.tick().await, Ok(0));
    for number in 1..=3 {
        opened(&handles.one, gate(&format!("g-{number}"), "s-1", number)).await;
    }
    let before = handles.two.tick().await.unwrap();
    assert_eq!(
        ids(&handles.two.changed(0, 9).await.unwrap()),
        ["g-1", "g-2", "g-3"]
    );
    handles.one.answer(&ident("g-2"), yes("ann", 20)).await.unwrap();
    let binding = Binding([2; 32]);
    handles
        .two
        .spend(&ident("g-2"), &binding, Moment(21))
        .await
        .unwrap();
    handles
        .two
        .expire(&ident("g-1"), "silence", Moment(22))
        .await
        .unwrap();
    let changed = handles.one.changed(before, 9).await.unwrap();
    assert_eq!(ids(&changed), ["g-2", "g-1"]);
    assert_eq!(handles.one.changed(before, 1).await.unwrap().len(), 1);
    let last = changed.last().unwrap().tick;
    assert_eq!(handles.one.tick().await, Ok(last));
    assert_eq!(handles.one.changed(last, 9).await, Ok(Vec::new()));
}

pub(super) async fn racing_answers_have_one_winner<S: SessionStore + GateStore + 'static>(
    handles: &Handles<S>,
) {
    handles.one.open(opening("s-1")).await.unwrap();
    opened(&handles.one, gate("g-1", "s-1", 1)).await;
    let outcomes = race(handles, |store, number| async move {
        let answer = match number % 2 {
            0 => yes(&format!("p-{number}"), 20),
            _ => no(&format!("p-{number}"), 20),
        };
        store.answer(&ident("g-1"), answer).await.is_ok()
    });
    assert_eq!(outcomes.await, 1);
}

pub(super) async fn racing_spenders_have_one_winner<S: SessionStore + GateStore + 'static>(
    handles: &Handles<S>,
) {
    handles.one.open(opening("s-1")).await.unwrap();
    opened(&handles.one, gate("g-1", "s-1", 1)).await;
    handles.one.answer(&ident("g-1"), yes("ann", 20)).await.unwrap();
    let outcomes = race(handles, |store, _| async move {
        let spent = store.spend(&ident("g-1"), &Binding([1; 32]), Moment(21)).await;
        spent.unwrap().is_some()
    });
    assert_eq!(outcomes.await, 1);
}

pub(super) async fn racing_openers_open_one<S: SessionStore + GateStore + 'static>(handles: &Handles<S>) {
    handles.one.open(opening("s-1")).await.unwrap();
    let outcomes = race(handles, |store, number| async move {
        let wanted = gate(&format!("g-{number}"), "s-1", 1);
        let outcome = store.open_gate(wanted, 9).await.unwrap();
        matches!(outcome, Opened::New(_))
    });
    assert_eq!(outcomes.await, 1);
}

/// Sixteen who try at once, over both handles; how many of them succeed.
async fn race<S, F>(handles: &Handles<S>, attempt: impl Fn(Arc<S>, usize) -> F) -> usize
where
    S: 'static,
    F: Future<Output = bool> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    for number in 0..16 {
        let store = if number % 2 == 0 {
            &handles.one
        } else {
            &handles.two
        };
        tasks.spawn(attempt(Arc::clone(store), number));
    }
    tasks.join_all().await.into_iter().filter(|won| *won).count()
}

/// A question's gates, whole and in pages of two.
async fn check_pages<S: GateStore>(
    store: &Arc<S>,
    listed: Listed,
    kind: Option<GateKind>,
    session: Option<&str>,
    expected: &[u8],
) {
    let whole = GateQuery {
        kind,
        session: session.map(ident),
        ..query(listed)
    };
    let expected: Vec<_> = expected.iter().map(|number| format!("g-{number}")).collect();
    assert_eq!(
        ids(&store.gates(&whole).await.unwrap()),
        expected,
        "{listed:?} {kind:?}"
    );
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let part = GateQuery {
            after,
            limit: 2,
            ..whole.clone()
        };
        let page = store.gates(&part).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.place);
        found.extend(ids(&page));
    }
    assert_eq!(found, expected, "{listed:?} {kind:?} in pages");
}

async fn opened<S: GateStore>(store: &Arc<S>, gate: Gate) -> Gate {
    match store.open_gate(gate, 100).await.unwrap() {
        Opened::New(gate) | Opened::Known(gate) => gate,
    }
}

fn ids(gates: &[Gate]) -> Vec<String> {
    gates.iter().map(|gate| gate.id.to_string()).collect()
}

fn query(listed: Listed) -> GateQuery {
    GateQuery {
        listed,
        kind: None,
        session: None,
        after: None,
        limit: 100,
        at: Moment(15),
    }
}

fn yes(by: &str, at: i64) -> GateAnswer {
    GateAnswer {
        by: ident(by),
        role: Role::HumanOperator,
        approve: true,
        reason: "yes, because".to_owned(),
        at: Moment(at),
        usable_until: Moment(at + 1_000),
    }
}

fn no(by: &str, at: i64) -> GateAnswer {
    GateAnswer {
        approve: false,
        reason: "no, because".to_owned(),
        ..yes(by, at)
    }
}

fn gate(id: &str, session: &str, binding: u8) -> Gate {
    Gate {
        id: ident(id),
        kind: GateKind::ToolApproval,
        session: ident(session),
        user: ident("ada"),
        agent: ident("bot"),
        asked_by: Ident::parse("ada").unwrap(),
        owner: ident("here"),
        binding: Binding([binding; 32]),
        tool: Some(name("send_mail")),
        class: Class::Pii,
        rule: "human-approval".to_owned(),
        policy: "0123".to_owned(),
        document: "{\"arguments\":{\"to\":\"{EMAIL_1}\"}}".to_owned(),
        evidence: Some("evidence://pii/0".to_owned()),
        opened_at: Moment(10),
        expires_at: Moment(1_000),
        needed: 1,
        state: GateState::Open,
        approvals: Vec::new(),
        end: None,
        place: 0,
        tick: 0,
    }
}
