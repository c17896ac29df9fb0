//! The ratchet: a label that can be raised and cannot be lowered.

use crate::Class;

/// The highest class that has entered a context.
///
/// INVARIANT (ratchet monotone): the class inside never falls. There is no setter; [`Label::raise`] takes the
/// label and gives back one at least as high, so a lower label is not expressible from an existing one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(Class);

impl Label {
    /// Nothing sensitive has entered yet.
    pub const CLEAN: Self = Self(Class::Public);

    /// The label after something of this class entered.
    #[must_use]
    pub fn raise(self, class: Class) -> Self {
        // INVARIANT (ratchet monotone): maximum, never assignment.
        Self(self.0.join(class))
    }

    /// The highest class so far.
    #[must_use]
    pub const fn class(self) -> Class {
        self.0
    }

    /// Whether anything above public has entered.
    #[must_use]
    pub fn is_private(self) -> bool {
        self.0 > Class::Public
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ratchet_monotone(ranks in proptest::collection::vec(0..5u8, 0..40)) {
            let mut label = Label::CLEAN;
            let mut model = 0;
            for rank in ranks {
                let raised = label.raise(Class::from_rank(rank).unwrap());
                prop_assert!(raised >= label);
                model = model.max(rank);
                prop_assert_eq!(raised.class().rank(), model);
                label = raised;
            }
        }
    }
}
