//! What a session's context holds: its label, how it got there, its datasets, and whether it is halted.
//!
//! Every store persists this state and every wire shows it, but only the functions here change it, so the
//! ratchet's law is written once. A label can rise at most four times, so its whole history fits in the state.

use crate::{Class, Kinds, Label, Name};

/// A point in time, in milliseconds since 1970, given by the caller: this crate has no clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub i64);

/// Something that enters a context in the clear.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its class.
    pub class: Class,
    /// What sorts of sensitive data are in it.
    pub kinds: Kinds,
    /// The tool or dataset it came from.
    pub source: Name,
    /// When.
    pub at: Moment,
}

/// One step up of a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rise {
    /// The class before.
    pub from: Class,
    /// The class after; always higher.
    pub to: Class,
    /// What caused it.
    pub source: Name,
    /// When.
    pub at: Moment,
}

/// A named dataset and the highest class it was registered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    /// Its name.
    pub name: Name,
    /// Its class.
    pub class: Class,
}

/// Why and since when nothing passes in a session until a person decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halt {
    /// What triggered it: the tool whose content was hostile.
    pub source: Name,
    /// Since when.
    pub at: Moment,
}

impl Halt {
    /// The source of a halt that is no alarm: the run has ended. It stops what any halt stops, in every process.
    pub const END: &'static str = "tidegate.session-end";

    /// Whether it stands for the end of the run.
    #[must_use]
    pub fn is_end(&self) -> bool {
        self.source.as_str() == Self::END
    }
}

/// What an entry did to the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Nothing changed.
    Unchanged,
    /// A kind or a dataset is new; the label stands where it was.
    Noted,
    /// The label rose.
    Rose(Rise),
}

/// The state of one session's context.
///
/// INVARIANT (ratchet monotone): `label` is the join of everything that entered and equals the last of `rises`;
/// nothing here lowers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextState {
    label: Label,
    kinds: Kinds,
    rises: Vec<Rise>,
    datasets: Vec<Dataset>,
    halt: Option<Halt>,
}

impl ContextState {
    /// The most datasets that are listed by name; the rest share one entry, so that a flood of names neither grows
    /// without bound nor is refused (a refusal would let data in without its label).
    pub const MAX_DATASETS: usize = 1_000;

    /// Nothing has entered.
    #[must_use]
    pub const fn clean() -> Self {
        Self {
            label: Label::CLEAN,
            kinds: Kinds::NONE,
            rises: Vec::new(),
            datasets: Vec::new(),
            halt: None,
        }
    }

    /// The state a store wrote down. The label is computed anew, as the join of everything that is given.
    #[must_use]
    pub fn restored(kinds: Kinds, rises: Vec<Rise>, datasets: Vec<Dataset>, halt: Option<Halt>) -> Self {
        // INVARIANT (ratchet monotone): a lost rise cannot lower a label below its datasets, nor the other way.
        let label = rises
            .iter()
            .map(|rise| rise.to)
            .chain(datasets.iter().map(|set| set.class));
        let label = label.fold(Label::CLEAN, Label::raise);
        Self {
            label,
            kinds,
            rises,
            datasets,
            halt,
        }
    }

    /// Records what entered, raising the label where it must rise.
    pub fn admit(&mut self, entry: Entry) -> Admission {
        let kinds = self.kinds.union(entry.kinds);
        let noted = kinds != self.kinds;
        self.kinds = kinds;
        let raised = self.label.raise(entry.class);
        if raised == self.label {
            return if noted {
                Admission::Noted
            } else {
                Admission::Unchanged
            };
        }
        let rise = Rise {
            from: self.label.class(),
            to: raised.class(),
            source: entry.source,
            at: entry.at,
        };
        self.label = raised;
        self.rises.push(rise.clone());
        Admission::Rose(rise)
    }

    /// Registers a dataset; a known one at a higher class raises, at a lower one changes nothing.
    pub fn admit_dataset(&mut self, name: Name, class: Class, at: Moment) -> Admission {
        if !self.list_dataset(&name, class) {
            return Admission::Unchanged;
        }
        let kinds = class.kind().into_iter().collect();
        match self.admit(Entry {
            class,
            kinds,
            source: name,
            at,
        }) {
            Admission::Unchanged => Admission::Noted,
            admission => admission,
        }
    }

    /// Whether the list changed by it: the name is new, or its class is higher than before.
    fn list_dataset(&mut self, name: &Name, class: Class) -> bool {
        let full = self.datasets.len() >= Self::MAX_DATASETS;
        let known = self.datasets.iter().position(|set| set.name == *name);
        let shared = full.then(|| self.datasets.len() - 1);
        let Some(entry) = known.or(shared).and_then(|index| self.datasets.get_mut(index)) else {
            self.datasets.push(Dataset {
                name: name.clone(),
                class,
            });
            return true;
        };
        let raised = entry.class.join(class);
        std::mem::replace(&mut entry.class, raised) != raised
    }

    /// Stops everything in this session until a person decides. A session that is halted stays as it is, but for the end of
    /// its run: that nobody lifts, so it takes the place of a halt that somebody might. Says whether anything changed.
    pub fn halt(&mut self, halt: Halt) -> bool {
        let ends = halt.is_end() && self.halt.as_ref().is_some_and(|before| !before.is_end());
        let changes = ends || self.halt.is_none();
        if changes {
            self.halt = Some(halt);
        }
        changes
    }

    /// Lifts this halt, because a person decided so. Another halt stays, and so does the end of a run; the label is not
    /// touched. Says whether anything changed.
    pub fn resume(&mut self, halt: &Halt) -> bool {
        let lifted = !halt.is_end() && self.halt.as_ref() == Some(halt);
        if lifted {
            self.halt = None;
        }
        lifted
    }

    /// The label.
    #[must_use]
    pub const fn label(&self) -> Label {
        self.label
    }

    /// What sorts of sensitive data have entered.
    #[must_use]
    pub const fn kinds(&self) -> Kinds {
        self.kinds
    }

    /// Each step up of the label, oldest first; at most four.
    #[must_use]
    pub fn rises(&self) -> &[Rise] {
        &self.rises
    }

    /// When the label first left public.
    #[must_use]
    pub fn contaminated_at(&self) -> Option<Moment> {
        self.rises.first().map(|rise| rise.at)
    }

    /// What raised the label to where it stands.
    #[must_use]
    pub fn contamination_source(&self) -> Option<&Name> {
        self.rises.last().map(|rise| &rise.source)
    }

    /// The registered datasets.
    #[must_use]
    pub fn datasets(&self) -> &[Dataset] {
        &self.datasets
    }

    /// Why nothing passes, when nothing does.
    #[must_use]
    pub const fn halted(&self) -> Option<&Halt> {
        self.halt.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    #[test]
    fn confidential_then_secret_is_secret_with_both_names() {
        let mut state = ContextState::clean();
        state.admit_dataset(name("patient_records"), Class::Confidential, Moment(1));
        state.admit_dataset(name("financials_q4"), Class::Secret, Moment(2));
        assert_eq!(state.label().class(), Class::Secret);
        let names: Vec<_> = state.datasets().iter().map(|set| set.name.as_str()).collect();
        assert_eq!(names, ["patient_records", "financials_q4"]);
        assert_eq!(state.contaminated_at(), Some(Moment(1)));
        assert_eq!(state.contamination_source(), Some(&name("financials_q4")));
    }

    #[test]
    fn only_the_very_halt_is_lifted_and_no_end() {
        let halt = |source, at| Halt {
            source: name(source),
            at: Moment(at),
        };
        let mut state = ContextState::clean();
        state.admit_dataset(name("d"), Class::Pii, Moment(0));
        state.halt(halt("fetch", 1));
        assert!(!state.resume(&halt("fetch", 2)) && !state.resume(&halt("other", 1)));
        assert!(state.halted().is_some());
        assert!(state.resume(&halt("fetch", 1)) && !state.resume(&halt("fetch", 1)));
        assert_eq!((state.halted(), state.label().class()), (None, Class::Pii));
        assert!(state.halt(halt("fetch", 2)) && !state.halt(halt("other", 2)));
        assert!(state.halt(halt(Halt::END, 3)) && !state.halt(halt(Halt::END, 4)));
        assert!(!state.resume(&halt("fetch", 2)) && !state.resume(&halt(Halt::END, 3)));
        assert_eq!(state.halted(), Some(&halt(Halt::END, 3)));
    }

    #[test]
    fn a_known_dataset_raises_but_never_lowers() {
        let mut state = ContextState::clean();
        let at = Moment(0);
        assert_eq!(
            state.admit_dataset(name("d"), Class::Public, at),
            Admission::Noted
        );
        assert!(!state.label().is_private());
        assert!(matches!(
            state.admit_dataset(name("d"), Class::Pii, at),
            Admission::Rose(_)
        ));
        assert_eq!(
            state.admit_dataset(name("d"), Class::Internal, at),
            Admission::Unchanged
        );
        assert_eq!(
            state.datasets(),
            [Dataset {
                name: name("d"),
                class: Class::Pii
            }]
        );
    }

    #[test]
    fn a_flood_of_datasets_is_bounded_and_still_counts() {
        let mut state = ContextState::clean();
        for i in 0..ContextState::MAX_DATASETS + 5 {
            state.admit_dataset(name(&format!("d{i}")), Class::Internal, Moment(0));
        }
        state.admit_dataset(name("one more"), Class::Secret, Moment(0));
        assert_eq!(state.datasets().len(), ContextState::MAX_DATASETS);
        assert_eq!(state.label().class(), Class::Secret);
    }

    proptest! {
        #[test]
        fn ratchet_monotone(steps in proptest::collection::vec((0..5u8, 0..4u8, any::<bool>()), 0..30)) {
            let mut state = ContextState::clean();
            let mut highest = 0;
            for (i, (rank, set, dataset)) in steps.into_iter().enumerate() {
                let class = Class::from_rank(rank).unwrap();
                let at = Moment(i64::try_from(i).unwrap());
                let source = name(&format!("s{set}"));
                if dataset {
                    state.admit_dataset(source, class, at);
                } else {
                    state.admit(Entry { class, kinds: Kinds::NONE, source, at });
                }
                highest = highest.max(rank);
                prop_assert_eq!(state.label().class().rank(), highest);
                prop_assert!(state.rises().len() <= 4);
                let again = ContextState::restored(
                    state.kinds(), state.rises().to_vec(), state.datasets().to_vec(), state.halted().cloned());
                prop_assert_eq!(&again, &state);
            }
        }
    }
}
