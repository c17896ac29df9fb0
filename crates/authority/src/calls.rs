//! The few calls of the server's API that the gateway makes.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::form_urlencoded::byte_serialize;

use crate::model::Model;
use crate::{CallError, Client};

/// As many questions as a server takes in one batch unless it was told otherwise.
pub(crate) const MOST_CHECKS: usize = 50;

/// As many objects as a server lists at once unless it was told otherwise. It does not say when there are more.
const MOST_LISTED: usize = 1_000;

/// Tuples in one transaction; a server takes a hundred unless it was told otherwise.
const MOST_WRITTEN: usize = 50;

/// Pages of a listing, so that a server that never ends one does not keep the gateway.
const MOST_PAGES: usize = 200;

/// Someone's relation to an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tuple {
    /// Who.
    pub user: String,
    /// In which relation.
    pub relation: String,
    /// To what.
    pub object: String,
}

impl Tuple {
    /// A tuple of these parts.
    #[must_use]
    pub fn new(user: impl Into<String>, relation: impl Into<String>, object: impl Into<String>) -> Self {
        Self {
            user: user.into(),
            relation: relation.into(),
            object: object.into(),
        }
    }
}

impl fmt::Display for Tuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}@{}", self.object, self.relation, self.user)
    }
}

/// A store and the model in it that is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) store: &'a str,
    pub(crate) model: &'a str,
}

#[derive(Deserialize)]
struct Store {
    id: String,
    name: String,
}

#[derive(Deserialize)]
struct Stores {
    stores: Vec<Store>,
    #[serde(default)]
    continuation_token: String,
}

#[derive(Deserialize)]
struct Models {
    authorization_models: Vec<Model>,
}

#[derive(Deserialize)]
struct OneModel {
    authorization_model: Model,
}

#[derive(Deserialize)]
struct Written {
    authorization_model_id: String,
}

#[derive(Deserialize)]
struct Listed {
    objects: Vec<String>,
}

#[derive(Deserialize)]
struct Batch {
    result: BTreeMap<String, Checked>,
}

#[derive(Deserialize)]
struct Checked {
    #[serde(default)]
    allowed: bool,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Read {
    tuples: Vec<ReadTuple>,
    #[serde(default)]
    continuation_token: String,
}

#[derive(Deserialize)]
struct ReadTuple {
    key: Tuple,
}

impl Client {
    /// The id of the configured store.
    pub(crate) fn find_store(&self, deadline: Instant) -> Result<String, CallError> {
        let wanted = &self.settings.store;
        if is_id(wanted) {
            let found = self.get::<Store>(&format!("/stores/{wanted}"), deadline);
            return found
                .map(|store| store.id)
                .map_err(|error| missing(error, CallError::NoStore));
        }
        let name: String = byte_serialize(wanted.as_bytes()).collect();
        let mut found = Vec::new();
        let mut token = String::new();
        for _ in 0..MOST_PAGES {
            let page: String = byte_serialize(token.as_bytes()).collect();
            let path = format!("/stores?page_size=100&name={name}&continuation_token={page}");
            let stores: Stores = self.get(&path, deadline)?;
            found.extend(stores.stores.into_iter().filter(|store| store.name == *wanted));
            token = stores.continuation_token;
            if token.is_empty() {
                break;
            }
        }
        match (found.pop(), found.len()) {
            (Some(store), 0) => Ok(store.id),
            (Some(_), _) => Err(CallError::AmbiguousStore),
            (None, _) => Err(CallError::NoStore),
        }
    }

    /// Makes a store of the configured name.
    pub(crate) fn create_store(&self, deadline: Instant) -> Result<String, CallError> {
        let body = json!({"name": self.settings.store});
        Ok(self.post::<Store>("/stores", &body, deadline)?.id)
    }

    /// The configured model, or the newest one.
    pub(crate) fn find_model(&self, store: &str, deadline: Instant) -> Result<Model, CallError> {
        let models = format!("/stores/{store}/authorization-models");
        if let Some(id) = &self.settings.model {
            let found = self.get::<OneModel>(&format!("{models}/{id}"), deadline);
            return found
                .map(|one| one.authorization_model)
                .map_err(|error| missing(error, CallError::NoModel));
        }
        let newest: Models = self.get(&format!("{models}?page_size=1"), deadline)?;
        newest
            .authorization_models
            .into_iter()
            .next()
            .ok_or(CallError::NoModel)
    }

    /// Writes a model; the store keeps the older ones.
    pub(crate) fn write_model(
        &self,
        store: &str,
        model: &Value,
        deadline: Instant,
    ) -> Result<String, CallError> {
        let path = format!("/stores/{store}/authorization-models");
        Ok(self
            .post::<Written>(&path, model, deadline)?
            .authorization_model_id)
    }

    /// Whether each tuple holds, given some that are not written down. At most [`MOST_CHECKS`] of them.
    pub(crate) fn check(
        &self,
        asked: Asked<'_>,
        tuples: &[Tuple],
        given: &[Tuple],
        deadline: Instant,
    ) -> Result<Vec<bool>, CallError> {
        let question = |(index, tuple): (usize, &Tuple)| {
            json!({
                "correlation_id": index.to_string(),
                "tuple_key": tuple,
                "contextual_tuples": {"tuple_keys": given},
            })
        };
        let checks: Vec<_> = tuples.iter().enumerate().map(question).collect();
        let body = json!({
            "checks": checks,
            "authorization_model_id": asked.model,
            "consistency": self.settings.consistency.on_wire(),
        });
        let answer: Batch = self.post(&format!("/stores/{}/batch-check", asked.store), &body, deadline)?;
        let one = |index: usize| match answer.result.get(&index.to_string()) {
            Some(Checked { error: None, allowed }) => Ok(*allowed),
            Some(Checked { error: Some(_), .. }) => Err(CallError::CheckFailed),
            None => Err(CallError::Unreadable),
        };
        (0..tuples.len()).map(one).collect()
    }

    /// The tools to which someone stands in a relation, as object ids.
    pub(crate) fn list_tools(
        &self,
        asked: Asked<'_>,
        user: &str,
        relation: &str,
        deadline: Instant,
    ) -> Result<Vec<String>, CallError> {
        let body = json!({
            "user": user,
            "relation": relation,
            "type": "tool",
            "authorization_model_id": asked.model,
            "consistency": self.settings.consistency.on_wire(),
        });
        let path = format!("/stores/{}/list-objects", asked.store);
        let objects = self.post::<Listed>(&path, &body, deadline)?.objects;
        // A tool that is missing from a cut list would lose its tag, so a list that may be cut is no answer.
        if objects.len() >= MOST_LISTED {
            return Err(CallError::TooMany);
        }
        Ok(objects)
    }

    /// The tuples on tools that are written down in one relation.
    pub(crate) fn read_tuples(
        &self,
        store: &str,
        relation: &str,
        deadline: Instant,
    ) -> Result<Vec<Tuple>, CallError> {
        let mut found = Vec::new();
        let mut token = String::new();
        for _ in 0..MOST_PAGES {
            let body = json!({"page_size": 100, "continuation_token": token});
            let page: Read = self.post(&format!("/stores/{store}/read"), &body, deadline)?;
            let keys = page.tuples.into_iter().map(|tuple| tuple.key);
            found.extend(keys.filter(|key| key.relation == relation && key.object.starts_with("tool:")));
            token = page.continuation_token;
            if token.is_empty() {
                return Ok(found);
            }
        }
        Err(CallError::TooMany)
    }

    /// Writes and deletes tuples, in transactions of bounded size.
    pub(crate) fn change_tuples(
        &self,
        asked: Asked<'_>,
        kind: &'static str,
        tuples: &[Tuple],
    ) -> Result<(), CallError> {
        for some in tuples.chunks(MOST_WRITTEN) {
            let body = json!({
                kind: {"tuple_keys": some},
                "authorization_model_id": asked.model,
            });
            self.post::<Value>(&format!("/stores/{}/write", asked.store), &body, self.deadline())?;
        }
        Ok(())
    }
}

/// Whether a text is an id of the server, as against a name: 26 of Crockford's letters and digits.
#[must_use]
pub(crate) fn is_id(text: &str) -> bool {
    let is_letter = |b: u8| b.is_ascii_digit() || (b.is_ascii_uppercase() && !b"ILOU".contains(&b));
    text.len() == 26 && text.bytes().all(is_letter)
}

const fn missing(error: CallError, instead: CallError) -> CallError {
    match error {
        CallError::Status(400 | 404) => instead,
        other => other,
    }
}
