//! What the demo does and shows, step by step.

use std::fmt::Display;

use serde_json::{Value, json};

use super::{Client, text_at, texts_at};
use crate::failure::Failure;
use crate::terminal::{BAD, CARE, FAINT, GOOD, HEAD, answer, painted};

/// Where the words of an answer start, and where they end.
const INDENT: usize = 12;
const WIDTH: usize = 100;

/// What a call is expected to be answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Allow,
    Deny,
    Hold,
}

/// The demo as it goes on.
pub(super) struct Stage {
    client: Client,
    allowed: usize,
    blocked: usize,
    held: usize,
}

impl Stage {
    pub(super) fn open(client: Client) -> Result<Self, Failure> {
        answer(painted(
            HEAD,
            "Tidegate: what an agent has seen decides what it may do next",
        ))?;
        Ok(Self {
            client,
            allowed: 0,
            blocked: 0,
            held: 0,
        })
    }

    /// Goes on against another gateway.
    pub(super) fn moved_to(&mut self, client: Client) {
        self.client = client;
    }

    pub(super) fn heading(&self, text: &str) -> Result<(), Failure> {
        answer("")?;
        answer(painted(HEAD, text))
    }

    pub(super) fn aside(&self, text: impl Display) -> Result<(), Failure> {
        answer(painted(FAINT, text))
    }

    /// How it went, and where to go from here.
    pub(super) fn close(self) -> Result<(), Failure> {
        let Self {
            allowed,
            blocked,
            held,
            ..
        } = self;
        self.heading("Done")?;
        answer(format_args!(
            "{allowed} calls allowed, {blocked} blocked, {held} held for a person; none got data above its ceiling."
        ))?;
        answer(
            "Next: `tidegate serve` runs a gateway, `tidegate init` writes a configuration to make your own.",
        )
    }

    pub(super) async fn open_session(&self) -> Result<String, Failure> {
        let opened = self.client.post("/sessions", json!({})).await?;
        let session = text_at(&opened, "/session_id").to_owned();
        said(
            "session",
            GOOD,
            "opened",
            "label public: nothing has entered its context yet",
        )?;
        Ok(session)
    }

    /// Asks whether a call may pass, shows the answer, and insists on the one that is expected.
    pub(super) async fn call(
        &mut self,
        session: &str,
        tool: &str,
        arguments: Value,
        expected: Expected,
    ) -> Result<(), Failure> {
        let body = json!({"tool": tool, "arguments": arguments});
        let decision = self
            .client
            .post(&format!("/session/{session}/authorize"), body)
            .await?;
        let verdict = text_at(&decision, "/decision");
        let (wanted, style, word, count) = match expected {
            Expected::Allow => ("allow", GOOD, "allowed", &mut self.allowed),
            Expected::Deny => ("deny", BAD, "BLOCKED", &mut self.blocked),
            Expected::Hold => ("hold", CARE, "held", &mut self.held),
        };
        if verdict != wanted {
            return Err(Failure::no(format_args!(
                "{tool} was answered with {verdict}, not {wanted}"
            )));
        }
        *count += 1;
        said("call", style, word, tool)?;
        if expected != Expected::Allow {
            words("why", text_at(&decision, "/reason"))?;
            words("instead", text_at(&decision, "/remedy"))?;
        }
        Ok(())
    }

    /// Records what a tool returned, and shows what that did to the label.
    pub(super) async fn respond(
        &self,
        session: &str,
        tool: &str,
        content: &str,
        label: &str,
    ) -> Result<(), Failure> {
        let body = json!({"tool": tool, "content": content});
        let delivered = self
            .client
            .post(&format!("/session/{session}/responses"), body)
            .await?;
        insist("label", text_at(&delivered, "/sensitivity"), label)?;
        said(
            "result",
            CARE,
            "entered",
            format_args!("what {tool} returned is {label}: the label is now {label}"),
        )
    }

    pub(super) async fn add_dataset(
        &self,
        session: &str,
        name: &str,
        class: &str,
        label: &str,
    ) -> Result<(), Failure> {
        let path = format!("/session/{session}");
        self.client
            .post(
                &format!("{path}/datasets"),
                json!({"name": name, "sensitivity": class}),
            )
            .await?;
        let state = self.client.get(&path).await?;
        insist("label", text_at(&state, "/sensitivity"), label)?;
        said(
            "dataset",
            CARE,
            "entered",
            format_args!("{name} as {class}: the label is {label}"),
        )
    }

    pub(super) async fn refused_reset(&self, session: &str) -> Result<(), Failure> {
        let body = json!({"reason": "I would like to search the web"});
        let (status, problem) = self
            .client
            .try_post(&format!("/session/{session}/reset"), body)
            .await?;
        insist("reset by an agent", status.as_str(), "403")?;
        said("reset", BAD, "REFUSED", text_at(&problem, "/detail"))
    }

    /// Shows a session's state and insists on its label.
    pub(super) async fn show_state(&self, session: &str, label: &str) -> Result<(), Failure> {
        let state = self.client.get(&format!("/session/{session}")).await?;
        insist("label", text_at(&state, "/sensitivity"), label)?;
        let source = text_at(&state, "/contamination_source");
        said("state", HEAD, label, format_args!("raised by {source}"))?;
        words("closed", &texts_at(&state, "/blocked_tools").join(", "))
    }

    /// Shows what the gateway tells of some tools before anything is called.
    pub(super) async fn show_manifest(&self, session: &str, tools: &[&str]) -> Result<(), Failure> {
        let manifest = self.client.get(&format!("/session/{session}/manifest")).await?;
        self.aside("Before the first call, the manifest tells the agent what each tool would close:")?;
        let listed = manifest
            .pointer("/tools")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        for tool in listed.filter(|tool| tools.contains(&text_at(tool, "/name"))) {
            let mark = text_at(tool, "/sensitivity");
            let style = if mark == "internal_source" { CARE } else { GOOD };
            said("tool", style, text_at(tool, "/name"), format_args!("[{mark}]"))?;
            words("", text_at(tool, "/consequence"))?;
        }
        Ok(())
    }

    /// Has a plan checked that cannot work as it is, and gives the order that does.
    pub(super) async fn validate_plan(&self, session: &str, plan: &[&str]) -> Result<Vec<String>, Failure> {
        let body = json!({"planned_calls": plan});
        let report = self
            .client
            .post(&format!("/session/{session}/validate-plan"), body)
            .await?;
        let valid = report.pointer("/valid").and_then(Value::as_bool);
        insist("validity of the plan", &format!("{valid:?}"), "Some(false)")?;
        said("plan", BAD, "unsafe", plan.join(" -> "))?;
        words("why", text_at(&report, "/violations/0/reason"))?;
        words("instead", text_at(&report, "/violations/0/suggestion"))?;
        let order = texts_at(&report, "/safe_ordering");
        said("plan", GOOD, "safe", order.join(" -> "))?;
        Ok(order)
    }
}

fn insist(what: &str, found: &str, expected: &str) -> Result<(), Failure> {
    if found == expected {
        return Ok(());
    }
    Err(Failure::no(format_args!(
        "{what}: {found}, where {expected} was expected"
    )))
}

/// One line: what happened, how it went, with what.
fn said(what: &str, style: anstyle::Style, word: &str, subject: impl Display) -> Result<(), Failure> {
    let word = painted(style, format_args!("{word:<8}"));
    answer(format_args!("  {what:<9} {word} {subject}"))
}

/// Longer text below a line, wrapped.
fn words(name: &str, text: &str) -> Result<(), Failure> {
    let mut label = name;
    for line in wrapped(text, WIDTH - 2 * INDENT) {
        answer(format_args!(
            "{:INDENT$}{} {line}",
            "",
            painted(FAINT, format_args!("{label:<8}"))
        ))?;
        label = "";
    }
    Ok(())
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("unbreakable", 3), ["unbreakable"]);
        assert!(wrapped("", 3).is_empty());
    }
}
