//! Preparing a store on a real OpenFGA server.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod stand;

use stand::{Store, control, server, unused_name};
use tidegate_authority::bootstrap::Wanted;
use tidegate_authority::{CallError, Client, Settings, model};
use tidegate_core::{Name, Tool, ToolFacts};

const SERVER: &str = "TIDEGATE_TEST_OPENFGA";

#[test]
fn what_is_missing_is_written_once() {
    let Some(url) = server(SERVER) else { return };
    let client = Client::new(Settings::new(&url, &unused_name()));
    let wanted = Wanted::of(&control(), &["user:alice".parse().unwrap()]).unwrap();
    let first = client.compare(&wanted).unwrap();
    assert_eq!((first.store.as_ref(), first.model.as_ref()), (None, None));
    assert_eq!(first.missing.len(), 5 + 4);
    let (store, model) = client.apply(&first, false).unwrap();

    let second = client.compare(&wanted).unwrap();
    assert!(second.is_complete() && second.extra.is_empty(), "{second:?}");
    assert_eq!((second.store, second.model), (Some(store), Some(model)));

    let fewer = control().map(|tool| Tool::declared(ToolFacts::named(tool.name.clone())));
    let third = client.compare(&Wanted::of(&fewer, &[]).unwrap()).unwrap();
    let shown: Vec<_> = third.extra.iter().map(ToString::to_string).collect();
    assert_eq!(shown.len(), 4);
    assert!(
        shown.contains(&"tool:web_search#is_external@system:tidegate".to_owned()),
        "{shown:?}"
    );
    client.apply(&third, false).unwrap();
    assert_eq!(client.compare(&wanted).unwrap().missing, []);
    client
        .apply(&client.compare(&Wanted::of(&fewer, &[]).unwrap()).unwrap(), true)
        .unwrap();
    assert_eq!(client.compare(&wanted).unwrap().missing.len(), 4);
}

#[test]
fn hundreds_of_tools_are_written_and_read_in_pieces() {
    let Some(url) = server(SERVER) else { return };
    let external = |number: usize| {
        Tool::declared(ToolFacts {
            external: true,
            ..ToolFacts::named(Name::parse(&format!("tool-{number}")).unwrap())
        })
    };
    let control = tidegate_core::ControlList::new((0..260).map(external)).unwrap();
    let client = Client::new(Settings::new(&url, &unused_name()));
    let wanted = Wanted::of(&control, &["agent:*".parse().unwrap()]).unwrap();
    client.apply(&client.compare(&wanted).unwrap(), false).unwrap();
    assert!(client.compare(&wanted).unwrap().is_complete());
}

#[test]
fn a_model_is_written_where_none_fits_and_never_beside_a_named_one() {
    let Some(url) = server(SERVER) else { return };
    let store = Store::empty(&url);
    let unfit = store
        .write_model(serde_json::json!({"schema_version": "1.1", "type_definitions": [{"type": "user"}]}));
    let wanted = Wanted::of(&control(), &[]).unwrap();
    let client = Client::new(store.settings.clone());
    assert_eq!(client.compare(&wanted).unwrap().model, None);
    for (model, error) in [
        (unfit.as_str(), CallError::UnfitModel),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV", CallError::NoModel),
    ] {
        let named = Client::new(Settings {
            model: Some(model.to_owned()),
            ..store.settings.clone()
        });
        assert_eq!(named.compare(&wanted).unwrap_err(), error);
    }
    client.apply(&client.compare(&wanted).unwrap(), false).unwrap();
    assert!(client.compare(&wanted).unwrap().is_complete());
    let unknown = Client::new(Settings::new(&url, "01ARZ3NDEKTSV4RRFFQ69G5FAV"));
    assert_eq!(unknown.compare(&wanted).unwrap_err(), CallError::NoStore);
}

/// The text for people and the text for the API say the same: OpenFGA's own translator turns one into the other.
#[test]
fn both_texts_of_the_model_agree() {
    let Some(translator) = xtask::model::translator().unwrap() else {
        return;
    };
    let translated = translator.to_json(model::DSL).unwrap();
    let written: serde_json::Value = serde_json::from_str(model::JSON).unwrap();
    assert_eq!(translated, written);
}
