//! Checking what a model is about to show a person, against what that person's role may see.

use tidegate_core::{Class, Confined, Ident, Name, Role};
use tidegate_detect::Finding;
use tidegate_detect::redact::Redactor;
use tidegate_ledger::event::{Event, EvidencePointer, OutputDelivery, PiiEgressBlock, PiiLeakRisk};

use crate::access::{Act, Caller};
use crate::engine::now;
use crate::provenance::word;
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
}

/// The highest class that a role is shown raw.
const fn clearance(role: Role) -> Class {
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
        self.session_for(caller, Act::Call, id).await?;
        // Outputs are looked at under this name, so that an exit can be narrowed to them.
        let source = Name::parse("output").map_err(|_| Interrupted)?;
        let output = Payload::new(text.into());
        let found = self.inspector.arguments(&source, &output).await?;
        let (class, allowed) = (found.class(), clearance(recipient));
        let verdict = verdict(class, allowed);
        let shown = match verdict {
            // As it is, with the session's stubs in it.
            OutputVerdict::Pass => String::from_utf8_lossy(&output.text().0).into_owned(),
            OutputVerdict::Redact | OutputVerdict::Hold => {
                redacted(output.text().0, &found.findings, allowed)?
            }
        };
        let mut events: Vec<Event> = found.exit_events(id, &source).collect();
        if verdict == OutputVerdict::Hold {
            let evidence = self
                .provenance
                .keep(id, Confined::new(class, output.text().0))
                .await?;
            events.push(leak_risk(id, class, recipient, evidence));
        }
        let redaction_applied = verdict != OutputVerdict::Pass;
        let output_class = class.min(allowed);
        let delivered = OutputDelivery {
            run_id: id.into(),
            output_class,
            recipient_role: recipient,
            redaction_applied,
        };
        events.push(delivered.into());
        self.provenance.note(id, events, now()).await?;
        Ok(Checked {
            verdict,
            class,
            findings: found.findings,
            content: shown,
        })
    }
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
