//! The cases of [`TokenStore`].

use tidegate_core::{Moment, Role};

use super::{Handles, ident};
use crate::{StoreError, TokenDigest, TokenRecord, TokenStore};

pub(super) async fn issue_refuses_what_exists<S: TokenStore>(handles: &Handles<S>) {
    handles.one.issue(token("t-1", 1, 10)).await.unwrap();
    for taken in [token("t-1", 2, 11), token("t-2", 1, 12)] {
        assert_eq!(handles.two.issue(taken).await, Err(StoreError::TokenTaken));
    }
    assert_eq!(handles.two.tokens().await.unwrap().len(), 1);
}

pub(super) async fn find_shows_a_revocation_at_once<S: TokenStore>(handles: &Handles<S>) {
    for (number, role) in (0_u8..).zip(Role::ALL) {
        let mut issued = token(&format!("t-{number}"), number, 10);
        issued.role = role;
        issued.agent = (number % 2 == 0).then(|| ident("agent-1"));
        handles.one.issue(issued.clone()).await.unwrap();
        for store in [&handles.one, &handles.two] {
            assert_eq!(
                store.find(&issued.digest).await.unwrap().as_deref(),
                Some(&issued)
            );
        }
        assert_eq!(handles.one.revoke(&issued.id, Moment(20)).await, Ok(true));
        issued.revoked_at = Some(Moment(20));
        for store in [&handles.two, &handles.one] {
            assert_eq!(
                store.find(&issued.digest).await.unwrap().as_deref(),
                Some(&issued)
            );
        }
    }
    assert_eq!(handles.one.find(&TokenDigest([99; 32])).await, Ok(None));
}

pub(super) async fn revoke_keeps_the_first_date<S: TokenStore>(handles: &Handles<S>) {
    handles.one.issue(token("t-1", 1, 10)).await.unwrap();
    assert_eq!(handles.one.revoke(&ident("t-1"), Moment(20)).await, Ok(true));
    assert_eq!(handles.two.revoke(&ident("t-1"), Moment(30)).await, Ok(true));
    let found = handles.one.find(&TokenDigest([1; 32])).await.unwrap().unwrap();
    assert_eq!(found.revoked_at, Some(Moment(20)));
    assert_eq!(handles.one.revoke(&ident("t-2"), Moment(20)).await, Ok(false));
}

pub(super) async fn tokens_are_listed_oldest_first<S: TokenStore>(handles: &Handles<S>) {
    for (id, number, at) in [("b", 1, 30), ("a", 2, 10), ("c", 3, 20), ("d", 4, 10)] {
        handles.one.issue(token(id, number, at)).await.unwrap();
    }
    let listed = handles.two.tokens().await.unwrap();
    let ids: Vec<_> = listed.iter().map(|token| token.id.as_str()).collect();
    assert_eq!(ids, ["a", "d", "c", "b"]);
}

fn token(id: &str, number: u8, at: i64) -> TokenRecord {
    TokenRecord {
        id: ident(id),
        digest: TokenDigest([number; 32]),
        role: Role::Agent,
        principal: ident("ada"),
        agent: None,
        issued_at: Moment(at),
        revoked_at: None,
    }
}
