//! Operations: what each is called, what it takes, and what it counts as.

use serde_json::{Map, Value, json};
use tidegate_core::Class;

use super::Settings;
use super::document::Document;
use super::schema::inlined;
use crate::Offer;

/// The most operations of one document.
const MOST: usize = 1_000;
const LONGEST_NAME: usize = 80;
const LONGEST_DESCRIPTION: usize = 2_000;

/// Headers that are not for agents to set: who asks, in which form, and how the message travels.
const OWN_HEADERS: [&str; 10] = [
    "accept",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "host",
    "proxy-authorization",
    "te",
    "transfer-encoding",
];

/// Something that can be asked of the API.
pub(super) struct Operation {
    pub(super) name: String,
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Body>,
    pub(super) class: Class,
    title: String,
    description: String,
}

/// A parameter.
pub(super) struct Parameter {
    /// What the tool calls it.
    pub(super) argument: String,
    /// What the API calls it.
    pub(super) name: String,
    pub(super) place: Where,
    pub(super) required: bool,
    /// Whether each element of a list is a parameter of its own.
    pub(super) explode: bool,
    schema: Value,
}

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    Path,
    Query,
    Header,
}

/// The body of a request.
pub(super) struct Body {
    pub(super) kind: Kind,
    pub(super) content_type: String,
    pub(super) required: bool,
    schema: Value,
}

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Json,
    Form,
    Text,
}

/// The operations of a document. One that needs what cannot be given, such as a file, is left out.
pub(super) fn all(document: &Document, settings: &Settings) -> Vec<Operation> {
    let mut found: Vec<Operation> = Vec::new();
    for (path, item) in document.paths() {
        for method in ["get", "post", "put", "patch", "delete"] {
            let Some(said) = item.get(method) else { continue };
            if found.len() == MOST {
                return found;
            }
            let Some(mut operation) = read(document, settings, (path, item), (method, said)) else {
                continue;
            };
            let (first, mut number) = (operation.name.clone(), 2);
            while found.iter().any(|other| other.name == operation.name) {
                operation.name = format!("{first}_{number}");
                number += 1;
            }
            found.push(operation);
        }
    }
    found
}

fn read(
    document: &Document,
    settings: &Settings,
    (path, item): (&str, &Value),
    (method, said): (&str, &Value),
) -> Option<Operation> {
    let mut parameters = Vec::new();
    for list in [said, item] {
        for parameter in list
            .get("parameters")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let parameter = document.resolve(parameter)?;
            if let Some(read) = read_parameter(document, settings, parameter)? {
                let is_known = |other: &Parameter| other.name == read.name && other.place == read.place;
                if !parameters.iter().any(is_known) {
                    parameters.push(read);
                }
            }
        }
    }
    let body = match said.get("requestBody") {
        Some(body) => read_body(document, document.resolve(body)?)?,
        None => None,
    };
    tell_apart(&mut parameters);
    let text = |name: &str| said.get(name).and_then(Value::as_str).unwrap_or_default().trim();
    let id = match text("operationId") {
        "" => format!("{method}{path}"),
        id => id.to_owned(),
    };
    let method = *["GET", "POST", "PUT", "PATCH", "DELETE"]
        .iter()
        .find(|known| known.eq_ignore_ascii_case(method))?;
    Some(Operation {
        name: plain(&id)?,
        method,
        path: path.to_owned(),
        parameters,
        body,
        class: class_of(settings, path, said),
        title: shortened(text("summary"), 120),
        description: shortened(text("description"), LONGEST_DESCRIPTION),
    })
}

/// The highest of what its tags and its path say; the default where neither says anything.
fn class_of(settings: &Settings, path: &str, said: &Value) -> Class {
    let tags = said.get("tags").and_then(Value::as_array).into_iter().flatten();
    let tags = tags.filter_map(Value::as_str).flat_map(|tag| {
        let same = settings.tags.iter().filter(move |(name, _)| name == tag);
        same.map(|(_, class)| *class)
    });
    let declared = tags.chain(settings.paths.declared(path)).max();
    declared.unwrap_or_else(|| settings.paths.of(path))
}

/// A parameter; nothing where agents do not set it, and no answer where the operation cannot be offered.
fn read_parameter(document: &Document, settings: &Settings, said: &Value) -> Option<Option<Parameter>> {
    let name = said.get("name").and_then(Value::as_str)?.to_owned();
    let required = said.get("required") == Some(&Value::Bool(true));
    let place = match said.get("in").and_then(Value::as_str)? {
        "path" => Where::Path,
        "query" => Where::Query,
        "header" => {
            let configured = settings
                .headers
                .iter()
                .any(|(own, _)| own.eq_ignore_ascii_case(&name));
            let is_own = OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str());
            if configured || is_own {
                return Some(None);
            }
            Where::Header
        }
        _ if required => return None,
        _ => return Some(None),
    };
    let schema = said.get("schema").map(|schema| inlined(document, schema));
    let mut schema = schema.unwrap_or_else(|| json!({}));
    if let (Some(schema), Some(description)) = (schema.as_object_mut(), said.get("description")) {
        schema.insert("description".to_owned(), description.clone());
    }
    Some(Some(Parameter {
        argument: name.clone(),
        name,
        place,
        required: required || place == Where::Path,
        explode: said.get("explode") != Some(&Value::Bool(false)) && place == Where::Query,
        schema,
    }))
}

/// Whether a media type is of a sort.
type Fits<'a> = &'a dyn Fn(&str) -> bool;

/// A body; no answer where one is needed that cannot be written.
fn read_body(document: &Document, said: &Value) -> Option<Option<Body>> {
    let required = said.get("required") == Some(&Value::Bool(true));
    let content = said.get("content").and_then(Value::as_object)?;
    let is_json = |kind: &str| kind == "application/json" || kind.ends_with("+json");
    let sorts: [(Kind, Fits<'_>); 3] = [
        (Kind::Json, &is_json),
        (Kind::Form, &|kind| kind == "application/x-www-form-urlencoded"),
        (Kind::Text, &|kind| kind.starts_with("text/")),
    ];
    for (kind, fits) in sorts {
        let base = |name: &str| {
            name.split(';')
                .next()
                .unwrap_or_default()
                .trim()
                .to_ascii_lowercase()
        };
        let found = content.iter().find(|(name, _)| fits(&base(name)));
        if let Some((name, media)) = found {
            let schema = media.get("schema").map(|schema| inlined(document, schema));
            return Some(Some(Body {
                kind,
                content_type: base(name),
                required,
                schema: schema.unwrap_or_else(|| json!({})),
            }));
        }
    }
    if required { None } else { Some(None) }
}

/// Two parameters of one name, or one that is called body, get the names of their places before their own.
fn tell_apart(parameters: &mut [Parameter]) {
    let names: Vec<_> = parameters
        .iter()
        .map(|parameter| parameter.name.clone())
        .collect();
    for parameter in parameters {
        let is_shared = names.iter().filter(|name| **name == parameter.name).count() > 1;
        if is_shared || parameter.name == "body" {
            let place = match parameter.place {
                Where::Path => "path",
                Where::Query => "query",
                Where::Header => "header",
            };
            parameter.argument = format!("{place}_{}", parameter.name);
        }
    }
}

/// A name of plain signs.
fn plain(id: &str) -> Option<String> {
    let mut name = String::new();
    for c in id.chars() {
        let sign = if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        };
        if sign != '_' || !name.ends_with('_') {
            name.push(sign);
        }
    }
    let name = name.trim_matches('_');
    let name: String = name.chars().take(LONGEST_NAME).collect();
    (!name.is_empty()).then_some(name)
}

fn shortened(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

impl Operation {
    /// The tool that it is offered as.
    pub(super) fn offer(&self, settings: &Settings) -> Offer {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for parameter in &self.parameters {
            properties.insert(parameter.argument.clone(), parameter.schema.clone());
            if parameter.required {
                required.push(Value::from(parameter.argument.clone()));
            }
        }
        if let Some(body) = &self.body {
            properties.insert("body".to_owned(), body.schema.clone());
            if body.required {
                required.push(Value::from("body"));
            }
        }
        let declared = settings.fields.iter().map(|(_, class)| *class);
        let description = [self.title.as_str(), self.description.as_str()]
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("\n");
        Offer {
            tool: self.name.clone(),
            title: if self.title.is_empty() {
                self.name.clone()
            } else {
                self.title.clone()
            },
            description: format!(
                "{} {} of \"{}\".\n{description}",
                self.method, self.path, settings.name
            )
            .trim()
            .to_owned(),
            input: json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            }),
            writes: self.method != "GET",
            external: settings.external,
            returns: declared.fold(self.class, Class::join),
            ceiling: settings.ceiling,
        }
    }
}
