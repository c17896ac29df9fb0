//! What servers say along with their work: progress and logs.

use serde_json::value::RawValue;

use super::speakers::Whence;
use super::{Session, locked};
use crate::mcp::era::Era;
use crate::mcp::message::Envelope;
use crate::mcp::names::Surface;
use crate::mcp::object::Object;
use crate::mcp::outlet::{Active, LogLevel};

impl Session {
    /// A server tells how far it is. Where words would count for more by a call that was given up, the numbers go on alone.
    pub(super) async fn progressed(&self, whence: Whence<'_>, told: Envelope, params: &Object) {
        let Whence {
            server,
            connection,
            related,
        } = whence;
        let Some(token) = params.get("progressToken").map(RawValue::get) else {
            return;
        };
        let Some(active) = self.ways.with_token(server, related, token) else {
            return;
        };
        if let Some((_, id)) = active.sent {
            connection.alive(id);
        }
        if is_bare_progress(&told) {
            active.outlet.send(&told).await;
            return;
        }
        let speakers = self.speakers_of_progress(whence, token, &active);
        if self.is_raised_by_given_up(&speakers).await {
            if let Some(numbers) = in_numbers(&told) {
                active.outlet.send(&numbers).await;
            }
            return;
        }
        self.pass_on(server, told, speakers.all(), Some(&active)).await;
    }

    /// A server logs something. What would count for more by a call that was given up is kept back unless it was asked
    /// for.
    pub(super) async fn logged(&self, whence: Whence<'_>, told: Envelope, params: &Object) {
        let Whence { server, related, .. } = whence;
        let active = self.ways.of_server(server, related);
        if !self.wants_log(server, params, active.as_ref()) {
            return;
        }
        let speakers = self.speakers(whence, Surface::Logging, params);
        if self.asks_for_log(server, active.as_ref()) || !self.is_raised_by_given_up(&speakers).await {
            self.pass_on(server, told, speakers.all(), active.as_ref()).await;
        }
    }

    /// Whether the client said how much of the logs it wants: in the stateless era with the request, before it once.
    fn asks_for_log(&self, server: usize, active: Option<&Active>) -> bool {
        match active.map(|active| (active.era, active.logs)) {
            Some((Era::Stateless, wanted)) => wanted.is_some(),
            Some((Era::Greeted, _)) | None => self.asked_for_logs(server),
        }
    }

    /// Whether the client asked for a log message: in the stateless era each request says which it wants. Before it, a
    /// server may log whenever it likes; a line that belongs to no call, comes unasked and has no declared class is
    /// kept back, since letting it in would close the session over something that nobody wanted to read.
    fn wants_log(&self, server: usize, params: &Object, active: Option<&Active>) -> bool {
        let level = params.text("level").and_then(|level| LogLevel::named(&level));
        match active {
            Some(active) => active
                .logs
                .is_some_and(|wanted| level.is_none_or(|level| level >= wanted)),
            None => {
                let era = locked(&self.client).era;
                let is_declared = || {
                    let surface = self.surface(server, Surface::Logging);
                    surface.is_ok_and(|surface| self.is_declared(&surface))
                };
                era == Era::Greeted && (self.asked_for_logs(server) || is_declared())
            }
        }
    }
}

/// The most bytes of a number that only counts: a longer one has room for somebody's number, or for words in digits.
const COUNT_BYTES: usize = 9;

/// Whether progress is told in short numbers alone, of which there is nothing to let in.
fn is_bare_progress(told: &Envelope) -> bool {
    let is_number = |value: &RawValue| {
        let text = value.get();
        text.len() <= COUNT_BYTES && serde_json::from_str::<f64>(text).is_ok()
    };
    let is_bare = |(name, value)| match name {
        // The client's own word: its request was found by it.
        "progressToken" => true,
        "progress" | "total" => is_number(value),
        _ => false,
    };
    told.beside().is_empty() && told.params().members().all(is_bare)
}

/// What progress says in numbers, without its words.
fn in_numbers(told: &Envelope) -> Option<Envelope> {
    let params = told.params();
    let mut numbers = Object::default();
    for name in ["progressToken", "progress", "total"] {
        if let Some(value) = params.get(name) {
            numbers.set(name, value.to_owned());
        }
    }
    let numbers = Envelope::notification(told.method(), Some(numbers.to_raw()));
    is_bare_progress(&numbers).then_some(numbers)
}
