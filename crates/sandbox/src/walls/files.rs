//! Landlock: a second wall around the files, beside the mounts.
//!
//! What is not mounted cannot be named; Landlock also stops what is named by a path that a mistake in the mounts left open.
//! Names of directories may be listed everywhere, so that `ls /` shows what there is.

use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd, RestrictionStatus,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};

/// The rules are written for this version; an older kernel keeps those that it knows.
const WRITTEN_FOR: ABI = ABI::V6;

/// Landlock that exists and yet failed.
#[derive(Debug, thiserror::Error)]
#[error("landlock refused its rules: {0}")]
pub struct FilesError(#[from] RulesetError);

/// Confines this process, and all it starts, to these files. The version that holds; nothing on a kernel without Landlock.
pub(crate) fn allow_files(readable: &[PathBuf], writable: &[PathBuf]) -> Result<Option<u32>, FilesError> {
    let read = AccessFs::from_read(WRITTEN_FOR);
    let write = AccessFs::from_all(WRITTEN_FOR);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(write)?
        .scope(Scope::from_all(WRITTEN_FOR))?
        .create()?
        .add_rules(path_beneath_rules(readable, read))?
        .add_rules(path_beneath_rules(writable, write))?;
    if let Ok(root) = PathFd::new("/") {
        rules = rules.add_rule(PathBeneath::new(root, AccessFs::ReadDir))?;
    }
    Ok(version(&rules.restrict_self()?))
}

/// The version of Landlock that this kernel has. Asking confines the thread that asks, so one is begun for it.
pub(crate) fn landlock_version() -> Option<u32> {
    let ask = || {
        let rules = Ruleset::default()
            .handle_access(AccessFs::MakeBlock)
            .and_then(Ruleset::create);
        let status = rules.and_then(landlock::RulesetCreated::restrict_self).ok()?;
        version(&status)
    };
    std::thread::spawn(ask).join().ok().flatten()
}

fn version(status: &RestrictionStatus) -> Option<u32> {
    match status.landlock {
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => None,
        LandlockStatus::Available {
            effective_abi,
            kernel_abi,
        } => kernel_abi
            .and_then(|version| u32::try_from(version).ok())
            .or(Some(effective_abi as u32)),
    }
}
