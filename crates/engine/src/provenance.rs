//! The record that proves what was done: every step of a use case is durable in the ledger before its answer is given.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tidegate_core::{Admission, Confined, Ident, Moment, Name};
use tidegate_ledger::event::{Event, EvidencePointer, Rise};
use tidegate_ledger::vault::{Deposit, Keep, Vault, VaultError};
use tidegate_ledger::{AppendError, Chain, KeyedDigest, Ledger, Reader};
use tidegate_store::Admitted;

use crate::OriginKey;

/// The ledger and the vault behind it.
#[derive(Clone)]
pub struct Provenance {
    ledger: Arc<Ledger>,
    vault: Arc<Vault>,
    reader: Arc<Reader>,
}

/// Why something could not be recorded. Whoever waits for the record must not go on.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The ledger did not take it.
    #[error(transparent)]
    Ledger(#[from] AppendError),
    /// The vault did not take it.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The thread that was to do it is gone.
    #[error("the vault's work was interrupted")]
    Interrupted,
}

impl Provenance {
    /// Records into this ledger, reads it back through this reader, keeps evidence in this vault.
    #[must_use]
    pub fn new(ledger: Ledger, reader: Reader, vault: Vault) -> Self {
        Self {
            ledger: Arc::new(ledger),
            vault: Arc::new(vault),
            reader: Arc::new(reader),
        }
    }

    /// What reads the ledger back.
    pub(crate) const fn reader(&self) -> &Arc<Reader> {
        &self.reader
    }

    /// The ledger.
    #[must_use]
    pub const fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// A digest by which a value is known again wherever the same vault is, and nowhere else.
    pub(crate) fn vault_digest(&self, content: &[u8]) -> [u8; 32] {
        self.vault.common_digest(content)
    }

    /// The key under which gateways that share a vault remember values.
    #[must_use]
    pub fn common_origin_key(&self) -> OriginKey {
        OriginKey::derived(self.vault.common_key(b"origins"))
    }

    /// The vault.
    pub(crate) const fn vault(&self) -> &Arc<Vault> {
        &self.vault
    }

    /// Records what happened in a session, in this order, and resolves when all of it is durable.
    pub(crate) fn note<E: IntoIterator<Item = Event>>(
        &self,
        session: &Ident,
        events: E,
        at: Moment,
    ) -> impl Future<Output = Result<(), RecordError>> + Send + use<E> {
        self.append(&Chain::Session(session.clone()), events, at)
    }

    /// Records what concerns the gateway as a whole.
    pub(crate) async fn note_gateway(&self, event: Event, at: Moment) -> Result<(), RecordError> {
        self.append(&Chain::Gateway, [event], at).await
    }

    /// Records in one chain, in this order, and resolves when all of it is durable.
    pub(crate) fn append<E: IntoIterator<Item = Event>>(
        &self,
        chain: &Chain,
        events: E,
        at: Moment,
    ) -> impl Future<Output = Result<(), RecordError>> + Send + use<E> {
        let events: Vec<_> = events.into_iter().collect();
        let recorded = self.ledger.append_all(chain.clone(), &events, system_time(at));
        async move {
            recorded.await?;
            Ok(())
        }
    }

    /// Puts raw content away and gives the pointer that records may hold.
    pub(crate) async fn keep(
        &self,
        session: &Ident,
        content: Confined<Vec<u8>>,
    ) -> Result<EvidencePointer, RecordError> {
        let deposit = Deposit {
            session: session.clone(),
            content,
            keep: Keep::ByClass,
        };
        let vault = Arc::clone(&self.vault);
        let kept = tokio::task::spawn_blocking(move || vault.put(deposit, SystemTime::now())).await;
        Ok(kept.map_err(|_| RecordError::Interrupted)??)
    }

    /// A digest that traces a chunk without giving it away.
    pub(crate) fn digest(&self, content: &[u8]) -> KeyedDigest {
        self.ledger.keyed_digest(content)
    }
}

/// A name as records spell it.
pub(crate) fn spelled(name: &Name) -> tidegate_ledger::Name {
    tidegate_ledger::Name::or_unnameable(name.as_str())
}

/// A word of this program's own as records spell it.
pub(crate) fn word(text: &'static str) -> tidegate_ledger::Name {
    tidegate_ledger::Name::or_unnameable(text)
}

/// The record of a rise, where there was one.
pub(crate) fn rise_event(admitted: &Admitted) -> Option<Event> {
    let Admission::Rose(rise) = &admitted.admission else {
        return None;
    };
    let kinds = admitted.session.context.kinds();
    Some(
        Rise {
            from: rise.from,
            to: rise.to,
            source: spelled(&rise.source),
            kinds,
        }
        .into(),
    )
}

fn system_time(at: Moment) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(at.0).unwrap_or_default())
}
