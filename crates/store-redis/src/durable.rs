//! Whether a server keeps what it acknowledges. Looked at on every new connection: behind the same address may stand another
//! server by now, or the same one with other settings or without its data.

use std::collections::HashMap;
use std::sync::OnceLock;

use redis::{Cmd, Value};
use tidegate_store::StoreError;

use crate::failure::{damaged, failed, refused};
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
    let asked = SETTINGS.map(|(name, ..)| redis::cmd("CONFIG").arg("GET").arg(name).clone());
    let answers = wire.send(&asked).await.map_err(|error| match error.code() {
        Some("NOPERM" | "ERR") => refused(
            "Redis does not let this user see its settings, so it cannot be told whether it keeps what it acknowledges: \
             allow CONFIG GET",
        ),
        _ => failed(&error),
    })?;
    for ((name, wanted, otherwise), answer) in SETTINGS.into_iter().zip(answers) {
        let answer: HashMap<String, String> = redis::from_redis_value(answer).map_err(|_| damaged())?;
        let found = answer.get(name).map_or("nothing", String::as_str);
        if found != wanted {
            return Err(refused(&format!(
                "Redis runs with {name} = {found}, so {otherwise}: set {name} to {wanted}"
            )));
        }
    }
    Ok(())
}

/// A replica may be behind: its answers would be labels of some time ago.
pub(crate) async fn check_role(wire: &mut Wire) -> Result<(), StoreError> {
    let answers = wire.send(&[redis::cmd("ROLE")]).await;
    let answers = answers.map_err(|error| failed(&error))?;
    let role = answers.into_iter().next().and_then(|answer| match answer {
        Value::Array(parts) => redis::from_redis_value::<String>(parts.into_iter().next()?).ok(),
        _ => None,
    });
    match role.as_deref() {
        Some("master") => Ok(()),
        _ => Err(refused(
            "this Redis server is a replica: name the primary, or the sentinels",
        )),
    }
}

/// The marks by which a server is known again. The first connection leaves them, and each later one looks for them: a server without
/// one has lost its data, or is another. Where several servers share the state, there is a mark in each part of it.
pub(crate) struct Marks(Vec<(String, OnceLock<String>)>);

impl Marks {
    pub(crate) fn new(keys: Vec<String>) -> Self {
        Self(keys.into_iter().map(|key| (key, OnceLock::new())).collect())
    }

    /// Looks for those that this server holds.
    pub(crate) async fn check(
        &self,
        wire: &mut Wire,
        holds: impl Fn(&str) -> bool,
    ) -> Result<(), StoreError> {
        let here: Vec<_> = self.0.iter().filter(|(key, _)| holds(key)).collect();
        let mut commands = Vec::new();
        for (key, _) in here.iter().filter(|(_, known)| known.get().is_none()) {
            commands.push(Cmd::set_nx(key, fresh()?));
        }
        let left = commands.len();
        commands.extend(here.iter().map(|(key, _)| Cmd::get(key)));
        let answers = wire.send(&commands).await.map_err(|error| failed(&error))?;
        for ((_, known), found) in here.into_iter().zip(answers.into_iter().skip(left)) {
            let found: Option<String> = redis::from_redis_value(found).map_err(|_| damaged())?;
            recognise(known, &found.unwrap_or_default())?;
        }
        Ok(())
    }
}

fn fresh() -> Result<String, StoreError> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|_| refused("the system has no randomness"))?;
    Ok(format!("1:{}", data_encoding::HEXLOWER.encode(&bytes)))
}

fn recognise(known: &OnceLock<String>, found: &str) -> Result<(), StoreError> {
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
    if *known.get_or_init(|| found.to_owned()) == found {
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
