//! Arguments that a decision let through, as the gateway hands them to a connector.

use serde_json::Value;
use tidegate_core::{
    Attempt, Class, Cleared, ContextState, Decision, Kinds, Name, Tool, ToolFacts, Veiled, decide,
};

/// Clears arguments for a tool that may be given anything.
pub(crate) fn cleared(arguments: Value) -> Cleared<Value> {
    let tool = Tool::declared(ToolFacts::named(Name::parse("any").unwrap()));
    let context = ContextState::clean();
    let attempt = Attempt {
        tool: &tool,
        context: &context,
        arguments: Class::Public,
        argument_kinds: Kinds::NONE,
        veiled: Veiled::Nothing,
    };
    match decide(attempt) {
        Decision::Allow(permit) => permit.clear(arguments),
        Decision::Deny(_) | Decision::Hold(_) => {
            panic!("a clean session may call a tool that takes anything")
        }
    }
}
