//! The cases of [`MemoryStore`].

use tidegate_core::{Class, Halt, Ident, Moment};
use tokio::task::JoinSet;

use super::{Handles, ident, name, opening};
use crate::{Kin, KinError, MemoryStore, Page, SessionStore, Shelf, StoreError, TurnError};

pub(super) async fn turn_page_needs_the_page_before<S: SessionStore + MemoryStore>(handles: &Handles<S>) {
    handles.one.open(opening("s-1")).await.unwrap();
    for shelf in [Shelf::Run(ident("s-1")), agent("bot")] {
        assert_eq!(handles.one.page(&shelf).await, Ok(None));
        let stale = handles.one.turn_page(&shelf, Some("p-0"), page("p-1")).await;
        assert_eq!(stale, Err(TurnError::Moved));
        handles.one.turn_page(&shelf, None, page("p-1")).await.unwrap();
        assert_eq!(handles.two.page(&shelf).await, Ok(Some(page("p-1"))));
        let blind = handles.two.turn_page(&shelf, None, page("p-2")).await;
        assert_eq!(blind, Err(TurnError::Moved));
        handles
            .two
            .turn_page(&shelf, Some("p-1"), page("p-2"))
            .await
            .unwrap();
        assert_eq!(handles.one.page(&shelf).await, Ok(Some(page("p-2"))));
    }
    let nobody = handles
        .one
        .turn_page(&Shelf::Run(ident("nobody")), None, page("p"))
        .await;
    assert_eq!(nobody, Err(StoreError::NoSession.into()));
}

pub(super) async fn a_halted_run_takes_no_page_and_can_be_cleared<S: SessionStore + MemoryStore>(
    handles: &Handles<S>,
) {
    let shelf = Shelf::Run(ident("s-1"));
    handles.one.open(opening("s-1")).await.unwrap();
    handles.one.turn_page(&shelf, None, page("p-1")).await.unwrap();
    handles.two.halt(&ident("s-1"), halt("hostile")).await.unwrap();
    let late = handles.one.turn_page(&shelf, Some("p-1"), page("p-2")).await;
    assert_eq!(late, Err(TurnError::Closed));
    assert_eq!(handles.one.clear_shelf(&shelf).await, Ok(Some(page("p-1"))));
    assert_eq!(handles.two.page(&shelf).await, Ok(None));
    assert_eq!(handles.two.clear_shelf(&shelf).await, Ok(None));
}

pub(super) async fn shelves_are_apart<S: SessionStore + MemoryStore>(handles: &Handles<S>) {
    let other_user = Shelf::Agent {
        user: ident("bob"),
        agent: ident("bot"),
    };
    handles.one.open(opening("bot")).await.unwrap();
    let shelves = [agent("bot"), agent("cat"), other_user, Shelf::Run(ident("bot"))];
    for (number, shelf) in shelves.iter().enumerate() {
        let page = page(&format!("p-{number}"));
        handles.one.turn_page(shelf, None, page).await.unwrap();
    }
    for (number, shelf) in shelves.iter().enumerate() {
        let found = handles.two.page(shelf).await.unwrap().unwrap();
        assert_eq!(found.pointer, format!("p-{number}"));
    }
}

pub(super) async fn left_behind_names_what_an_end_left<S: SessionStore + MemoryStore>(handles: &Handles<S>) {
    for (id, halted_by) in [("a", "end"), ("b", "hostile"), ("c", "end"), ("d", "end")] {
        handles.one.open(opening(id)).await.unwrap();
        let shelf = Shelf::Run(ident(id));
        if id != "d" {
            handles.one.turn_page(&shelf, None, page("p")).await.unwrap();
        }
        handles.one.halt(&ident(id), halt(halted_by)).await.unwrap();
    }
    let left = |limit| handles.two.left_behind(&ENDED, limit);
    assert_eq!(left(10).await.unwrap(), [ident("a"), ident("c")]);
    assert_eq!(left(1).await.unwrap(), [ident("a")]);
    handles.one.clear_shelf(&Shelf::Run(ident("a"))).await.unwrap();
    assert_eq!(left(10).await.unwrap(), [ident("c")]);
}

pub(super) async fn racing_pages_have_one_winner<S: SessionStore + MemoryStore + 'static>(
    handles: &Handles<S>,
) {
    let mut tasks = JoinSet::new();
    for number in 0..16 {
        let store = if number % 2 == 0 {
            &handles.one
        } else {
            &handles.two
        }
        .clone();
        tasks.spawn(async move {
            let page = page(&format!("p-{number}"));
            store.turn_page(&agent("bot"), None, page).await
        });
    }
    let outcomes = tasks.join_all().await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
}

pub(super) async fn adopt_makes_trees_only<S: SessionStore + MemoryStore>(handles: &Handles<S>) {
    for id in ["a", "b", "c"] {
        handles.one.open(opening(id)).await.unwrap();
    }
    handles.one.adopt(kin("b", "a"), 9).await.unwrap();
    handles.two.adopt(kin("c", "b"), 9).await.unwrap();
    for (child, parent) in [("b", "a"), ("b", "c"), ("a", "c"), ("a", "a"), ("c", "a")] {
        let strange = handles.two.adopt(kin(child, parent), 9).await;
        assert_eq!(strange, Err(KinError::NotFree), "{child} of {parent}");
    }
    for (child, parent) in [("nobody", "a"), ("a", "nobody")] {
        let unknown = handles.one.adopt(kin(child, parent), 9).await;
        assert_eq!(unknown, Err(StoreError::NoSession.into()));
    }
    assert_eq!(handles.two.kin(&ident("b")).await, Ok(Some(kin("b", "a"))));
    assert_eq!(handles.two.kin(&ident("a")).await, Ok(None));
    assert_eq!(handles.one.children(&ident("b")).await, Ok(vec![ident("c")]));
}

pub(super) async fn adopt_bounds_the_children<S: SessionStore + MemoryStore>(handles: &Handles<S>) {
    family(handles, 0).await;
    for (number, id) in ["z", "y", "x"].into_iter().enumerate() {
        handles.one.open(opening(id)).await.unwrap();
        let adopted = handles.two.adopt(kin(id, "parent"), 2).await;
        assert_eq!(adopted.err(), (number >= 2).then_some(KinError::TooMany));
    }
    let children = handles.one.children(&ident("parent")).await.unwrap();
    assert_eq!(children, [ident("z"), ident("y")]);
}

pub(super) async fn one_answer_for_each_child<S: SessionStore + MemoryStore>(handles: &Handles<S>) {
    family(handles, 1).await;
    let (parent, child) = (ident("parent"), ident("c-0"));
    assert_eq!(
        handles.one.take_answer(&parent, 1, 9).await,
        Err(KinError::NoChild)
    );
    assert_eq!(handles.one.take_answer(&child, 0, 9).await, Ok(0));
    for bits in [0, 1] {
        let again = handles.two.take_answer(&child, bits, 9).await;
        assert_eq!(again, Err(KinError::Answered));
    }
}

pub(super) async fn bits_of_all_children_are_bounded<S: SessionStore + MemoryStore>(handles: &Handles<S>) {
    family(handles, 4).await;
    let take = |child: &'static str, bits| async move {
        let child: Ident = ident(child);
        handles.one.take_answer(&child, bits, 10).await
    };
    assert_eq!(take("c-0", 6).await, Ok(6));
    assert_eq!(take("c-1", 5).await, Err(KinError::BitsSpent));
    assert_eq!(take("c-1", 4).await, Ok(10));
    assert_eq!(take("c-2", 1).await, Err(KinError::BitsSpent));
    assert_eq!(take("c-2", 0).await, Ok(10), "what needs no bits is not refused");
}

pub(super) async fn bits_of_the_whole_tree_are_bounded<S: SessionStore + MemoryStore>(handles: &Handles<S>) {
    family(handles, 3).await;
    for (child, parent) in [("d-0", "c-0"), ("d-1", "c-1"), ("e-0", "d-0")] {
        handles.one.open(opening(child)).await.unwrap();
        handles.one.adopt(kin(child, parent), 9).await.unwrap();
    }
    let take = |child: &'static str, bits| async move {
        let child: Ident = ident(child);
        handles.two.take_answer(&child, bits, 10).await
    };
    assert_eq!(take("e-0", 4).await, Ok(4));
    assert_eq!(take("d-0", 0).await, Ok(4), "what passed further down counts");
    assert_eq!(take("c-0", 0).await, Ok(4), "it counts once");
    assert_eq!(take("d-1", 7).await, Err(KinError::BitsSpent), "on every branch");
    assert_eq!(take("c-2", 6).await, Ok(10));
    assert_eq!(
        take("d-1", 1).await,
        Err(KinError::BitsSpent),
        "what passed further up counts"
    );
    assert_eq!(take("d-1", 0).await, Ok(10), "what needs no bits is not refused");
    for id in ["another", "its-child"] {
        handles.one.open(opening(id)).await.unwrap();
    }
    handles.one.adopt(kin("its-child", "another"), 9).await.unwrap();
    assert_eq!(take("its-child", 10).await, Ok(10), "another tree has its own");
}

pub(super) async fn racing_answers_stay_within_the_bits<S: SessionStore + MemoryStore + 'static>(
    handles: &Handles<S>,
) {
    family(handles, 12).await;
    let children = (0..12).map(|number| format!("c-{number}"));
    assert_eq!(taken_at_once(handles, children).await, 3);
}

pub(super) async fn racing_cousins_stay_within_the_bits<S: SessionStore + MemoryStore + 'static>(
    handles: &Handles<S>,
) {
    family(handles, 12).await;
    for number in 0..12 {
        let grandchild = format!("d-{number}");
        handles.one.open(opening(&grandchild)).await.unwrap();
        let kin = kin(&grandchild, &format!("c-{number}"));
        handles.one.adopt(kin, 1).await.unwrap();
    }
    let grandchildren = (0..12).map(|number| format!("d-{number}"));
    assert_eq!(taken_at_once(handles, grandchildren).await, 3);
}

/// How many of these children's answers are taken, of three bits each where ten may pass.
async fn taken_at_once<S: SessionStore + MemoryStore + 'static>(
    handles: &Handles<S>,
    children: impl Iterator<Item = String>,
) -> usize {
    let mut tasks = JoinSet::new();
    for (number, child) in children.enumerate() {
        let store = if number % 2 == 0 {
            &handles.one
        } else {
            &handles.two
        }
        .clone();
        tasks.spawn(async move { store.take_answer(&ident(&child), 3, 10).await });
    }
    let outcomes = tasks.join_all().await;
    outcomes.iter().filter(|outcome| outcome.is_ok()).count()
}

/// A parent and so many children.
async fn family<S: SessionStore + MemoryStore>(handles: &Handles<S>, children: usize) {
    handles.one.open(opening("parent")).await.unwrap();
    for number in 0..children {
        let child = format!("c-{number}");
        handles.one.open(opening(&child)).await.unwrap();
        handles.one.adopt(kin(&child, "parent"), children).await.unwrap();
    }
}

static ENDED: std::sync::LazyLock<tidegate_core::Name> = std::sync::LazyLock::new(|| name("end"));

fn agent(agent: &str) -> Shelf {
    Shelf::Agent {
        user: ident("ada"),
        agent: ident(agent),
    }
}

fn page(pointer: &str) -> Page {
    Page {
        pointer: pointer.to_owned(),
        class: Class::Pii,
        at: Moment(3),
    }
}

fn kin(child: &str, parent: &str) -> Kin {
    Kin {
        child: ident(child),
        parent: ident(parent),
        answer: "evidence".to_owned(),
        answer_bits: 7,
        at: Moment(4),
    }
}

fn halt(source: &str) -> Halt {
    Halt {
        source: name(source),
        at: Moment(9),
    }
}
