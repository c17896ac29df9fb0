//! Bringing the server's tables to this version, once, however many gateways start at the same time.

use tidegate_store::StoreError;
use tokio_postgres::Client;

use crate::failure::failed;
use crate::server::Server;

/// Each entry takes the tables from version `index` to `index + 1`. Never change one that was released; add one.
const MIGRATIONS: &[&str] = &[
    include_str!("schema.sql"),
    include_str!("annex/annex.sql"),
    include_str!("vault/vault.sql"),
    include_str!("records/records.sql"),
    include_str!("gates/gates.sql"),
    include_str!("annex/tree.sql"),
    include_str!("vault/owed.sql"),
    include_str!("reviews/reviews.sql"),
];

pub(crate) async fn run(server: &Server) -> Result<(), StoreError> {
    let link = server.connect().await?;
    let limit = server.timeout.saturating_mul(30);
    let migrated = tokio::time::timeout(limit, migrate(&link.client, &server.namespace)).await;
    migrated.unwrap_or_else(|_| {
        let text = "another gateway has been bringing the tables to this version for too long";
        Err(StoreError::Backend(text.to_owned()))
    })
}

/// One transaction from reading the version to writing it, under a lock that is given up with it: of several gateways one
/// migrates and the others find it done.
async fn migrate(client: &Client, namespace: &str) -> Result<(), StoreError> {
    let lock = format!("BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('tidegate:{namespace}', 0))");
    execute(client, &lock).await?;
    let prepare = format!(
        "CREATE SCHEMA IF NOT EXISTS {namespace};
         CREATE TABLE IF NOT EXISTS {namespace}.store (
             single boolean PRIMARY KEY DEFAULT true CHECK (single), schema_version bigint NOT NULL, probes bigint NOT NULL);
         INSERT INTO {namespace}.store (schema_version, probes) VALUES (0, 0) ON CONFLICT DO NOTHING"
    );
    execute(client, &prepare).await?;
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    let found = version(client).await?;
    if found > known {
        return Err(StoreError::TooNew { found, known });
    }
    let done = usize::try_from(found).map_err(|_| StoreError::Corrupt { what: "a version" })?;
    for step in MIGRATIONS.iter().skip(done) {
        execute(client, step).await?;
    }
    if found < known {
        execute(client, &format!("UPDATE store SET schema_version = {known}")).await?;
    }
    execute(client, "COMMIT").await
}

async fn version(client: &Client) -> Result<i64, StoreError> {
    let row = client.query_one("SELECT schema_version FROM store", &[]).await;
    let row = row.map_err(|error| failed(&error))?;
    row.try_get(0).map_err(|error| failed(&error))
}

async fn execute(client: &Client, sql: &str) -> Result<(), StoreError> {
    client.batch_execute(sql).await.map_err(|error| failed(&error))
}
