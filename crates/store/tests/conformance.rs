//! The embedded backend keeps the contract.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use tidegate_store::{SqliteOptions, SqliteStore, conformance};

fn check(options: &SqliteOptions) {
    let dir = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .build()
        .unwrap();
    let open = async |case: &'static str| {
        SqliteStore::open(dir.path().join(case).join("tidegate.db"), options.clone()).unwrap()
    };
    runtime.block_on(async {
        conformance::run_all(open).await;
        conformance::run_origins(open).await;
        conformance::run_memory(open).await;
        conformance::run_gates(open).await;
        conformance::run_reviews(open).await;
    });
}

#[test]
fn as_it_comes() {
    check(&SqliteOptions::default());
}

#[test]
fn with_one_reader_and_no_memory() {
    check(&SqliteOptions {
        readers: 1,
        cache_bytes: 0,
        batch: 1,
        ..SqliteOptions::default()
    });
}

#[test]
fn with_memory_for_a_few_sessions() {
    check(&SqliteOptions {
        cache_bytes: 64 * 1_200,
        ..SqliteOptions::default()
    });
}
