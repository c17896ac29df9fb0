//! Whether a server keeps what it acknowledges. Looked at on every new connection: behind the same address may stand another
//! server by now, or the same one with other settings or without its data.

use std::collections::HashMap;
use std::sync::OnceLock;

use redis::AsyncCommands as _;
use tidegate_store::StoreError;

use crate::failure::{failed, refused};
use crate::keys::Keys;
use crate::wire::Wire;

/// The settings that must be so, and what would happen otherwise.
const SETTINGS: [(&str, &str, &str); 4] = [
    ("appendonly", "yes", "a restart would forget labels"),
    (
        "appendfsync",
        "always",
        "a crash would forget labels that were acknowledged",
    ),
    (
        "no-appendfsync-on-rewrite",
        "no",
        "a crash during a rewrite would forget labels that were acknowledged",
    ),
    (
        "maxmemory-policy",
        "noeviction",
        "a full server would forget labels",
    ),
];

/// INVARIANT (durable before acknowledged): the server answers a change only after it is in the append-only file on disk.
pub(crate) async fn check_settings(wire: &mut Wire) -> Result<(), StoreError> {
    for (name, wanted, otherwise) in SETTINGS {
        let mut ask = redis::cmd("CONFIG");
        ask.arg("GET").arg(name);
        let answers: Vec<HashMap<String, String>> = wire.ask_all(ask).await.map_err(|error| {
            match error.code() {
                Some("NOPERM" | "ERR") => refused(
                    "Redis does not let this user see its settings, so it cannot be told whether it keeps what it acknowledges: \
                     allow CONFIG GET",
                ),
                _ => failed(&error),
            }
        })?;
        for answer in answers {
            let found = answer.get(name).map_or("nothing", String::as_str);
            if found != wanted {
                return Err(refused(&format!(
                    "Redis runs with {name} = {found}, so {otherwise}: set {name} to {wanted}"
                )));
            }
        }
    }
    Ok(())
}

/// A replica may be behind: its answers would be labels of some time ago.
pub(crate) async fn check_role(wire: &mut Wire) -> Result<(), StoreError> {
    let answers: Vec<Vec<redis::Value>> = wire
        .ask_all(redis::cmd("ROLE"))
        .await
        .map_err(|error| failed(&error))?;
    for answer in answers {
        let role: Option<String> = answer
            .into_iter()
            .next()
            .and_then(|role| redis::from_redis_value(role).ok());
        if role.as_deref() != Some("master") {
            return Err(refused(
                "this Redis server is a replica: name the primary, or the sentinels",
            ));
        }
    }
    Ok(())
}

/// The first connection leaves a mark, and each later one looks for it: a server without the mark has lost its data, or is
/// another one.
pub(crate) async fn check_identity(
    wire: &mut Wire,
    keys: &Keys,
    known: &OnceLock<String>,
) -> Result<(), StoreError> {
    let key = keys.store();
    if known.get().is_none() {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).map_err(|_| refused("the system has no randomness"))?;
        let mark = format!("1:{}", data_encoding::HEXLOWER.encode(&bytes));
        let _: bool = wire.set_nx(&key, mark).await.map_err(|error| failed(&error))?;
    }
    let found: Option<String> = wire.get(&key).await.map_err(|error| failed(&error))?;
    let found = found.unwrap_or_default();
    let version = found.split(':').next().and_then(|text| text.parse::<i64>().ok());
    match version {
        Some(1) => {}
        Some(version) => {
            return Err(StoreError::TooNew {
                found: version,
                known: 1,
            });
        }
        None if known.get().is_some() => return Err(lost()),
        None => return Err(StoreError::Corrupt { what: "a version" }),
    }
    if *known.get_or_init(|| found.clone()) == found {
        Ok(())
    } else {
        Err(lost())
    }
}

fn lost() -> StoreError {
    refused(
        "Redis has lost the data that was there when this gateway started, or is another server: bring the data back, or restart \
         the gateway to begin without it",
    )
}
