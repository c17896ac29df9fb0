//! The registry of sources: who may bring what into a context, as what, and of which class.

use std::collections::HashMap;

use tidegate_core::{Class, Name, Tool, Trust};
use tidegate_ledger::event::Origin;

/// What sort of source it is: the most that its content may be used as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// The system prompt and the framework's own words.
    Instructions,
    /// What a person types.
    Operator,
    /// Everything that is retrieved.
    Retrieval,
}

impl SourceKind {
    /// Whether it may bring content of that origin: its own, or one that is trusted with less.
    #[must_use]
    pub const fn may_bring(self, origin: Origin) -> bool {
        match (self, origin) {
            (Self::Instructions, _)
            | (Self::Operator, Origin::OperatorInput | Origin::TaskData)
            | (Self::Retrieval, Origin::TaskData) => true,
            (Self::Operator | Self::Retrieval, Origin::AgentInstruction)
            | (Self::Retrieval, Origin::OperatorInput) => false,
        }
    }
}

/// A registered source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its name.
    pub name: Name,
    /// The class of what it holds.
    pub class: Class,
    /// What sort it is.
    pub kind: SourceKind,
    /// Who writes it.
    pub trust: Trust,
}

/// Every registered source. What is not here is not let in.
#[derive(Clone, Debug)]
pub struct Sources(HashMap<Name, Source>);

impl Sources {
    /// The registry. Of two sources of one name, the first counts.
    #[must_use]
    pub fn new(sources: impl IntoIterator<Item = Source>) -> Self {
        let mut registry = HashMap::new();
        for source in sources {
            registry.entry(source.name.clone()).or_insert(source);
        }
        Self(registry)
    }

    /// The source that is registered under that name.
    pub(crate) fn find(&self, name: &Name) -> Option<Source> {
        self.0.get(name).cloned()
    }
}

impl Source {
    /// A tool of the control list is a source too: what it returns is retrieved.
    pub(crate) fn of_tool(tool: &Tool) -> Self {
        Self {
            name: tool.name.clone(),
            class: tool.returns,
            kind: SourceKind::Retrieval,
            trust: tool.integrity.trust,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_instructions_bring_instructions() {
        use Origin::{AgentInstruction, OperatorInput, TaskData};
        for (kind, brings) in [
            (SourceKind::Instructions, [true, true, true]),
            (SourceKind::Operator, [false, true, true]),
            (SourceKind::Retrieval, [false, false, true]),
        ] {
            let may = [AgentInstruction, OperatorInput, TaskData].map(|origin| kind.may_bring(origin));
            assert_eq!(may, brings, "{kind:?}");
        }
    }
}
