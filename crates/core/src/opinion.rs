//! What a model thinks of a text.

use crate::Class;

/// A model's opinion. It is heard beside what the detectors found and never instead of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Opinion {
    /// The class it would put the text in.
    pub class: Class,
    /// How sure it is that the text gives orders to its reader, from 0 to 1.
    pub injection: f32,
}

impl Opinion {
    /// The class that is known already, or the model's where that is higher.
    #[must_use]
    pub fn raise(self, known: Class) -> Class {
        known.join(self.class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opinion_never_lowers_a_class() {
        for known in Class::ALL {
            for class in Class::ALL {
                let raised = Opinion {
                    class,
                    injection: 0.0,
                }
                .raise(known);
                assert!(raised >= known && raised >= class);
            }
        }
    }
}
