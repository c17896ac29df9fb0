//! The cases of [`OriginStore`].

use super::{Handles, ident, name, opening};
use crate::{Origin, OriginBounds, OriginChunk, OriginStore, Recalled, SessionStore, StoreError};

const BOUNDS: OriginBounds = OriginBounds {
    operator: 4,
    others: 6,
};

fn chunk(origin: Origin, digests: impl IntoIterator<Item = u64>) -> OriginChunk {
    OriginChunk {
        origin,
        source: name(origin.as_str()),
        digests: digests.into_iter().collect(),
    }
}

async fn begun<S: OriginStore + SessionStore>(handles: &Handles<S>) {
    handles.one.open(opening("s-1")).await.unwrap();
    handles.one.begin(&ident("s-1")).await.unwrap();
}

async fn recalled<S: OriginStore>(store: &S, after: u64) -> Recalled {
    store.recall(&ident("s-1"), after).await.unwrap()
}

pub(super) async fn recall_gives_what_was_kept_in_order<S: OriginStore + SessionStore>(handles: &Handles<S>) {
    begun(handles).await;
    let kept: Vec<_> = Origin::ALL
        .into_iter()
        .map(|origin| chunk(origin, [u64::MAX, 0]))
        .collect();
    let id = ident("s-1");
    let (first, rest) = kept.split_at(1);
    handles.one.remember(&id, first.to_vec(), BOUNDS).await.unwrap();
    handles.two.remember(&id, rest.to_vec(), BOUNDS).await.unwrap();
    for store in [&handles.one, &handles.two] {
        let all = recalled(&**store, 0).await;
        assert_eq!((all.closed, all.last, &all.chunks), (false, 4, &kept));
        let later = recalled(&**store, 3).await;
        assert_eq!(
            (later.last, later.chunks.as_slice()),
            (4, kept.get(3..).unwrap_or_default())
        );
    }
}

pub(super) async fn begin_changes_nothing_begun<S: OriginStore + SessionStore>(handles: &Handles<S>) {
    begun(handles).await;
    let kept = vec![chunk(Origin::Untrusted, [1, 2])];
    handles
        .one
        .remember(&ident("s-1"), kept.clone(), BOUNDS)
        .await
        .unwrap();
    handles.two.begin(&ident("s-1")).await.unwrap();
    assert_eq!(recalled(&*handles.one, 0).await.chunks, kept);
    handles.one.close(&ident("s-1")).await.unwrap();
    handles.two.begin(&ident("s-1")).await.unwrap();
    assert!(recalled(&*handles.two, 0).await.closed);
}

pub(super) async fn a_chunk_beyond_the_bounds_closes<S: OriginStore + SessionStore>(handles: &Handles<S>) {
    begun(handles).await;
    let chunks = vec![
        chunk(Origin::Trusted, 0..4),
        chunk(Origin::Untrusted, 0..3),
        chunk(Origin::Agent, 0..1),
        chunk(Origin::Operator, 0..3),
        chunk(Origin::Operator, 0..2),
        chunk(Origin::Operator, 7..8),
    ];
    let id = ident("s-1");
    handles.one.remember(&id, chunks, BOUNDS).await.unwrap();
    let all = recalled(&*handles.two, 0).await;
    let expected = [
        chunk(Origin::Trusted, 0..4),
        chunk(Origin::Operator, 0..3),
        chunk(Origin::Operator, 7..8),
    ];
    assert!(all.closed);
    assert_eq!(all.chunks, expected);
}

pub(super) async fn what_was_never_begun_is_closed<S: OriginStore + SessionStore>(handles: &Handles<S>) {
    handles.one.open(opening("s-1")).await.unwrap();
    assert!(recalled(&*handles.two, 0).await.closed);
    let chunks = vec![chunk(Origin::Trusted, [1]), chunk(Origin::Operator, [2])];
    handles.one.remember(&ident("s-1"), chunks, BOUNDS).await.unwrap();
    let all = recalled(&*handles.two, 0).await;
    assert_eq!(
        (all.closed, all.chunks),
        (true, vec![chunk(Origin::Operator, [2])])
    );
}

pub(super) async fn no_session_has_no_memory<S: OriginStore + SessionStore>(handles: &Handles<S>) {
    let id = ident("nobody");
    let store = &handles.one;
    assert_eq!(store.begin(&id).await, Err(StoreError::NoSession));
    assert_eq!(store.close(&id).await, Err(StoreError::NoSession));
    assert_eq!(store.recall(&id, 0).await, Err(StoreError::NoSession));
    let remembered = store.remember(&id, vec![chunk(Origin::Agent, [1])], BOUNDS).await;
    assert_eq!(remembered, Err(StoreError::NoSession));
}

pub(super) async fn racing_chunks_are_all_kept<S>(handles: &Handles<S>)
where
    S: OriginStore + SessionStore + 'static,
{
    begun(handles).await;
    let bounds = OriginBounds {
        operator: 1_000,
        others: 1_000,
    };
    let racers = (0..40).map(|number: u64| {
        let store = if number.is_multiple_of(2) {
            &handles.one
        } else {
            &handles.two
        }
        .clone();
        let kept = vec![chunk(Origin::Untrusted, [number])];
        tokio::spawn(async move { store.remember(&ident("s-1"), kept, bounds).await })
    });
    for racer in racers.collect::<Vec<_>>() {
        racer.await.unwrap().unwrap();
    }
    let all = recalled(&*handles.one, 0).await;
    let mut digests: Vec<_> = all.chunks.into_iter().flat_map(|chunk| chunk.digests).collect();
    digests.sort_unstable();
    assert_eq!((all.last, digests), (40, (0..40).collect()));
}
