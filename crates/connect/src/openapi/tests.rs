//! Documents and requests, without a server.

use std::path::PathBuf;

use proptest::prelude::*;

use super::*;

fn settings(document: &Value) -> (Settings, Document) {
    let paths = [("/guests/**", Class::Pii), ("/rooms", Class::Public)];
    let settings = Settings {
        name: Ident::parse("hotel").unwrap(),
        document: Place::File(PathBuf::new()),
        base_url: Some(Url::parse("https://api.example/v1/").unwrap()),
        headers: vec![("X-Key".to_owned(), "canary".to_owned())],
        tags: vec![("staff".to_owned(), Class::Internal)],
        paths: PathClasses::new(paths, Class::Confidential).unwrap(),
        fields: Vec::new(),
        operations: Vec::new(),
        external: true,
        ceiling: None,
        bounds: Bounds::STANDARD,
        ca_file: None,
    };
    (
        settings,
        Document::parse(document.to_string().as_bytes()).unwrap(),
    )
}

fn hotel() -> Value {
    json!({
        "openapi": "3.1.0",
        "servers": [{"url": "https://elsewhere.example"}],
        "paths": {
            "/guests/{id}": {
                "parameters": [{"$ref": "#/components/parameters/Id"}],
                "get": {"operationId": "guests.read one", "summary": "One guest", "responses": {}},
                "put": {
                    "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Guest"}}}},
                },
            },
            "/rooms": {"get": {
                "operationId": "rooms",
                "tags": ["staff"],
                "parameters": [
                    {"name": "kind", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
                    {"name": "X-Key", "in": "header"},
                    {"name": "X-Trace", "in": "header"},
                    {"name": "body", "in": "query"},
                ],
            }},
            "/upload": {"post": {"requestBody": {"required": true, "content": {"image/png": {}}}}},
            "/rest": {"delete": {}},
        },
        "components": {
            "parameters": {"Id": {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}},
            "schemas": {"Guest": {
                "type": "object",
                "properties": {"name": {"type": "string", "nullable": true}, "friend": {"$ref": "#/components/schemas/Guest"}},
            }},
        },
    })
}

fn operations() -> Vec<Operation> {
    let (settings, document) = settings(&hotel());
    operation::all(&document, &settings)
}

#[test]
fn operations_become_tools_with_the_classes_of_their_paths_and_tags() {
    let (settings, document) = settings(&hotel());
    let all = operation::all(&document, &settings);
    let told: Vec<_> = all
        .iter()
        .map(|operation| {
            let offer = operation.offer(&settings);
            (
                offer.tool.clone(),
                operation.class,
                offer.writes,
                offer.to_tool(Name::parse("x").unwrap()).ceiling,
            )
        })
        .collect();
    let tool = |name: &str, class, writes| (name.to_owned(), class, writes, Class::Public);
    assert_eq!(
        told,
        [
            tool("guests_read_one", Class::Pii, false),
            tool("put_guests_id", Class::Pii, true),
            tool("delete_rest", Class::Confidential, true),
            tool("rooms", Class::Internal, false),
        ]
    );
    let put = all[1].offer(&settings).input;
    assert_eq!(put["required"], json!(["id", "body"]));
    assert_eq!(
        put.pointer("/properties/body/properties/name/type"),
        Some(&json!(["string", "null"]))
    );
    assert!(!put.to_string().contains("$ref"));
    let rooms = all[3].offer(&settings).input;
    let names: Vec<_> = rooms["properties"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, ["X-Trace", "kind", "query_body"]);
}

#[test]
fn a_document_is_one_and_says_where_it_is() {
    for text in [
        "",
        "{}",
        "[]",
        r#"{"swagger": "2.0"}"#,
        r#"{"openapi": "4.0"}"#,
        "openapi: 3.0",
    ] {
        assert!(Document::parse(text.as_bytes()).is_err(), "{text}");
    }
    let (mut settings, document) = settings(&hotel());
    assert_eq!(
        document.base(&settings).unwrap().as_str(),
        "https://api.example/v1/"
    );
    settings.base_url = None;
    assert_eq!(
        document.base(&settings).unwrap().as_str(),
        "https://elsewhere.example/"
    );
    settings.document = Place::Url(Url::parse("https://docs.example/openapi.json").unwrap());
    assert!(document.base(&settings).unwrap_err().contains("another server"));
    for base in [
        "https://u:p@api.example/",
        "https://api.example/?a=b",
        "https://{host}.example/",
        "file:///etc",
    ] {
        settings.base_url = Url::parse(base).ok();
        assert!(document.base(&settings).is_err(), "{base}");
    }
}

/// The address that a call goes to.
fn address(operation: usize, arguments: Value) -> Result<String, Failure> {
    let base = Url::parse("https://api.example/v1/").unwrap();
    let headers = [("X-Key".to_owned(), "canary".to_owned())];
    let request = request::build(&operations()[operation], &base, &headers, arguments)?;
    assert_eq!(request.headers().get_all("x-key").iter().count(), 1);
    Ok(request.uri().to_string())
}

#[test]
fn a_parameter_stays_in_its_place() {
    for (id, expected) in [
        ("7", Some("https://api.example/v1/guests/7")),
        ("a/b", Some("https://api.example/v1/guests/a%2Fb")),
        ("../admin", Some("https://api.example/v1/guests/..%2Fadmin")),
        ("%2e%2e", Some("https://api.example/v1/guests/%252e%252e")),
        ("a?b#c", Some("https://api.example/v1/guests/a%3Fb%23c")),
        ("{id}", Some("https://api.example/v1/guests/%7Bid%7D")),
        ("..", None),
        (".", None),
        ("", None),
    ] {
        assert_eq!(address(0, json!({"id": id})).ok().as_deref(), expected, "{id}");
    }
    let query = json!({"kind": ["a&b", "c=d"], "query_body": true});
    assert_eq!(
        address(3, query).unwrap(),
        "https://api.example/v1/rooms?kind=a%26b&kind=c%3Dd&body=true"
    );
    for arguments in [
        json!({}),
        json!({"id": null}),
        json!({"id": {"a": 1}}),
        json!({"id": "1", "host": "evil.example"}),
        json!({"id": "1", "body": {}}),
        json!(["1"]),
    ] {
        assert!(address(0, arguments.clone()).is_err(), "{arguments}");
    }
    assert!(address(3, json!({"X-Trace": "a\r\nHost: evil"})).is_err());
}

proptest! {
    #[test]
    fn no_value_leads_elsewhere(id in "\\PC{1,20}") {
        if let Ok(address) = address(0, json!({"id": id})) {
            let rest = address.strip_prefix("https://api.example/v1/guests/").map(str::to_owned);
            prop_assert!(rest.is_some_and(|rest| !rest.contains(['/', '?', '#'])), "{}", address);
        }
    }
}
