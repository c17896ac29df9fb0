//! Where values came from.
//!
//! A label says how confidential a session is; it does not say who put a value into it. Whoever writes a mail, a review
//! or a file that an agent reads can name an account, an address or a link there and hope that the agent acts on it. So
//! the values that enter a session are remembered with whose word they are, as keyed digests, and a guarded argument must
//! have been brought by the operator or by a source that is trusted. Doubt is generous and belief is narrow: a value is
//! doubted in any spelling that is recognised ([`token`], [`view`]), and what is not recognised is not believed either.
//! This never touches the label: a call that the label stops is stopped before anything here is asked.

mod date;
mod key;
mod leaf;
mod memory;
mod token;
mod view;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tidegate_core::{
    Class, Doubt, DoubtCause, Entry, FieldPath, Ident, Integrity, Kinds, Name, Tool, Unknown,
};
use tidegate_ledger::event::{self, ContextAssembly, Event};
use tidegate_store::{Origin, OriginBounds, OriginChunk, OriginStore, StoreError};

pub use key::{OriginKey, OriginKeyError};

use crate::access::{Act, Caller};
use crate::engine::now;
use crate::provenance::{rise_event, spelled};
use crate::{AccessError, DeliverError, Engine, Interrupted, Payload, Unveiling};
use key::Digester;
use memory::{Memory, Standing};

/// The most text of one delivery that is read for values. What is longer closes the memory.
const MOST_BYTES: usize = 2 << 20;

/// From this size on, reading is done where blocking is allowed.
const LARGE_BYTES: usize = 64 * 1024;

/// The most digests that are kept in this process's memory, of all sessions together.
const MOST_CACHED: usize = 2_000_000;

/// The most sessions of which it is known that nothing is to be closed.
const MOST_SETTLED: usize = 100_000;

/// What remembers where values came from.
pub struct Origins {
    store: Arc<dyn OriginStore>,
    key: OriginKey,
    bounds: OriginBounds,
    memories: Mutex<HashMap<Ident, Arc<RwLock<Memory>>>>,
    /// Sessions that something entered unremembered, and whose memory says so.
    settled: Mutex<HashSet<Ident>>,
}

impl Origins {
    /// The bounds that hold when nobody says otherwise: about half a megabyte of different words.
    pub const BOUNDS: OriginBounds = OriginBounds {
        operator: 32_768,
        others: 262_144,
    };

    /// Remembers in this store, under this key.
    #[must_use]
    pub fn new(store: Arc<dyn OriginStore>, key: OriginKey, bounds: OriginBounds) -> Self {
        Self {
            store,
            key,
            bounds,
            memories: Mutex::default(),
            settled: Mutex::default(),
        }
    }

    /// The memory of a session with everything that any process has put into it.
    async fn memory(&self, session: &Ident) -> Result<Arc<RwLock<Memory>>, StoreError> {
        let memory = {
            let mut memories = self.memories.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(memories.entry(session.clone()).or_default())
        };
        let last = read(&memory, |memory| memory.last);
        let recalled = self.store.recall(session, last).await?;
        {
            let mut memory = memory.write().unwrap_or_else(PoisonError::into_inner);
            // Another caller may have brought it further meanwhile; then what was recalled is in it already.
            if memory.last == last {
                memory.take(recalled);
            } else {
                memory.closed |= recalled.closed;
            }
        }
        self.make_room(session);
        Ok(memory)
    }

    /// Forgets what the store can tell again, when all of it together is too much.
    fn make_room(&self, current: &Ident) {
        let mut memories = self.memories.lock().unwrap_or_else(PoisonError::into_inner);
        let held: usize = memories
            .values()
            .map(|memory| 64 + read(memory, Memory::len))
            .sum();
        if held > MOST_CACHED {
            memories.retain(|session, _| session == current);
        }
    }

    /// Keeps what several texts brought, durably. More than can be read closes the memory.
    async fn remember(&self, session: &Ident, brought: Vec<Brought>) -> Result<(), StoreError> {
        let bytes: usize = brought.iter().map(Brought::len).sum();
        if bytes > MOST_BYTES {
            return self.store.close(session).await;
        }
        let memory = self.memory(session).await?;
        let digester = self.key.of_session(session);
        let most = self.bounds.others;
        let read = move || -> Option<Vec<OriginChunk>> {
            let memory = memory.read().unwrap_or_else(PoisonError::into_inner);
            brought
                .into_iter()
                .map(|brought| brought.chunk(&memory, &digester, most))
                .collect()
        };
        let chunks = if bytes < LARGE_BYTES {
            read()
        } else {
            tokio::task::spawn_blocking(read).await.unwrap_or(None)
        };
        let Some(mut chunks) = chunks else {
            return self.store.close(session).await;
        };
        chunks.retain(|chunk| !chunk.digests.is_empty());
        if chunks.is_empty() {
            return Ok(());
        }
        self.store.remember(session, chunks, self.bounds).await
    }

    /// Something entered a session while nothing is guarded, so it is not remembered. Should something be guarded later,
    /// the session must not look as if all of it were known.
    async fn settle(&self, session: &Ident) -> Result<(), StoreError> {
        let is_settled = |settled: &HashSet<Ident>| settled.contains(session);
        if is_settled(&self.settled.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(());
        }
        if !self.store.recall(session, u64::MAX).await?.closed {
            self.store.close(session).await?;
        }
        let mut settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        if settled.len() >= MOST_SETTLED {
            settled.clear();
        }
        settled.insert(session.clone());
        Ok(())
    }
}

/// Texts that entered together, and whose word they are.
struct Brought {
    origin: Origin,
    source: Name,
    texts: Vec<String>,
}

impl Brought {
    fn len(&self) -> usize {
        self.texts.iter().map(String::len).sum()
    }

    fn chunk(self, memory: &Memory, digester: &Digester, most: usize) -> Option<OriginChunk> {
        let mut digests = HashSet::new();
        for text in &self.texts {
            digests.extend(memory.additions(text, self.origin, digester, most)?);
            if digests.len() > most {
                return None;
            }
        }
        Some(OriginChunk {
            origin: self.origin,
            source: self.source,
            digests: digests.into_iter().collect(),
        })
    }

    /// The texts of a tool's answer: what is believed of it, and before whom it was said does not matter, so first; then
    /// the rest.
    fn by_tool(tool: &Tool, content: &Payload) -> Vec<Self> {
        let (mut believed, mut other) = (Vec::new(), Vec::new());
        leaf::visit(content.expose(), &mut |place, leaf| {
            let texts = if tool.integrity.believes(place) {
                &mut believed
            } else {
                &mut other
            };
            texts.push(leaf.text().to_owned());
        });
        let brought = |origin, texts| Self {
            origin,
            source: tool.name.clone(),
            texts,
        };
        vec![
            brought(Origin::Trusted, believed),
            brought(Origin::Untrusted, other),
        ]
    }
}

/// What somebody types.
pub(crate) const OPERATOR: &str = "operator";

impl Engine {
    /// The same engine with a memory of where values came from. Without one, every guarded call is held.
    #[must_use]
    pub fn with_origins(self, origins: Origins) -> Self {
        Self {
            origins: Some(origins),
            ..self
        }
    }

    /// Takes note of what the user typed, so that the values in it are known as the operator's. The label stays as it
    /// is unless a class is given: what the user says to the agent is theirs to say, and what an argument holds is looked
    /// at when it is used.
    ///
    /// # Errors
    /// When the caller may not speak for the operator, or it cannot be made durable.
    pub async fn operator_input(
        &self,
        caller: &Caller,
        id: &Ident,
        text: String,
        class: Option<Class>,
    ) -> Result<(), DeliverError> {
        self.session_for(caller, Act::SpeakForOperator, id).await?;
        let source = Name::parse(OPERATOR).map_err(|_| Interrupted)?;
        let input = Payload::new(text.into());
        let found = self.inspector.arguments(&source, &input).await?;
        let (at, bytes) = (now(), input.text().0);
        let mut events: Vec<Event> = Vec::new();
        if let Some(class) = class {
            let entry = Entry {
                class,
                kinds: class.kind().into_iter().fold(Kinds::NONE, Kinds::with),
                source: source.clone(),
                at,
            };
            let admitted = self.store.raise(id, entry).await?;
            events.extend(rise_event(&admitted));
            self.publish_admitted(&admitted).await?;
        }
        if let Some(origins) = &self.origins {
            let brought = Brought {
                origin: Origin::Operator,
                source: source.clone(),
                texts: vec![input.into_text()],
            };
            origins.remember(id, vec![brought]).await?;
        }
        let assembled = ContextAssembly {
            run_id: id.into(),
            data_class: found.class().join(class.unwrap_or(Class::Public)),
            source_id: spelled(&source),
            redaction_applied: false,
            chunk_hash: self.provenance.digest(&bytes),
            origin: event::Origin::OperatorInput,
            evidence_pointer: None,
        };
        events.push(assembled.into());
        Ok(self.provenance.note(id, events, at).await?)
    }

    /// Begins to remember, in a session that was opened just now.
    pub(crate) async fn begin_origins(&self, id: &Ident) -> Result<(), StoreError> {
        match &self.origins {
            Some(origins) if self.guards() => origins.store.begin(id).await,
            Some(_) | None => Ok(()),
        }
    }

    /// Remembers what a tool's answer brings, before anyone can act on it.
    pub(crate) async fn remember_answer(
        &self,
        id: &Ident,
        tool: &Tool,
        content: &Payload,
    ) -> Result<(), StoreError> {
        match &self.origins {
            Some(origins) if self.guards() => origins.remember(id, Brought::by_tool(tool, content)).await,
            Some(origins) => origins.settle(id).await,
            None => Ok(()),
        }
    }

    /// Remembers texts that enter by another way than a tool's answer, each with whose word it is and where it is from.
    pub(crate) async fn remember_texts(
        &self,
        id: &Ident,
        texts: impl IntoIterator<Item = (Origin, Name, String)>,
    ) -> Result<(), StoreError> {
        let brought = texts.into_iter().map(|(origin, source, text)| Brought {
            origin,
            source,
            texts: vec![text],
        });
        match &self.origins {
            Some(origins) if self.guards() => origins.remember(id, brought.collect()).await,
            Some(origins) => origins.settle(id).await,
            None => Ok(()),
        }
    }

    /// Remembers what an agent tells a tool whose answers are believed, so that an answer which repeats it is not taken
    /// for the tool's own word. Before untrusted content is in the session there is nothing to launder.
    pub(crate) async fn remember_words(
        &self,
        id: &Ident,
        tool: &Tool,
        arguments: &Payload,
    ) -> Result<(), StoreError> {
        let Some(origins) = self.origins.as_ref().filter(|_| self.guards()) else {
            return Ok(());
        };
        if !tool.integrity.is_believed() {
            return Ok(());
        }
        let memory = origins.memory(id).await?;
        if read(&memory, |memory| memory.first_untrusted().is_none()) {
            return Ok(());
        }
        let mut texts = Vec::new();
        leaf::visit(arguments.expose(), &mut |_, leaf| {
            texts.push(leaf.text().to_owned())
        });
        let brought = Brought {
            origin: Origin::Agent,
            source: tool.name.clone(),
            texts,
        };
        origins.remember(id, vec![brought]).await
    }

    /// Why a call's guarded arguments are not believed, if they are not.
    pub(crate) async fn doubt(
        &self,
        id: &Ident,
        tool: &Tool,
        unveiling: &Unveiling,
        arguments: &Payload,
    ) -> Result<Option<Doubt>, AccessError> {
        let mut guarded = guarded(&tool.integrity, arguments);
        let Some(first) = guarded.first().map(|(path, _)| path.clone()) else {
            return Ok(None);
        };
        if unveiling.is_needed() {
            // A stub is as good as the value behind it.
            let revealed = self.revealed(unveiling, arguments).await?;
            guarded = self::guarded(&tool.integrity, &revealed);
        }
        let Some(origins) = &self.origins else {
            return Ok(Some(Doubt {
                argument: first,
                cause: DoubtCause::Forgotten,
            }));
        };
        let memory = origins.memory(id).await?;
        let digester = origins.key.of_session(id);
        Ok(read(&memory, |memory| {
            judge_all(memory, &digester, &guarded, tool.integrity.unknown)
        }))
    }

    fn guards(&self) -> bool {
        self.policy
            .control
            .iter()
            .any(|tool| !tool.integrity.guard.is_empty())
    }
}

/// The guarded texts of a call, each with the guard over it.
fn guarded(integrity: &Integrity, arguments: &Payload) -> Vec<(FieldPath, String)> {
    let mut found = Vec::new();
    if integrity.guard.is_empty() {
        return found;
    }
    leaf::visit(arguments.expose(), &mut |place, leaf| {
        if let Some(path) = integrity.guard_over(place) {
            found.push((path.clone(), leaf.text().to_owned()));
        }
    });
    found
}

/// The worst doubt: what is known to be untrusted counts before what is merely unknown.
fn judge_all(
    memory: &Memory,
    digester: &Digester,
    guarded: &[(FieldPath, String)],
    unknown: Unknown,
) -> Option<Doubt> {
    let mut worst = None;
    for (argument, text) in guarded {
        let doubted = |cause| Doubt {
            argument: argument.clone(),
            cause,
        };
        let untrusted = memory.first_untrusted();
        match (memory.judge(text, digester), unknown) {
            (Standing::Believed, _) => {}
            (Standing::Untrusted(source), _) => return Some(doubted(DoubtCause::Untrusted { source })),
            (Standing::Unknown | Standing::TooLong, _) if memory.closed => {
                worst.get_or_insert_with(|| doubted(DoubtCause::Forgotten));
            }
            (Standing::TooLong, _) | (Standing::Unknown, Unknown::Hold) => {
                if let Some(source) = untrusted.cloned() {
                    worst.get_or_insert_with(|| doubted(DoubtCause::Unknown { source }));
                }
            }
            (Standing::Unknown, Unknown::Allow) => {}
        }
    }
    worst
}

fn read<T>(memory: &RwLock<Memory>, look: impl FnOnce(&Memory) -> T) -> T {
    look(&memory.read().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests;
