//! From a call's arguments to a request that goes where the document says and nowhere else.

use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};
use url::Url;
use url::form_urlencoded::Serializer;

use super::operation::{Body, Kind, Operation, Parameter, Where};
use crate::Failure;

/// What stands for itself in a path; everything else is encoded.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

pub(super) fn build(
    operation: &Operation,
    base: &Url,
    headers: &[(String, String)],
    arguments: Value,
) -> Result<Request<Full<Bytes>>, Failure> {
    let mut arguments = match arguments {
        Value::Object(arguments) => arguments,
        Value::Null => Map::new(),
        _ => return Err(wrong("arguments are an object")),
    };
    let mut filled = Filled {
        path: operation.path.clone(),
        query: Vec::new(),
        headers: Vec::new(),
    };
    for parameter in &operation.parameters {
        match arguments.remove(&parameter.argument) {
            None | Some(Value::Null) if parameter.required => {
                return Err(Failure::Arguments(format!("{} is needed", parameter.argument)));
            }
            None | Some(Value::Null) => {}
            Some(value) => filled.put(parameter, &value)?,
        }
    }
    let body = match (&operation.body, arguments.remove("body")) {
        (Some(body), None | Some(Value::Null)) if body.required => return Err(wrong("body is needed")),
        (_, None | Some(Value::Null)) => None,
        (Some(body), Some(value)) => Some((body, written(body, &value)?)),
        (None, Some(_)) => return Err(wrong("this operation takes no body")),
    };
    if !arguments.is_empty() {
        return Err(wrong("an argument is none of this operation's"));
    }
    let address = address(base, &filled)?;
    let mut request = Request::builder().method(operation.method).uri(address.as_str());
    for (name, value) in filled.headers.iter().chain(headers) {
        request = request.header(name, value);
    }
    request = request.header("accept", "application/json, text/*;q=0.5, */*;q=0.1");
    let body = match body {
        Some((body, bytes)) => {
            request = request.header("content-type", &body.content_type);
            Full::from(bytes)
        }
        None => Full::default(),
    };
    request
        .body(body)
        .map_err(|_| wrong("a value cannot stand in a header or an address"))
}

struct Filled {
    path: String,
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
}

impl Filled {
    fn put(&mut self, parameter: &Parameter, value: &Value) -> Result<(), Failure> {
        let name = &parameter.name;
        match parameter.place {
            Where::Path => {
                let text = joined(value)?;
                if text.is_empty() {
                    return Err(Failure::Arguments(format!(
                        "{} must not be empty",
                        parameter.argument
                    )));
                }
                let encoded = utf8_percent_encode(&text, PLAIN).to_string();
                self.path = self.path.replace(&format!("{{{name}}}"), &encoded);
            }
            Where::Query => match value {
                Value::Array(items) if parameter.explode => {
                    for item in items {
                        self.query.push((name.clone(), one(item)?));
                    }
                }
                value => self.query.push((name.clone(), joined(value)?)),
            },
            Where::Header => self.headers.push((name.clone(), joined(value)?)),
        }
        Ok(())
    }
}

/// The address, if it is what the template says with each parameter in its own place.
fn address(base: &Url, filled: &Filled) -> Result<Url, Failure> {
    let path = format!(
        "{}/{}",
        base.path().trim_end_matches('/'),
        filled.path.trim_start_matches('/')
    );
    let odd = || wrong("a value would change the path of the request");
    if path.contains(['{', '}', '?', '#']) {
        return Err(odd());
    }
    let mut address = base.clone();
    address.set_path(&path);
    // Names such as .. are taken out of an address by whoever reads it.
    if address.path() != path || address.origin() != base.origin() {
        return Err(odd());
    }
    if !filled.query.is_empty() {
        let mut query = Serializer::new(String::new());
        query.extend_pairs(&filled.query);
        address.set_query(Some(&query.finish()));
    }
    Ok(address)
}

fn written(body: &Body, value: &Value) -> Result<Vec<u8>, Failure> {
    match (body.kind, value) {
        (Kind::Json, value) => Ok(value.to_string().into_bytes()),
        (Kind::Form, Value::Object(members)) => {
            let mut form = Serializer::new(String::new());
            for (name, value) in members {
                form.append_pair(name, &joined(value)?);
            }
            Ok(form.finish().into_bytes())
        }
        (Kind::Text, Value::String(text)) => Ok(text.clone().into_bytes()),
        (Kind::Form, _) => Err(wrong("body is an object")),
        (Kind::Text, _) => Err(wrong("body is a text")),
    }
}

/// A value, or a list of them joined by commas.
fn joined(value: &Value) -> Result<String, Failure> {
    match value {
        Value::Array(items) => {
            let items: Result<Vec<_>, _> = items.iter().map(one).collect();
            Ok(items?.join(","))
        }
        value => one(value),
    }
}

fn one(value: &Value) -> Result<String, Failure> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(flag) => Ok(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => Err(wrong(
            "a parameter is a text, a number, true or false, or a list of these",
        )),
    }
}

fn wrong(why: &str) -> Failure {
    Failure::Arguments(why.to_owned())
}
