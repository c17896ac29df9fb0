//! What a model thinks of a text.

use tidegate_core::Class;

/// A model's opinion.
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

    /// Reads the answer of a model: an object with `class` and `injection`. Anything else is no opinion.
    pub(crate) fn read(answer: &str) -> Option<Self> {
        let start = answer.find('{')?;
        let end = answer.rfind('}')?;
        let answer: serde_json::Value = serde_json::from_str(answer.get(start..=end)?).ok()?;
        let class = answer.get("class")?.as_str()?.parse().ok()?;
        let injection = answer
            .get("injection")?
            .as_f64()
            .filter(|score| (0.0..=1.0).contains(score))?;
        Some(Self {
            class,
            injection: injection as f32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_complete_answer_is_an_opinion() {
        for (answer, opinion) in [
            (r#"{"class": "pii", "injection": 0.25}"#, Some((Class::Pii, 0.25))),
            (
                "```json\n{\"class\": \"secret\", \"injection\": 1}\n```",
                Some((Class::Secret, 1.0)),
            ),
            (r#"{"class": "pii"}"#, None),
            (r#"{"class": "harmless", "injection": 0}"#, None),
            (r#"{"class": "pii", "injection": 7}"#, None),
            (r#"{"class": "pii", "injection": "no"}"#, None),
            ("}{", None),
            ("I would say it is fine.", None),
            ("", None),
        ] {
            let read = Opinion::read(answer).map(|opinion| (opinion.class, opinion.injection));
            assert_eq!(read, opinion, "{answer}");
        }
    }

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
