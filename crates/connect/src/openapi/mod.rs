//! Web APIs: an OpenAPI document becomes tools, one for each operation.
//!
//! Where requests go is fixed when the document is read. An agent fills in parameters; each is encoded so that it stays one
//! parameter, and a request whose address came out other than the template says is not sent. Keys are the operator's:
//! they come from the environment, and an agent can neither see nor replace them.

mod document;
mod operation;
mod request;
mod schema;

use std::path::PathBuf;

use async_trait::async_trait;
use serde_json::{Value, json};
use tidegate_core::{Class, Cleared, FieldClasses, FieldPattern, Ident, Name};
use tokio::sync::Semaphore;
use url::Url;

use crate::http::{Answer, Http};
use crate::{Bounds, Brought, Connector, Failure, Offer, PathClasses};
use document::Document;
use operation::Operation;

/// What is configured of an API. It cannot print, since headers may hold keys.
pub struct Settings {
    /// What it is called.
    pub name: Ident,
    /// Where its document is.
    pub document: Place,
    /// Where its operations are, if not where the document says.
    pub base_url: Option<Url>,
    /// Headers that go with every request.
    pub headers: Vec<(String, String)>,
    /// Classes of operations by tag.
    pub tags: Vec<(String, Class)>,
    /// Classes of operations by path, and of those that nothing names.
    pub paths: PathClasses,
    /// The classes of parts of its answers.
    pub fields: Vec<(FieldPattern, Class)>,
    /// The operations that are offered, by name; all where none is named.
    pub operations: Vec<String>,
    /// Whether it carries what it is given out of the organisation.
    pub external: bool,
    /// The highest class that a call may hold; nothing where it follows from `external`.
    pub ceiling: Option<Class>,
    /// How much one call may cost.
    pub bounds: Bounds,
    /// Who signs the server's certificate, instead of those whom browsers trust.
    pub ca_file: Option<PathBuf>,
}

/// Where a document is.
pub enum Place {
    /// In a file.
    File(PathBuf),
    /// At an address.
    Url(Url),
}

/// An API that cannot be used as it is configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the API \"{name}\" cannot be used: {why}")]
pub struct OpenError {
    name: Ident,
    why: String,
}

/// A web API.
pub struct Api {
    name: Ident,
    dataset: Name,
    http: Http,
    base: Url,
    headers: Vec<(String, String)>,
    operations: Vec<Operation>,
    fields: Vec<(FieldPattern, Class)>,
    offers: Vec<Offer>,
    bounds: Bounds,
    places: Semaphore,
}

impl Api {
    /// Reads the document and makes tools of its operations.
    ///
    /// # Errors
    /// When the document cannot be had or is none, when it is not clear where its operations are, or when an operation is
    /// named that it does not have.
    pub async fn open(settings: Settings) -> Result<Self, OpenError> {
        let name = settings.name.clone();
        let bad = |why: String| OpenError {
            name: name.clone(),
            why,
        };
        let http = Http::trusting(settings.ca_file.as_deref(), settings.bounds.timeout)
            .map_err(|why| bad(why.to_owned()))?;
        let document = Document::load(&settings, &http).await.map_err(bad)?;
        let base = document.base(&settings).map_err(bad)?;
        let mut operations = operation::all(&document, &settings);
        for wanted in &settings.operations {
            if !operations.iter().any(|operation| operation.name == *wanted) {
                return Err(bad(format!("it has no operation \"{wanted}\"")));
            }
        }
        if !settings.operations.is_empty() {
            operations.retain(|operation| settings.operations.contains(&operation.name));
        }
        let dataset =
            Name::parse(&format!("api:{name}")).map_err(|_| bad("its name is too long".to_owned()))?;
        let offers = operations
            .iter()
            .map(|operation| operation.offer(&settings))
            .collect();
        Ok(Self {
            dataset,
            http,
            base,
            offers,
            operations,
            fields: settings.fields.into_iter().map(in_body).collect(),
            headers: settings.headers,
            places: Semaphore::new(settings.bounds.at_once),
            bounds: settings.bounds,
            name: settings.name,
        })
    }

    async fn perform(&self, operation: &Operation, arguments: Value) -> Result<Brought, Failure> {
        let request = request::build(operation, &self.base, &self.headers, arguments)?;
        let sent = self.http.send(request, self.bounds.bytes).await;
        let answer = sent.map_err(|_| {
            Failure::Unavailable("the API cannot be reached, or broke off before it had answered".to_owned())
        })?;
        Ok(self.brought(operation, answer))
    }

    fn brought(&self, operation: &Operation, answer: Answer) -> Brought {
        let mut notes = Vec::new();
        if answer.is_cut {
            notes.push(format!(
                "only the first {} bytes of the answer are here",
                self.bounds.bytes
            ));
        }
        if (300..400).contains(&answer.status) {
            notes.push("the API points elsewhere; that is not followed".to_owned());
        }
        let document = match answer.body.is_empty() {
            // Nothing has no parts that could be mistaken.
            true => Some(Value::Null),
            false if answer.is_json() && !answer.is_cut => serde_json::from_slice(&answer.body).ok(),
            false => None,
        };
        let has_parts = document.is_some();
        let body = document.unwrap_or_else(|| as_text(answer.body, answer.is_cut));
        let mut content = json!({"status": answer.status, "body": body, "truncated": answer.is_cut});
        if let (false, Some(content)) = (notes.is_empty(), content.as_object_mut()) {
            content.insert("note".to_owned(), notes.join("; ").into());
        }
        let declared = self.fields.iter().map(|(_, class)| *class);
        // Where parts cannot be told apart, the highest of them counts for all.
        let class = match has_parts {
            true => operation.class,
            false => declared.fold(operation.class, Class::join),
        };
        let said = ["status", "truncated", "note"]
            .iter()
            .filter_map(|part| part.parse().ok().map(|part| (part, Class::Public)));
        let parts = self.fields.iter().filter(|_| has_parts).cloned();
        Brought {
            content,
            class,
            fields: FieldClasses::new(said.chain(parts)),
            dataset: self.dataset.clone(),
        }
    }
}

#[async_trait]
impl Connector for Api {
    fn name(&self) -> &str {
        self.name.as_str()
    }

    fn offers(&self) -> &[Offer] {
        &self.offers
    }

    fn speaks_for_others(&self) -> bool {
        true
    }

    async fn call(&self, tool: &str, arguments: Cleared<Value>) -> Result<Brought, Failure> {
        let operation = self.operations.iter().find(|operation| operation.name == tool);
        let operation = operation.ok_or_else(|| Failure::Missing("there is no such tool".to_owned()))?;
        let arguments = arguments.into_inner();
        let work = async {
            let busy = |_| Failure::Unavailable("the gateway is stopping".to_owned());
            let _place = self.places.acquire().await.map_err(busy)?;
            self.perform(operation, arguments).await
        };
        tokio::time::timeout(self.bounds.timeout, work)
            .await
            .unwrap_or(Err(Failure::TimedOut(self.bounds.timeout.as_millis())))
    }
}

/// A part of an answer, where the answer lies in what is brought.
fn in_body((field, class): (FieldPattern, Class)) -> (FieldPattern, Class) {
    let text = field.to_string();
    let is_named = text.starts_with("column:") || text.starts_with("header:");
    let below = format!("body.{text}").parse().ok().filter(|_| !is_named);
    (below.unwrap_or(field), class)
}

fn as_text(mut body: Vec<u8>, is_cut: bool) -> Value {
    if is_cut && let Err(error) = std::str::from_utf8(&body) {
        // A character that lost a part of itself is left out.
        let good = error.valid_up_to();
        if error.error_len().is_none() {
            body.truncate(good);
        }
    }
    match String::from_utf8(body) {
        Ok(text) => Value::String(text),
        Err(error) => Value::String(format!("({} bytes that are no text)", error.as_bytes().len())),
    }
}

#[cfg(test)]
mod tests;
