//! Opening the state: a file in the data directory, or a server that several gateways share.

use std::sync::Arc;

use tidegate_core::Ident;
use tidegate_engine::Provenance;
use tidegate_ledger::{Ledger, PooledIndex};
use tidegate_store::{
    GateStore, Hidden, MemoryStore, OriginStore, Remote, ReviewStore, SessionStore, SqliteOptions,
    SqliteStore, TokenStore, note_server, state_file,
};
use tidegate_store_postgres::PostgresStore;
use tidegate_store_redis::RedisStore;

use crate::config::{Config, Store, StoreKind};
use crate::failure::Failure;

/// Notes, kinship and the origins of values.
pub(crate) trait Annex: MemoryStore + OriginStore {}

impl<S: MemoryStore + OriginStore> Annex for S {}

/// Sessions and tokens, wherever they are.
pub(crate) trait State: SessionStore + TokenStore {
    /// Where notes, kinship and the origins of values are kept beside them. Redis keeps none of these: there, notes and
    /// child sessions are refused and every guarded argument is held.
    fn annex(self: Arc<Self>) -> Option<Arc<dyn Annex>>;

    /// Where gates are kept beside them. A server that keeps none has nobody to ask: there, what is held stays denied.
    fn gates(self: Arc<Self>) -> Option<Arc<dyn GateStore>>;

    /// Where class reviews are kept beside them. A server that keeps none opens none: what would have is on the ledger.
    fn reviews(self: Arc<Self>) -> Option<Arc<dyn ReviewStore>>;

    /// Where gateways on the same state publish their records for auditors.
    fn pooled_index(&self) -> Option<Arc<dyn PooledIndex>> {
        None
    }
}

impl State for SqliteStore {
    fn annex(self: Arc<Self>) -> Option<Arc<dyn Annex>> {
        Some(self)
    }

    fn gates(self: Arc<Self>) -> Option<Arc<dyn GateStore>> {
        Some(self)
    }

    fn reviews(self: Arc<Self>) -> Option<Arc<dyn ReviewStore>> {
        Some(self)
    }
}

impl State for PostgresStore {
    fn annex(self: Arc<Self>) -> Option<Arc<dyn Annex>> {
        Some(self)
    }

    fn gates(self: Arc<Self>) -> Option<Arc<dyn GateStore>> {
        Some(self)
    }

    fn reviews(self: Arc<Self>) -> Option<Arc<dyn ReviewStore>> {
        Some(self)
    }

    fn pooled_index(&self) -> Option<Arc<dyn PooledIndex>> {
        Some(self.rows())
    }
}

impl State for RedisStore {
    fn annex(self: Arc<Self>) -> Option<Arc<dyn Annex>> {
        None
    }

    fn gates(self: Arc<Self>) -> Option<Arc<dyn GateStore>> {
        None
    }

    fn reviews(self: Arc<Self>) -> Option<Arc<dyn ReviewStore>> {
        None
    }
}

/// Opens the sessions and tokens that the configuration names.
pub(crate) async fn open_store(config: &Config) -> Result<Arc<dyn State>, Failure> {
    let Some((kind, remote)) = server(config)? else {
        let file = state_file(&config.data_dir).map_err(Failure::environment)?;
        let store = SqliteStore::open(file, SqliteOptions::default());
        let shown = config.data_dir.display();
        let failed = |error| Failure::environment(format_args!("state in {shown}: {error}"));
        return Ok(Arc::new(store.map_err(failed)?));
    };
    let opened: Result<Arc<dyn State>, _> = match kind {
        StoreKind::Postgres => tidegate_store_postgres::connect(&remote)
            .await
            .map(|store| Arc::new(store) as _),
        StoreKind::Redis => tidegate_store_redis::connect(&remote)
            .await
            .map(|store| Arc::new(store) as _),
    };
    let store = opened
        .map_err(|error| Failure::environment(format_args!("state on the server of [store]: {error}")))?;
    // Before anything is kept there, so that nobody who has the directory alone takes it for a state without sessions; and not
    // before the server has answered, since a mistyped address must not close the directory.
    let shown = config.data_dir.display();
    note_server(&config.data_dir)
        .map_err(|error| Failure::environment(format_args!("data_dir {shown}: {error}")))?;
    Ok(store)
}

/// Opens the sessions and tokens that are there. Where nothing was ever kept nothing is begun: the directory may be mistyped.
pub(crate) async fn open_kept_store(config: &Config) -> Result<Arc<dyn State>, Failure> {
    if matches!(config.store, Store::Embedded)
        && let Ok(file) = state_file(&config.data_dir)
    {
        let shown = config.data_dir.display();
        match file.try_exists() {
            Ok(true) => {}
            Ok(false) => {
                return Err(Failure::no(format_args!(
                    "nothing is kept in {shown}: no gateway ran on it and no token was made; is it the right --data-dir?"
                )));
            }
            Err(error) => {
                return Err(Failure::environment(format_args!(
                    "cannot look into {shown}: {error}"
                )));
            }
        }
    }
    open_store(config).await
}

/// The server that the state is on, with its password.
pub(crate) fn server(config: &Config) -> Result<Option<(StoreKind, Remote)>, Failure> {
    let Store::Shared {
        kind,
        remote,
        password_env,
        ..
    } = &config.store
    else {
        return Ok(None);
    };
    let mut remote = remote.clone();
    if let Some(variable) = password_env {
        let password = std::env::var(variable).map_err(|_| {
            Failure::usage(format_args!(
                "store.password_env: the environment has no {variable}"
            ))
        })?;
        remote.password = Some(Hidden::new(&password));
    }
    Ok(Some((*kind, remote)))
}

/// Makes this process the one that writes to its ledger, also for a store on another machine: whoever held a copy of the
/// ledger's directory before is refused from now on.
pub(crate) async fn claim_record(store: &dyn State, provenance: &Provenance) -> Result<(), Failure> {
    let ledger = ledger_name(provenance.ledger())?;
    store.claim(&ledger).await.map_err(Failure::environment)
}

/// What other machines know a ledger by: its key.
pub(crate) fn ledger_name(ledger: &Ledger) -> Result<Ident, Failure> {
    let key = ledger.public_key().to_text();
    let name = key.trim_end().rsplit(' ').next().unwrap_or_default();
    Ident::parse(name).map_err(Failure::environment)
}
