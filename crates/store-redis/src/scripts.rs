//! Every script there is. Each does one thing whole.

use redis::Script;

pub(crate) struct Scripts {
    pub(crate) read: Script,
    pub(crate) insert: Script,
    pub(crate) replace: Script,
    pub(crate) fence: Script,
    pub(crate) issue: Script,
    pub(crate) revoke: Script,
}

impl Scripts {
    pub(crate) fn new() -> Self {
        Self {
            read: Script::new(include_str!("lua/read.lua")),
            insert: Script::new(include_str!("lua/insert.lua")),
            replace: Script::new(include_str!("lua/replace.lua")),
            fence: Script::new(include_str!("lua/fence.lua")),
            issue: Script::new(include_str!("lua/issue.lua")),
            revoke: Script::new(include_str!("lua/revoke.lua")),
        }
    }
}
