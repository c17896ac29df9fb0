//! The authorization model: the one that the gateway brings, and what it needs of any other.
//!
//! An operator may use a model of their own. It must have the three relations of a tool; whether it also takes the
//! tuples that say for whom and in which session an agent acts is read from it, and they are sent if it does.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// Who may use a tool.
pub const CAN_USE: &str = "can_use";
/// Tools that send out what they are given.
pub const IS_EXTERNAL: &str = "is_external";
/// Tools that return what is not public.
pub const IS_INTERNAL_SOURCE: &str = "is_internal_source";
/// In whose name tools are tagged.
pub const SYSTEM: &str = "system:tidegate";

/// The relation by which users and sessions have agents.
pub(crate) const AGENT: &str = "agent";

/// The model for people, in OpenFGA's language.
pub const DSL: &str = include_str!("../model/tidegate.fga");
/// The same for the API.
pub const JSON: &str = include_str!("../model/tidegate.json");

/// A model as the server tells it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Model {
    pub(crate) id: String,
    #[serde(default)]
    type_definitions: Vec<TypeDefinition>,
}

#[derive(Clone, Debug, Deserialize)]
struct TypeDefinition {
    #[serde(rename = "type")]
    name: String,
    #[serde(default)]
    relations: Option<BTreeMap<String, Value>>,
    #[serde(default)]
    metadata: Option<Metadata>,
}

#[derive(Clone, Debug, Deserialize)]
struct Metadata {
    #[serde(default)]
    relations: Option<BTreeMap<String, Related>>,
}

#[derive(Clone, Debug, Deserialize)]
struct Related {
    #[serde(default)]
    directly_related_user_types: Vec<RelatedType>,
}

#[derive(Clone, Debug, Deserialize)]
struct RelatedType {
    #[serde(rename = "type")]
    name: String,
    #[serde(default)]
    relation: Option<String>,
    #[serde(default)]
    wildcard: Option<Value>,
}

impl Model {
    /// The relations of a tool that it lacks.
    pub(crate) fn lacks(&self) -> Vec<&'static str> {
        let relations = self.definition("tool").and_then(|tool| tool.relations.as_ref());
        let has = |name: &str| relations.is_some_and(|relations| relations.contains_key(name));
        [CAN_USE, IS_EXTERNAL, IS_INTERNAL_SOURCE]
            .into_iter()
            .filter(|name| !has(name))
            .collect()
    }

    /// Whether an object of this type can be said to have an agent.
    pub(crate) fn takes_agent_of(&self, kind: &str) -> bool {
        let related = || {
            let relations = self.definition(kind)?.metadata.as_ref()?.relations.as_ref()?;
            Some(&relations.get(AGENT)?.directly_related_user_types)
        };
        let is_agent = |related: &RelatedType| {
            related.name == "agent"
                && related.relation.as_deref().unwrap_or_default().is_empty()
                && related.wildcard.is_none()
        };
        related().is_some_and(|types| types.iter().any(is_agent))
    }

    fn definition(&self, name: &str) -> Option<&TypeDefinition> {
        self.type_definitions
            .iter()
            .find(|definition| definition.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_model_that_comes_with_the_gateway_has_everything() {
        let mut model: Value = serde_json::from_str(JSON).unwrap();
        model["id"] = json!("x");
        let model: Model = serde_json::from_value(model).unwrap();
        assert_eq!(model.lacks(), Vec::<&str>::new());
        assert!(model.takes_agent_of("user") && model.takes_agent_of("session"));
        assert!(!model.takes_agent_of("team") && !model.takes_agent_of("tool"));
    }

    #[test]
    fn what_a_model_lacks_is_named() {
        let tool = |relations: Value| json!({"id": "x", "type_definitions": [{"type": "tool", "relations": relations}]});
        for (model, lacks) in [
            (json!({"id": "x"}), vec![CAN_USE, IS_EXTERNAL, IS_INTERNAL_SOURCE]),
            (tool(json!(null)), vec![CAN_USE, IS_EXTERNAL, IS_INTERNAL_SOURCE]),
            (
                tool(json!({"can_use": {"this": {}}})),
                vec![IS_EXTERNAL, IS_INTERNAL_SOURCE],
            ),
            (
                tool(json!({"can_use": {}, "is_external": {}, "is_internal_source": {}})),
                vec![],
            ),
        ] {
            let model: Model = serde_json::from_value(model).unwrap();
            assert_eq!(model.lacks(), lacks);
            assert!(!model.takes_agent_of("user"));
        }
    }
}
