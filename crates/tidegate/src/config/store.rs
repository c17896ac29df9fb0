//! `[store]`: the server that sessions and tokens are kept on, for several gateways on one state. Absent, they are kept in
//! SQLite under `data_dir`.

use std::path::Path;
use std::time::Duration;

use tidegate_store::Remote;

use super::walk::Section;

/// Where sessions and tokens are kept.
#[derive(Clone, Debug)]
pub(crate) enum Store {
    /// In a file under `data_dir`.
    Embedded,
    /// On a server.
    Shared {
        /// Which sort of server.
        kind: Kind,
        /// Where it is, and how long to wait for it.
        remote: Remote,
        /// The environment variable that holds its password.
        password_env: Option<String>,
        /// The environment variable that holds the vault's keys.
        vault_key_env: Option<String>,
    },
}

/// A sort of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// PostgreSQL.
    Postgres,
    /// Redis, sentinels or a cluster.
    Redis,
}

/// Reads the section. Relative paths in it start from `directory`.
pub(super) fn read(root: &mut Section<'_, '_>, directory: &Path) -> Store {
    let Some(mut section) = root.section("store") else {
        return Store::Embedded;
    };
    let url = section.text("url");
    let password_env = section.text("password_env").map(|text| text.value.to_owned());
    let vault_key_env = section.text("vault_key_env").map(|text| text.value.to_owned());
    let ca_file = section.text("ca_file").map(|text| directory.join(text.value));
    let namespace = section.text("namespace");
    let timeout = section.count("timeout_ms", 50..=30_000);
    let replicas = section.count("replicas", 0..=100);
    let Some(url) = url else {
        section.report().error(section.offset, "store.url is needed");
        return Store::Embedded;
    };
    let Some(kind) = kind_of(url.value) else {
        section.report().error(
            url.offset,
            "store.url must begin with postgres://, redis://, rediss://, redis+sentinel:// or redis+cluster://",
        );
        return Store::Embedded;
    };
    if kind == Kind::Redis && !url.starts_with("rediss") && !is_local(url.value) {
        let warning = "plain connection to another machine: labels and tokens' digests can be read and changed on the way; \
                       use rediss";
        section.report().warn(url.offset, warning);
    }
    let mut remote = Remote::at(url.value);
    if let Some(namespace) = namespace {
        if !Remote::is_namespace(namespace.value) {
            let error = "store.namespace must be a plain word: a-z, 0-9 and _, at most 40 characters";
            section.report().error(namespace.offset, error);
        }
        remote.namespace = namespace.value.to_owned();
    }
    remote.ca_file = ca_file;
    remote.timeout = timeout.map_or(remote.timeout, Duration::from_millis);
    remote.replicas = replicas.and_then(|count| u32::try_from(count).ok());
    Store::Shared {
        kind,
        remote,
        password_env,
        vault_key_env,
    }
}

fn kind_of(url: &str) -> Option<Kind> {
    match url.split_once("://")?.0 {
        "postgres" | "postgresql" => Some(Kind::Postgres),
        "redis" | "rediss" | "redis+sentinel" | "rediss+sentinel" | "redis+cluster" | "rediss+cluster" => {
            Some(Kind::Redis)
        }
        _ => None,
    }
}

/// Whether every host of an address is this machine.
fn is_local(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let places = rest.rsplit_once('@').map_or(rest, |(_, places)| places);
    let hosts = places.split('/').next().unwrap_or_default();
    hosts.split(',').all(|host| {
        let name = host
            .rsplit_once(':')
            .map_or(host, |(name, _)| name)
            .trim_matches(['[', ']']);
        name == "localhost"
            || name
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_contains, config};
    use super::*;

    #[test]
    fn a_store_is_a_server_that_is_known() {
        for (text, expected) in [
            ("[store]", "1:2: store.url is needed"),
            (
                "[store]\nurl = \"mysql://canary\"",
                "2:7: store.url must begin with postgres://, redis://, rediss://, redis+sentinel:// or redis+cluster://",
            ),
            (
                "[store]\nurl = \"redis://10.0.0.1\"",
                "2:7: warning: plain connection to another machine: labels and tokens' digests can be read and changed on the way; use rediss",
            ),
            (
                "[store]\nurl = \"redis://127.0.0.1\"\nnamespace = \"a b\"",
                "3:13: store.namespace must be a plain word: a-z, 0-9 and _, at most 40 characters",
            ),
            (
                "[store]\nurl = \"redis://127.0.0.1\"\ntimeout = 3",
                "3:1: unknown key store.timeout; did you mean timeout_ms?",
            ),
        ] {
            check_contains(text, expected);
        }
        for url in [
            "postgres://db.example/tidegate",
            "redis://user:canary@localhost:7000",
            "rediss+cluster://a,b",
        ] {
            let config = config(&format!("[store]\nurl = \"{url}\"\nreplicas = 1\n"));
            assert!(matches!(config.store, Store::Shared { .. }), "{url}");
            assert!(!format!("{:?}", config.store).contains("canary"));
        }
        assert!(matches!(config("").store, Store::Embedded));
    }
}
