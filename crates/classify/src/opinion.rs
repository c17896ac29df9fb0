//! Reading what a model thinks of a text.

use tidegate_core::Opinion;

/// Reads the answer of a model: an object with `class` and `injection`. Anything else is no opinion.
pub(crate) fn read(answer: &str) -> Option<Opinion> {
    let start = answer.find('{')?;
    let end = answer.rfind('}')?;
    let answer: serde_json::Value = serde_json::from_str(answer.get(start..=end)?).ok()?;
    let class = answer.get("class")?.as_str()?.parse().ok()?;
    let injection = answer
        .get("injection")?
        .as_f64()
        .filter(|score| (0.0..=1.0).contains(score))?;
    Some(Opinion {
        class,
        injection: injection as f32,
    })
}

#[cfg(test)]
mod tests {
    use tidegate_core::Class;

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
            let read = read(answer).map(|opinion| (opinion.class, opinion.injection));
            assert_eq!(read, opinion, "{answer}");
        }
    }
}
