//! Which tool each task of a session belongs to, so that what comes of it counts as that tool's.

use std::collections::{HashMap, HashSet};

use tidegate_core::Name;

/// The most tasks of one session whose tool is remembered.
const MOST: usize = 10_000;

/// The tasks that were begun in a session: by their ids, the servers and tools that gave them out.
#[derive(Default)]
pub(super) struct Tasks(HashMap<String, Vec<(usize, Name)>>);

impl Tasks {
    /// A tool answered that it works on a task.
    pub(super) fn began(&mut self, id: &str, server: usize, tool: &Name) {
        if self.0.len() >= MOST && !self.0.contains_key(id) {
            return;
        }
        let owners = self.0.entry(id.to_owned()).or_default();
        let owner = (server, tool.clone());
        if !owners.contains(&owner) {
            owners.push(owner);
        }
    }

    /// The server and the tool behind a task. An id that was given out for several is nobody's: nobody can say whose answer
    /// comes.
    pub(super) fn owner(&self, id: &str) -> Option<(usize, Name)> {
        match self.0.get(id)?.as_slice() {
            [owner] => Some(owner.clone()),
            _ => None,
        }
    }

    /// The tools whose tasks a server may be working on; `None` when there were more than are remembered.
    pub(super) fn tools_of(&self, server: usize) -> Option<Vec<Name>> {
        let at_server = |(of, tool): &(usize, Name)| (*of == server).then(|| tool.clone());
        let tools: HashSet<Name> = self.0.values().flatten().filter_map(at_server).collect();
        (self.0.len() < MOST).then(|| tools.into_iter().collect())
    }

    /// Forgets what a server was working on.
    pub(super) fn forget(&mut self, server: usize) {
        self.0.retain(|_, owners| {
            owners.retain(|(of, _)| *of != server);
            !owners.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_one_tools_until_its_server_begins_anew() {
        let name = |text| Name::parse(text).unwrap();
        let (open, secret) = (name("x.pub"), name("x.sec"));
        let mut tasks = Tasks::default();
        tasks.began("1", 0, &open);
        tasks.began("1", 0, &open);
        assert_eq!(tasks.owner("1"), Some((0, open.clone())));
        assert_eq!(tasks.owner("2"), None);
        tasks.began("1", 0, &secret);
        assert_eq!(tasks.owner("1"), None, "it is two tools'");
        tasks.began("2", 0, &open);
        tasks.began("3", 1, &open);
        tasks.began("2", 1, &open);
        assert_eq!(tasks.owner("2"), None, "it is two servers'");
        tasks.began("4", 0, &open);
        let mut at_work = tasks.tools_of(0).unwrap();
        at_work.sort();
        assert_eq!(at_work, [open.clone(), secret.clone()]);
        tasks.forget(0);
        assert_eq!((tasks.owner("4"), tasks.owner("3")), (None, Some((1, open))));
        tasks.began("1", 0, &secret);
        assert_eq!(tasks.owner("1"), Some((0, secret)));
    }
}
