//! The model that the configuration names, as the engine hears it.

use std::sync::Arc;

use tidegate_classify::{ClassifyError, Endpoint, OnnxModel};
use tidegate_core::Opinion;
use tidegate_engine::{Classifier, Model, NoOpinion};

use crate::config::{Model as Configured, Source};
use crate::failure::Failure;

/// Makes the model ready. A local one is loaded and tried; an endpoint is not asked before there is a text.
pub(crate) fn open(configured: &Configured) -> Result<Model, Failure> {
    let classifier: Arc<dyn Classifier> = match &configured.source {
        Source::Onnx(settings) => {
            let opened = OnnxModel::open(settings);
            Arc::new(Local(opened.map_err(Failure::environment)?))
        }
        Source::Endpoint {
            settings,
            key_variable,
        } => {
            let settings = settings.clone();
            Arc::new(Remote(Endpoint::new(match key_variable {
                Some(variable) => settings.with_key(key(variable)?),
                None => settings,
            })))
        }
    };
    Ok(Model::new(
        classifier,
        configured.threshold,
        configured.on_failure,
    ))
}

fn key(variable: &str) -> Result<String, Failure> {
    let key = std::env::var(variable).ok().filter(|key| !key.is_empty());
    key.ok_or_else(|| {
        Failure::environment(format_args!(
            "detect.model.api_key_env: the variable {variable} is not set"
        ))
    })
}

struct Remote(Endpoint);

struct Local(OnnxModel);

impl Classifier for Remote {
    fn classify(&self, text: &str) -> Result<Opinion, NoOpinion> {
        self.0.classify(text).map_err(unheard)
    }
}

impl Classifier for Local {
    fn classify(&self, text: &str) -> Result<Opinion, NoOpinion> {
        self.0.classify(text).map_err(unheard)
    }
}

const fn unheard(error: ClassifyError) -> NoOpinion {
    NoOpinion {
        reason: error.reason(),
    }
}
