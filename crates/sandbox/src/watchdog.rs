//! Bounds over everything that runs in one sandbox together.
//!
//! The kernel's own bounds are for each process, and root is free of some of them. So the processes of the sandbox are counted
//! from outside every so often, and all of them end when they are too many or too large. It needs no rights and no cgroup.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often it looks.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How much all processes of one sandbox may use together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Their memory, in bytes.
    pub memory_bytes: u64,
    /// How many they are.
    pub processes: usize,
}

/// A bound that was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Exceeded {
    /// They use too much memory.
    #[error("it used more memory than it may")]
    Memory,
    /// They are too many.
    #[error("it started more processes than it may")]
    Processes,
}

impl Bounds {
    /// Waits until a bound is passed by the sandbox that this process is in. It ends nothing by itself.
    pub async fn passed(self, id: u32) -> Exceeded {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let looked = tokio::task::spawn_blocking(move || self.look(id)).await;
            if let Ok(Some(exceeded)) = looked {
                return exceeded;
            }
        }
    }

    fn look(self, id: u32) -> Option<Exceeded> {
        let namespace = namespace(&Path::new("/proc").join(id.to_string()))?;
        let members: Vec<_> = processes()
            .filter(|process| self::namespace(process).as_ref() == Some(&namespace))
            .take(self.processes.saturating_add(1))
            .collect();
        if members.len() > self.processes {
            return Some(Exceeded::Processes);
        }
        let memory: u64 = members.iter().filter_map(|process| resident(process)).sum();
        (memory > self.memory_bytes).then_some(Exceeded::Memory)
    }
}

fn processes() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

fn namespace(process: &Path) -> Option<PathBuf> {
    fs::read_link(process.join("ns/pid")).ok()
}

/// The memory that a process holds, of the second column of its `statm`, in pages.
fn resident(process: &Path) -> Option<u64> {
    let pages = fs::read_to_string(process.join("statm")).ok()?;
    let pages: u64 = pages.split(' ').nth(1)?.parse().ok()?;
    let page = u64::try_from(rustix::param::page_size()).ok()?;
    pages.checked_mul(page)
}
