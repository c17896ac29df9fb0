//! The console against whoever would misuse it: other sites, other people, other roles, hostile names.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod browser;
mod stand;

use std::time::Duration;

use browser::{Browser, escaped};
use reqwest::StatusCode;
use serde_json::json;
use stand::{Setting, Stand};
use tidegate_core::{Ident, Moment, Role};
use tidegate_gateway::ConsoleOptions;
use tidegate_store::TokenStore;

const COOKIE: &str = "tidegate-console";

async fn operator(stand: &Stand) -> Browser {
    let holder = stand.holder(Role::HumanOperator, "olga", None).await;
    Browser::of(stand, &holder).await
}

#[tokio::test]
async fn every_answer_tells_the_browser_what_it_may_do() {
    let stand = Stand::start().await;
    let mut browser = operator(&stand).await;
    for path in [
        "/console",
        "/console/sign-in",
        "/console/sessions",
        "/console/sessions/nobody",
        "/console/queue",
        "/console/gates/nobody",
        "/console/reviews",
        "/console/tools",
        "/console/plan",
        "/console/record",
        "/console/nothing-here",
        "/console/assets/console.css",
        "/console/assets/nothing",
    ] {
        let answer = browser.get(path).await;
        let header = |name: &str| {
            answer
                .headers
                .get(name)
                .map_or("", |value| value.to_str().unwrap())
        };
        let policy = header("content-security-policy");
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "frame-ancestors 'none'",
            "form-action 'self'",
            "base-uri 'none'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(header("x-frame-options"), "DENY", "{path}");
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("referrer-policy"), "same-origin", "{path}");
        let is_file = path == "/console/assets/console.css";
        assert_eq!(header("cache-control") == "no-store", !is_file, "{path}");
        assert!(
            !answer.body.contains("<style") && !answer.body.contains(" style="),
            "{path}"
        );
        assert!(
            !answer.body.contains("<script>") && !answer.body.contains(" onclick"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn another_site_changes_nothing() {
    let stand = Stand::start().await;
    let mut browser = operator(&stand).await;
    let csrf = browser.get("/console").await.csrf();
    let here = stand.url("");
    for headers in [
        vec![("origin", "https://evil.example".to_owned())],
        vec![("origin", "null".to_owned())],
        vec![
            ("origin", here.clone()),
            ("sec-fetch-site", "cross-site".to_owned()),
        ],
        vec![
            ("origin", here.clone()),
            ("sec-fetch-site", "same-site".to_owned()),
        ],
        vec![("origin", format!("{here}.evil.example"))],
        vec![],
    ] {
        let answer = browser
            .post_from(&headers, "/console/sign-out", &[("csrf", &csrf)])
            .await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{headers:?}");
    }
    for wrong in ["", "0", &csrf.to_uppercase(), &csrf[1..]] {
        let answer = browser.post("/console/sign-out", &[("csrf", wrong)]).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{wrong}");
    }
    assert_eq!(
        browser.post("/console/sign-out", &[]).await.status,
        StatusCode::FORBIDDEN
    );
    let mut other = operator(&stand).await;
    let theirs = other.get("/console").await.csrf();
    let answer = browser.post("/console/sign-out", &[("csrf", &theirs)]).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN, "another visit's secret");
    assert_eq!(browser.get("/console").await.status, StatusCode::OK);
    let answer = browser.post("/console/sign-out", &[("csrf", &csrf)]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert_eq!(browser.get("/console").await.location(), "/console/sign-in");
}

#[tokio::test]
async fn nobody_is_signed_in_by_another_site() {
    let stand = Stand::start().await;
    let holder = stand.holder(Role::HumanOperator, "olga", None).await;
    let mut browser = Browser::at(&stand);
    let csrf = browser.get("/console/sign-in").await.csrf();
    let held = browser.cookies.clone();
    browser.cookies.clear();
    let form = [("csrf", csrf.as_str()), ("token", holder.token.as_str())];
    assert_eq!(
        browser.post("/console/sign-in", &form).await.status,
        StatusCode::FORBIDDEN
    );
    browser.cookies = held;
    assert_eq!(
        browser.post("/console/sign-in", &form).await.status,
        StatusCode::SEE_OTHER
    );
}

#[tokio::test]
async fn a_visit_is_known_by_a_cookie_that_scripts_and_other_sites_do_not_get() {
    let stand = Stand::start().await;
    let holder = stand.holder(Role::Auditor, "otto", None).await;
    for (secure, name, place) in [
        (false, "tidegate-console=", "Path=/console"),
        (true, "__Host-tidegate-console=", "Path=/; Secure"),
    ] {
        let mut browser = Browser::at(&stand);
        if secure {
            browser.sent.push(("x-forwarded-proto", "https".to_owned()));
        }
        let entered = browser.enter(&holder.token).await;
        let cookies = entered.set_cookies();
        let cookie = cookies.iter().find(|cookie| cookie.starts_with(name)).unwrap();
        for flag in ["HttpOnly", "SameSite=Strict", place] {
            assert!(cookie.contains(flag), "{cookie}");
        }
        assert!(
            !cookie.contains("Domain") && cookie.contains("Secure") == secure,
            "{cookie}"
        );
        assert!(!cookie.contains(&holder.token) && !entered.body.contains(&holder.token));
        assert_eq!(browser.get("/console").await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn a_cookie_from_before_signing_in_is_worth_nothing_after() {
    let stand = Stand::start().await;
    let holder = stand.holder(Role::HumanOperator, "olga", None).await;
    let mut browser = Browser::at(&stand);
    browser.cookies.insert(COOKIE.into(), "planted".into());
    browser.enter(&holder.token).await;
    let first = browser.cookies[COOKIE].clone();
    assert_ne!(first, "planted");
    browser.enter(&holder.token).await;
    assert_ne!(browser.cookies[COOKIE], first);
    for old in ["planted", &first] {
        let mut other = Browser::at(&stand);
        other.cookies.insert(COOKIE.into(), old.to_owned());
        assert_eq!(
            other.get("/console").await.location(),
            "/console/sign-in",
            "{old}"
        );
    }
    assert_eq!(browser.get("/console").await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_visit_ends_with_its_time_and_with_its_token() {
    for (idle, lifetime) in [(Duration::ZERO, Duration::MAX), (Duration::MAX, Duration::ZERO)] {
        let console = ConsoleOptions {
            idle,
            lifetime,
            ..ConsoleOptions::STANDARD
        };
        let stand = Stand::start_with(Setting {
            console,
            ..Setting::default()
        })
        .await;
        assert_eq!(
            operator(&stand).await.get("/console").await.location(),
            "/console/sign-in"
        );
    }
    let stand = Stand::start().await;
    let holder = stand.holder(Role::HumanOperator, "olga", None).await;
    let mut browser = Browser::of(&stand, &holder).await;
    assert_eq!(browser.get("/console").await.status, StatusCode::OK);
    let record = stand
        .store
        .find(&tidegate_gateway::digest(&holder.token))
        .await
        .unwrap()
        .unwrap();
    let id = Ident::parse(record.id.as_str()).unwrap();
    stand.store.revoke(&id, Moment(1)).await.unwrap();
    assert_eq!(browser.get("/console").await.location(), "/console/sign-in");
}

#[tokio::test]
async fn a_role_gets_what_it_may_have_and_no_more() {
    let stand = Stand::start().await;
    for role in [Role::Agent, Role::Connector] {
        let holder = stand.holder(role, "bot", None).await;
        let mut browser = Browser::at(&stand);
        assert_eq!(
            browser.enter(&holder.token).await.status,
            StatusCode::UNAUTHORIZED,
            "{role}"
        );
        assert!(!browser.cookies.contains_key(COOKIE), "{role}");
    }
    for role in [
        Role::HumanOperator,
        Role::PiiAuthorizedReviewer,
        Role::Auditor,
        Role::Admin,
    ] {
        let holder = stand.holder(role, "somebody", None).await;
        let mut browser = Browser::of(&stand, &holder).await;
        let audits = matches!(role, Role::Auditor | Role::Admin);
        let expected = if audits {
            StatusCode::OK
        } else {
            StatusCode::FORBIDDEN
        };
        assert_eq!(browser.get("/console/record").await.status, expected, "{role}");
        let page = browser.get("/console").await;
        assert_eq!(page.body.contains("/console/record"), audits, "{role}");
        let answer = browser
            .post("/console/record/verify", &[("csrf", &page.csrf())])
            .await;
        let expected = if audits {
            StatusCode::SEE_OTHER
        } else {
            StatusCode::FORBIDDEN
        };
        assert_eq!(answer.status, expected, "{role}");
    }
}

/// A call that waits for a person; gives its gate.
async fn held(stand: &Stand, session: &str, agent: &stand::Holder, arguments: serde_json::Value) -> String {
    let call = json!({"tool": "gmail_guest_draft", "arguments": arguments});
    let answer = stand
        .post(agent, &format!("/v1/session/{session}/authorize"), call)
        .await;
    assert_eq!(answer["decision"], "hold", "{answer}");
    answer["gate_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_gate_is_decided_once_by_whoever_may() {
    let stand = Stand::start().await;
    let alice = stand.alice().await;
    let session = stand.open(&alice).await;
    let gate = held(&stand, &session, &alice, json!({"to": "guest"})).await;
    let path = format!("/console/gates/{gate}/decision");
    let approve = |csrf: &str| {
        [
            ("csrf", csrf.to_owned()),
            ("decision", "approve".to_owned()),
            ("reason", "asked for".to_owned()),
        ]
    };
    let mut auditor = Browser::of(&stand, &stand.holder(Role::Auditor, "otto", None).await).await;
    let page = auditor.get(&format!("/console/gates/{gate}")).await;
    assert!(page.status == StatusCode::OK && !page.body.contains("approve-reason"));
    for (role, principal, expected) in [
        (Role::Auditor, "otto", StatusCode::FORBIDDEN),
        (Role::HumanOperator, "alice", StatusCode::FORBIDDEN),
    ] {
        let mut browser = Browser::of(&stand, &stand.holder(role, principal, None).await).await;
        let csrf = browser.get("/console").await.csrf();
        let form = approve(&csrf);
        let form: Vec<_> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = browser.post(&path, &form).await;
        assert_eq!(answer.status, expected, "{role}");
    }
    let mut browser = operator(&stand).await;
    let csrf = browser.get(&format!("/console/gates/{gate}")).await.csrf();
    let here = stand.url("");
    let forged = [("csrf", "0"), ("decision", "approve"), ("reason", "forged")];
    assert_eq!(browser.post(&path, &forged).await.status, StatusCode::FORBIDDEN);
    let foreign = [("origin", format!("{here}0"))];
    let form = [
        ("csrf", csrf.as_str()),
        ("decision", "approve"),
        ("reason", "asked for"),
    ];
    assert_eq!(
        browser.post_from(&foreign, &path, &form).await.status,
        StatusCode::FORBIDDEN
    );
    let silent = [("csrf", csrf.as_str()), ("decision", "approve"), ("reason", "  ")];
    assert_eq!(
        browser.post(&path, &silent).await.status,
        StatusCode::UNPROCESSABLE_ENTITY
    );
    let odd = [("csrf", csrf.as_str()), ("decision", "maybe"), ("reason", "x")];
    assert_eq!(browser.post(&path, &odd).await.status, StatusCode::BAD_REQUEST);
    assert_eq!(browser.post(&path, &form).await.status, StatusCode::SEE_OTHER);
    assert_eq!(
        browser.post(&path, &form).await.status,
        StatusCode::CONFLICT,
        "replayed"
    );
    let other = held(&stand, &session, &alice, json!({"to": "another"})).await;
    assert_ne!(other, gate, "changed arguments are a new question");
}

#[tokio::test]
async fn a_gate_shows_values_to_few_and_markup_to_nobody() {
    let stand = Stand::start().await;
    let alice = stand.alice().await;
    let session = stand.open(&alice).await;
    let arguments = json!({"to": "marina.duarte@example.org", "text": "</pre><script>alert(1)</script>", "<img src=x>": 1});
    let gate = held(&stand, &session, &alice, arguments).await;
    let (page, reveal) = (
        format!("/console/gates/{gate}"),
        format!("/console/gates/{gate}/reveal"),
    );
    for (role, may) in [
        (Role::HumanOperator, false),
        (Role::Auditor, false),
        (Role::Admin, false),
        (Role::PiiAuthorizedReviewer, true),
    ] {
        let mut browser = Browser::of(&stand, &stand.holder(role, "somebody", None).await).await;
        let shown = browser.get(&page).await;
        assert_eq!(shown.status, StatusCode::OK, "{role}");
        assert!(!shown.body.contains("marina.duarte"), "{role}");
        assert!(
            !shown.body.contains("<script>alert") && !shown.body.contains("<img src"),
            "{role}: {}",
            shown.body
        );
        let csrf = shown.csrf();
        let unsaid = browser.post(&reveal, &[("csrf", &csrf), ("reason", "")]).await;
        assert!(
            !unsaid.status.is_success() && !unsaid.body.contains("marina.duarte"),
            "{role}"
        );
        let revealed = browser
            .post(&reveal, &[("csrf", &csrf), ("reason", "to check")])
            .await;
        assert_eq!(revealed.status.is_success(), may, "{role}: {}", revealed.status);
        assert_eq!(revealed.body.contains("marina.duarte"), may, "{role}");
        assert!(!revealed.body.contains("<script>alert"), "{role}");
        assert!(
            !browser.get("/console/queue").await.body.contains("marina.duarte"),
            "{role}"
        );
    }
}

#[tokio::test]
async fn whatever_is_sent_is_shown_as_text() {
    let stand = Stand::start().await;
    let holder = stand.admin().await;
    let mut browser = Browser::of(&stand, &holder).await;
    let alice = stand.alice().await;
    let id = stand.open(&alice).await;
    for payload in [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' autofocus onfocus=alert(1) x='",
        "</textarea><script>alert(1)</script>",
        "javascript:alert(1)",
        "{{7*7}}<svg/onload=alert(1)>",
    ] {
        let authorize = format!("/v1/session/{id}/authorize");
        let call = json!({"tool": payload, "arguments": {payload: payload}});
        stand
            .send(&alice, reqwest::Method::POST, &authorize, Some(call))
            .await;
        let dataset = json!({"name": payload, "sensitivity": "internal"});
        stand
            .send(
                &alice,
                reqwest::Method::POST,
                &format!("/v1/session/{id}/datasets"),
                Some(dataset),
            )
            .await;
        let given = escaped(payload);
        for path in [
            format!("/console/sessions/{id}"),
            format!("/console/sessions/{given}"),
            format!("/console/sessions?find={given}"),
            format!("/console/sessions?order=id&after={given}"),
            format!("/console/sessions?before={given}"),
            format!("/console/plan?calls={given}&session={given}"),
            format!("/console/plan?calls={given}"),
            format!("/console/record?tool={given}"),
            format!("/console/record?session={given}"),
            format!("/console/record?event={given}"),
            format!("/console/record/{given}"),
            format!("/console/{given}"),
        ] {
            let answer = browser.get(&path).await;
            // What looks like markup is escaped; a quote inside double quotes is text.
            for markup in [
                "<script>alert",
                "<img src=x",
                "<svg/onload",
                "</textarea><s",
                "\"><img",
            ] {
                assert!(!answer.body.contains(markup), "{path}: {}", answer.body);
            }
            assert!(!answer.body.contains("href=\"javascript:"), "{path}");
        }
    }
}
