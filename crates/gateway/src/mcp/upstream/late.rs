//! Calls that nobody waits for any more, and that their server may be working on all the same.

use std::collections::HashMap;

use super::call::Call;

/// The most that are remembered of one conversation.
const MOST: usize = 256;

/// The calls of one conversation whose answer may still come.
#[derive(Default)]
pub(super) struct Late {
    calls: HashMap<u64, Call>,
    is_full: bool,
}

impl Late {
    /// A call is given up.
    pub(super) fn add(&mut self, id: u64, call: Call) {
        if self.calls.len() < MOST {
            self.calls.insert(id, call);
        } else {
            self.is_full = true;
        }
    }

    /// The answer to a call came after all.
    pub(super) fn answered(&mut self, id: u64) {
        self.calls.remove(&id);
    }

    /// The call that went under an id.
    pub(super) fn call(&self, id: u64) -> Option<&Call> {
        self.calls.get(&id)
    }

    /// The calls; `None` when there were more than are remembered.
    pub(super) fn calls(&self) -> Option<impl Iterator<Item = &Call>> {
        (!self.is_full).then(|| self.calls.values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_core::Name;

    #[test]
    fn a_call_is_late_until_its_answer_comes_and_too_many_are_anybodys() {
        let call = Call {
            subject: Name::parse("hr.slow").unwrap(),
            token: None,
        };
        let mut late = Late::default();
        late.add(1, call.clone());
        assert_eq!(late.call(1), Some(&call));
        late.answered(1);
        assert_eq!(late.calls().unwrap().count(), 0);
        for id in 0..=MOST {
            assert!(late.calls().is_some());
            late.add(u64::try_from(id).unwrap(), call.clone());
        }
        assert!(late.calls().is_none());
        late.answered(1);
        assert!(late.calls().is_none(), "one of them was forgotten");
    }
}
