//! How data flowed in a session, gathered from its records: what came in from where, and what went or did not go where.

use tidegate_core::{Class, ControlList};
use tidegate_ledger::event::{Disposition, Verdict};
use tidegate_ledger::{Event, Record};
use tidegate_store::Session;

/// Where data came from and where it went.
pub(super) struct Flows {
    pub(super) label: Class,
    pub(super) halted: bool,
    pub(super) sources: Vec<Source>,
    pub(super) sinks: Vec<Sink>,
}

/// Something that data came from, or would have.
pub(super) struct Source {
    pub(super) name: String,
    pub(super) class: Class,
    pub(super) count: u64,
    pub(super) last_ms: i64,
    /// Why the last of it was kept out.
    pub(super) kept_out: Option<String>,
}

/// Something that data went to, or would have.
pub(super) struct Sink {
    pub(super) name: String,
    pub(super) ceiling: Option<Class>,
    pub(super) allowed: u64,
    pub(super) stopped: u64,
    pub(super) last: Verdict,
    pub(super) last_ms: i64,
    /// The rule that decided last.
    pub(super) rule: String,
}

/// Gathers them from a session's records, oldest first. What the store knows of the session is there also when its records
/// are another gateway's.
pub(super) fn gather<'a>(
    session: &Session,
    tools: &ControlList,
    records: impl Iterator<Item = &'a Record>,
) -> Flows {
    let context = &session.context;
    let mut flows = Flows {
        label: context.label().class(),
        halted: context.halted().is_some(),
        sources: Vec::new(),
        sinks: Vec::new(),
    };
    for record in records {
        if let Some(event) = record.event() {
            flows.take(&event, record.at_ms, tools);
        }
    }
    for rise in context.rises() {
        flows.source(rise.source.as_str(), rise.to, rise.at.0, Counting::IfNew);
    }
    // A tool that only answered is a source; its calls carried nothing out.
    let is_source = |name: &str| flows.sources.iter().any(|source| source.name == name);
    flows.sinks.retain(|sink| {
        let tool = tools.find(&sink.name);
        let goes_out = tool.is_none_or(|tool| tool.external || tool.sink);
        goes_out || sink.stopped > 0 || !is_source(&sink.name)
    });
    flows
}

#[derive(PartialEq, Eq)]
enum Counting {
    Always,
    IfNew,
}

impl Flows {
    fn take(&mut self, event: &Event, at_ms: i64, tools: &ControlList) {
        match event {
            Event::ContextAssembly(event) => {
                self.source(
                    event.source_id.as_str(),
                    event.data_class,
                    at_ms,
                    Counting::Always,
                );
            }
            Event::DatasetAdded(event) => {
                self.source(event.dataset.as_str(), event.class, at_ms, Counting::Always);
            }
            Event::ChildReturned(event) => {
                self.source(event.child.as_str(), event.data_class, at_ms, Counting::Always);
            }
            Event::InjectionDetectionHit(event) if event.disposition == Disposition::Quarantine => {
                let name = event.source_id.as_ref().unwrap_or(&event.chunk_id);
                self.kept_out(name.as_str(), "tried to give orders", at_ms);
            }
            Event::ChunkBlocked(event) => {
                self.kept_out(event.source_id.as_str(), event.blocking_rule.as_str(), at_ms);
            }
            Event::Decision(event) => {
                let ceiling = tools.find(event.tool.as_str()).map(|tool| tool.ceiling);
                let sink = self.sink(event.tool.as_str(), ceiling);
                match event.decision {
                    Verdict::Allow => sink.allowed += 1,
                    Verdict::Deny | Verdict::Hold => sink.stopped += 1,
                }
                (sink.last, sink.last_ms) = (event.decision, at_ms);
                event.rule.as_str().clone_into(&mut sink.rule);
            }
            Event::OutputDelivery(event) => {
                let sink = self.sink(&format!("shown to {}", event.recipient_role), None);
                (sink.allowed, sink.last_ms) = (sink.allowed + 1, at_ms);
            }
            _ => {}
        }
    }

    fn source(&mut self, name: &str, class: Class, at_ms: i64, counting: Counting) {
        let known = self.sources.iter_mut().find(|source| source.name == name);
        match known {
            Some(source) if counting == Counting::Always => {
                source.class = source.class.join(class);
                source.count += 1;
                source.last_ms = at_ms;
            }
            Some(_) => {}
            None => self.sources.push(Source {
                name: name.to_owned(),
                class,
                count: 1,
                last_ms: at_ms,
                kept_out: None,
            }),
        }
    }

    fn kept_out(&mut self, name: &str, why: &str, at_ms: i64) {
        self.source(name, Class::Public, at_ms, Counting::IfNew);
        if let Some(source) = self.sources.iter_mut().find(|source| source.name == name) {
            source.kept_out = Some(why.replace('-', " "));
            source.last_ms = at_ms;
        }
    }

    fn sink(&mut self, name: &str, ceiling: Option<Class>) -> &mut Sink {
        let place = self.sinks.iter().position(|sink| sink.name == name);
        let place = place.unwrap_or_else(|| {
            self.sinks.push(Sink {
                name: name.to_owned(),
                ceiling,
                allowed: 0,
                stopped: 0,
                last: Verdict::Allow,
                last_ms: 0,
                rule: String::new(),
            });
            self.sinks.len() - 1
        });
        #[expect(clippy::indexing_slicing, reason = "the place was found or made just before")]
        &mut self.sinks[place]
    }
}
