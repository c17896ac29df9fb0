//! Hearing a model beside the detectors, where an operator named one.
//!
//! It is asked after the patterns and only about what they let pass, and its opinion is joined by maximum: it raises a
//! class or halts a session and never undoes either. INVARIANT (a model only raises): whatever it says, and when it
//! says nothing, the class of what was brought is at least what the detectors found.

use std::sync::Arc;

use serde_json::Value;
use tidegate_core::{Class, Ident, Opinion};
use tidegate_detect::injection::{Assessment, Verdict};
use tidegate_detect::{Confidence, Finding, FindingKind, RuleId};
use tokio::sync::Semaphore;

use crate::inspect::Found;
use crate::{Engine, Payload};

/// How many texts may be with the model at once.
const AT_ONCE: usize = 32;

/// Whoever has an opinion on a text. Calls block, and must end within a time of their own.
pub trait Classifier: Send + Sync {
    /// What it thinks of the text.
    ///
    /// # Errors
    /// When it has no opinion, for whatever reason.
    fn classify(&self, text: &str) -> Result<Opinion, NoOpinion>;
}

/// There is no opinion. It says nothing about the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the model has no opinion: {reason}")]
pub struct NoOpinion {
    /// A word for why, for counters.
    pub reason: &'static str,
}

/// What holds when the model has no opinion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// The content counts as confidential, or as what the patterns found if that is more.
    Raise,
    /// The patterns alone decide.
    Patterns,
}

/// A model and what its opinion does.
pub struct Model {
    classifier: Arc<dyn Classifier>,
    threshold: f32,
    on_failure: OnFailure,
    places: Arc<Semaphore>,
}

impl Model {
    /// A model whose opinion halts a session from this score on.
    #[must_use]
    pub fn new(classifier: Arc<dyn Classifier>, threshold: f32, on_failure: OnFailure) -> Self {
        Self {
            classifier,
            threshold,
            on_failure,
            places: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// Asks where blocking is allowed. The place is given back when the call ends, not when its caller gives up.
    async fn ask(&self, text: String) -> Result<Opinion, NoOpinion> {
        let place = Arc::clone(&self.places)
            .try_acquire_owned()
            .map_err(|_| NoOpinion { reason: "busy" })?;
        let classifier = Arc::clone(&self.classifier);
        let asking = tokio::task::spawn_blocking(move || {
            let opinion = classifier.classify(&text);
            drop(place);
            opinion
        });
        asking.await.map_err(|_| NoOpinion {
            reason: "interrupted",
        })?
    }

    fn join(&self, found: Found, opinion: Opinion, length: usize) -> Found {
        let raised = opinion.raise(found.raised);
        // What is not a number is no reason to let a text pass.
        let is_hostile = opinion.injection >= self.threshold || opinion.injection.is_nan();
        let injection = if is_hostile {
            Some(assessment(opinion.injection, length))
        } else {
            found.injection
        };
        Found {
            raised,
            injection,
            ..found
        }
    }
}

impl Engine {
    /// The same engine with a model beside its detectors.
    #[must_use]
    pub fn with_model(self, model: Model) -> Self {
        Self {
            model: Some(model),
            ..self
        }
    }

    /// What was found, joined with what the model thinks. What the patterns would halt is not sent.
    pub(crate) async fn hear_model(
        &self,
        session: &Ident,
        found: Found,
        content: &Payload,
        length: usize,
    ) -> Found {
        let Some(model) = &self.model else { return found };
        let text = readable(content.expose());
        if found.hostile().is_some() || text.trim().is_empty() {
            return found;
        }
        match model.ask(text).await {
            Ok(opinion) => model.join(found, opinion, length),
            Err(NoOpinion { reason }) => {
                self.observer.unheard(session, reason);
                let raised = match model.on_failure {
                    OnFailure::Raise => found.raised.join(Class::Confidential),
                    OnFailure::Patterns => found.raised,
                };
                Found { raised, ..found }
            }
        }
    }
}

/// What the model's verdict is on the record: the whole text, since it does not say where.
fn assessment(score: f32, length: usize) -> Assessment {
    let percent = (score.clamp(0.0, 1.0) * 100.0) as u8;
    Assessment {
        score: score.clamp(0.0, 1.0),
        verdict: Verdict::Injection,
        findings: vec![Finding {
            rule: RuleId::built_in("injection.model"),
            kind: FindingKind::Injection,
            class: Class::Public,
            span: 0..length,
            confidence: Confidence::percent(percent),
        }],
    }
}

/// The words of a value, as a person would read them: each text on a line, with the name of its field.
fn readable(value: &Value) -> String {
    let mut text = String::new();
    let mut waiting = vec![(None, value)];
    while let Some((name, value)) = waiting.pop() {
        let line = match value {
            Value::Bool(flag) => flag.to_string(),
            Value::Number(number) => number.to_string(),
            Value::String(line) => line.clone(),
            Value::Array(items) if !items.is_empty() => {
                waiting.extend(items.iter().rev().map(|item| (name, item)));
                continue;
            }
            Value::Null | Value::Array(_) => String::new(),
            Value::Object(fields) => {
                if let Some(name) = name {
                    text.push_str(name);
                    text.push_str(":\n");
                }
                let named = fields
                    .iter()
                    .rev()
                    .map(|(name, value)| (Some(name.as_str()), value));
                waiting.extend(named);
                continue;
            }
        };
        if let Some(name) = name {
            text.push_str(name);
            text.push_str(": ");
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Silent;

    impl Classifier for Silent {
        fn classify(&self, _text: &str) -> Result<Opinion, NoOpinion> {
            Err(NoOpinion { reason: "silent" })
        }
    }

    fn found(raised: Class) -> Found {
        Found {
            findings: Vec::new(),
            let_through: Vec::new(),
            injection: None,
            raised,
        }
    }

    #[test]
    fn names_and_texts_are_read_in_order() {
        for (value, text) in [
            (json!("plain"), "plain\n"),
            (
                json!({"a": ["x", {"b": "y"}], "c": 7, "d": null}),
                "a: x\na:\nb: y\nc: 7\nd: \n",
            ),
            (json!({"order me": {"b": [{}, []]}}), "order me:\nb:\nb: \n"),
        ] {
            assert_eq!(readable(&value), text);
        }
    }

    #[test]
    fn a_model_only_raises() {
        let model = Model::new(Arc::new(Silent), 0.9, OnFailure::Raise);
        for known in Class::ALL {
            for class in Class::ALL {
                for (injection, halts) in [(0.0, false), (0.89, false), (0.9, true), (f32::NAN, true)] {
                    let joined = model.join(found(known), Opinion { class, injection }, 3);
                    assert_eq!(joined.class(), known.join(class));
                    assert_eq!(joined.hostile().is_some(), halts, "{injection}");
                }
            }
        }
    }
}
