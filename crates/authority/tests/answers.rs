//! What a real OpenFGA server answers: grants of every sort, tags, changes that are taken up while the gateway runs.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod stand;

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};
use stand::{Store, may_use, server};
use tidegate_authority::{Consistency, OpenFga, Settings, model};
use tidegate_core::Name;
use tidegate_engine::Authority;

const SERVER: &str = "TIDEGATE_TEST_OPENFGA";
/// A user, an agent and a session.
type Who = (&'static str, &'static str, &'static str);

const ALICE: Who = ("alice", "bot", "s1");

fn names(names: &[&str]) -> HashSet<Name> {
    names.iter().map(|name| Name::parse(name).unwrap()).collect()
}

#[tokio::test]
async fn leave_is_given_to_agents_users_teams_and_sessions() {
    let Some(url) = server(SERVER) else { return };
    let everyone: [Who; 5] = [
        ALICE,
        ("alice", "bot", "s9"),
        ("alice", "other", "s9"),
        ("bob", "bot", "s2"),
        ("bob", "other", "s3"),
    ];
    let cases: [(&str, &[Who]); 6] = [
        ("agent:*", &everyone),
        ("agent:alice/bot", &everyone[..2]),
        ("user:alice#agent", &everyone[..3]),
        ("session:s1#agent", &everyone[..1]),
        ("team:sales#agent", &everyone[3..]),
        ("user:nobody#agent", &[]),
    ];
    for (who, may) in cases {
        let store = Store::prepared(&url, &[]);
        store.write(&[
            (who, "can_use", "tool:web_search"),
            ("user:bob", "member", "team:sales"),
        ]);
        let authority = store.authority();
        for subject in everyone {
            let answer = may_use(&authority, subject, &["web_search", "slack_post"])
                .await
                .unwrap();
            assert_eq!(answer, [may.contains(&subject), false], "{who} {subject:?}");
        }
    }
}

#[tokio::test]
async fn many_tools_and_odd_names_are_asked_about_in_batches() {
    let Some(url) = server(SERVER) else { return };
    let store = Store::prepared(&url, &[]);
    let odd = [
        "crm.lookup",
        "sql:patients",
        "Q4 numbers",
        "a#b",
        "*",
        "100%",
        "données",
    ];
    for name in odd {
        let object = tidegate_authority::tool_id(&Name::parse(name).unwrap()).unwrap();
        store.write(&[
            ("user:alice#agent", "can_use", &object),
            (model::SYSTEM, "is_external", &object),
        ]);
    }
    let many: Vec<String> = (0..120).map(|number| format!("tool-{number}")).collect();
    store.write(&[
        ("user:alice#agent", "can_use", "tool:tool-7"),
        ("user:alice#agent", "can_use", "tool:tool-119"),
    ]);
    let too_long = "#".repeat(150);
    let asked: Vec<&str> = many
        .iter()
        .map(String::as_str)
        .chain(odd)
        .chain([too_long.as_str()])
        .collect();
    let authority = store.authority();
    let answer = may_use(&authority, ALICE, &asked).await.unwrap();
    let may: Vec<_> = asked
        .iter()
        .zip(&answer)
        .filter(|(_, may)| **may)
        .map(|(tool, _)| *tool)
        .collect();
    assert_eq!(may, [&["tool-7", "tool-119"][..], &odd].concat());
    let tagged = authority.tags().await.unwrap();
    assert!(names(&odd).is_subset(&tagged.external), "{:?}", tagged.external);
}

#[tokio::test]
async fn tags_are_listed_and_a_changed_one_is_taken_up() {
    let Some(url) = server(SERVER) else { return };
    for consistency in [Consistency::MinimizeLatency, Consistency::HigherConsistency] {
        let store = Store::prepared(&url, &[]);
        let authority = OpenFga::new(Settings {
            consistency,
            ..store.settings.clone()
        });
        let tagged = authority.tags().await.unwrap();
        let external = ["web_search", "slack_post", "github_create_pr", "gmail_send"];
        assert_eq!(tagged.external, names(&external));
        assert_eq!(tagged.internal_sources, names(&["search_email"]));
        store.delete(&[(model::SYSTEM, "is_external", "tool:web_search")]);
        store.write(&[(model::SYSTEM, "is_internal_source", "tool:slack_post")]);
        let tagged = authority.tags().await.unwrap();
        assert_eq!(tagged.external, names(&external[1..]));
        assert_eq!(tagged.internal_sources, names(&["search_email", "slack_post"]));
    }
}

#[tokio::test]
async fn a_tuple_that_goes_is_gone_when_the_cache_has_had_its_time() {
    let Some(url) = server(SERVER) else { return };
    let store = Store::prepared(&url, &["user:alice"]);
    let life = Duration::from_millis(300);
    let authority = OpenFga::new(Settings {
        cache_ttl: life,
        ..store.settings.clone()
    });
    assert_eq!(may_use(&authority, ALICE, &["web_search"]).await.unwrap(), [true]);
    assert!(authority.tags().await.unwrap().external.len() > 1);
    store.delete(&[
        ("user:alice#agent", "can_use", "tool:web_search"),
        (model::SYSTEM, "is_external", "tool:web_search"),
    ]);
    tokio::time::sleep(life).await;
    assert_eq!(
        may_use(&authority, ALICE, &["web_search"]).await.unwrap(),
        [false]
    );
    assert!(!authority.tags().await.unwrap().external.contains("web_search"));
}

#[tokio::test]
async fn a_model_that_is_written_meanwhile_is_taken_up_unless_one_is_named() {
    let Some(url) = server(SERVER) else { return };
    let store = Store::prepared(&url, &["user:alice"]);
    let newest = store.authority();
    let first = store.write_model(serde_json::from_str(model::JSON).unwrap());
    let named = OpenFga::new(Settings {
        model: Some(first),
        ..store.settings.clone()
    });
    assert_eq!(may_use(&newest, ALICE, &["web_search"]).await.unwrap(), [true]);
    // The model of the seed alone: nothing but agents may use a tool, and nothing says who acts for whom.
    store.write_model(seed_model());
    store.write(&[("agent:alice/bot", "can_use", "tool:slack_post")]);
    let tools = ["web_search", "slack_post"];
    assert_eq!(may_use(&newest, ALICE, &tools).await.unwrap(), [false, true]);
    assert_eq!(may_use(&named, ALICE, &tools).await.unwrap(), [true, true]);
}

/// A tool's three relations and nothing else.
fn seed_model() -> Value {
    let direct = |kind: &str| json!({"directly_related_user_types": [{"type": kind}]});
    let this = json!({"this": {}});
    json!({"schema_version": "1.1", "type_definitions": [
        {"type": "agent"},
        {"type": "system"},
        {
            "type": "tool",
            "relations": {"can_use": this, "is_external": this, "is_internal_source": this},
            "metadata": {"relations": {
                "can_use": direct("agent"),
                "is_external": direct("system"),
                "is_internal_source": direct("system"),
            }},
        },
    ]})
}
