//! Tools that exist though nobody declared them.
//!
//! A server says at run time which tools it has. Those that the control list does not name are known from then on with
//! the strict end of every answer, so that one rule serves them too: they may be called from a clean session, and what
//! they return closes everything else. A name that no server ever spoke of stays unknown, and is refused.

use std::sync::{Arc, PoisonError, RwLock};

use tidegate_core::{ControlList, Name, Tool};

use crate::{Engine, Interrupted, Payload};

/// The most tools that are known without having been declared. Those beyond stay unknown.
const MOST: usize = 10_000;

/// The declared tools, and after them the discovered ones.
pub(crate) struct Discovered {
    all: RwLock<Arc<ControlList>>,
}

impl Discovered {
    pub(crate) fn beside(declared: &ControlList) -> Self {
        Self {
            all: RwLock::new(Arc::new(declared.clone())),
        }
    }

    fn all(&self) -> Arc<ControlList> {
        Arc::clone(&self.all.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, declared: usize, names: &[Name]) {
        if names.iter().all(|name| self.all().find(name.as_str()).is_some()) {
            return;
        }
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        let mut tools: Vec<Tool> = all.iter().cloned().collect();
        for name in names {
            let known = tools.iter().any(|tool| tool.name == *name);
            if !known && tools.len() < declared + MOST {
                tools.push(Tool::undeclared(name.clone()));
            }
        }
        // Names are compared above, so no two can be the same; were it so, the list would stay as it was.
        if let Ok(list) = ControlList::new(tools) {
            *all = Arc::new(list);
        }
    }
}

impl Engine {
    /// Every tool that is known now: declared, then discovered.
    #[must_use]
    pub fn control(&self) -> Arc<ControlList> {
        self.discovered.all()
    }

    /// Whether what a tool says of itself gives orders to whoever reads it.
    ///
    /// # Errors
    /// When it cannot be looked into; then it must not be trusted.
    pub async fn gives_orders(&self, tool: &Name, definition: &Payload) -> Result<bool, Interrupted> {
        let (found, _) = self.inspector.answer(Some(tool), definition).await?;
        Ok(found.hostile().is_some())
    }

    /// Makes tools known that a server says it has. A declared one stays as it was declared.
    pub fn discover(&self, names: &[Name]) {
        self.discovered.add(self.policy.control.iter().count(), names);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_core::{Class, ToolFacts};

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    #[test]
    fn a_discovered_tool_gets_the_strict_ends_and_a_declared_one_keeps_its_own() {
        let declared = Tool::declared(ToolFacts {
            ceiling: Some(Class::Pii),
            returns: Some(Class::Internal),
            ..ToolFacts::named(name("files.read"))
        });
        let control = ControlList::new([declared.clone()]).unwrap();
        let discovered = Discovered::beside(&control);
        discovered.add(1, &[name("files.read"), name("files.write"), name("files.write")]);
        let all = discovered.all();
        assert_eq!(all.find("files.read"), Some(&declared));
        assert_eq!(
            all.find("files.write"),
            Some(&Tool::undeclared(name("files.write")))
        );
        assert!(all.find("files.delete").is_none());
    }

    #[test]
    fn there_is_a_bound() {
        let discovered = Discovered::beside(&ControlList::new([]).unwrap());
        let names: Vec<_> = (0..MOST + 5).map(|n| name(&format!("t{n}"))).collect();
        discovered.add(0, names.get(..200).unwrap());
        discovered.add(0, names.get(MOST - 100..).unwrap());
        assert!(discovered.all().iter().count() <= MOST);
    }
}
