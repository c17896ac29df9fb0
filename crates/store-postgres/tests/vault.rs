//! The vault's rows in PostgreSQL keep the contract that the file keeps.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use tidegate_core::Ident;
use tidegate_ledger::vault::{KeySource, Vault, VaultError, conformance};
use tidegate_store::Remote;
use tidegate_store_postgres::PostgresVault;
use xtask::services;

#[test]
fn the_suite() {
    let Some(url) = services::address("TIDEGATE_TEST_POSTGRES").unwrap() else {
        return;
    };
    let open = |case: &'static str, keys: KeySource, who: &'static str| -> Result<Vault, VaultError> {
        let mut remote = Remote::at(&url);
        let short: String = case.chars().take(28).collect();
        remote.namespace = format!("v{}_{short}", std::process::id());
        remote.timeout = std::time::Duration::from_secs(20);
        let rows = PostgresVault::connect(&remote, &Ident::parse(who).unwrap()).unwrap();
        Vault::over(Box::new(rows), keys, std::time::SystemTime::now())
    };
    conformance::run_all(open);
    conformance::run_shared(open);
}
