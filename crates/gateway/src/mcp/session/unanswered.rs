//! Calls that bring nothing back: their client left or took them back, or their server gave no answer.
//!
//! A call is given up only while its server works on it. What was decided before and what is let in after runs to its
//! end, so that the record is never cut short by a client that goes away.

use tidegate_core::{Cleared, Name};
use tidegate_engine::NoAnswerCause;

use super::govern::Errand;
use super::stopped::Stopped;
use super::{Session, upward};
use crate::mcp::era::Era;
use crate::mcp::message::Envelope;
use crate::mcp::outlet::Outlet;
use crate::mcp::upstream::{Call, UpstreamError};

/// What came of a call.
pub(super) enum Sent {
    /// Its answer.
    Answer(Envelope),
    /// What its client is told to give first.
    Asks(Envelope),
}

impl Session {
    /// Sends a request that a decision let through and waits for its answer, as long as anybody waits for it. That
    /// there is none is put on the record.
    pub(super) async fn send(&self, errand: &Errand, request: Cleared<Envelope>) -> Result<Sent, Stopped> {
        let why = match self.sent(errand, request).await {
            Ok(sent) => return Ok(sent),
            Err(why) => why,
        };
        let cause = match why {
            UpstreamError::Left => NoAnswerCause::ClientLeft,
            UpstreamError::TakenBack => NoAnswerCause::TakenBack,
            _ => NoAnswerCause::ServerFailed,
        };
        self.note_unanswered(&errand.subject, cause).await;
        Err(Stopped::at_server(self.name_of(errand.server), &why))
    }

    /// Puts on the record that a call brought no answer in.
    pub(super) async fn note_unanswered(&self, subject: &Name, cause: NoAnswerCause) {
        let recorded = self
            .engine()
            .call_unanswered(&self.caller, &self.id, subject, cause)
            .await;
        if let Err(error) = recorded {
            tracing::error!(cause = cause.as_str(), %error, "that a call brought no answer could not be recorded");
        }
    }

    async fn sent(&self, errand: &Errand, request: Cleared<Envelope>) -> Result<Sent, UpstreamError> {
        let Errand { key, server, .. } = errand;
        let connection = self.connection(*server).await?;
        let active = self.ways.active(*key);
        if let Some(resumed) = active.as_ref().and_then(|active| active.resumed.clone()) {
            return self.resume(errand, resumed).await;
        }
        let newer = active.as_ref().is_some_and(|active| active.era == Era::Stateless);
        let call = Call {
            subject: errand.subject.clone(),
            token: active.and_then(|active| active.token),
        };
        if newer && connection.era() == Era::Greeted {
            return self.talk(errand, connection, (call, request)).await;
        }
        let sent = |id| self.ways.sent(*key, *server, id);
        let why = tokio::select! {
            // First whether anybody waits: what nobody waits for is not sent.
            biased;
            why = self.given_up(errand) => why,
            answer = connection.forward(call, request, sent) => return answer.map(Sent::Answer),
        };
        if let Some((_, id)) = self.ways.active(*key).and_then(|active| active.sent) {
            // In the gateway's own words: a client's reason is not decided on.
            connection.cancel(id).await;
        }
        Err(why)
    }

    /// Waits until a call's client has gone away, or took it back.
    pub(super) async fn given_up(&self, errand: &Errand) -> UpstreamError {
        tokio::select! {
            () = self.nobody_waits(Some(&errand.outlet)) => UpstreamError::Left,
            () = self.is_taken_back(errand.key) => UpstreamError::TakenBack,
        }
    }

    /// Waits until the client has gone away: the way that it takes an answer on is closed, or its session is.
    pub(super) async fn nobody_waits(&self, outlet: Option<&Outlet>) {
        let closed = async {
            match outlet {
                Some(outlet) => outlet.closed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = closed => {}
            () = self.is_left() => {}
        }
    }

    /// Waits until the client took back a request.
    pub(super) async fn is_taken_back(&self, key: u64) {
        match self.ways.active(key) {
            Some(active) => upward::until_true(&active.taken_back).await,
            None => std::future::pending().await,
        }
    }

    /// Waits until the client has left the session.
    async fn is_left(&self) {
        upward::until_true(&self.left).await;
    }
}
