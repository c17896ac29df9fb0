//! The cases of [`ReviewStore`].

use std::sync::Arc;

use tidegate_core::{Class, Moment, Role};
use tokio::task::JoinSet;

use super::{Handles, ident, name};
use crate::{
    Assignment, ClassReview, OpenReviewError, OpenedReview, ReviewCause, ReviewQuery, ReviewStore,
    ReviewVerdict, Reviewed, SettleError, Settlement,
};

pub(super) async fn a_review_keeps_everything<S: ReviewStore>(handles: &Handles<S>) {
    for (number, cause) in ReviewCause::ALL.into_iter().enumerate() {
        let id = format!("r-{number}");
        let wanted = ClassReview {
            assigned: (number > 0).then_some(Assignment {
                class: Class::Pii,
                ceiling: Class::Internal,
            }),
            ..review(&id, "files.read", cause)
        };
        let kept = opened(&handles.one, wanted.clone()).await;
        let expected = ClassReview {
            place: kept.place,
            ..wanted
        };
        assert_eq!(kept, expected);
        assert_eq!(handles.two.review(&kept.id).await, Ok(Some(kept.clone())));
        let latest = handles.two.latest_review(&kept.source, cause).await;
        assert_eq!(latest, Ok(Some(kept)));
    }
    assert_eq!(handles.one.review(&ident("nobody")).await, Ok(None));
    let unknown = handles
        .one
        .latest_review(&name("git.log"), ReviewCause::NewTool)
        .await;
    assert_eq!(unknown, Ok(None));
}

pub(super) async fn one_review_is_open_for_one_source_and_cause<S: ReviewStore>(handles: &Handles<S>) {
    let cause = ReviewCause::PiiLeakRisk;
    let first = opened(&handles.one, review("r-1", "search", cause)).await;
    for (handle, at, seen_at, seen) in [(&handles.two, 40, 40, 2), (&handles.one, 30, 40, 3)] {
        let again = ClassReview {
            opened_at: Moment(at),
            seen_at: Moment(at),
            assigned: None,
            ..review("r-2", "search", cause)
        };
        let counted = ClassReview {
            seen_at: Moment(seen_at),
            seen,
            ..first.clone()
        };
        let known = handle.open_review(again, 9).await;
        assert_eq!(known, Ok(OpenedReview::Counted(counted)));
    }
    assert_eq!(handles.one.review(&ident("r-2")).await, Ok(None));
    opened(&handles.two, review("r-3", "search", ReviewCause::ChangedTool)).await;
    opened(&handles.two, review("r-4", "send", cause)).await;
}

pub(super) async fn open_reviews_are_bounded_by_cause<S: ReviewStore>(handles: &Handles<S>) {
    let cause = ReviewCause::NewTool;
    for number in 1..=2 {
        let wanted = review(&format!("r-{number}"), &format!("t{number}"), cause);
        handles.one.open_review(wanted, 2).await.unwrap();
    }
    let third = handles.two.open_review(review("r-3", "t3", cause), 2).await;
    assert_eq!(third, Err(OpenReviewError::TooMany));
    assert_eq!(handles.two.open_reviews(cause).await, Ok(2));
    let known = handles.two.open_review(review("r-4", "t1", cause), 2).await;
    assert!(matches!(known, Ok(OpenedReview::Counted(_))), "{known:?}");
    let other = review("r-5", "t3", ReviewCause::PiiLeakRisk);
    handles.two.open_review(other, 2).await.unwrap();
    handles
        .two
        .settle_review(&ident("r-1"), settled("ann", 20))
        .await
        .unwrap();
    assert_eq!(handles.one.open_reviews(cause).await, Ok(1));
    handles
        .one
        .open_review(review("r-3", "t3", cause), 2)
        .await
        .unwrap();
}

pub(super) async fn a_verdict_counts_once<S: ReviewStore>(handles: &Handles<S>) {
    let open = opened(&handles.one, review("r-1", "search", ReviewCause::NewTool)).await;
    let expected = ClassReview {
        settled: Some(settled("ann", 20)),
        ..open
    };
    let taken = handles.one.settle_review(&ident("r-1"), settled("ann", 20)).await;
    assert_eq!(taken, Ok(expected.clone()));
    assert_eq!(
        handles.two.review(&ident("r-1")).await,
        Ok(Some(expected.clone()))
    );
    let late = handles.two.settle_review(&ident("r-1"), settled("bea", 21)).await;
    assert_eq!(late, Err(SettleError::Settled));
    assert_eq!(handles.one.review(&ident("r-1")).await, Ok(Some(expected)));
    let nobody = handles
        .two
        .settle_review(&ident("nobody"), settled("bea", 21))
        .await;
    assert_eq!(nobody, Err(SettleError::NoReview));
}

pub(super) async fn what_is_settled_can_be_opened_anew<S: ReviewStore>(handles: &Handles<S>) {
    let cause = ReviewCause::ChangedTool;
    let before = opened(&handles.one, review("r-1", "search", cause)).await;
    handles
        .one
        .settle_review(&before.id, settled("ann", 20))
        .await
        .unwrap();
    let after = opened(&handles.two, review("r-2", "search", cause)).await;
    assert_eq!((after.seen, after.settled.is_none()), (1, true));
    let latest = handles.one.latest_review(&name("search"), cause).await;
    assert_eq!(latest, Ok(Some(after)));
}

pub(super) async fn reviews_are_paged_by_state<S: ReviewStore>(handles: &Handles<S>) {
    for number in 1..=5 {
        let wanted = review(
            &format!("r-{number}"),
            &format!("t{number}"),
            ReviewCause::NewTool,
        );
        opened(&handles.one, wanted).await;
    }
    for id in ["r-2", "r-4"] {
        handles
            .one
            .settle_review(&ident(id), settled("ann", 20))
            .await
            .unwrap();
    }
    for (listed, expected) in [
        (Reviewed::Open, ["r-1", "r-3", "r-5"].as_slice()),
        (Reviewed::Settled, &["r-4", "r-2"]),
        (Reviewed::All, &["r-5", "r-4", "r-3", "r-2", "r-1"]),
    ] {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let query = ReviewQuery {
                listed,
                after,
                limit: 2,
            };
            let page = handles.two.reviews(&query).await.unwrap();
            let Some(last) = page.last() else { break };
            after = Some(last.place);
            found.extend(page.into_iter().map(|review| review.id.to_string()));
        }
        assert_eq!(found, expected, "{listed:?}");
    }
}

pub(super) async fn racing_sightings_open_one<S: ReviewStore + 'static>(handles: &Handles<S>) {
    let mut racing = JoinSet::new();
    for number in 0..8 {
        let handle = Arc::clone(if number % 2 == 0 {
            &handles.one
        } else {
            &handles.two
        });
        racing.spawn(async move {
            let wanted = review(&format!("r-{number}"), "search", ReviewCause::PiiLeakRisk);
            handle.open_review(wanted, 9).await.unwrap()
        });
    }
    let outcomes = racing.join_all().await;
    let new = outcomes
        .iter()
        .filter(|outcome| matches!(outcome, OpenedReview::New(_)));
    assert_eq!(new.count(), 1);
    let latest = handles
        .two
        .latest_review(&name("search"), ReviewCause::PiiLeakRisk)
        .await;
    assert_eq!(latest.unwrap().unwrap().seen, 8);
}

pub(super) async fn racing_verdicts_have_one_winner<S: ReviewStore + 'static>(handles: &Handles<S>) {
    opened(&handles.one, review("r-1", "search", ReviewCause::NewTool)).await;
    let mut racing = JoinSet::new();
    for number in 0..8 {
        let handle = Arc::clone(if number % 2 == 0 {
            &handles.one
        } else {
            &handles.two
        });
        racing.spawn(async move {
            let by = format!("person-{number}");
            handle.settle_review(&ident("r-1"), settled(&by, 20)).await
        });
    }
    let outcomes = racing.join_all().await;
    let taken: Vec<_> = outcomes
        .into_iter()
        .filter_map(|outcome| match outcome {
            Ok(review) => Some(review),
            Err(error) => {
                assert_eq!(error, SettleError::Settled);
                None
            }
        })
        .collect();
    assert_eq!(taken.len(), 1);
    assert_eq!(
        handles.two.review(&ident("r-1")).await.unwrap().as_ref(),
        taken.first()
    );
}

async fn opened<S: ReviewStore>(handle: &Arc<S>, wanted: ClassReview) -> ClassReview {
    match handle.open_review(wanted, 99).await {
        Ok(OpenedReview::New(review)) => Some(review),
        Ok(OpenedReview::Counted(_)) | Err(_) => None,
    }
    .unwrap()
}

fn review(id: &str, source: &str, cause: ReviewCause) -> ClassReview {
    ClassReview {
        id: ident(id),
        source: name(source),
        cause,
        assigned: Some(Assignment {
            class: Class::Confidential,
            ceiling: Class::Public,
        }),
        opened_at: Moment(10),
        seen_at: Moment(10),
        seen: 1,
        settled: None,
        place: 0,
    }
}

fn settled(by: &str, at: i64) -> Settlement {
    Settlement {
        by: ident(by),
        role: Role::HumanOperator,
        verdict: ReviewVerdict::AssignedRight,
        reason: "looked at it".to_owned(),
        at: Moment(at),
    }
}
