//! Whose session is asked about.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tidegate_core::{Ident, Role};
use tidegate_engine::{Caller, OpenRequest};

/// A user's session, read once and asked about often.
#[pyclass(frozen, module = "tidegate._native")]
pub(crate) struct Who {
    pub(crate) caller: Caller,
    pub(crate) session: Ident,
    agent: Ident,
}

#[pymethods]
impl Who {
    /// Names that cannot be used are refused here, so that they reach no store.
    #[new]
    fn new(user: &str, session: &str, agent: &str) -> PyResult<Self> {
        Ok(Self {
            caller: Caller {
                principal: ident("user", user)?,
                agent: None,
                role: Role::Agent,
                token_id: ident("token", "sdk")?,
            },
            session: ident("session", session)?,
            agent: ident("agent", agent)?,
        })
    }

    #[getter]
    fn user(&self) -> &str {
        self.caller.principal.as_str()
    }

    #[getter]
    fn session(&self) -> &str {
        self.session.as_str()
    }

    #[getter]
    fn agent(&self) -> &str {
        self.agent.as_str()
    }
}

impl Who {
    /// The session as it is opened when it is not there yet.
    pub(crate) fn opening(&self) -> OpenRequest {
        OpenRequest {
            user: None,
            agent: Some(self.agent.clone()),
            id: Some(self.session.clone()),
        }
    }
}

fn ident(what: &str, text: &str) -> PyResult<Ident> {
    Ident::parse(text).map_err(|why| PyValueError::new_err(format!("{what}: {why}")))
}
