//! A decorated function as the rules see it, and a refusal as Python sees it.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tidegate_core::{
    Attempt, Class, ContextState, Decision, Entry, Halt, Kind, Kinds, Moment, Name, Permission, Veiled,
};

/// What a decorator declares of its function.
#[pyclass(frozen, module = "tidegate._native")]
pub(crate) struct Tool(pub(crate) tidegate_core::Tool);

#[pymethods]
impl Tool {
    #[new]
    #[pyo3(signature = (name, permissions, ceiling=None))]
    fn new(name: &str, permissions: Vec<String>, ceiling: Option<&str>) -> PyResult<Self> {
        let permissions: Result<_, _> = permissions
            .iter()
            .map(|name| name.parse::<Permission>())
            .collect();
        Ok(Self(tidegate_core::Tool::declared(tidegate_core::ToolFacts {
            permissions: permissions.map_err(PyValueError::new_err)?,
            ceiling: ceiling.map(class).transpose()?,
            ..tidegate_core::ToolFacts::named(self::name(name)?)
        })))
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name.as_str()
    }

    /// The highest class it may be given.
    #[getter]
    fn ceiling(&self) -> &'static str {
        self.0.ceiling.as_str()
    }
}

/// Why a function may not run, in words an agent can act on.
#[pyclass(frozen, get_all, module = "tidegate._native")]
pub(crate) struct Refusal {
    tool: String,
    rule: &'static str,
    reason: String,
    remedy: &'static str,
    retryable: bool,
}

impl Refusal {
    /// What Python is told of a decision: nothing when the call passes.
    pub(crate) fn of(decision: Decision, tool: &Tool) -> Option<Self> {
        match decision {
            Decision::Allow(_) => None,
            Decision::Hold(refusal) | Decision::Deny(refusal) => Some(Self {
                tool: tool.0.name.to_string(),
                rule: refusal.rule().as_str(),
                reason: refusal.reason(),
                remedy: refusal.remedy(),
                retryable: refusal.retryable(),
            }),
        }
    }
}

/// Decides on a state that a gateway gave. What it does not name cannot be believed, so a class or kind that nobody knows is
/// an error and never a lower one.
#[pyfunction]
#[pyo3(signature = (tool, label, kinds, source, halted, ended))]
pub(crate) fn decide(
    tool: &Bound<'_, Tool>,
    label: &str,
    kinds: Vec<String>,
    source: Option<&str>,
    halted: bool,
    ended: bool,
) -> PyResult<Option<Refusal>> {
    let tool = tool.get();
    let mut context = ContextState::clean();
    let at = Moment(0);
    let kinds: PyResult<Kinds> = kinds.iter().map(|text| kind(text)).collect();
    let source = name(source.unwrap_or("an earlier call"))?;
    context.admit(Entry {
        class: class(label)?,
        kinds: kinds?,
        source: source.clone(),
        at,
    });
    if halted || ended {
        let source = if ended { name(Halt::END)? } else { source };
        context.halt(Halt { source, at });
    }
    let decision = tidegate_core::decide(Attempt {
        tool: &tool.0,
        context: &context,
        arguments: Class::Public,
        argument_kinds: Kinds::NONE,
        veiled: Veiled::Nothing,
    });
    Ok(Refusal::of(decision, tool))
}

pub(crate) fn class(text: &str) -> PyResult<Class> {
    text.parse()
        .map_err(|why: tidegate_core::UnknownClass| PyValueError::new_err(why.to_string()))
}

pub(crate) fn name(text: &str) -> PyResult<Name> {
    Name::parse(text).map_err(|why| PyValueError::new_err(why.to_string()))
}

fn kind(text: &str) -> PyResult<Kind> {
    let found = Kind::ALL.into_iter().find(|kind| kind.as_str() == text);
    found.ok_or_else(|| PyValueError::new_err("not a kind of data: expected pii, internal_ip or credentials"))
}
