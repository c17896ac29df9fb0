//! PostgreSQL keeps the contract.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use tidegate_store::{Remote, conformance};
use tidegate_store_postgres::{PostgresStore, connect};
use xtask::services;

/// A state of its own for each case of each run.
async fn open(url: &str, case: &str) -> PostgresStore {
    let mut remote = Remote::at(url);
    let short: String = case.chars().take(28).collect();
    remote.namespace = format!("t{}_{short}", std::process::id());
    remote.timeout = std::time::Duration::from_secs(20);
    connect(&remote).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_suite() {
    if let Some(url) = services::address("TIDEGATE_TEST_POSTGRES").unwrap() {
        conformance::run_all(|case| open(&url, case)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_suite_of_notes_and_kinship() {
    if let Some(url) = services::address("TIDEGATE_TEST_POSTGRES").unwrap() {
        conformance::run_memory(|case| open(&url, case)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_suite_of_origins() {
    if let Some(url) = services::address("TIDEGATE_TEST_POSTGRES").unwrap() {
        conformance::run_origins(|case| open(&url, case)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_suite_of_gates() {
    if let Some(url) = services::address("TIDEGATE_TEST_POSTGRES").unwrap() {
        conformance::run_gates(|case| open(&url, case)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_suite_of_class_reviews() {
    if let Some(url) = services::address("TIDEGATE_TEST_POSTGRES").unwrap() {
        conformance::run_reviews(|case| open(&url, case)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_suite_for_many_gateways() {
    if let Some(url) = services::address("TIDEGATE_TEST_POSTGRES").unwrap() {
        conformance::run_shared(|case| open(&url, case)).await;
    }
}
