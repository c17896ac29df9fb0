//! What waits for a person, and what a person's word sets free.
//!
//! A gate is bound to one question: for a call that is the session, the tool, the exact arguments, the reason why it was held
//! and the policy it was held under. All of these go into a keyed digest, and an approval is looked up by that digest
//! when the same question comes again. So nothing has to carry an approval to where it is used, and nobody can bend one to
//! another call: another call is another question. The ceilings are asked anew each time, before any gate is.
//!
//! INVARIANT (released once): an approval is taken from the store, durably, before the call it releases may pass.
//!
//! A question, an answer and an end are on the ledger before they are in the store, and in the store before anyone is told.

mod answer;
mod ask;
mod call;
mod ending;
mod error;
mod feed;
mod halt;
mod key;
mod output;
mod queue;
mod reveal;
mod tool_change;
mod view;
mod words;

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::{Class, Ident, Moment, Name};
use tidegate_ledger::event::{Event, EvidencePointer, GateOpened, GateSpent};
use tidegate_store::{
    Binding, Gate, GateKind, GateState, GateStore, OpenGateError, Opened, Session, StoreError,
};
use tokio::sync::{Mutex, MutexGuard, broadcast, watch};

pub use ask::Wish;
pub use call::Carrier;
pub use error::GateError;
pub use feed::{GateFeed, GateNews};
pub use queue::{GatePage, GateWanted};
pub use reveal::Revealed;
pub use tool_change::ToolChange;
pub use view::GateView;

pub(crate) use call::Call;
pub(crate) use halt::Halted;
pub(crate) use output::{OutputPassage, Shown};

use crate::engine::now;
use crate::origin::OriginKey;
use crate::provenance::{spelled, word};
use crate::{AccessError, Engine, Interrupted, Provenance};
use key::GateKey;
use view::Kept;

/// What the operator said of gates.
#[derive(Clone, Debug)]
pub struct GateRules {
    /// How long a question waits before silence is a denial.
    pub expiry: Duration,
    /// How long an approval can be used.
    pub release: Duration,
    /// The longest that a held call is kept waiting for an answer before it is told to ask again.
    pub wait: Duration,
    /// The most questions of one session that wait.
    pub per_session: usize,
    /// The classes for which two people must approve.
    pub two_person: Vec<Class>,
}

impl GateRules {
    /// What serves when nothing is configured.
    pub const STANDARD: Self = Self {
        expiry: Duration::from_secs(3_600),
        release: Duration::from_secs(900),
        wait: Duration::from_secs(20),
        per_session: 100,
        two_person: Vec::new(),
    };
}

/// Gates are opened and answered one after another within a session; sessions share this many desks.
const DESKS: usize = 64;

/// How many pieces of news a slow listener may be behind.
const NEWS: usize = 1_024;

/// Where gates are kept, and the rules for them.
pub(crate) struct Gates {
    store: Arc<dyn GateStore>,
    rules: GateRules,
    key: GateKey,
    /// This gateway, by its ledger.
    owner: Ident,
    desks: Vec<Mutex<()>>,
    /// Moves whenever this process changes a gate.
    moved: watch::Sender<u64>,
    news: broadcast::Sender<GateNews>,
}

impl Engine {
    /// The same engine with gates: what is held can be released by a person.
    ///
    /// # Errors
    /// When the gateway's own ledger has no name.
    pub fn with_gates(
        self,
        store: Arc<dyn GateStore>,
        key: &OriginKey,
        rules: GateRules,
    ) -> Result<Self, Interrupted> {
        let gates = Gates {
            store,
            rules,
            key: GateKey::from(key),
            owner: owner(&self.provenance)?,
            desks: (0..DESKS).map(|_| Mutex::new(())).collect(),
            moved: watch::Sender::new(0),
            news: broadcast::Sender::new(NEWS),
        };
        Ok(Self {
            gates: Some(gates),
            ..self
        })
    }

    /// The rules for gates, where there are gates.
    #[must_use]
    pub fn gate_rules(&self) -> Option<&GateRules> {
        self.gates.as_ref().map(|gates| &gates.rules)
    }

    fn gates_or_off(&self) -> Result<&Gates, GateError> {
        self.gates.as_ref().ok_or(GateError::Off)
    }

    /// Puts a question where people see it, after it is on the record. What waits already for the same is given instead.
    pub(crate) async fn settle_gate(&self, gate: Gate) -> Result<Gate, AccessError> {
        let gates = self.gates.as_ref().ok_or(Interrupted)?;
        match gates.store.open_gate(gate, gates.rules.per_session).await {
            Ok(Opened::New(gate)) => {
                gates.tell("opened", &gate);
                Ok(gate)
            }
            Ok(Opened::Known(gate)) => Ok(gate),
            Err(OpenGateError::TooMany) => Err(AccessError::GatesFull),
            Err(OpenGateError::Store(error)) => Err(error.into()),
        }
    }

    /// The record of a question.
    fn opened_event(&self, gate: &Gate, content: Option<&[u8]>) -> Event {
        GateOpened {
            gate_id: (&gate.id).into(),
            kind: word(gate.kind.as_str()),
            tool: gate.tool.as_ref().map(spelled),
            argument_digest: content.map(|content| self.provenance.digest(content)),
            policy_version: tidegate_ledger::Name::or_unnameable(&gate.policy),
            expires_at_ms: gate.expires_at.0,
        }
        .into()
    }
}

/// What a gate is made of.
struct Question<'a> {
    kind: GateKind,
    session: &'a Session,
    asked_by: &'a Ident,
    binding: Binding,
    tool: Option<&'a Name>,
    class: Class,
    rule: &'a str,
    policy: &'a str,
    kept: Kept<'a>,
    evidence: Option<EvidencePointer>,
}

impl Gates {
    /// A new gate, which is neither on the record nor in the store yet.
    fn question(&self, question: Question<'_>) -> Result<Gate, Interrupted> {
        let at = now();
        Ok(Gate {
            id: random_id()?,
            kind: question.kind,
            session: question.session.id.clone(),
            user: question.session.user.clone(),
            agent: question.session.agent.clone(),
            asked_by: question.asked_by.clone(),
            owner: self.owner.clone(),
            binding: question.binding,
            tool: question.tool.cloned(),
            class: question.class,
            rule: question.rule.to_owned(),
            policy: question.policy.to_owned(),
            document: question.kept.written(),
            evidence: question.evidence.map(|pointer| pointer.to_string()),
            opened_at: at,
            expires_at: later(at, self.rules.expiry),
            needed: self.needed(question.class),
            state: GateState::Open,
            approvals: Vec::new(),
            end: None,
            place: 0,
            tick: 0,
        })
    }

    /// The desk of a session: whoever holds it is the only one in this process to open or answer its gates.
    async fn desk(&self, session: &Ident) -> Result<MutexGuard<'_, ()>, Interrupted> {
        let number = session.as_str().bytes().fold(0usize, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(usize::from(byte))
        });
        let desk = self.desks.get(number % DESKS).ok_or(Interrupted)?;
        Ok(desk.lock().await)
    }

    /// How many people must approve something of this class.
    fn needed(&self, class: Class) -> u32 {
        if self.rules.two_person.contains(&class) {
            2
        } else {
            1
        }
    }

    /// Tells whoever listens in this process.
    fn tell(&self, event: &'static str, gate: &Gate) {
        self.moved.send_modify(|moves| *moves = moves.wrapping_add(1));
        // Nobody need listen.
        let _ = self.news.send(GateNews {
            event,
            gate: Arc::new(gate.clone()),
        });
    }

    /// What waits already for the same, if anything does.
    async fn waiting(&self, binding: &Binding) -> Result<Option<Gate>, StoreError> {
        let latest = self.store.latest(binding).await?;
        Ok(latest.filter(|gate| gate.standing(now()) == GateState::Open))
    }

    /// Uses up an approval; nothing when another did.
    async fn spend(&self, gate: &Gate, at: Moment) -> Result<Option<Gate>, StoreError> {
        let spent = self.store.spend(&gate.id, &gate.binding, at).await?;
        if let Some(spent) = &spent {
            self.tell("spent", spent);
        }
        Ok(spent)
    }
}

/// The record that an approval was used up.
fn spent_event(gate: &Gate) -> Event {
    GateSpent {
        gate_id: (&gate.id).into(),
        kind: word(gate.kind.as_str()),
        tool: gate.tool.as_ref().map(spelled),
    }
    .into()
}

/// A moment so much later.
fn later(at: Moment, by: Duration) -> Moment {
    Moment(at.0.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
}

/// 128 random bits: an id that cannot be guessed.
fn random_id() -> Result<Ident, Interrupted> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(|_| Interrupted)?;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ident::parse(&format!("gate_{hex}")).map_err(|_| Interrupted)
}

/// What a gateway is called: the last word of its ledger's public key.
fn owner(provenance: &Provenance) -> Result<Ident, Interrupted> {
    let key = provenance.ledger().public_key().to_text();
    let name = key.trim_end().rsplit(' ').next().unwrap_or_default();
    Ident::parse(name).map_err(|_| Interrupted)
}
