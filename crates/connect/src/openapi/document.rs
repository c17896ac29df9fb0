//! A document of an API: read once, within bounds.

use std::io::Read;
use std::path::Path;

use http_body_util::Full;
use hyper::Request;
use serde_json::Value;
use url::Url;

use super::{Place, Settings};
use crate::http::Http;

/// The largest document.
const MOST_BYTES: usize = 16 << 20;

/// How many references lead from one place to another.
const MOST_STEPS: usize = 16;

/// An OpenAPI document.
pub(super) struct Document(Value);

impl Document {
    pub(super) async fn load(settings: &Settings, http: &Http) -> Result<Self, String> {
        let bytes = match &settings.document {
            Place::File(path) => read(path)?,
            Place::Url(url) => fetch(url, settings, http).await?,
        };
        Self::parse(&bytes)
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let no_document = "its document is no OpenAPI 3.0 or 3.1 document in JSON".to_owned();
        let Ok(document) = serde_json::from_slice::<Value>(bytes) else {
            return Err(no_document);
        };
        let version = document
            .get("openapi")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if version.starts_with("3.0") || version.starts_with("3.1") {
            return Ok(Self(document));
        }
        Err(no_document)
    }

    /// Where its operations are. A document from elsewhere cannot send requests to a third place.
    pub(super) fn base(&self, settings: &Settings) -> Result<Url, String> {
        let unclear = || "it is not clear where its operations are; set base_url".to_owned();
        let said = self.0.pointer("/servers/0/url").and_then(Value::as_str);
        let base = match (&settings.base_url, &settings.document, said) {
            (Some(base), _, _) => base.clone(),
            (None, Place::File(_), Some(said)) => Url::parse(said).map_err(|_| unclear())?,
            (None, Place::Url(place), said) => {
                let base = place.join(said.unwrap_or("/")).map_err(|_| unclear())?;
                if base.origin() != place.origin() {
                    return Err("its document names another server than its own; set base_url".to_owned());
                }
                base
            }
            (None, Place::File(_), None) => return Err(unclear()),
        };
        let is_plain = matches!(base.scheme(), "http" | "https")
            && base.has_host()
            && base.username().is_empty()
            && base.password().is_none()
            && base.query().is_none()
            && base.fragment().is_none()
            && !base.as_str().contains(['{', '}'])
            && !base.path().contains("%7B");
        if is_plain { Ok(base) } else { Err(unclear()) }
    }

    /// The value itself, behind whatever references lead to it. Only places in the document are followed.
    pub(super) fn resolve<'a>(&'a self, mut value: &'a Value) -> Option<&'a Value> {
        for _ in 0..MOST_STEPS {
            let Some(reference) = value.get("$ref") else {
                return Some(value);
            };
            value = self.0.pointer(reference.as_str()?.strip_prefix('#')?)?;
        }
        None
    }

    /// The paths and what is said of each.
    pub(super) fn paths(&self) -> impl Iterator<Item = (&str, &Value)> {
        let paths = self.0.get("paths").and_then(Value::as_object);
        let resolved = |(path, item)| self.resolve(item).map(|item| (String::as_str(path), item));
        paths.into_iter().flatten().filter_map(resolved)
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("its document cannot be read: {}", error.kind());
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    let most = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX);
    file.take(most).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

async fn fetch(url: &Url, settings: &Settings, http: &Http) -> Result<Vec<u8>, String> {
    let mut request = Request::get(url.as_str()).header("accept", "application/json");
    for (name, value) in &settings.headers {
        request = request.header(name, value);
    }
    let request = request
        .body(Full::default())
        .map_err(|_| "its document cannot be asked for".to_owned())?;
    let answer = tokio::time::timeout(settings.bounds.timeout, http.send(request, MOST_BYTES)).await;
    match answer {
        Ok(Ok(answer)) if answer.status == 200 && !answer.is_cut => Ok(answer.body),
        Ok(Ok(answer)) => Err(format!(
            "its document cannot be had: the server answers {}",
            answer.status
        )),
        Ok(Err(_)) | Err(_) => Err("its document cannot be had: the server does not answer".to_owned()),
    }
}
