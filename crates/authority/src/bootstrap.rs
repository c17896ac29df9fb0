//! Preparing a store from a control list: what is missing is shown first, then written; nothing is written twice.
//!
//! The tags follow from the control list, so that a gateway decides after it as it did before. Who may use the tools does
//! not: that is given with `Wanted::grants`. What a store has beyond that was put there by somebody, and is left alone
//! unless it is asked for: a tag that goes makes the gateway less strict.

use std::collections::BTreeSet;
use std::str::FromStr;

use serde_json::Value;
use tidegate_core::{Control, ControlList};

use crate::calls::Asked;
use crate::model::{self, CAN_USE, IS_EXTERNAL, IS_INTERNAL_SOURCE, SYSTEM};
use crate::{BadId, CallError, Client, Tuple, tool_id};

/// Who is to be given leave to use every tool that is not blocked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grantee(String);

impl FromStr for Grantee {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "expected agent:*, agent:USER/AGENT, user:NAME, team:NAME or session:ID";
        let (kind, id) = text.split_once(':').ok_or(wrong)?;
        let is_id =
            |id: &str| !id.is_empty() && !id.contains(|c: char| c.is_whitespace() || "#:*".contains(c));
        match kind {
            "agent" if id == "*" => Ok(Self(text.to_owned())),
            "agent" if is_id(id) && id.matches('/').count() == 1 => Ok(Self(text.to_owned())),
            "user" | "team" | "session" if is_id(id) => Ok(Self(format!("{text}#{}", model::AGENT))),
            _ => Err(wrong),
        }
    }
}

/// What a store should have.
#[derive(Clone, Debug)]
pub struct Wanted {
    tags: BTreeSet<Tuple>,
    grants: BTreeSet<Tuple>,
}

impl Wanted {
    /// The tags of a control list, and leave for these to use its tools.
    ///
    /// # Errors
    /// When a tool's name is too long for the server.
    pub fn of(control: &ControlList, grantees: &[Grantee]) -> Result<Self, BadId> {
        let (mut tags, mut grants) = (BTreeSet::new(), BTreeSet::new());
        for tool in control.iter() {
            let object = tool_id(&tool.name)?;
            let said = tool.tags();
            let relations = [
                (IS_EXTERNAL, said.external),
                (IS_INTERNAL_SOURCE, said.internal_source),
            ];
            let relations = relations.into_iter().filter(|(_, holds)| *holds);
            tags.extend(relations.map(|(relation, _)| Tuple::new(SYSTEM, relation, object.as_str())));
            if tool.control != Control::Blocked {
                let grant = |who: &Grantee| Tuple::new(who.0.as_str(), CAN_USE, object.as_str());
                grants.extend(grantees.iter().map(grant));
            }
        }
        Ok(Self { tags, grants })
    }
}

/// What a store has and lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The store's id; nothing when it has to be made.
    pub store: Option<String>,
    /// The model that will be asked; nothing when one has to be written.
    pub model: Option<String>,
    /// Tuples that are missing.
    pub missing: Vec<Tuple>,
    /// Tags that the control list knows nothing of.
    pub extra: Vec<Tuple>,
}

impl Difference {
    /// Whether everything that is wanted is there.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.store.is_some() && self.model.is_some() && self.missing.is_empty()
    }
}

impl Client {
    /// Compares the store with what is wanted. Changes nothing.
    ///
    /// # Errors
    /// When the server gives no answer, or a model is configured that the store does not have or that does not fit.
    pub fn compare(&self, wanted: &Wanted) -> Result<Difference, CallError> {
        let all: Vec<_> = wanted.tags.iter().chain(&wanted.grants).cloned().collect();
        let store = match self.find_store(self.deadline()) {
            Ok(store) => store,
            Err(CallError::NoStore) if !crate::calls::is_id(&self.settings.store) => {
                return Ok(Difference {
                    store: None,
                    model: None,
                    missing: all,
                    extra: Vec::new(),
                });
            }
            Err(error) => return Err(error),
        };
        let model = match self.find_model(&store, self.deadline()) {
            Ok(model) if model.lacks().is_empty() => Some(model.id),
            Ok(_) if self.settings.model.is_some() => return Err(CallError::UnfitModel),
            Err(CallError::NoModel) if self.settings.model.is_some() => return Err(CallError::NoModel),
            Ok(_) | Err(CallError::NoModel) => None,
            Err(error) => return Err(error),
        };
        let mut there = BTreeSet::new();
        for relation in [CAN_USE, IS_EXTERNAL, IS_INTERNAL_SOURCE] {
            there.extend(self.read_tuples(&store, relation, self.deadline())?);
        }
        let is_tag = |tuple: &&Tuple| tuple.relation != CAN_USE && tuple.user == SYSTEM;
        let extra = there
            .iter()
            .filter(is_tag)
            .filter(|tuple| !wanted.tags.contains(tuple));
        Ok(Difference {
            store: Some(store),
            model,
            extra: extra.cloned().collect(),
            missing: all.into_iter().filter(|tuple| !there.contains(tuple)).collect(),
        })
    }

    /// Writes what is missing, and with `prune` deletes the tags that the control list knows nothing of. Gives the ids
    /// of the store and the model.
    ///
    /// # Errors
    /// When the server does not take it. What was written before that stays, and is not written again the next time.
    pub fn apply(&self, difference: &Difference, prune: bool) -> Result<(String, String), CallError> {
        let store = match &difference.store {
            Some(store) => store.clone(),
            None => self.create_store(self.deadline())?,
        };
        let model = match &difference.model {
            Some(model) => model.clone(),
            None => {
                let model: Value = serde_json::from_str(model::JSON).map_err(|_| CallError::NoModel)?;
                self.write_model(&store, &model, self.deadline())?
            }
        };
        let asked = Asked {
            store: &store,
            model: &model,
        };
        self.change_tuples(asked, "writes", &difference.missing)?;
        if prune {
            self.change_tuples(asked, "deletes", &difference.extra)?;
        }
        Ok((store, model))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_core::{Class, Name, Tool, ToolFacts};

    #[test]
    fn grantees_are_read() {
        for (text, user) in [
            ("agent:*", Some("agent:*")),
            ("agent:alice/bot", Some("agent:alice/bot")),
            ("user:alice", Some("user:alice#agent")),
            ("team:sales", Some("team:sales#agent")),
            ("agent:bot", None),
            ("agent:a/b/c", None),
            ("user:*", None),
            ("user:", None),
            ("alice", None),
            ("tool:x", None),
        ] {
            let read = text.parse::<Grantee>().ok();
            assert_eq!(read.map(|grantee| grantee.0), user.map(str::to_owned), "{text}");
        }
    }

    #[test]
    fn tags_follow_from_the_control_list_and_blocked_tools_are_granted_to_nobody() {
        let facts = |name: &str| ToolFacts::named(Name::parse(name).unwrap());
        let control = ControlList::new([
            Tool::declared(ToolFacts {
                returns: Some(Class::Internal),
                ..facts("search_email")
            }),
            Tool::declared(ToolFacts {
                external: true,
                ..facts("web_search")
            }),
            Tool::declared(ToolFacts {
                external: true,
                control: Control::Blocked,
                ..facts("gmail_send")
            }),
        ]);
        let wanted = Wanted::of(&control.unwrap(), &["user:alice".parse().unwrap()]).unwrap();
        let shown = |tuples: &BTreeSet<Tuple>| tuples.iter().map(Tuple::to_string).collect::<Vec<_>>();
        assert_eq!(
            shown(&wanted.tags),
            [
                "tool:gmail_send#is_external@system:tidegate",
                "tool:web_search#is_external@system:tidegate",
                "tool:search_email#is_internal_source@system:tidegate",
            ]
        );
        assert_eq!(
            shown(&wanted.grants),
            [
                "tool:search_email#can_use@user:alice#agent",
                "tool:web_search#can_use@user:alice#agent",
            ]
        );
    }
}
