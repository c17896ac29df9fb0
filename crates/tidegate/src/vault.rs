//! Opening the evidence vault: in the data directory, or on the PostgreSQL server that several gateways share.

use std::time::SystemTime;

use tidegate_core::Ident;
use tidegate_ledger::vault::{KeySource, Vault, VaultError};
use tidegate_store_postgres::PostgresVault;

use crate::config::{Config, Store, StoreKind};
use crate::failure::Failure;
use crate::state::server;

/// The files in the data directory that hold evidence and the key it is under.
const FILE: &str = "vault.db";
const KEY_FILE: &str = "vault.key";

/// Opens the vault behind the record of this ledger. The key stays with the gateway wherever the evidence is.
pub(crate) fn open_vault(config: &Config, ledger: &Ident) -> Result<Vault, Failure> {
    let shown = config.data_dir.display();
    let key = key(config)?;
    let opened = match server(config)? {
        Some((StoreKind::Postgres, remote)) => {
            let rows = PostgresVault::connect(&remote, ledger).map_err(|error| {
                Failure::environment(format_args!("evidence on the server of [store]: {error}"))
            })?;
            Vault::over(Box::new(rows), key, SystemTime::now())
        }
        Some((StoreKind::Redis, _)) | None => {
            Vault::open(&config.data_dir.join(FILE), key, SystemTime::now())
        }
    };
    opened.map_err(|error| match (&error, &config.store) {
        (VaultError::UnknownKey { .. }, Store::Shared { .. }) => Failure::environment(format_args!(
            "evidence of this state: {error}; gateways that share a state share one key: copy {KEY_FILE} from a gateway that \
             runs, or name it by store.vault_key_env"
        )),
        _ => Failure::environment(format_args!("evidence in {shown}: {error}")),
    })
}

fn key(config: &Config) -> Result<KeySource, Failure> {
    let Store::Shared {
        vault_key_env: Some(variable),
        ..
    } = &config.store
    else {
        return Ok(KeySource::File(config.data_dir.join(KEY_FILE)));
    };
    let given = KeySource::from_environment(variable).map_err(Failure::usage)?;
    given.ok_or_else(|| {
        Failure::usage(format_args!(
            "store.vault_key_env: the environment has no {variable}"
        ))
    })
}
