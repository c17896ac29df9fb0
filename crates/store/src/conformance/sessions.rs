//! The cases of [`SessionStore`].

use std::sync::Arc;

use tidegate_core::{Admission, Class, ContextState, Dataset, Entry, Halt, Kind, Label, Moment, Rise};
use tokio::task::JoinSet;

use super::{Handles, entry, ident, kinds, name, opening};
use crate::{Change, OpenError, Reset, Resumption, SessionStore, StoreError};

pub(super) async fn open_gives_a_clean_session<S: SessionStore>(handles: &Handles<S>) {
    let opened = handles.one.open(opening("s-1")).await.unwrap();
    assert_eq!(opened.id, ident("s-1"));
    assert_eq!(opened.user, ident("ada"));
    assert_eq!(opened.agent, ident("agent-1"));
    assert_eq!(opened.opened_at, Moment(1_000));
    assert_eq!(opened.context, ContextState::clean());
    for store in [&handles.one, &handles.two] {
        assert_eq!(store.current(&ident("s-1")).await.unwrap(), Some(opened.clone()));
    }
}

pub(super) async fn open_refuses_an_id_that_exists<S: SessionStore>(handles: &Handles<S>) {
    let mine = handles.one.open(opening("s-1")).await.unwrap();
    for user in ["ada", "mallory"] {
        let mut theirs = opening("s-1");
        theirs.user = ident(user);
        assert_eq!(handles.two.open(theirs).await, Err(OpenError::Taken));
    }
    assert_eq!(handles.two.current(&ident("s-1")).await.unwrap(), Some(mine));
}

pub(super) async fn unknown_ids_are_no_sessions<S: SessionStore>(handles: &Handles<S>) {
    let (store, id) = (&handles.one, ident("nobody"));
    assert_eq!(store.current(&id).await, Ok(None));
    assert_eq!(store.resets(&id).await, Ok(vec![]));
    let at = Moment(1);
    let answers = [
        store.raise(&id, entry(Class::Secret, "t")).await.err(),
        store.add_dataset(&id, name("d"), Class::Secret, at).await.err(),
        store
            .halt(
                &id,
                Halt {
                    source: name("t"),
                    at,
                },
            )
            .await
            .err(),
        store.reset(&id, Class::Secret, reset("why", 1)).await.err(),
    ];
    for answer in answers {
        assert_eq!(answer, Some(StoreError::NoSession));
    }
    assert_eq!(
        store.current(&id).await,
        Ok(None),
        "a failed change opened a session"
    );
}

pub(super) async fn current_shows_every_change_at_once<S: SessionStore>(handles: &Handles<S>) {
    let id = ident("s-1");
    handles.one.open(opening("s-1")).await.unwrap();
    let steps = [Class::Internal, Class::Confidential, Class::Pii, Class::Secret];
    for (step, class) in steps.into_iter().enumerate() {
        let (here, there) = match step % 2 {
            0 => (&handles.one, &handles.two),
            _ => (&handles.two, &handles.one),
        };
        let raised = here.raise(&id, entry(class, "tool")).await.unwrap();
        for store in [here, there] {
            assert_eq!(
                store.current(&id).await.unwrap(),
                Some(raised.session.clone()),
                "{class}"
            );
        }
        assert_eq!(raised.session.context.label().class(), class);
    }
    let halt = Halt {
        source: name("hostile"),
        at: Moment(9),
    };
    let halted = handles.two.halt(&id, halt).await.unwrap().session;
    assert_eq!(handles.one.current(&id).await.unwrap(), Some(halted));
    let clean = handles
        .one
        .reset(&id, Class::Secret, reset("done", 10))
        .await
        .unwrap();
    assert_eq!(handles.two.current(&id).await.unwrap(), Some(clean));
}

pub(super) async fn raise_never_lowers<S: SessionStore>(handles: &Handles<S>) {
    let id = ident("s-1");
    handles.one.open(opening("s-1")).await.unwrap();
    let mut model = ContextState::clean();
    let sequence = [
        Class::Public,
        Class::Pii,
        Class::Internal,
        Class::Pii,
        Class::Secret,
        Class::Public,
        Class::Confidential,
    ];
    for (step, class) in sequence.into_iter().enumerate() {
        let entered = Entry {
            at: Moment(i64::try_from(step).unwrap()),
            ..entry(class, "tool")
        };
        let expected = model.admit(entered.clone());
        let before = handles.two.current(&id).await.unwrap().unwrap().context.label();
        let admitted = handles.one.raise(&id, entered).await.unwrap();
        assert_eq!(admitted.admission, expected, "{class}");
        assert_eq!(admitted.session.context, model, "{class}");
        assert!(admitted.session.context.label() >= before, "the label fell");
    }
}

pub(super) async fn raise_notes_kinds<S: SessionStore>(handles: &Handles<S>) {
    let id = ident("s-1");
    handles.one.open(opening("s-1")).await.unwrap();
    let of = |found: &[Kind]| Entry {
        kinds: kinds(found),
        ..entry(Class::Public, "t")
    };
    let first = handles.one.raise(&id, of(&[Kind::Pii])).await.unwrap();
    assert_eq!(first.admission, Admission::Noted);
    let second = handles.two.raise(&id, of(&[Kind::Credentials])).await.unwrap();
    assert_eq!(
        second.session.context.kinds(),
        kinds(&[Kind::Pii, Kind::Credentials])
    );
    let known = handles.one.raise(&id, of(&[Kind::Pii])).await.unwrap();
    assert_eq!(known.admission, Admission::Unchanged);
    assert_eq!(known.session.context.label(), Label::CLEAN);
}

pub(super) async fn dataset_raises_but_never_lowers<S: SessionStore>(handles: &Handles<S>) {
    let (store, id, at) = (&handles.one, ident("s-1"), Moment(5));
    store.open(opening("s-1")).await.unwrap();
    let add = |set: &'static str, class| store.add_dataset(&id, name(set), class, at);
    assert_eq!(
        add("news", Class::Public).await.unwrap().admission,
        Admission::Noted
    );
    let rise = Rise {
        from: Class::Public,
        to: Class::Confidential,
        source: name("patients"),
        at,
    };
    assert_eq!(
        add("patients", Class::Confidential).await.unwrap().admission,
        Admission::Rose(rise)
    );
    assert!(matches!(
        add("patients", Class::Secret).await.unwrap().admission,
        Admission::Rose(_)
    ));
    let lower = add("patients", Class::Internal).await.unwrap();
    assert_eq!(lower.admission, Admission::Unchanged);
    assert_eq!(lower.session.context.label().class(), Class::Secret);
    let listed = [
        Dataset {
            name: name("news"),
            class: Class::Public,
        },
        Dataset {
            name: name("patients"),
            class: Class::Secret,
        },
    ];
    assert_eq!(lower.session.context.datasets(), listed);
    assert_eq!(handles.two.current(&id).await.unwrap(), Some(lower.session));
}

pub(super) async fn halt_keeps_the_first<S: SessionStore>(handles: &Handles<S>) {
    let id = ident("s-1");
    handles.one.open(opening("s-1")).await.unwrap();
    let halt = |source, at| Halt {
        source: name(source),
        at: Moment(at),
    };
    let first = handles.one.halt(&id, halt("web_fetch", 7)).await.unwrap();
    assert_eq!(first.admission, Admission::Noted);
    let second = handles.two.halt(&id, halt("other", 8)).await.unwrap();
    assert_eq!(second.admission, Admission::Unchanged);
    assert_eq!(second.session.context.halted(), Some(&halt("web_fetch", 7)));
    let raised = handles.two.raise(&id, entry(Class::Secret, "t")).await.unwrap();
    assert_eq!(raised.session.context.halted(), Some(&halt("web_fetch", 7)));
    // The end of a run is nothing that an answer about an earlier halt could lift.
    let ended = handles.two.halt(&id, halt(Halt::END, 9)).await.unwrap();
    assert_eq!(ended.admission, Admission::Noted);
    for later in [halt("web_fetch", 10), halt(Halt::END, 10)] {
        let unchanged = handles.one.halt(&id, later).await.unwrap();
        assert_eq!(unchanged.admission, Admission::Unchanged);
        assert_eq!(unchanged.session.context.halted(), Some(&halt(Halt::END, 9)));
    }
}

pub(super) async fn resume_lifts_the_very_halt<S: SessionStore>(handles: &Handles<S>) {
    let id = ident("s-1");
    handles.one.open(opening("s-1")).await.unwrap();
    let halt = |source, at| Halt {
        source: name(source),
        at: Moment(at),
    };
    let resumption = || Resumption {
        by: ident("ann"),
        reason: "seen".to_owned(),
        at: Moment(9),
    };
    handles.one.raise(&id, entry(Class::Pii, "t")).await.unwrap();
    handles.one.halt(&id, halt("web_fetch", 7)).await.unwrap();
    let other = handles.two.resume(&id, &halt("web_fetch", 8), resumption()).await;
    assert_eq!(other.unwrap().admission, Admission::Unchanged);
    let lifted = handles
        .two
        .resume(&id, &halt("web_fetch", 7), resumption())
        .await
        .unwrap();
    assert_eq!(lifted.admission, Admission::Noted);
    let current = handles.one.current(&id).await.unwrap().unwrap();
    assert_eq!(
        (current.context.halted(), current.context.label().class()),
        (None, Class::Pii)
    );
    let again = handles.one.resume(&id, &halt("web_fetch", 7), resumption()).await;
    assert_eq!(again.unwrap().admission, Admission::Unchanged);
    handles.one.halt(&id, halt(Halt::END, 10)).await.unwrap();
    let ended = handles
        .two
        .resume(&id, &halt(Halt::END, 10), resumption())
        .await
        .unwrap();
    assert_eq!(ended.session.context.halted(), Some(&halt(Halt::END, 10)));
    let nobody = handles
        .two
        .resume(&ident("nobody"), &halt("web_fetch", 7), resumption())
        .await;
    assert_eq!(nobody.err(), Some(StoreError::NoSession));
}

pub(super) async fn reset_is_the_only_way_down<S: SessionStore>(handles: &Handles<S>) {
    let (store, id) = (&handles.one, ident("s-1"));
    store.open(opening("s-1")).await.unwrap();
    store
        .add_dataset(&id, name("d"), Class::Secret, Moment(1))
        .await
        .unwrap();
    store
        .halt(
            &id,
            Halt {
                source: name("t"),
                at: Moment(2),
            },
        )
        .await
        .unwrap();
    let clean = store
        .reset(&id, Class::Secret, reset("false alarm", 3))
        .await
        .unwrap();
    assert_eq!(clean.context, ContextState::clean());
    assert_eq!((&clean.user, clean.opened_at), (&ident("ada"), Moment(1_000)));
    assert_eq!(handles.two.current(&id).await.unwrap(), Some(clean));
}

pub(super) async fn reset_covers_no_higher_label<S: SessionStore>(handles: &Handles<S>) {
    let id = ident("s-1");
    handles.one.open(opening("s-1")).await.unwrap();
    handles
        .one
        .raise(&id, entry(Class::Internal, "docs"))
        .await
        .unwrap();
    // What the other handle remembers is the label of before.
    handles.two.current(&id).await.unwrap();
    let risen = handles
        .one
        .raise(&id, entry(Class::Pii, "crm"))
        .await
        .unwrap()
        .session;
    for covers in [Class::Public, Class::Internal, Class::Confidential] {
        let refused = handles.two.reset(&id, covers, reset("too low", 3)).await;
        assert_eq!(refused.err(), Some(StoreError::Overtaken), "{covers}");
        assert_eq!(
            handles.one.current(&id).await.unwrap(),
            Some(risen.clone()),
            "{covers}"
        );
    }
    assert_eq!(handles.one.resets(&id).await, Ok(vec![]));
    let clean = handles
        .two
        .reset(&id, Class::Pii, reset("that one", 4))
        .await
        .unwrap();
    assert_eq!(clean.context, ContextState::clean());
}

/// Whoever is first, what was acknowledged above the covered label is there afterwards.
pub(super) async fn racing_resets_wipe_no_higher_rise<S: SessionStore + 'static>(handles: &Handles<S>) {
    for round in 0..16_u8 {
        let id = ident(&format!("s-{round}"));
        handles.one.open(opening(id.as_str())).await.unwrap();
        handles
            .one
            .raise(&id, entry(Class::Internal, "docs"))
            .await
            .unwrap();
        let mut tasks = JoinSet::new();
        for task in 0..6 {
            let (store, id) = (handles.one.clone(), id.clone());
            tasks.spawn(async move {
                let answer = store.reset(&id, Class::Internal, reset("race", task)).await;
                assert!(matches!(answer, Ok(_) | Err(StoreError::Overtaken)), "{answer:?}");
            });
        }
        let (store, of_rise) = (handles.two.clone(), id.clone());
        tasks.spawn(async move {
            store.raise(&of_rise, entry(Class::Pii, "crm")).await.unwrap();
        });
        finish(tasks).await;
        let left = handles.one.current(&id).await.unwrap().unwrap();
        assert_eq!(left.context.label().class(), Class::Pii, "round {round}");
    }
}

pub(super) async fn reset_keeps_the_reasons<S: SessionStore>(handles: &Handles<S>) {
    let id = ident("s-1");
    handles.one.open(opening("s-1")).await.unwrap();
    let resets = [reset("first, with 'quotes' and ünïcode", 3), reset("second", 4)];
    for decided in &resets {
        handles
            .one
            .reset(&id, Class::Secret, decided.clone())
            .await
            .unwrap();
    }
    assert_eq!(handles.two.resets(&id).await.unwrap(), resets);
}

pub(super) async fn raise_after_reset_counts<S: SessionStore>(handles: &Handles<S>) {
    let id = ident("s-1");
    handles.one.open(opening("s-1")).await.unwrap();
    for round in 0..3 {
        let store = if round % 2 == 0 {
            &handles.one
        } else {
            &handles.two
        };
        store.raise(&id, entry(Class::Pii, "crm")).await.unwrap();
        store
            .add_dataset(&id, name("d"), Class::Secret, Moment(1))
            .await
            .unwrap();
        let last = store.raise(&id, entry(Class::Internal, "docs")).await.unwrap();
        assert_eq!(last.session.context.rises().len(), 2);
        assert_eq!(last.session.context.datasets().len(), 1);
        store
            .reset(&id, Class::Secret, reset("again", round))
            .await
            .unwrap();
        let raised = store.raise(&id, entry(Class::Internal, "docs")).await.unwrap();
        assert_eq!(raised.session.context.label().class(), Class::Internal);
        assert_eq!(raised.session.context.datasets(), []);
        assert_eq!(handles.two.current(&id).await.unwrap(), Some(raised.session));
        store
            .reset(&id, Class::Secret, reset("and clean", round))
            .await
            .unwrap();
    }
}

pub(super) async fn racing_raises_leave_the_maximum<S: SessionStore + 'static>(handles: &Handles<S>) {
    for round in 0..8_u8 {
        let id = ident(&format!("s-{round}"));
        handles.one.open(opening(id.as_str())).await.unwrap();
        let highest = Class::from_rank(1 + round % 4).unwrap();
        let mut tasks = JoinSet::new();
        for task in 0..24_u8 {
            let store = if task % 2 == 0 { &handles.one } else { &handles.two }.clone();
            let id = id.clone();
            let class = Class::from_rank(task % (highest.rank() + 1)).unwrap();
            tasks.spawn(async move {
                let raised = store.raise(&id, entry(class, "tool")).await.unwrap();
                assert!(raised.session.context.label().class() >= class);
                let seen = store.current(&id).await.unwrap().unwrap();
                assert!(
                    seen.context.label() >= raised.session.context.label(),
                    "a read went back"
                );
            });
        }
        finish(tasks).await;
        for store in [&handles.one, &handles.two] {
            let context = store.current(&id).await.unwrap().unwrap().context.clone();
            assert_eq!(context.label().class(), highest);
            assert!(
                context
                    .rises()
                    .is_sorted_by(|low, high| low.to == high.from && low.to < high.to)
            );
        }
    }
}

pub(super) async fn racing_opens_have_one_winner<S: SessionStore + 'static>(handles: &Handles<S>) {
    let mut tasks = JoinSet::new();
    for task in 0..16 {
        let store = if task % 2 == 0 { &handles.one } else { &handles.two }.clone();
        tasks.spawn(async move {
            let mut mine = opening("s-1");
            mine.user = ident(&format!("user-{task}"));
            store.open(mine).await
        });
    }
    let mut winners = Vec::new();
    while let Some(opened) = tasks.join_next().await {
        match opened.unwrap() {
            Ok(session) => winners.push(session),
            Err(error) => assert_eq!(error, OpenError::Taken),
        }
    }
    assert_eq!(winners.len(), 1);
    assert_eq!(handles.one.current(&ident("s-1")).await.unwrap(), winners.pop());
}

pub(super) async fn racing_datasets_are_all_kept<S: SessionStore + 'static>(handles: &Handles<S>) {
    let id = ident("s-1");
    handles.one.open(opening("s-1")).await.unwrap();
    let mut tasks = JoinSet::new();
    for task in 0..24_u8 {
        let store = if task % 2 == 0 { &handles.one } else { &handles.two }.clone();
        let id = id.clone();
        tasks.spawn(async move {
            let class = Class::from_rank(task % 3).unwrap();
            store
                .add_dataset(&id, name(&format!("d{task}")), class, Moment(1))
                .await
                .unwrap();
        });
    }
    finish(tasks).await;
    for store in [&handles.one, &handles.two] {
        let context = store.current(&id).await.unwrap().unwrap().context.clone();
        assert_eq!(context.datasets().len(), 24);
        assert_eq!(context.label().class(), Class::Confidential);
    }
}

pub(super) async fn list_pages_in_order<S: SessionStore>(handles: &Handles<S>) {
    let mut ids: Vec<_> = ["b", "a", "c", "B", "a-1", "a.1", "z", "0"].map(ident).into();
    for id in &ids {
        handles.one.open(opening(id.as_str())).await.unwrap();
    }
    ids.sort();
    for page in 1..=ids.len() + 1 {
        let mut seen = Vec::new();
        loop {
            let next = handles.two.list(seen.last(), page).await.unwrap();
            assert!(next.len() <= page);
            if next.is_empty() {
                break;
            }
            seen.extend(next.iter().map(|session| session.id.clone()));
        }
        assert_eq!(seen, ids, "pages of {page}");
    }
    assert_eq!(handles.two.count().await.unwrap(), 8);
    assert_eq!(handles.one.list(None, 0).await.unwrap(), []);
    assert_eq!(handles.one.list(Some(&ident("zz")), 5).await.unwrap(), []);
}

pub(super) async fn ready_answers<S: SessionStore>(handles: &Handles<S>) {
    handles.one.ready().await.unwrap();
    handles.two.ready().await.unwrap();
}

/// Written here by two handles, and read by [`many_changes_are_there`] after both are closed.
pub(super) async fn many_changes_survive<S: SessionStore + 'static>(handles: &Handles<S>) {
    let mut tasks = JoinSet::new();
    for number in 0..40_u8 {
        let stores: [Arc<S>; 2] = [handles.one.clone(), handles.two.clone()];
        tasks.spawn(async move {
            let id = ident(&format!("s-{number:02}"));
            let [one, two] = stores;
            one.open(opening(id.as_str())).await.unwrap();
            two.raise(&id, entry(Class::from_rank(number % 5).unwrap(), "tool"))
                .await
                .unwrap();
        });
    }
    finish(tasks).await;
}

pub(super) async fn many_changes_are_there<S: SessionStore>(again: &S) {
    let sessions = again.list(None, 100).await.unwrap();
    assert_eq!(sessions.len(), 40);
    for (session, number) in sessions.iter().zip(0_u8..) {
        assert_eq!(
            session.context.label().class().rank(),
            number % 5,
            "{}",
            session.id
        );
    }
}

pub(super) async fn claim_refuses_the_one_before<S: SessionStore>(handles: &Handles<S>) {
    let (id, ledger) = (ident("s-1"), ident("ledger-1"));
    handles.one.claim(&ledger).await.unwrap();
    handles.one.open(opening("s-1")).await.unwrap();
    handles.two.claim(&ident("ledger-2")).await.unwrap();
    let raised = handles.one.raise(&id, entry(Class::Internal, "t")).await.unwrap();
    handles.two.claim(&ledger).await.unwrap();
    let answers = [
        handles.one.current(&id).await.err(),
        handles.one.raise(&id, entry(Class::Secret, "t")).await.err(),
        handles.one.reset(&id, Class::Secret, reset("why", 1)).await.err(),
    ];
    for answer in answers {
        assert_eq!(answer, Some(StoreError::Fenced));
    }
    assert!(handles.one.open(opening("s-2")).await.is_err());
    assert_eq!(handles.two.current(&id).await.unwrap(), Some(raised.session));
    assert_eq!(handles.two.current(&ident("s-2")).await.unwrap(), None);
}

pub(super) async fn changes_are_told_to_every_handle<S: SessionStore>(handles: &Handles<S>) {
    let id = ident("s-1");
    let mut heard = [&handles.one, &handles.two].map(|store| store.changes().unwrap());
    handles.one.open(opening("s-1")).await.unwrap();
    for receiver in &mut heard {
        // Raised again and again: what happened before the listener was there is not told.
        let mut class = 0;
        loop {
            class = (class + 1) % 5;
            let entered = entry(Class::from_rank(class).unwrap(), "t");
            handles.two.raise(&id, entered).await.unwrap();
            handles
                .two
                .reset(&id, Class::Secret, reset("again", 1))
                .await
                .unwrap();
            let news = tokio::time::timeout(std::time::Duration::from_millis(100), receiver.recv()).await;
            if matches!(news, Ok(Ok(Change::Session(changed))) if changed == id) {
                break;
            }
        }
    }
}

fn reset(reason: &str, at: i64) -> Reset {
    Reset {
        by: ident("root"),
        reason: reason.to_owned(),
        at: Moment(at),
    }
}

async fn finish(mut tasks: JoinSet<()>) {
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
}
