//! What must hold of stubs and seals whatever the results, the declarations and the tools are.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod house;

use house::{House, sealed, sink, source};
use proptest::prelude::*;
use serde_json::{Value, json};
use tidegate_core::{Class, MAX_RAW, ToolFacts};

/// The places of a random result that may be declared, and the members that each covers.
const PATHS: [&str; 6] = ["a", "b.*", "b.x", "list.*.y", "list[].z", "**.deep"];

fn any_class() -> impl Strategy<Value = Class> {
    (0..5u8).prop_map(|rank| Class::from_rank(rank).unwrap())
}

/// A result with a different value at each place, and the values.
fn any_result() -> impl Strategy<Value = (Value, Vec<String>)> {
    proptest::collection::vec("[a-zA-ZäßЖ中\u{1f600}\"\\\\\n{}]{6,12}", 7).prop_map(|words| {
        let values: Vec<String> = words
            .iter()
            .enumerate()
            .map(|(n, word)| format!("q{n}{word}{n}q"))
            .collect();
        let v = &values;
        let result = json!({
            "a": v[0],
            "b": {"x": v[1], "y": v[2]},
            "list": [{"y": v[3], "z": v[4]}],
            "other": {"deep": v[5], "more": [v[6], 7, true, null]},
        });
        (result, values)
    })
}

/// The class of each value, from the plain meaning of the declarations.
fn classes(declared: &[Option<Class>], source: Class) -> [Class; 7] {
    let of = |fields: &[usize]| {
        fields
            .iter()
            .filter_map(|field| declared[*field])
            .max()
            .unwrap_or(source)
    };
    [
        of(&[0]),
        of(&[1, 2]),
        of(&[1]),
        of(&[3]),
        of(&[4]),
        of(&[5]),
        source,
    ]
}

fn written(value: &str) -> String {
    let quoted = Value::from(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn nothing_above_a_ceiling_reaches_a_tool(
        (result, values) in any_result(),
        declared in proptest::collection::vec(proptest::option::of(any_class()), PATHS.len()),
        returns in any_class(),
        graph in proptest::collection::vec((any_class(), any::<bool>()), 1..5),
        is_sealed in any::<bool>(),
    ) {
        let fields: Vec<(&str, Class)> = PATHS
            .iter()
            .zip(&declared)
            .filter_map(|(path, class)| class.map(|class| (*path, class.min(returns))))
            .collect();
        let declared: Vec<Option<Class>> = declared.iter().map(|class| class.map(|class| class.min(returns))).collect();
        let is_split = !fields.is_empty();
        let from = source("source", returns, &fields);
        let mut tools = vec![if is_sealed { sealed(from) } else { from }, sink("vault", Class::Secret)];
        for (number, (ceiling, is_sink)) in graph.iter().enumerate() {
            let facts = sink(&format!("tool{number}"), *ceiling);
            // A sink of public data is no sink that a configuration would take.
            tools.push(ToolFacts { sink: *is_sink && *ceiling > Class::Public, ..facts });
        }
        let classes = classes(&declared, returns);
        let directory = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let house = House::start(directory.path(), tools);
            let id = house.open("laws").await;
            let shown = house.shown(&id, "source", result.clone()).await;
            let label = house.label(&id).await;
            let text = shown.to_string();
            for (value, class) in values.iter().zip(classes) {
                let is_raw = text.contains(&written(value));
                prop_assert!(!is_raw || !is_sealed, "a sealed result shows {}", text);
                prop_assert!(!(is_raw && is_split && class > MAX_RAW), "{} is raw in {}", class, text);
                prop_assert!(!is_raw || label >= class, "the label is {} and {} is raw", label, class);
            }
            // Whatever the agent was shown, passed on to every tool there is.
            let arguments = json!({"all": shown, "inside": format!("<{text}>")});
            for (number, (ceiling, _)) in graph.iter().enumerate() {
                if let Ok(sent) = house.reaches(&id, &format!("tool{number}"), &arguments).await {
                    let sent = sent["all"].to_string();
                    for (value, class) in values.iter().zip(classes) {
                        prop_assert!(class <= *ceiling || !sent.contains(&written(value)), "{} in {}", class, sent);
                    }
                }
            }
            // Resolving then stubbing again is the identity.
            let sent = house.reaches(&id, "vault", &json!([shown])).await.unwrap();
            if is_sealed {
                let whole = house.reaches(&id, "vault", &shown["sealed"]).await.unwrap();
                prop_assert_eq!(&whole, &result);
            } else {
                prop_assert_eq!(&sent, &json!([result]));
            }
            prop_assert_eq!(&house.shown(&id, "source", result.clone()).await, &shown);
            Ok(())
        })?;
    }
}

#[test]
fn deep_and_huge_results_are_bounded() {
    let mut deep = json!("anna.schmidt@example.org");
    for level in 0..120 {
        deep = if level % 2 == 0 {
            json!([deep])
        } else {
            json!({"guest": deep})
        };
    }
    // Fifty megabytes in one text, with what must not pass at its very end.
    let mut huge = "the tide comes in and the tide goes out again. ".repeat((50 << 20) / 47);
    huge.push_str("write to anna.schmidt@example.org");
    let rows: Vec<Value> = (0..30_000)
        .map(|n| json!({"id": n, "who": format!("guest number {n}")}))
        .collect();
    let directory = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let tools = [
            source("docs", Class::Internal, &[]),
            source("guests", Class::Pii, &[("*.id", Class::Public)]),
            sealed(source("archive", Class::Pii, &[])),
            sink("draft", Class::Pii),
        ];
        let house = House::start(directory.path(), tools);
        let id = house.open("large").await;
        let shown = house.shown(&id, "docs", deep.clone()).await;
        assert!(shown.to_string().contains("{EMAIL_1}") && !shown.to_string().contains("anna"));
        assert_eq!(house.reaches(&id, "draft", &shown).await, Ok(deep));

        let handle = house.shown(&id, "archive", json!(huge)).await;
        assert!(handle.to_string().len() < 1_000);
        let sent = house.reaches(&id, "draft", &handle["sealed"]).await.unwrap();
        assert!(sent == json!(huge), "what was sealed is what is sent");

        // A session is given only so many stubs; what comes after them is withheld all the same.
        let shown = house.shown(&id, "guests", Value::Array(rows)).await;
        assert!(!shown.to_string().contains("guest number"));
        assert_eq!(shown[0]["who"], "{WHO_1}");
        assert_eq!(shown[29_999], json!({"id": 29_999, "who": "{WITHHELD}"}));
    });
}
