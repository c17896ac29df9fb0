//! Time on a processor instead of time on the wall: a busy machine then does not look like a slow one.

use std::path::Path;
use std::time::{Duration, Instant};

/// Long enough that the clock's grain does not matter.
const LONG_ENOUGH: Duration = Duration::from_millis(400);

/// The kernel counts the time of children in ticks of this length for every program.
const TICK: Duration = Duration::from_millis(10);

/// The mean time that one round of work takes of this thread's processor.
pub fn mean_time(work: impl Fn()) -> Duration {
    let (start, started) = (Instant::now(), of_this_thread());
    let spent = || match (started, of_this_thread()) {
        (Some(started), Some(now)) => now.saturating_sub(started),
        _ => start.elapsed(),
    };
    let mut rounds = 0;
    while spent() < LONG_ENOUGH {
        work();
        rounds += 1;
    }
    spent() / rounds.max(1)
}

/// What all finished children have used of the processors, where the system tells.
#[must_use]
pub fn of_children() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The program's name may hold blanks; the numbers begin behind its bracket, with the third field.
    let fields: Vec<_> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3)?.parse::<u32>().ok();
    Some(TICK * (ticks(16)? + ticks(17)?))
}

/// What a process that runs has used of the processors by now, its children and all threads included; nothing when it
/// is gone.
#[must_use]
pub fn of_process(id: u32) -> Option<Duration> {
    let mut spent = Duration::ZERO;
    for thread in std::fs::read_dir(format!("/proc/{id}/task")).ok()? {
        let thread = thread.ok()?.path();
        // A thread may end in between; what it used is then missing on both ends.
        spent += in_schedule(&thread.join("schedstat")).unwrap_or_default();
        let children = std::fs::read_to_string(thread.join("children")).unwrap_or_default();
        let children = children.split_whitespace().filter_map(|child| child.parse().ok());
        spent += children.filter_map(of_process).sum::<Duration>();
    }
    Some(spent)
}

fn of_this_thread() -> Option<Duration> {
    in_schedule(Path::new("/proc/thread-self/schedstat"))
}

fn in_schedule(file: &Path) -> Option<Duration> {
    let text = std::fs::read_to_string(file).ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}
