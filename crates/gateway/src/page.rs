//! A readable page for the API's document, made from the document itself, with nothing loaded from elsewhere.

use axum::response::Html;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;
use utoipa::openapi::OpenApi;

const STYLE: &str = "
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --accent: light-dark(#0b5c7d, #7cc7e6); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0 } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); text-transform: capitalize }
details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; padding: .5rem .8rem }
summary { cursor: pointer } code, pre { font: 14px/1.45 ui-monospace, monospace }
pre { background: var(--soft); padding: .7rem; border-radius: 6px; overflow-x: auto }
.method { display: inline-block; min-width: 3.5rem; font-weight: 700; color: var(--accent) }
table { border-collapse: collapse; width: 100% } td { border-top: 1px solid var(--line); padding: .3rem .6rem .3rem 0; vertical-align: top }
";

/// Renders the document once, at start.
pub(crate) fn render(document: &OpenApi) -> Html<String> {
    let document = serde_json::to_value(document).unwrap_or_default();
    Html(page(&document).into_string())
}

fn page(document: &Value) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Tidegate API" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Tidegate API" }
                p { (text(document, "/info/description")) }
                p { "Send " code { "Authorization: Bearer TOKEN" } " with every call under " code { "/v1" } ". Errors are "
                    code { "application/problem+json" } ". The machine-readable document is " a href="/openapi.json" { "/openapi.json" } "." }
                @for group in ["sessions", "planning", "calls", "gates", "class reviews", "context", "record", "operation"] {
                    h2 { (group) }
                    @for (path, method, operation) in operations(document, group) { (entry(document, path, method, operation)) }
                }
            }
        }
    }
}

fn operations<'a>(document: &'a Value, group: &str) -> Vec<(&'a str, &'a str, &'a Value)> {
    let paths = document.pointer("/paths").and_then(Value::as_object);
    let all = paths.into_iter().flatten().flat_map(|(path, item)| {
        let methods = item.as_object().into_iter().flatten();
        methods.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
    });
    all.filter(|(_, _, operation)| text(operation, "/tags/0") == group)
        .collect()
}

fn entry(document: &Value, path: &str, method: &str, operation: &Value) -> Markup {
    let body = operation.pointer("/requestBody/content/application~1json/schema");
    let responses = operation.pointer("/responses").and_then(Value::as_object);
    html! {
        details id=(text(operation, "/operationId")) {
            summary { span.method { (method.to_uppercase()) } code { (path) } " — " (text(operation, "/summary")) }
            p { (text(operation, "/description")) }
            @if let Some(schema) = body { p { "Takes" } (fields(document, schema)) }
            @for (status, response) in responses.into_iter().flatten() {
                p { strong { (status) } " " (text(response, "/description")) }
                @if let Some(schema) = answer_schema(response) { (fields(document, schema)) }
            }
        }
    }
}

fn answer_schema(response: &Value) -> Option<&Value> {
    response.pointer("/content/application~1json/schema")
}

fn fields(document: &Value, schema: &Value) -> Markup {
    let schema = resolve(document, schema);
    let properties = schema.pointer("/properties").and_then(Value::as_object);
    html! {
        table {
            @for (name, field) in properties.into_iter().flatten() {
                tr { td { code { (name) } } td { code { (shape(field)) } } td { (text(field, "/description")) } }
            }
        }
    }
}

fn resolve<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema
        .pointer("/$ref")
        .and_then(Value::as_str)
        .and_then(|link| link.strip_prefix('#'));
    target
        .and_then(|pointer| document.pointer(pointer))
        .unwrap_or(schema)
}

fn shape(field: &Value) -> String {
    if let Some(link) = field.pointer("/$ref").and_then(Value::as_str) {
        return link.rsplit('/').next().unwrap_or_default().to_owned();
    }
    match field.pointer("/type") {
        Some(Value::String(kind)) if kind == "array" => {
            let item = field.pointer("/items").map(shape).unwrap_or_default();
            format!("[{item}]")
        }
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => kinds
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(" | "),
        _ => "any".to_owned(),
    }
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
