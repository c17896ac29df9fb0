//! Newer servers that need something of an older client before they answer.
//!
//! Such a server answers a call with questions and wants it again with the answers. An older client knows no such answer,
//! so the gateway asks it in the way it knows, and makes the call again.

use std::time::Duration;

use serde_json::Value;

use super::govern::Errand;
use super::speakers::Whence;
use super::stopped::Stopped;
use super::{Session, locked};
use crate::mcp::era::Era;
use crate::mcp::message::Envelope;
use crate::mcp::object::Object;

/// How often a server may answer one call with questions.
const MOST_ROUNDS: u32 = 10;

/// The most questions of one answer.
const MOST_QUESTIONS: usize = 16;

/// How long a server that only wants to be asked again is left alone, for each time it said so.
const AGAIN_AFTER: Duration = Duration::from_millis(100);

impl Session {
    /// The request, kept in case its server answers with questions that its client knows no other way to hear.
    pub(super) async fn for_another_round(&self, errand: &Errand, request: &Envelope) -> Option<Envelope> {
        let older = self.ways.active(errand.key)?.era == Era::Greeted;
        let newer = older && self.connection(errand.server).await.ok()?.era() == Era::Stateless;
        newer.then(|| request.clone())
    }

    /// The call with the client's answers in it, where the server's answer is a question.
    pub(super) async fn asked_back(
        &self,
        errand: &Errand,
        request: Option<Envelope>,
        answer: &Envelope,
    ) -> Result<Option<(Value, Envelope)>, Stopped> {
        let Some(request) = request else { return Ok(None) };
        let result = answer.result().and_then(Object::read).unwrap_or_default();
        if result.text("resultType").as_deref() != Some("input_required") {
            return Ok(None);
        }
        let round = self.ways.another_round(errand.key);
        if round > MOST_ROUNDS {
            return Err(unanswerable("the server asks again and again"));
        }
        let mut params = Object::clone(&request.params());
        for member in ["inputResponses", "requestState"] {
            params.remove(member);
        }
        let questions = result.object("inputRequests").unwrap_or_default();
        if questions.members().next().is_none() {
            tokio::time::sleep(AGAIN_AFTER * round).await;
        } else {
            let responses = self.answers_to(errand, &questions).await?;
            params.set("inputResponses", responses.to_raw());
        }
        let request = request.with_params(params.clone());
        let content = self.content_of(errand.server, &request)?;
        if let Some(state) = result.get("requestState") {
            // The server's own words, back to where they came from.
            params.set("requestState", state.to_owned());
        }
        Ok(Some((content, request.with_params(params))))
    }

    async fn answers_to(&self, errand: &Errand, questions: &Object) -> Result<Object, Stopped> {
        if questions.members().count() > MOST_QUESTIONS {
            return Err(unanswerable("the server asks too much at once"));
        }
        let sent = self.ways.active(errand.key).and_then(|active| active.sent);
        let connection = self.connection(errand.server).await;
        let connection = connection.map_err(|why| Stopped::at_server(self.name_of(errand.server), &why))?;
        let whence = Whence {
            server: errand.server,
            connection: &connection,
            related: sent.map(|(_, id)| id),
        };
        let mut answers = Object::default();
        for (name, question) in questions.members() {
            let question = Object::read(question).unwrap_or_default();
            let method = question.text("method").unwrap_or_default();
            if !self.client_can(&method) {
                return Err(unanswerable(
                    "the client cannot be asked what the server wants to know",
                ));
            }
            let asked = Envelope::request(&method, question.get("params").map(ToOwned::to_owned));
            let answer = self.bring(whence, asked).await?;
            let refused = || unanswerable("the client did not answer what the server wants to know");
            answers.set(name, answer.result().ok_or_else(refused)?.to_owned());
        }
        Ok(answers)
    }

    /// Whether the client said that it can be asked this.
    fn client_can(&self, method: &str) -> bool {
        let capability = match method {
            "elicitation/create" => "elicitation",
            "sampling/createMessage" => "sampling",
            "roots/list" => "roots",
            _ => return false,
        };
        locked(&self.client).can(capability)
    }
}

fn unanswerable(reason: &str) -> Stopped {
    let remedy = "use a client that can be asked, or go on without this call";
    Stopped::by(
        "input-required",
        format!("the call needs input: {reason}"),
        remedy,
    )
}
