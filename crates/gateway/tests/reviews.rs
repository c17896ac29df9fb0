//! Class reviews: what opens one, that it is counted and not doubled, who settles it, and that no value is in it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod browser;
mod mcp_stand;
mod stand;

use std::collections::BTreeSet;

use browser::Browser;
use mcp_stand::{Client, gateway, options, policy, scripted, server};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use stand::{Holder, Setting, Stand, problem};
use tidegate_core::{Class, Entry, Ident, Kinds, Moment, Name, Role};
use tidegate_store::{ClassReview, ReviewCause, ReviewStore as _, SessionStore as _};

const CANARY: &str = "canary.person@example.com";

async fn operator(stand: &Stand) -> Holder {
    stand.holder(Role::HumanOperator, "olga", None).await
}

/// The reviews in a state, of one cause.
async fn reviews(stand: &Stand, by: &Holder, state: &str, cause: &str) -> Vec<Value> {
    let page = stand
        .get(by, &format!("/v1/class-reviews?state={state}&limit=200"))
        .await;
    let all = page["reviews"].as_array().unwrap();
    all.iter()
        .filter(|review| review["cause"] == cause)
        .cloned()
        .collect()
}

fn of<'a>(reviews: &'a [Value], source: &str) -> &'a Value {
    let mut found = reviews.iter().filter(|review| review["source"] == source);
    let review = found
        .next()
        .unwrap_or_else(|| panic!("no review of {source}: {reviews:?}"));
    assert!(found.next().is_none(), "{source} twice: {reviews:?}");
    review
}

async fn settle(stand: &Stand, by: &Holder, review: &Value, reason: &str) -> Value {
    let path = format!("/v1/class-reviews/{}", review["review_id"].as_str().unwrap());
    let body = json!({"verdict": "assigned-right", "reason": reason});
    stand.post(by, &path, body).await
}

fn leaking(tool: &str) -> Value {
    json!({"tool": tool, "arguments": {"q": format!("write to {CANARY}")}})
}

async fn authorize(stand: &Stand, agent: &Holder, session: &str, tool: &str) -> Value {
    let path = format!("/v1/session/{session}/authorize");
    stand.post(agent, &path, leaking(tool)).await
}

/// The same of a tool that nobody has.
async fn authorize_unknown(stand: &Stand, agent: &Holder, session: &str, tool: &str) {
    let path = format!("/v1/session/{session}/authorize");
    stand
        .refuse(agent, &path, leaking(tool), StatusCode::NOT_FOUND)
        .await;
}

async fn recorded(stand: &Stand, event: &str) -> Vec<Value> {
    let auditor = stand.holder(Role::Auditor, "ada", None).await;
    let records = stand
        .get(&auditor, &format!("/v1/provenance?event={event}&limit=200"))
        .await;
    records["records"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_tool_over_mcp_is_looked_at_once() {
    let stand = gateway().await;
    let operator = operator(&stand).await;
    assert!(reviews(&stand, &operator, "all", "new_tool").await.is_empty());
    let mut client = Client::greet(&stand).await;
    client.ask("tools/list", json!({})).await;
    let open = reviews(&stand, &operator, "open", "new_tool").await;
    let declared = of(&open, "search");
    assert_eq!(
        (&declared["ceiling"], &declared["seen"], &declared["state"]),
        (&json!("public"), &json!(1), &json!("open"))
    );
    assert_eq!(declared["now"]["declared"], true, "{declared}");
    let undeclared = open.iter().find(|review| review["now"]["declared"] == false);
    let undeclared = undeclared.unwrap_or_else(|| panic!("{open:?}"));
    assert_eq!(
        (&undeclared["class"], &undeclared["ceiling"]),
        (&json!("confidential"), &json!("public"))
    );
    let on_record = recorded(&stand, "class_review_opened").await;
    assert_eq!(on_record.len(), open.len());

    let settled = settle(&stand, &operator, declared, "only public pages").await;
    assert_eq!(
        (
            &settled["state"],
            &settled["verdict"],
            &settled["settled_by"],
            &settled["settled_reason"]
        ),
        (
            &json!("settled"),
            &json!("assigned-right"),
            &json!("olga"),
            &json!("only public pages")
        )
    );
    // Listed again, in this session and in another: nothing is new any more.
    client.ask("tools/list", json!({})).await;
    Client::greet(&stand).await.ask("tools/list", json!({})).await;
    let left = reviews(&stand, &operator, "open", "new_tool").await;
    assert_eq!(left.len(), open.len() - 1);
    assert!(left.iter().all(|review| review["seen"] == 1), "{left:?}");
    let settled = recorded(&stand, "class_review_settled").await;
    assert_eq!(settled.len(), 1);
    assert_eq!(settled[0]["event"]["source"], "search", "{settled:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_tool_is_looked_at_again() {
    let directory = tempfile::tempdir().unwrap();
    let changed = directory.path().join("changed").to_str().unwrap().to_owned();
    let servers = vec![server("scripted", true, scripted(&[changed]))];
    let stand = Stand::start_mcp(Setting::default(), policy(""), servers, options()).await;
    let operator = operator(&stand).await;
    let mut client = Client::greet(&stand).await;
    client.ask("tools/list", json!({})).await;
    assert!(
        reviews(&stand, &operator, "open", "changed_tool")
            .await
            .is_empty()
    );
    client.call("change", json!({})).await;
    for _ in 0..2 {
        client.ask("tools/list", json!({})).await;
        let open = reviews(&stand, &operator, "open", "changed_tool").await;
        let echo = of(&open, "echo");
        assert_eq!(
            (&echo["class"], &echo["seen"]),
            (&json!("public"), &json!(1)),
            "one change is one change, however often it is listed"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leak_over_http_is_counted_and_not_doubled() {
    let stand = Stand::start().await;
    let operator = operator(&stand).await;
    let agent = stand.alice().await;
    let session = stand.open(&agent).await;
    for seen in 1..=3 {
        let denied = authorize(&stand, &agent, &session, "web_search").await;
        assert_eq!(denied["decision"], "deny", "{denied}");
        let open = reviews(&stand, &operator, "open", "pii_leak_risk").await;
        assert_eq!(open.len(), 1, "{open:?}");
        let review = of(&open, "web_search");
        assert_eq!(
            (&review["seen"], &review["class"], &review["ceiling"]),
            (&json!(seen), &json!("public"), &json!("public"))
        );
    }
    assert_eq!(recorded(&stand, "class_review_opened").await.len(), 1);
    assert_eq!(recorded(&stand, "pii_egress_block").await.len(), 3);

    // What is settled and happens again is another question.
    let open = reviews(&stand, &operator, "open", "pii_leak_risk").await;
    settle(&stand, &operator, &open[0], "it must stay closed").await;
    authorize(&stand, &agent, &session, "web_search").await;
    let again = reviews(&stand, &operator, "open", "pii_leak_risk").await;
    assert_eq!(of(&again, "web_search")["seen"], 1);

    // Where the data came from is looked at too, and names that nobody has are one source.
    let path = format!("/v1/session/{session}/responses");
    let body = json!({"tool": "search_email", "content": "minutes of the meeting"});
    stand.post(&agent, &path, body).await;
    for tool in ["no_such_tool", "nor_this_one"] {
        authorize_unknown(&stand, &agent, &session, tool).await;
    }
    let denied = authorize(&stand, &agent, &session, "slack_post").await;
    assert_eq!(denied["decision"], "deny", "{denied}");
    let open = reviews(&stand, &operator, "open", "pii_leak_risk").await;
    assert_eq!(open.len(), 4, "{open:?}");
    assert_eq!(of(&open, "search_email")["seen"], 3);
    assert_eq!(of(&open, "slack_post")["seen"], 1);
    let unknown = of(&open, "(unknown tool)");
    assert_eq!(
        (&unknown["seen"], &unknown["class"], &unknown["now"]),
        (&json!(2), &Value::Null, &Value::Null)
    );
}

/// A session in which this dataset is.
async fn with_dataset(stand: &Stand, agent: &Holder, dataset: &str) -> String {
    let session = stand.open(agent).await;
    let body = json!({"name": dataset, "sensitivity": "internal"});
    stand
        .post(agent, &format!("/v1/session/{session}/datasets"), body)
        .await;
    session
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_callers_make_up_are_one_source() {
    let stand = Stand::start().await;
    let operator = operator(&stand).await;
    let agent = stand.alice().await;
    for dataset in ["quarter_1", "quarter_2", "egress:a.example:443"] {
        let session = with_dataset(&stand, &agent, dataset).await;
        authorize(&stand, &agent, &session, "web_search").await;
        let child = json!({"parent": session});
        let child = stand.post(&agent, "/v1/sessions", child).await;
        let child = child["session_id"].as_str().unwrap();
        authorize(&stand, &agent, child, "web_search").await;
    }
    // A rise that nothing here knows the source of any more, as after a change of the tools.
    let session = stand.open(&agent).await;
    let entry = Entry {
        class: Class::Internal,
        kinds: Kinds::NONE,
        source: Name::parse("a_tool_of_old").unwrap(),
        at: Moment(1),
    };
    let id = Ident::parse(&session).unwrap();
    stand.store.raise(&id, entry).await.unwrap();
    authorize(&stand, &agent, &session, "web_search").await;
    let open = reviews(&stand, &operator, "open", "pii_leak_risk").await;
    assert_eq!(open.len(), 4, "{open:?}");
    for (source, seen) in [
        ("(dataset)", 3),
        ("(session)", 3),
        ("(unlisted)", 1),
        ("web_search", 7),
    ] {
        assert_eq!(of(&open, source)["seen"], seen, "{source}: {open:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_open_is_counted_though_there_is_no_room_for_the_rest() {
    let stand = Stand::start().await;
    let operator = operator(&stand).await;
    let agent = stand.alice().await;
    let session = stand.open(&agent).await;
    authorize(&stand, &agent, &session, "web_search").await;
    for number in 1..1_000 {
        let review = ClassReview {
            id: Ident::parse(&format!("review_{number}")).unwrap(),
            source: Name::parse(&format!("tool_{number}")).unwrap(),
            cause: ReviewCause::PiiLeakRisk,
            assigned: None,
            opened_at: Moment(0),
            seen_at: Moment(0),
            seen: 1,
            settled: None,
            place: 0,
        };
        stand.store.open_review(review, 1_000).await.unwrap();
    }
    let session = with_dataset(&stand, &agent, "quarter_1").await;
    authorize(&stand, &agent, &session, "web_search").await;
    let open = reviews(&stand, &operator, "open", "pii_leak_risk").await;
    assert_eq!(of(&open, "web_search")["seen"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_that_shows_personal_data_is_a_leak_too() {
    let stand = Stand::start().await;
    let operator = operator(&stand).await;
    let agent = stand.alice().await;
    for (source, is_private) in [("output", false), ("search_email", true)] {
        let session = stand.open(&agent).await;
        if is_private {
            let body = json!({"tool": source, "content": "minutes of the meeting"});
            stand
                .post(&agent, &format!("/v1/session/{session}/responses"), body)
                .await;
        }
        let body = json!({"text": format!("ask {CANARY}"), "recipient_role": "human-operator"});
        let held = stand
            .post(&agent, &format!("/v1/session/{session}/output"), body)
            .await;
        assert_eq!(held["decision"], "hold", "{held}");
        let open = reviews(&stand, &operator, "open", "pii_leak_risk").await;
        assert_eq!(of(&open, source)["seen"], 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_settle_and_others_look_at_most() {
    let stand = Stand::start().await;
    let operator = operator(&stand).await;
    let (agent, admin) = (stand.alice().await, stand.admin().await);
    let connector = stand.holder(Role::Connector, "wires", None).await;
    let reviewer = stand.holder(Role::PiiAuthorizedReviewer, "rita", None).await;
    let auditor = stand.holder(Role::Auditor, "adele", None).await;
    let session = stand.open(&agent).await;
    authorize(&stand, &agent, &session, "web_search").await;
    authorize(&stand, &agent, &session, "slack_post").await;
    let open = reviews(&stand, &operator, "open", "pii_leak_risk").await;
    let path = |source| {
        let review = of(&open, source);
        format!("/v1/class-reviews/{}", review["review_id"].as_str().unwrap())
    };
    let body = json!({"verdict": "changed", "reason": "now pii"});
    for outsider in [&agent, &connector, &reviewer, &auditor] {
        let refused = stand
            .refuse(outsider, &path("web_search"), body.clone(), StatusCode::FORBIDDEN)
            .await;
        assert!(
            refused["detail"]
                .as_str()
                .unwrap()
                .contains("settle class reviews")
        );
    }
    for outsider in [&agent, &connector] {
        let listed = stand.send(outsider, Method::GET, "/v1/class-reviews", None).await;
        problem(listed, StatusCode::FORBIDDEN).await;
    }
    for looker in [&reviewer, &auditor, &admin] {
        assert_eq!(reviews(&stand, looker, "open", "pii_leak_risk").await.len(), 2);
    }
    for (body, at, status) in [
        (
            json!({"verdict": "changed", "reason": " "}),
            "web_search",
            StatusCode::UNPROCESSABLE_ENTITY,
        ),
        (
            json!({"verdict": "perhaps", "reason": "x"}),
            "web_search",
            StatusCode::UNPROCESSABLE_ENTITY,
        ),
        (
            json!({"verdict": "changed", "reason": "x".repeat(501)}),
            "web_search",
            StatusCode::UNPROCESSABLE_ENTITY,
        ),
    ] {
        stand.refuse(&operator, &path(at), body, status).await;
    }
    let nobody = "/v1/class-reviews/review_nobody";
    stand
        .refuse(&operator, nobody, body.clone(), StatusCode::NOT_FOUND)
        .await;
    let bad = stand
        .send(&operator, Method::GET, "/v1/class-reviews?state=odd", None)
        .await;
    problem(bad, StatusCode::UNPROCESSABLE_ENTITY).await;
    assert_eq!(reviews(&stand, &operator, "open", "pii_leak_risk").await.len(), 2);

    for (by, source) in [(&operator, "web_search"), (&admin, "slack_post")] {
        let settled = stand.post(by, &path(source), body.clone()).await;
        assert_eq!(settled["verdict"], "changed", "{settled}");
        let twice = stand
            .refuse(by, &path(source), body.clone(), StatusCode::CONFLICT)
            .await;
        assert_eq!(twice["type"], "urn:tidegate:problem:class-review-settled");
    }
    assert!(
        reviews(&stand, &operator, "open", "pii_leak_risk")
            .await
            .is_empty()
    );
    let page = stand
        .get(&operator, "/v1/class-reviews?state=settled&limit=1")
        .await;
    assert_eq!(page["reviews"][0]["source"], "slack_post", "newest first: {page}");
    let next = page["next"].as_str().unwrap();
    let page = stand
        .get(
            &operator,
            &format!("/v1/class-reviews?state=settled&limit=1&cursor={next}"),
        )
        .await;
    assert_eq!(page["reviews"][0]["source"], "web_search", "{page}");
    assert_eq!(page["next"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_value_is_in_a_review() {
    let stand = Stand::start().await;
    let operator = operator(&stand).await;
    let agent = stand.alice().await;
    let session = stand.open(&agent).await;
    let dataset = json!({"name": CANARY, "sensitivity": "internal"});
    stand
        .post(&agent, &format!("/v1/session/{session}/datasets"), dataset)
        .await;
    authorize(&stand, &agent, &session, "web_search").await;
    authorize_unknown(&stand, &agent, &session, CANARY).await;
    let open = reviews(&stand, &operator, "open", "pii_leak_risk").await;
    assert_eq!(of(&open, "(dataset)")["seen"], 2, "{open:?}");
    let reason = format!("I asked {CANARY}");
    settle(&stand, &operator, of(&open, "web_search"), &reason).await;
    let all = reviews(&stand, &operator, "all", "pii_leak_risk").await;
    let on_record = [
        recorded(&stand, "class_review_opened").await,
        recorded(&stand, "class_review_settled").await,
    ];
    let mut browser = Browser::of(&stand, &operator).await;
    let page = browser.get("/console/reviews?show=settled").await.body;
    for shown in [format!("{all:?}"), format!("{on_record:?}"), page] {
        assert!(
            shown.contains("web_search") && !shown.contains("canary"),
            "{shown}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_tool_that_cannot_be_named_is_asked_about_once() {
    let stand = Stand::start().await;
    let operator = operator(&stand).await;
    let tools = ["one", "two"].map(|who| Name::parse(&format!("mail_{who}.{CANARY}")).unwrap());
    stand.engine.review_new_tools(&tools).await;
    let open = reviews(&stand, &operator, "open", "new_tool").await;
    let named = |review: &Value| {
        let source = review["source"].as_str().unwrap();
        let digits = source
            .strip_prefix("(unnameable ")
            .unwrap_or_else(|| panic!("{source}"));
        let digits = digits.strip_suffix(')').unwrap();
        assert!(
            digits.len() == 12 && digits.bytes().all(|b| b.is_ascii_hexdigit()),
            "{source}"
        );
        digits.to_owned()
    };
    let named: BTreeSet<_> = open.iter().map(named).collect();
    assert_eq!((open.len(), named.len()), (2, 2), "{open:?}");
    for review in &open {
        settle(&stand, &operator, review, "looked").await;
    }
    // What was looked at is not new again.
    stand.engine.review_new_tools(&tools).await;
    assert!(reviews(&stand, &operator, "open", "new_tool").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_console_shows_and_settles() {
    let stand = Stand::start().await;
    let operator = operator(&stand).await;
    let agent = stand.alice().await;
    let session = stand.open(&agent).await;
    authorize(&stand, &agent, &session, "web_search").await;
    let open = reviews(&stand, &operator, "open", "pii_leak_risk").await;
    let id = open[0]["review_id"].as_str().unwrap();
    let path = format!("/console/reviews/{id}");

    let auditor = stand.holder(Role::Auditor, "adele", None).await;
    let mut looking = Browser::of(&stand, &auditor).await;
    let page = looking.get("/console/reviews").await;
    assert!(
        page.body.contains("web_search") && !page.body.contains(&path),
        "{}",
        page.body
    );
    let form = [
        ("csrf", page.csrf()),
        ("verdict", "assigned-right".to_owned()),
        ("reason", "mine".to_owned()),
    ];
    let form: Vec<_> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(looking.post(&path, &form).await.status, StatusCode::FORBIDDEN);

    let mut browser = Browser::of(&stand, &operator).await;
    let page = browser.get("/console/reviews").await;
    assert!(
        page.body.contains(&path) && page.body.contains("leak stopped"),
        "{}",
        page.body
    );
    let csrf = page.csrf();
    let blank = [("csrf", csrf.as_str()), ("verdict", "changed"), ("reason", " ")];
    let again = browser.post(&path, &blank).await;
    assert_eq!(again.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(again.body.contains("1 to 500 characters"), "{}", again.body);
    let foreign = [("csrf", "0"), ("verdict", "changed"), ("reason", "now pii")];
    assert_eq!(browser.post(&path, &foreign).await.status, StatusCode::FORBIDDEN);
    assert_eq!(reviews(&stand, &operator, "open", "pii_leak_risk").await.len(), 1);
    let form = [
        ("csrf", csrf.as_str()),
        ("verdict", "changed"),
        ("reason", "now pii"),
    ];
    browser.post(&path, &form).await;
    let settled = reviews(&stand, &operator, "settled", "pii_leak_risk").await;
    assert_eq!(
        (&settled[0]["verdict"], &settled[0]["settled_by"]),
        (&json!("changed"), &json!("olga"))
    );
    let page = browser.get("/console/reviews?show=settled").await;
    assert!(page.body.contains("now pii"), "{}", page.body);
}
