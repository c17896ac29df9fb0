//! Over TLS the contract holds, and only a server with a certificate that is trusted is spoken to.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use tidegate_store::{Remote, conformance};
use tidegate_store_postgres::connect;
use xtask::services::{self, Authority, Place, Postgres};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn only_a_certificate_that_is_trusted() {
    if services::address("TIDEGATE_TEST_POSTGRES").unwrap().is_none() {
        return;
    }
    let place = Place::new().unwrap();
    let state = place.directory("state").unwrap();
    let keys = place.directory("keys").unwrap();
    let authority = Authority::new(&keys, "authority.pem").unwrap();
    let other = Authority::new(&keys, "other.pem").unwrap();
    let certified = authority.certify(&keys).unwrap();
    let port = services::free_port().unwrap();
    let server = Postgres.start_tls(&state, port, &certified).unwrap();
    let mut remote = Remote::at(&format!("{}?sslmode=require", server.url()));
    remote.ca_file = Some(authority.file.clone());
    remote.timeout = std::time::Duration::from_secs(20);
    let open = async |case: &'static str| {
        let mut remote = remote.clone();
        remote.namespace = case.chars().take(38).collect();
        connect(&remote).await.unwrap()
    };
    conformance::run_shared(open).await;
    for untrusting in [Some(other.file), None] {
        let mut remote = remote.clone();
        remote.ca_file = untrusting;
        assert!(
            connect(&remote).await.is_err(),
            "a certificate that nobody here trusts"
        );
    }
}

#[tokio::test]
async fn a_server_without_tls_where_it_is_required() {
    if let Some(url) = services::address("TIDEGATE_TEST_POSTGRES").unwrap() {
        let remote = Remote::at(&format!("{url}?sslmode=require"));
        assert!(connect(&remote).await.is_err());
    }
}

/// 0.0.0.0 leads to this machine, but is no address of it that one could rely on.
#[tokio::test]
async fn a_server_without_tls_at_an_address_beyond_this_machine() {
    let Some(url) = services::address("TIDEGATE_TEST_POSTGRES").unwrap() else {
        return;
    };
    for (options, good) in [
        ("hostaddr=0.0.0.0", false),
        ("hostaddr=0.0.0.0&sslmode=prefer", false),
        ("hostaddr=0.0.0.0&sslmode=disable", true),
        ("hostaddr=127.0.0.1", true),
    ] {
        let mut remote = Remote::at(&format!("{url}?{options}"));
        remote.namespace = "t_hostaddr".to_owned();
        remote.timeout = std::time::Duration::from_secs(20);
        assert_eq!(connect(&remote).await.is_ok(), good, "{options}");
    }
}
