//! How many files and connections the system lets this process have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::Config;
use crate::terminal::note;

/// What a gateway opens beside connections: its state, its record, servers and their streams.
const OTHER_FILES: u64 = 256;

/// How many connections can be served at once: as many as configured, or as the system has files for. Files that run out
/// while serving would fail requests that have nothing to do with connections.
pub(crate) fn room_for_connections(config: &Config) -> usize {
    let wanted = config.limits.connections;
    // A connection through the proxy has two ends.
    let proxied = match config.egress.listen {
        Some(_) => 2 * config.egress.bounds.connections,
        None => 0,
    };
    let others = u64::try_from(proxied)
        .unwrap_or(u64::MAX)
        .saturating_add(OTHER_FILES);
    let needed = u64::try_from(wanted).unwrap_or(u64::MAX).saturating_add(others);
    let Some(files) = raise_to(needed) else {
        return wanted;
    };
    let room = files.saturating_sub(others).max(files / 4).max(1);
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    if room < wanted {
        note(format_args!(
            "the system lets this process open {files} files, so at most {room} connections are served at once \
             (limits.connections is {wanted}); raise it with `ulimit -n` or LimitNOFILE="
        ));
    }
    wanted.min(room)
}

/// Asks the system for so many files. Says how many there are now; nothing when there is no bound.
fn raise_to(needed: u64) -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let current = current?;
    if current >= needed {
        return Some(current);
    }
    let more = maximum.map_or(needed, |maximum| maximum.min(needed));
    let raised = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(more),
            maximum,
        },
    );
    Some(if raised.is_ok() { more } else { current })
}
