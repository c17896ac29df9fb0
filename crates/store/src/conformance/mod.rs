//! What every backend must do: each "must" of the contract is a case here, and every backend passes all of them.
//!
//! A backend gives one function that opens a handle on the state of a given name: a new name is an empty state, and a name
//! opened twice is two handles on one state, as two processes would have them. A case that fails panics and names itself.
#![expect(
    clippy::unwrap_used,
    reason = "the suite is for tests, and a test stops at the first surprise"
)]

mod gates;
mod memory;
mod origins;
mod reviews;
mod sessions;
mod tokens;

use std::sync::Arc;

use tidegate_core::{Class, Entry, Ident, Kind, Kinds, Moment, Name};

use crate::{
    GateStore, MemoryStore, Opening, OriginStore, ReviewQuery, ReviewStore, Reviewed, SessionStore,
    TokenStore,
};

macro_rules! cases {
    ($open:ident; $($module:ident: $($case:ident),+;)+) => {
        $($({
            let name = stringify!($case);
            let handles = Handles { one: Arc::new($open(name).await), two: Arc::new($open(name).await) };
            $module::$case(&handles).await;
            let Handles { one, two } = handles;
            drop((one, two));
            let again = Arc::new($open(name).await);
            survives(name, again).await;
        })+)+
    };
}

/// Runs every case, each on a state of its own. `open` is called with the name of the case.
pub async fn run_all<S, F>(open: impl Fn(&'static str) -> F)
where
    S: SessionStore + TokenStore + 'static,
    F: Future<Output = S>,
{
    cases! {
        open;
        sessions: open_gives_a_clean_session, open_refuses_an_id_that_exists, unknown_ids_are_no_sessions,
            current_shows_every_change_at_once, raise_never_lowers, raise_notes_kinds, dataset_raises_but_never_lowers,
            halt_keeps_the_first, resume_lifts_the_very_halt, reset_is_the_only_way_down, reset_covers_no_higher_label,
            racing_resets_wipe_no_higher_rise, reset_keeps_the_reasons, raise_after_reset_counts,
            racing_raises_leave_the_maximum, racing_opens_have_one_winner, racing_datasets_are_all_kept,
            list_pages_in_order, ready_answers, many_changes_survive;
        tokens: issue_refuses_what_exists, find_shows_a_revocation_at_once, revoke_keeps_the_first_date,
            tokens_are_listed_oldest_first;
    }
}

/// Runs every case of [`MemoryStore`], each on a state of its own. `open` is called with the name of the case.
pub async fn run_memory<S, F>(open: impl Fn(&'static str) -> F)
where
    S: SessionStore + MemoryStore + 'static,
    F: Future<Output = S>,
{
    macro_rules! cases {
        ($($case:ident),+) => {
            $({
                let name = stringify!($case);
                let handles = Handles { one: Arc::new(open(name).await), two: Arc::new(open(name).await) };
                memory::$case(&handles).await;
            })+
        };
    }
    cases! {
        turn_page_needs_the_page_before, a_halted_run_takes_no_page_and_can_be_cleared, shelves_are_apart,
        left_behind_names_what_an_end_left, racing_pages_have_one_winner, adopt_makes_trees_only,
        adopt_bounds_the_children, one_answer_for_each_child, bits_of_all_children_are_bounded,
        bits_of_the_whole_tree_are_bounded, racing_answers_stay_within_the_bits, racing_cousins_stay_within_the_bits
    }
}

/// Runs every case of [`GateStore`], each on a state of its own. What a case left must be the same to a handle that is opened
/// afterwards.
pub async fn run_gates<S, F>(open: impl Fn(&'static str) -> F)
where
    S: SessionStore + GateStore + 'static,
    F: Future<Output = S>,
{
    macro_rules! cases {
        ($($case:ident),+ $(,)?) => {
            $({
                let name = stringify!($case);
                let handles = Handles { one: Arc::new(open(name).await), two: Arc::new(open(name).await) };
                gates::$case(&handles).await;
                let left = handles.one.changed(0, 1_000).await;
                drop(handles);
                assert_eq!(open(name).await.changed(0, 1_000).await, left, "{name}");
            })+
        };
    }
    cases!(
        open_keeps_everything,
        one_gate_waits_for_one_question,
        open_bounds_what_waits,
        an_answer_counts_once,
        two_people_must_be_two,
        an_approval_is_spent_once,
        time_ends_what_nobody_decided,
        left_open_names_the_gateways_own,
        list_pages_by_state_kind_and_session,
        changes_are_told_in_order,
        racing_answers_have_one_winner,
        racing_spenders_have_one_winner,
        racing_openers_open_one,
    );
}

/// Runs every case of [`ReviewStore`], each on a state of its own. What a case left must be the same to a handle that is opened
/// afterwards.
pub async fn run_reviews<S, F>(open: impl Fn(&'static str) -> F)
where
    S: ReviewStore + 'static,
    F: Future<Output = S>,
{
    let all = ReviewQuery {
        listed: Reviewed::All,
        after: None,
        limit: 1_000,
    };
    macro_rules! cases {
        ($($case:ident),+ $(,)?) => {
            $({
                let name = stringify!($case);
                let handles = Handles { one: Arc::new(open(name).await), two: Arc::new(open(name).await) };
                reviews::$case(&handles).await;
                let left = handles.one.reviews(&all).await;
                drop(handles);
                assert_eq!(open(name).await.reviews(&all).await, left, "{name}");
            })+
        };
    }
    cases!(
        a_review_keeps_everything,
        one_review_is_open_for_one_source_and_cause,
        open_reviews_are_bounded_by_cause,
        a_verdict_counts_once,
        what_is_settled_can_be_opened_anew,
        reviews_are_paged_by_state,
        racing_sightings_open_one,
        racing_verdicts_have_one_winner,
    );
}

/// Runs every case of [`OriginStore`], each on a state of its own. What a case left must be the same to a handle that is
/// opened afterwards.
pub async fn run_origins<S, F>(open: impl Fn(&'static str) -> F)
where
    S: OriginStore + SessionStore + 'static,
    F: Future<Output = S>,
{
    macro_rules! cases {
        ($($case:ident),+ $(,)?) => {
            $({
                let name = stringify!($case);
                let handles = Handles { one: Arc::new(open(name).await), two: Arc::new(open(name).await) };
                origins::$case(&handles).await;
                let left = handles.one.recall(&ident("s-1"), 0).await;
                drop(handles);
                assert_eq!(open(name).await.recall(&ident("s-1"), 0).await, left, "{name}");
            })+
        };
    }
    cases!(
        recall_gives_what_was_kept_in_order,
        begin_changes_nothing_begun,
        a_chunk_beyond_the_bounds_closes,
        what_was_never_begun_is_closed,
        no_session_has_no_memory,
        racing_chunks_are_all_kept,
    );
}

/// Runs every case that only a backend on a server has to pass: those of gateways on several machines.
pub async fn run_shared<S, F>(open: impl Fn(&'static str) -> F)
where
    S: SessionStore + TokenStore + 'static,
    F: Future<Output = S>,
{
    cases! {
        open;
        sessions: claim_refuses_the_one_before, changes_are_told_to_every_handle;
    }
}

/// Two handles on one state.
struct Handles<S> {
    one: Arc<S>,
    two: Arc<S>,
}

/// The state a case left must be readable by a handle opened afterwards, and complete.
async fn survives<S: SessionStore + TokenStore>(case: &str, again: Arc<S>) {
    for session in again.list(None, 1_000).await.unwrap() {
        let current = again.current(&session.id).await.unwrap();
        assert_eq!(current.as_deref(), Some(&*session), "{case}");
    }
    for token in again.tokens().await.unwrap() {
        let found = again.find(&token.digest).await.unwrap();
        assert_eq!(found.as_deref(), Some(&*token), "{case}");
    }
    if case == "many_changes_survive" {
        sessions::many_changes_are_there(&*again).await;
    }
}

fn ident(text: &str) -> Ident {
    Ident::parse(text).unwrap()
}

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn opening(id: &str) -> Opening {
    Opening {
        id: ident(id),
        user: ident("ada"),
        agent: ident("agent-1"),
        at: Moment(1_000),
    }
}

fn entry(class: Class, source: &str) -> Entry {
    Entry {
        class,
        kinds: class.kind().into_iter().collect(),
        source: name(source),
        at: Moment(2_000),
    }
}

fn kinds(kinds: &[Kind]) -> Kinds {
    kinds.iter().copied().collect()
}
