//! An agent in a session, and the people around it.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tidegate_core::Role;
use tidegate_engine::GateRules;

use crate::stand::{Holder, Setting, Stand, problem};

/// A tool whose calls need a person's approval; its ceiling is pii.
pub(crate) const TOOL: &str = "gmail_guest_draft";

/// A stand with an agent in a session, and people around it.
pub(crate) struct House {
    pub(crate) stand: Stand,
    pub(crate) agent: Holder,
    pub(crate) operator: Holder,
    pub(crate) reviewer: Holder,
    pub(crate) auditor: Holder,
    pub(crate) admin: Holder,
    pub(crate) session: String,
}

impl House {
    pub(crate) async fn start() -> Self {
        Self::with(GateRules::STANDARD).await
    }

    pub(crate) async fn with(gates: GateRules) -> Self {
        let stand = Stand::start_with(Setting {
            gates,
            ..Setting::default()
        })
        .await;
        let agent = stand.alice().await;
        let session = stand.open(&agent).await;
        Self {
            operator: stand.holder(Role::HumanOperator, "olga", None).await,
            reviewer: stand.holder(Role::PiiAuthorizedReviewer, "rita", None).await,
            auditor: stand.holder(Role::Auditor, "ada", None).await,
            admin: stand.admin().await,
            agent,
            session,
            stand,
        }
    }

    pub(crate) async fn ask_in(&self, session: &str, tool: &str, arguments: &Value) -> Value {
        let path = format!("/v1/session/{session}/authorize");
        let body = json!({"tool": tool, "arguments": arguments});
        self.stand.post(&self.agent, &path, body).await
    }

    pub(crate) async fn ask(&self, arguments: &Value) -> Value {
        self.ask_in(&self.session, TOOL, arguments).await
    }

    /// Asks, and gives the gate where the call waits.
    pub(crate) async fn held(&self, arguments: &Value) -> String {
        let answer = self.ask(arguments).await;
        assert_eq!(answer["decision"], "hold", "{answer}");
        answer["gate_id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn decide(&self, by: &Holder, gate: &str, decision: &str, status: StatusCode) -> Value {
        let path = format!("/v1/gates/{gate}/decision");
        let body = json!({"decision": decision, "reason": "as agreed"});
        let response = self.stand.send(by, Method::POST, &path, Some(body)).await;
        if !status.is_success() {
            return problem(response, status).await;
        }
        assert_eq!(response.status(), status);
        response.json().await.unwrap()
    }

    pub(crate) async fn approve(&self, gate: &str) -> Value {
        self.decide(&self.operator, gate, "approve", StatusCode::OK).await
    }

    pub(crate) async fn gate(&self, gate: &str) -> Value {
        self.stand.get(&self.operator, &format!("/v1/gates/{gate}")).await
    }

    pub(crate) async fn state(&self) -> Value {
        self.stand
            .get(&self.agent, &format!("/v1/session/{}", self.session))
            .await
    }

    pub(crate) async fn deliver(&self, tool: &str, content: Value) -> Value {
        self.deliver_to(&self.session, tool, content).await
    }

    pub(crate) async fn deliver_to(&self, session: &str, tool: &str, content: Value) -> Value {
        let path = format!("/v1/session/{session}/responses");
        let body = json!({"tool": tool, "content": content});
        self.stand.post(&self.agent, &path, body).await
    }

    /// The events of one type on the record of the session.
    pub(crate) async fn recorded(&self, event: &str) -> Vec<Value> {
        let path = format!("/v1/provenance?session={}&event={event}", self.session);
        let records = self.stand.get(&self.auditor, &path).await;
        records["records"].as_array().unwrap().clone()
    }
}
