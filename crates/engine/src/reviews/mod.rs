//! Class reviews: which sources a person should look at, because what they are assigned may not be right.
//!
//! A source gets its class from the operator's file, or the strict end where the file says nothing. That can be wrong in three
//! ways that show: somebody offers what nobody has looked at, something becomes another thing, or data is about to reach where it
//! may not be. Each opens a review here ([`Engine::review_class`]), whichever wire it came on.
//!
//! Nothing waits for a review and nothing is decided by one, so failing to open one changes no answer: it is logged. What
//! stopped a leak, and that a tool changed, is on the ledger by its own event in any case.

mod error;
mod leak;
mod open;
mod settle;

use std::collections::HashSet;
use std::sync::{Arc, Mutex as Lock, PoisonError};

use tidegate_core::{ControlList, Name};
use tidegate_store::{Assignment, ReviewCause, ReviewStore};
use tokio::sync::Mutex;

pub use error::ReviewError;
pub(crate) use leak::LeakedTo;
pub use open::Opening;
pub use settle::{ReviewPage, ReviewView};

use crate::Engine;

/// The most sources that are remembered as known. Beyond that the store is asked each time.
const MOST_MET: usize = 20_000;

/// Where class reviews are kept.
pub(crate) struct Reviews {
    store: Arc<dyn ReviewStore>,
    /// Reviews are opened and settled one after another in this process, so that the record says of each once that it was.
    desk: Mutex<()>,
    /// What is known not to be new, so that a list of tools costs nothing the second time.
    met: Lock<HashSet<(ReviewCause, Name)>>,
}

impl Engine {
    /// The same engine with class reviews.
    #[must_use]
    pub fn with_reviews(self, store: Arc<dyn ReviewStore>) -> Self {
        let reviews = Reviews {
            store,
            desk: Mutex::new(()),
            met: Lock::default(),
        };
        Self {
            reviews: Some(reviews),
            ..self
        }
    }
}

impl Reviews {
    fn has_met(&self, cause: ReviewCause, source: &Name) -> bool {
        let met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        met.contains(&(cause, source.clone()))
    }

    fn meet(&self, cause: ReviewCause, source: &Name) {
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        if met.len() < MOST_MET {
            met.insert((cause, source.clone()));
        }
    }
}

/// What a source is assigned: a tool as it stands in the list, a connector as the strictest of its tools.
fn assigned(control: &ControlList, source: &Name) -> Option<Assignment> {
    if let Some(tool) = control.find(source.as_str()) {
        return Some(Assignment {
            class: tool.returns,
            ceiling: tool.ceiling,
        });
    }
    let own = |name: &Name| {
        let rest = name.as_str().strip_prefix(source.as_str());
        rest.is_some_and(|rest| rest.starts_with('.'))
    };
    let tools = control.iter().filter(|tool| own(&tool.name));
    tools.fold(None, |all: Option<Assignment>, tool| {
        Some(Assignment {
            class: all.map_or(tool.returns, |all| all.class.join(tool.returns)),
            ceiling: all.map_or(tool.ceiling, |all| all.ceiling.min(tool.ceiling)),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_core::{Class, Tool, ToolFacts};

    #[test]
    fn a_connector_is_assigned_the_strictest_of_its_tools() {
        let name = |text: &str| Name::parse(text).unwrap();
        let tool = |text: &str, returns, ceiling| {
            Tool::declared(ToolFacts {
                returns: Some(returns),
                ceiling: Some(ceiling),
                ..ToolFacts::named(name(text))
            })
        };
        let control = ControlList::new([
            tool("crm.query", Class::Pii, Class::Internal),
            tool("crm.tables", Class::Internal, Class::Public),
            tool("crmx.query", Class::Secret, Class::Secret),
        ])
        .unwrap();
        let found = |text: &str| {
            let assigned = assigned(&control, &name(text));
            assigned.map(|assigned| (assigned.class, assigned.ceiling))
        };
        assert_eq!(found("crm"), Some((Class::Pii, Class::Public)));
        assert_eq!(found("crm.query"), Some((Class::Pii, Class::Internal)));
        assert_eq!(found("cr"), None);
    }
}
