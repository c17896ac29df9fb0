//! The decision log: one JSON line for each decision, with the contamination state it was made on.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::Serialize;
use tidegate_core::Name;
use tidegate_engine::DecisionRecord;

use crate::api::rfc3339;

/// How many lines may wait for a slow disk before decisions wait with them.
const QUEUE: usize = 65_536;

/// Lines are gathered for this long before they are written, so that decisions in quick succession wake the writer once.
const GATHER: Duration = Duration::from_millis(2);

/// Where decision lines go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogTarget {
    /// Nowhere.
    Off,
    /// Standard error.
    Stderr,
    /// A file, appended to.
    File(PathBuf),
}

/// Writes decision lines on a thread of its own.
pub struct DecisionLog {
    lines: Option<SyncSender<String>>,
    writer: Option<JoinHandle<()>>,
}

impl DecisionLog {
    /// Opens the target.
    ///
    /// # Errors
    /// When the file cannot be opened: a log that silently does not run is worse than none.
    pub fn open(target: &LogTarget) -> std::io::Result<Self> {
        let sink: Box<dyn Write + Send> = match target {
            LogTarget::Off => {
                return Ok(Self {
                    lines: None,
                    writer: None,
                });
            }
            LogTarget::Stderr => Box::new(std::io::stderr()),
            LogTarget::File(path) => Box::new(OpenOptions::new().create(true).append(true).open(path)?),
        };
        let (sender, receiver) = sync_channel(QUEUE);
        let writer = std::thread::Builder::new()
            .name("decision-log".into())
            .spawn(move || write_lines(&receiver, sink))?;
        Ok(Self {
            lines: Some(sender),
            writer: Some(writer),
        })
    }

    /// Writes one decision down. It waits only when the disk is [`QUEUE`] lines behind.
    pub(crate) fn write(&self, record: &DecisionRecord<'_>) {
        if let Some(lines) = &self.lines {
            // The writer ends only when this sender is dropped, so sending cannot fail before that.
            let _ = lines.send(line(record));
        }
    }
}

impl Drop for DecisionLog {
    fn drop(&mut self) {
        self.lines = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// One line. Written once for each decision, so without a map of names in between; they are in order of the alphabet.
#[derive(Serialize)]
struct Line<'a> {
    agent: &'a str,
    arguments_class: &'a str,
    at: String,
    contaminated_at: Option<String>,
    contamination_source: Option<&'a str>,
    decision: &'a str,
    halted: bool,
    kinds: Vec<&'a str>,
    policy: &'a str,
    rule: &'a str,
    sensitivity: &'a str,
    session_id: &'a str,
    tool: &'a str,
    user: &'a str,
}

fn line(record: &DecisionRecord<'_>) -> String {
    let session = record.session;
    let context = &session.context;
    let line = Line {
        agent: session.agent.as_str(),
        arguments_class: record.arguments.as_str(),
        at: rfc3339(record.at),
        contaminated_at: context.contaminated_at().map(rfc3339),
        contamination_source: context.contamination_source().map(Name::as_str),
        decision: record.verdict(),
        halted: context.halted().is_some(),
        kinds: context.kinds().iter().map(tidegate_core::Kind::as_str).collect(),
        policy: record.policy.as_str(),
        rule: record.rule(),
        sensitivity: context.label().class().as_str(),
        session_id: session.id.as_str(),
        tool: record.tool.as_str(),
        user: session.user.as_str(),
    };
    // Texts and one truth: nothing in it cannot be written.
    serde_json::to_string(&line).unwrap_or_default()
}

/// Writes what is queued, and flushes whenever the queue runs empty, so that a reader is never behind for long.
fn write_lines(lines: &Receiver<String>, sink: Box<dyn Write + Send>) {
    let mut sink = BufWriter::new(sink);
    while let Ok(first) = lines.recv() {
        std::thread::sleep(GATHER);
        let batch = std::iter::once(first).chain(lines.try_iter());
        for line in batch {
            if writeln!(sink, "{line}").is_err() {
                tracing::error!("a decision could not be written to the decision log");
            }
        }
        if sink.flush().is_err() {
            tracing::error!("the decision log could not be flushed");
        }
    }
}
