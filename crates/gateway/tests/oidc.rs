//! Signing in by a real OpenID Connect provider, and everything that must not let anybody in.
//!
//! `cargo xtask test` installs the provider into target/console-test. Without it these tests say that they were skipped, except
//! where CI=true, where they fail.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    unreachable_pub,
    reason = "a test stops at the first surprise, and says when it was skipped"
)]

mod browser;
mod oidc_stand;
mod stand;

use browser::{Answer, Browser};
use oidc_stand::{Provider, gateway, hostile, leave, sign_in, unready};
use reqwest::StatusCode;
use serde_json::{Value, json};
use stand::Stand;
use tidegate_core::Role;
use tidegate_gateway::OidcSettings;
use tokio::net::TcpListener;

const VISIT: &str = "tidegate-console";
const WAY: &str = "tidegate-console-way";

/// Nobody came in: the page says why in plain words, there is no visit, and the way is over.
async fn check_refused(browser: &mut Browser, answer: &Answer, status: StatusCode, said: &str) {
    assert_eq!(answer.status, status, "{said}: {}", answer.body);
    assert!(answer.body.contains(said), "{said}: {}", answer.body);
    let cookies = &browser.cookies;
    assert!(
        !cookies.contains_key(VISIT) && !cookies.contains_key(WAY),
        "{said}: {cookies:?}"
    );
    assert_eq!(
        browser.get("/console").await.location(),
        "/console/sign-in",
        "{said}"
    );
}

#[tokio::test]
async fn a_person_comes_in_with_the_role_that_is_mapped() {
    for secret in [Some("between us: +/%&"), None] {
        let Some(provider) = Provider::start(secret) else {
            return;
        };
        let stand = gateway(provider.settings()).await;
        let mut browser = Browser::at(&stand);
        assert!(
            browser
                .get("/console/sign-in")
                .await
                .body
                .contains("Sign in with your organisation")
        );
        for (login, principal, role, queue) in [
            ("olga", "oidc:olga", "human-operator", StatusCode::OK),
            ("rita", "oidc:rita", "pii-authorized-reviewer", StatusCode::OK),
            ("ada", "oidc:ada", "admin", StatusCode::OK),
            ("auth|17", "oidc:gustav", "human-operator", StatusCode::OK),
        ] {
            let mut browser = Browser::at(&stand);
            let entered = sign_in(&provider, &mut browser, login).await;
            assert_eq!(entered.status, StatusCode::OK, "{}", entered.body);
            assert_eq!(entered.headers["refresh"], "0; url=/console");
            let given = entered.set_cookies().join("\n");
            assert!(given.contains("HttpOnly; SameSite=Strict"), "{given}");
            assert!(!browser.cookies.contains_key(WAY), "the way is over");
            let page = browser.get("/console").await;
            assert!(
                page.body.contains(principal) && page.body.contains(role),
                "{}",
                page.body
            );
            assert_eq!(browser.get("/console/queue").await.status, queue, "{login}");
            let left = browser.post("/console/sign-out", &[("csrf", &page.csrf())]).await;
            assert_eq!(left.status, StatusCode::SEE_OTHER);
            assert_eq!(browser.get("/console").await.location(), "/console/sign-in");
        }
    }
}

#[tokio::test]
async fn whoever_has_no_role_or_no_name_here_stays_outside() {
    let Some(provider) = Provider::start(None) else {
        return;
    };
    let stand = gateway(provider.settings()).await;
    for (login, said) in [
        ("nils", "nobody has given you a role"),
        ("una", "nobody has given you a role"),
        ("auth|18", "nobody has given you a role"),
        ("unheard-of", "did not let you in"),
    ] {
        let mut browser = Browser::at(&stand);
        let answer = sign_in(&provider, &mut browser, login).await;
        assert!(!answer.body.contains("<b>"), "{}", answer.body);
        check_refused(&mut browser, &answer, StatusCode::FORBIDDEN, said).await;
    }
    let unmapped = OidcSettings {
        roles: Vec::new(),
        ..provider.settings()
    };
    let stand = gateway(unmapped).await;
    let mut browser = Browser::at(&stand);
    let answer = sign_in(&provider, &mut browser, "ada").await;
    check_refused(
        &mut browser,
        &answer,
        StatusCode::FORBIDDEN,
        "nobody has given you a role",
    )
    .await;
}

#[tokio::test]
async fn a_token_that_is_not_the_providers_word_lets_nobody_in() {
    let Some(provider) = Provider::start(None) else {
        return;
    };
    let stand = gateway(provider.settings()).await;
    let past = json!(1_000_000_000);
    let future = json!(4_000_000_000u32);
    let cases: Vec<(Value, &str)> = vec![
        (json!({"by": "somebody else"}), "another key under the same name"),
        (json!({"by": "nobody"}), "no signature"),
        (
            json!({"by": "the old signature", "claims": {"groups": ["reviewers"]}}),
            "changed after signing",
        ),
        (json!({"by": "the public key"}), "the public key as a secret"),
        (json!({"by": "a name nobody lists"}), "a key that nobody lists"),
        (json!({"by": "rules nobody knows"}), "rules that must be known"),
        (json!({"by": "nonsense"}), "nonsense"),
        (json!({"claims": {"exp": past}}), "expired"),
        (json!({"claims": {"exp": null}}), "without an end"),
        (json!({"claims": {"nbf": future}}), "not yet valid"),
        (json!({"claims": {"iat": future}}), "from the future"),
        (json!({"claims": {"iat": null}}), "without a beginning"),
        (json!({"claims": {"aud": "another"}}), "for another application"),
        (
            json!({"claims": {"aud": ["tidegate", "another"]}}),
            "for several, without saying for whom",
        ),
        (
            json!({"claims": {"aud": ["tidegate", "another"], "azp": "another"}}),
            "for another of several",
        ),
        (json!({"claims": {"azp": "another"}}), "made for another"),
        (json!({"claims": {"aud": null}}), "for nobody"),
        (
            json!({"claims": {"iss": "https://login.example"}}),
            "from another provider",
        ),
        (
            json!({"claims": {"iss": [provider.issuer]}}),
            "from several providers",
        ),
        (
            json!({"claims": {"nonce": "0".repeat(64)}}),
            "an answer to something else",
        ),
        (json!({"claims": {"nonce": null}}), "an answer to nothing"),
    ];
    for (wanted, what) in cases {
        provider.tell(wanted).await;
        let mut browser = Browser::at(&stand);
        let answer = sign_in(&provider, &mut browser, "ada").await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{what}");
        check_refused(
            &mut browser,
            &answer,
            StatusCode::FORBIDDEN,
            "could not be relied on",
        )
        .await;
    }
    for wanted in [
        json!({"claims": {"aud": ["tidegate", "another"], "azp": "tidegate"}}),
        json!({}),
    ] {
        provider.tell(wanted).await;
        let mut browser = Browser::at(&stand);
        let entered = sign_in(&provider, &mut browser, "ada").await;
        assert_eq!(
            entered.status,
            StatusCode::OK,
            "and the true one does: {}",
            entered.body
        );
    }
}

#[tokio::test]
async fn a_provider_may_change_its_keys() {
    let Some(provider) = Provider::start(None) else {
        return;
    };
    let stand = gateway(provider.settings()).await;
    for kind in ["RS256", "ES256", "PS256", "EdDSA"] {
        provider.tell(json!({"renew": kind})).await;
        let mut browser = Browser::at(&stand);
        let entered = sign_in(&provider, &mut browser, "olga").await;
        assert_eq!(entered.status, StatusCode::OK, "{kind}: {}", entered.body);
    }
}

#[tokio::test]
async fn an_answer_is_taken_once_and_from_whoever_set_out() {
    let Some(provider) = Provider::start(None) else {
        return;
    };
    let stand = gateway(provider.settings()).await;
    let said = "not begun in this browser";
    let mut olga = Browser::at(&stand);
    let address = leave(&mut olga).await;
    let held = olga.cookies.clone();
    let back = provider.visit(&address, "olga").await;
    let state = |back: &str, state: &str| {
        let pairs = back.split_once('?').unwrap().1.split('&');
        let pairs = pairs.map(|pair| match pair.starts_with("state=") {
            true => format!("state={state}"),
            false => pair.to_owned(),
        });
        format!(
            "/console/sign-in/oidc/callback?{}",
            pairs.collect::<Vec<_>>().join("&")
        )
    };

    let mut stranger = Browser::at(&stand);
    let answer = stranger.get(&back).await;
    check_refused(&mut stranger, &answer, StatusCode::FORBIDDEN, said).await;
    leave(&mut stranger).await;
    let answer = stranger.get(&back).await;
    check_refused(&mut stranger, &answer, StatusCode::FORBIDDEN, said).await;

    for broken in [
        state(&back, &"0".repeat(64)),
        state(&back, ""),
        format!("{back}&state=0"),
        "/console/sign-in/oidc/callback".to_owned(),
        "/console/sign-in/oidc/callback?code=x".to_owned(),
    ] {
        let mut other = Browser::at(&stand);
        other.cookies = held.clone();
        let answer = other.get(&broken).await;
        check_refused(&mut other, &answer, StatusCode::FORBIDDEN, said).await;
    }

    assert_eq!(olga.get(&back).await.status, StatusCode::OK);
    assert_eq!(olga.get("/console").await.status, StatusCode::OK);
    let mut again = Browser::at(&stand);
    again.cookies = held;
    let answer = again.get(&back).await;
    check_refused(&mut again, &answer, StatusCode::FORBIDDEN, said).await;

    for (changed, said) in [
        ("code=nobody", "could not be relied on"),
        ("code=", "could not be relied on"),
        ("error=access_denied", "did not let you in"),
    ] {
        let mut other = Browser::at(&stand);
        let back = provider.visit(&leave(&mut other).await, "olga").await;
        let (path, query) = back.split_once('?').unwrap();
        let pairs: Vec<_> = query
            .split('&')
            .filter(|pair| !pair.starts_with("code="))
            .collect();
        let answer = other.get(&format!("{path}?{}&{changed}", pairs.join("&"))).await;
        check_refused(&mut other, &answer, StatusCode::FORBIDDEN, said).await;
    }
    for iss in ["", "&iss=https%3A%2F%2Flogin.example"] {
        let mut other = Browser::at(&stand);
        let back = provider.visit(&leave(&mut other).await, "olga").await;
        let (unnamed, _) = back.split_once("&iss=").unwrap();
        let answer = other.get(&format!("{unnamed}{iss}")).await;
        check_refused(
            &mut other,
            &answer,
            StatusCode::FORBIDDEN,
            "could not be relied on",
        )
        .await;
    }
}

#[tokio::test]
async fn nobody_approves_their_own_by_another_door() {
    let Some(provider) = Provider::start(None) else {
        return;
    };
    let stand = gateway(provider.settings()).await;
    let agent = stand.alice().await;
    let session = stand.open(&agent).await;
    let path = format!("/v1/session/{session}/authorize");
    let call = json!({"tool": "gmail_guest_draft", "arguments": {"subject": "the tide"}});
    let held = stand.post(&agent, &path, call.clone()).await;
    assert_eq!(held["decision"], "hold", "{held}");
    let gate = held["gate_id"].as_str().unwrap();
    let decide = async |login: &str| {
        let mut browser = Browser::at(&stand);
        assert_eq!(
            sign_in(&provider, &mut browser, login).await.status,
            StatusCode::OK
        );
        let csrf = browser.get(&format!("/console/gates/{gate}")).await.csrf();
        let form = [
            ("csrf", csrf.as_str()),
            ("decision", "approve"),
            ("reason", "it is fine"),
        ];
        browser
            .post(&format!("/console/gates/{gate}/decision"), &form)
            .await
    };
    let own = decide("alice").await;
    assert!(own.status.is_client_error(), "{}", own.body);
    let token = stand.holder(Role::HumanOperator, "oidc:alice", None).await;
    let decision = json!({"decision": "approve", "reason": "it is fine"});
    stand
        .refuse(
            &token,
            &format!("/v1/gates/{gate}/decision"),
            decision,
            own.status,
        )
        .await;
    assert_eq!(stand.post(&agent, &path, call.clone()).await["decision"], "hold");
    assert_eq!(decide("olga").await.status, StatusCode::SEE_OTHER);
    assert_eq!(stand.post(&agent, &path, call).await["decision"], "allow");
}

#[tokio::test]
async fn without_a_provider_that_answers_nobody_sets_out() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let endless = hostile(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n", true).await;
    let silent = hostile(b"", false).await;
    let broken = hostile(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]", false).await;
    let elsewhere = hostile(
        b"HTTP/1.1 302 Found\r\nlocation: https://login.example\r\ncontent-length: 0\r\n\r\n",
        false,
    )
    .await;
    for issuer in [
        nobody,
        endless,
        silent,
        broken,
        elsewhere,
        "http://login.example".to_owned(),
    ] {
        let stand = unready(&issuer).await;
        let mut browser = Browser::at(&stand);
        let answer = browser.get("/console/sign-in/oidc").await;
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{issuer}");
        assert!(answer.body.contains("does not answer"), "{}", answer.body);
        assert!(browser.cookies.is_empty());
    }
    let stand = Stand::start().await;
    for path in [
        "/console/sign-in/oidc",
        "/console/sign-in/oidc/callback?state=x&code=y",
    ] {
        let answer = Browser::at(&stand).get(path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "there is no provider here");
    }
}

#[tokio::test]
async fn a_provider_by_another_name_is_another_provider() {
    let Some(provider) = Provider::start(None) else {
        return;
    };
    for issuer in [
        provider.issuer.replace("127.0.0.1", "localhost"),
        format!("{}/", provider.issuer),
    ] {
        let stand = unready(&issuer).await;
        let answer = Browser::at(&stand).get("/console/sign-in/oidc").await;
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{issuer}");
    }
}

#[tokio::test]
async fn under_tls_the_way_is_bound_to_this_host() {
    let Some(provider) = Provider::start(None) else {
        return;
    };
    let stand = gateway(provider.settings()).await;
    let mut browser = Browser::at(&stand);
    browser.sent.push(("x-forwarded-proto", "https".to_owned()));
    let left = browser.get("/console/sign-in/oidc").await;
    let given = left.set_cookies().join("\n");
    for part in [
        "__Host-tidegate-console-way=",
        "Path=/; Secure",
        "HttpOnly",
        "SameSite=Lax",
    ] {
        assert!(given.contains(part), "{given}");
    }
    let back = provider.visit(left.location(), "olga").await;
    assert_eq!(browser.get(&back).await.status, StatusCode::OK);
    assert_eq!(browser.get("/console").await.status, StatusCode::OK);
}
