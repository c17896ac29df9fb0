//! Checking what a model is about to show a person, against what that person's role may see.

use tidegate_core::{Class, Confined, Ident, Name, Role};
use tidegate_detect::Finding;
use tidegate_detect::redact::Redactor;
use tidegate_ledger::event::{Event, EvidencePointer, OutputDelivery, PiiEgressBlock, PiiLeakRisk};
use tidegate_store::Gate;
use tokio::sync::MutexGuard;

use crate::access::{Act, Caller};
use crate::engine::now;
use crate::gates::{OutputPassage, Shown};
use crate::provenance::word;
use crate::reviews::LeakedTo;
use crate::{DeliverError, Engine, Interrupted, Payload};

/// What is to be done with an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputVerdict {
    /// It holds nothing above what the recipient may see.
    Pass,
    /// What the recipient may not see was taken out.
    Redact,
    /// It shows raw personal data or credentials: a person decides before anything goes on.
    Hold,
}

impl OutputVerdict {
    /// The name used on every wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Redact => "redact",
            Self::Hold => "hold",
        }
    }
}

/// An output after the check.
#[derive(Debug)]
pub struct Checked {
    /// What is to be done with it.
    pub verdict: OutputVerdict,
    /// The highest class that was found in it.
    pub class: Class,
    /// What was found: places and rules, never values.
    pub findings: Vec<Finding>,
    /// What the recipient may see.
    pub content: String,
    /// The gate where a person decides about it, where one does.
    pub gate: Option<Gate>,
}

/// The highest class that a role is shown raw.
pub(crate) const fn clearance(role: Role) -> Class {
    match role {
        Role::Agent | Role::Connector | Role::Auditor => Class::Internal,
        Role::HumanOperator | Role::Admin => Class::Confidential,
        Role::PiiAuthorizedReviewer => Class::Pii,
    }
}

impl Engine {
    /// Checks a model's output before it reaches a recipient: passes it, takes out what the recipient may not see, or
    /// holds it as a leak risk. Either way the delivery is on the record.
    ///
    /// # Errors
    /// When the caller may not, or it cannot be looked into or recorded; nothing is shown then.
    pub async fn check_output(
        &self,
        caller: &Caller,
        id: &Ident,
        text: String,
        recipient: Role,
    ) -> Result<Checked, DeliverError> {
        let session = self.session_for(caller, Act::Call, id).await?;
        // Outputs are looked at under this name, so that an exit can be narrowed to them.
        let source = Name::parse("output").map_err(|_| Interrupted)?;
        let output = Payload::new(text.into());
        let found = self.inspector.arguments(&source, &output).await?;
        let (class, allowed) = (found.class(), clearance(recipient));
        let mut events: Vec<Event> = found.exit_events(id, &source).collect();
        let shown = Shown {
            asked_by: &caller.principal,
            session: &session,
            source: &source,
            output: &output,
            class,
            recipient,
        };
        let held = match verdict(class, allowed) {
            OutputVerdict::Hold => self.hold_output(&shown, &mut events).await?,
            OutputVerdict::Pass | OutputVerdict::Redact => Held::Free,
        };
        // Nobody approves credentials: they are taken out whoever said yes.
        let allowed = match &held {
            Held::Released(_) => allowed.join(Class::Pii),
            Held::Free | Held::Waits(_) | Held::New(..) => allowed,
        };
        let verdict = match (&held, verdict(class, allowed)) {
            (Held::Released(_), OutputVerdict::Hold) => OutputVerdict::Redact,
            (_, verdict) => verdict,
        };
        let content = match verdict {
            // As it is, with the session's stubs in it.
            OutputVerdict::Pass => String::from_utf8_lossy(&output.text().0).into_owned(),
            OutputVerdict::Redact | OutputVerdict::Hold => {
                redacted(output.text().0, &found.findings, allowed)?
            }
        };
        let delivered = OutputDelivery {
            run_id: id.into(),
            output_class: class.min(allowed),
            recipient_role: recipient,
            redaction_applied: verdict != OutputVerdict::Pass,
        };
        events.push(delivered.into());
        self.provenance.note(id, events, now()).await?;
        if matches!(held, Held::Waits(_) | Held::New(..)) {
            self.review_leak(&session, LeakedTo::Reader).await;
        }
        let gate = match held {
            Held::Free => None,
            Held::Waits(gate) => gate,
            Held::Released(gate) => Some(gate),
            Held::New(gate, desk) => {
                let settled = self.settle_gate(gate).await?;
                drop(desk);
                Some(settled)
            }
        };
        Ok(Checked {
            verdict,
            class,
            findings: found.findings,
            content,
            gate,
        })
    }

    /// Puts an output that shows personal data before a person, unless one has approved it.
    async fn hold_output(
        &self,
        shown: &Shown<'_>,
        events: &mut Vec<Event>,
    ) -> Result<Held<'_>, DeliverError> {
        let passage = match self.output_gate(shown).await? {
            OutputPassage::Released(gate, spent) => {
                events.push(spent);
                return Ok(Held::Released(gate));
            }
            passage @ (OutputPassage::NoGates | OutputPassage::Waits(_) | OutputPassage::New(_)) => passage,
        };
        let id = &shown.session.id;
        let content = Confined::new(shown.class, shown.output.text().0);
        let evidence = self.provenance.keep(id, content).await?;
        events.push(leak_risk(id, shown.class, shown.recipient, evidence));
        match passage {
            OutputPassage::New(desk) => {
                let (gate, opened) = self.output_question(shown, evidence).await?;
                events.push(opened);
                Ok(Held::New(gate, desk))
            }
            OutputPassage::Waits(gate) | OutputPassage::Released(gate, _) => Ok(Held::Waits(Some(gate))),
            OutputPassage::NoGates => Ok(Held::Waits(None)),
        }
    }
}

/// How an output stands that may have to wait.
enum Held<'a> {
    /// It need not.
    Free,
    /// It waits, or was denied.
    Waits(Option<Gate>),
    /// A person let it pass, this once.
    Released(Gate),
    /// It waits from now on, once that is on the record.
    New(Gate, MutexGuard<'a, ()>),
}

fn verdict(class: Class, allowed: Class) -> OutputVerdict {
    match class {
        class if class <= allowed => OutputVerdict::Pass,
        Class::Public | Class::Internal | Class::Confidential => OutputVerdict::Redact,
        Class::Pii | Class::Secret => OutputVerdict::Hold,
    }
}

fn leak_risk(id: &Ident, class: Class, recipient: Role, evidence: EvidencePointer) -> Event {
    PiiEgressBlock {
        run_id: id.into(),
        data_class: class,
        destination: word(recipient.as_str()),
        blocking_rule: word("output-above-clearance"),
        failure_id: PiiLeakRisk,
        evidence_pointer: Some(evidence),
    }
    .into()
}

/// The text with everything above the clearance replaced by stubs. The stubs of one output mean nothing in another.
fn redacted(text: Vec<u8>, findings: &[Finding], allowed: Class) -> Result<String, Interrupted> {
    let above: Vec<_> = findings
        .iter()
        .filter(|finding| finding.class > allowed)
        .cloned()
        .collect();
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|_| Interrupted)?;
    let redacted = Redactor::new(key)
        .redact(&text, &above)
        .map_err(|_| Interrupted)?;
    Ok(String::from_utf8_lossy(&redacted.text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_personal_data_is_held_from_everyone_without_the_designation() {
        for role in Role::ALL {
            let expected = if role == Role::PiiAuthorizedReviewer {
                OutputVerdict::Pass
            } else {
                OutputVerdict::Hold
            };
            assert_eq!(verdict(Class::Pii, clearance(role)), expected, "{role}");
            assert_eq!(
                verdict(Class::Secret, clearance(role)),
                OutputVerdict::Hold,
                "{role}"
            );
            assert_eq!(
                verdict(Class::Internal, clearance(role)),
                OutputVerdict::Pass,
                "{role}"
            );
        }
        assert_eq!(
            verdict(Class::Confidential, clearance(Role::Auditor)),
            OutputVerdict::Redact
        );
    }
}
