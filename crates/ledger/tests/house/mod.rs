//! What the tests share: events, times, chains.
#![allow(dead_code, reason = "each test program uses its part")]

use std::time::{Duration, SystemTime};

use tidegate_core::{Class, Ident};
use tidegate_ledger::event::{Decision, Verdict};
use tidegate_ledger::{Chain, Event, Name};

/// A directory in memory where there is one: most tests are about bytes, not about the speed of a disk.
pub(crate) fn room() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

pub(crate) fn session(id: &str) -> Chain {
    Chain::Session(Ident::parse(id).unwrap())
}

pub(crate) fn at(second: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 + second)
}

pub(crate) fn decision(tool: &str) -> Event {
    Decision {
        tool: name(tool),
        decision: Verdict::Deny,
        rule: name("label-above-ceiling"),
        label: Class::Internal,
        argument_class: Some(Class::Public),
        contamination_source: Some(name("search_email")),
        policy_version: name("1"),
    }
    .into()
}
