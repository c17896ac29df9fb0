//! Calls that nobody waits for any more, and that their server may be working on all the same.

use std::collections::HashMap;

use tidegate_core::Name;

/// The most that are remembered of one conversation.
const MOST: usize = 256;

/// The calls of one conversation whose answer may still come.
#[derive(Default)]
pub(super) struct Late {
    calls: HashMap<u64, Name>,
    is_full: bool,
}

impl Late {
    /// A call is given up.
    pub(super) fn add(&mut self, id: u64, subject: Name) {
        if self.calls.len() < MOST {
            self.calls.insert(id, subject);
        } else {
            self.is_full = true;
        }
    }

    /// The answer to a call came after all.
    pub(super) fn answered(&mut self, id: u64) {
        self.calls.remove(&id);
    }

    /// What a call was for.
    pub(super) fn subject(&self, id: u64) -> Option<&Name> {
        self.calls.get(&id)
    }

    /// What the calls were for; `None` when there were more than are remembered.
    pub(super) fn subjects(&self) -> Option<impl Iterator<Item = &Name>> {
        (!self.is_full).then(|| self.calls.values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_late_until_its_answer_comes_and_too_many_are_anybodys() {
        let name = Name::parse("hr.slow").unwrap();
        let mut late = Late::default();
        late.add(1, name.clone());
        assert_eq!(late.subject(1), Some(&name));
        late.answered(1);
        assert_eq!(late.subjects().unwrap().count(), 0);
        for id in 0..=MOST {
            assert!(late.subjects().is_some());
            late.add(u64::try_from(id).unwrap(), name.clone());
        }
        assert!(late.subjects().is_none());
        late.answered(1);
        assert!(late.subjects().is_none(), "one of them was forgotten");
    }
}
