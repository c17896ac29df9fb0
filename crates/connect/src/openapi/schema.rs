//! Schemas as tools show them: whole, without references, and of a bounded size.

use serde_json::{Map, Value};

use super::document::Document;

/// How deep a schema is followed, and how many of its nodes are kept. What lies beyond may be anything.
const DEEPEST: usize = 10;
const MOST_NODES: usize = 2_000;

/// Words that say where a schema is from, and nothing of what fits it.
const LEFT_OUT: [&str; 6] = [
    "xml",
    "externalDocs",
    "discriminator",
    "$id",
    "$anchor",
    "$comment",
];

/// A schema with everything in it that it refers to.
pub(super) fn inlined(document: &Document, schema: &Value) -> Value {
    let mut nodes = 0;
    copy(document, schema, 0, &mut nodes)
}

fn copy(document: &Document, schema: &Value, depth: usize, nodes: &mut usize) -> Value {
    *nodes += 1;
    if depth > DEEPEST || *nodes > MOST_NODES {
        return anything();
    }
    match schema {
        Value::Object(members) if members.contains_key("$ref") => match document.resolve(schema) {
            Some(found) => copy(document, found, depth + 1, nodes),
            None => anything(),
        },
        Value::Object(members) => {
            let kept = members
                .iter()
                .filter(|(name, _)| !LEFT_OUT.contains(&name.as_str()) && !name.starts_with("x-"));
            let copied = kept.map(|(name, value)| (name.clone(), copy(document, value, depth + 1, nodes)));
            let mut copied: Map<_, _> = copied.collect();
            nullable(&mut copied);
            Value::Object(copied)
        }
        Value::Array(items) => items
            .iter()
            .map(|item| copy(document, item, depth + 1, nodes))
            .collect(),
        other => other.clone(),
    }
}

/// What 3.0 writes as a flag is a type elsewhere.
fn nullable(schema: &mut Map<String, Value>) {
    if schema.remove("nullable") != Some(Value::Bool(true)) {
        return;
    }
    if let Some(Value::String(kind)) = schema.get("type") {
        let kinds = vec![kind.clone(), "null".to_owned()];
        schema.insert("type".to_owned(), kinds.into());
    }
}

fn anything() -> Value {
    Value::Object(Map::new())
}
