//! The shape of a sealed result, bounded so that it answers no questions about the data.
//!
//! An agent that chooses what it asks for could read data out of how the shapes of the answers differ. So a shape knows
//! names, types and how many there are in powers of ten, never values or lengths; and what a session is shown for one
//! tool is the join of all that was sealed from it so far. A join only grows, and it cannot grow far: all the shapes of a
//! session together tell no more than the last one does.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::token::is_plain_name;

/// The most places of a shape.
const MOST_PLACES: usize = 64;
const DEEPEST: usize = 8;
const TYPES: [&str; 6] = ["null", "boolean", "number", "string", "array", "object"];
const COUNTS: [&str; 4] = ["up to 10", "up to 100", "up to 1000", "more than 1000"];

/// What may be known of sealed data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// The types that occur, one bit for each.
    types: u8,
    fields: BTreeMap<String, Shape>,
    /// Whether there are fields that are not named.
    has_others: bool,
    items: Option<Box<Shape>>,
    /// How many items, by powers of ten.
    count: usize,
}

impl Shape {
    /// The shape of a value. `is_nameable` says whether a name may be shown.
    pub(super) fn of(value: &Value, is_nameable: &dyn Fn(&str) -> bool) -> Self {
        let mut places = MOST_PLACES;
        Self::within(value, is_nameable, DEEPEST, &mut places)
    }

    fn within(value: &Value, is_nameable: &dyn Fn(&str) -> bool, depth: usize, places: &mut usize) -> Self {
        let mut shape = Self {
            types: 1 << kind(value),
            ..Self::default()
        };
        *places = places.saturating_sub(1);
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    if depth == 0 || *places == 0 || !is_plain_name(name) || !is_nameable(name) {
                        shape.has_others = true;
                        continue;
                    }
                    let member = Self::within(member, is_nameable, depth - 1, places);
                    shape.fields.insert(name.clone(), member);
                }
            }
            Value::Array(items) => {
                shape.count = bucket(items.len());
                let mut joined: Option<Self> = None;
                // The first items show what the others are like; more of them would only make it slow.
                for item in items.iter().take(if depth == 0 { 0 } else { 100 }) {
                    let mut own = MOST_PLACES;
                    let item = Self::within(item, is_nameable, depth - 1, &mut own);
                    joined = Some(joined.map_or(item.clone(), |joined| joined.join(item)));
                }
                shape.items = joined.map(Box::new);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        shape
    }

    /// Everything that either says.
    #[must_use]
    pub(super) fn join(self, other: Self) -> Self {
        let mut joined = self.widened(other);
        let mut places = MOST_PLACES;
        joined.prune(&mut places);
        joined
    }

    fn widened(mut self, other: Self) -> Self {
        self.types |= other.types;
        self.has_others |= other.has_others;
        self.count = self.count.max(other.count);
        for (name, shape) in other.fields {
            let known = self.fields.remove(&name);
            self.fields
                .insert(name, known.map_or(shape.clone(), |known| known.widened(shape)));
        }
        self.items = match (self.items, other.items) {
            (Some(one), Some(two)) => Some(Box::new(one.widened(*two))),
            (one, two) => one.or(two),
        };
        self
    }

    /// Keeps the shape within its bound.
    fn prune(&mut self, places: &mut usize) {
        *places = places.saturating_sub(1);
        let before = self.fields.len();
        self.fields.retain(|_, shape| {
            let fits = *places > 0;
            if fits {
                shape.prune(places);
            }
            fits
        });
        self.has_others |= self.fields.len() < before;
        if let Some(items) = &mut self.items {
            items.prune(places);
        }
    }

    /// The shape at a place, as far as this shape tells. Which item of a list is meant makes no difference, and a place
    /// that is not there is of a shape that says nothing.
    pub(super) fn at(&self, steps: &[String]) -> Self {
        let Some((step, rest)) = steps.split_first() else {
            return self.clone();
        };
        let is_index = step.bytes().all(|byte| byte.is_ascii_digit());
        let below = self
            .fields
            .get(step)
            .or(self.items.as_deref().filter(|_| is_index));
        below.map_or_else(Self::default, |below| below.at(rest))
    }

    /// The shape as it is shown and kept.
    pub(super) fn to_json(&self) -> Value {
        let types: Vec<&str> = TYPES
            .iter()
            .enumerate()
            .filter(|(bit, _)| self.types & (1 << bit) != 0)
            .map(|(_, name)| *name)
            .collect();
        let mut shown = Map::new();
        shown.insert(
            "type".to_owned(),
            match types.as_slice() {
                [] => json!("unknown"),
                [one] => json!(one),
                several => json!(several),
            },
        );
        if !self.fields.is_empty() {
            let fields = self
                .fields
                .iter()
                .map(|(name, shape)| (name.clone(), shape.to_json()));
            shown.insert("fields".to_owned(), Value::Object(fields.collect()));
        }
        if self.has_others {
            shown.insert("other_fields".to_owned(), json!(true));
        }
        if self.types & (1 << 4) != 0 {
            shown.insert("count".to_owned(), json!(COUNTS.get(self.count)));
        }
        if let Some(items) = &self.items {
            shown.insert("items".to_owned(), items.to_json());
        }
        Value::Object(shown)
    }

    /// Reads a shape back as it was kept; what cannot be read says nothing.
    pub(super) fn read(value: &Value) -> Self {
        let named = |name: &Value| TYPES.iter().position(|known| name.as_str() == Some(known));
        let types = match value.get("type") {
            Some(Value::Array(types)) => types
                .iter()
                .filter_map(named)
                .fold(0, |bits, bit| bits | 1 << bit),
            Some(one) => named(one).map_or(0, |bit| 1 << bit),
            None => 0,
        };
        let fields = value
            .get("fields")
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        let count = value.get("count").and_then(Value::as_str);
        Self {
            types,
            fields: fields
                .map(|(name, shape)| (name.clone(), Self::read(shape)))
                .collect(),
            has_others: value.get("other_fields").is_some(),
            items: value.get("items").map(|items| Box::new(Self::read(items))),
            count: COUNTS
                .iter()
                .position(|known| count == Some(known))
                .unwrap_or_default(),
        }
    }
}

const fn kind(value: &Value) -> usize {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

const fn bucket(count: usize) -> usize {
    match count {
        0..=10 => 0,
        11..=100 => 1,
        101..=1000 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(value: &Value) -> Shape {
        Shape::of(value, &|_| true)
    }

    #[test]
    fn a_shape_shows_names_types_and_rough_counts() {
        let value = json!({"guests": [{"name": "Anna", "age": 3}, {"name": null}], "anna@x.example": 1});
        let shown = shape(&value).to_json();
        let expected = json!({
            "type": "object",
            "fields": {"guests": {
                "type": "array", "count": "up to 10",
                "items": {"type": "object", "fields": {
                    "age": {"type": "number"}, "name": {"type": ["null", "string"]},
                }},
            }},
            "other_fields": true,
        });
        assert_eq!(shown, expected);
        assert_eq!(Shape::read(&shown), shape(&value));
    }

    #[test]
    fn a_session_cannot_read_data_out_of_shapes() {
        let many = |n: usize| shape(&json!(vec!["x"; n]));
        // An answer with one item and one with nine look alike, and after one, so does an empty one.
        assert_eq!(many(1), many(9));
        assert_eq!(many(1).join(many(0)), many(1));
        assert_eq!(many(500).join(many(1)), many(500));
        // Selecting tells nothing that the shape did not: an item that is not there looks like one that is.
        let guests = shape(&json!({"guests": [{"name": "Anna"}]}));
        let at = |path: &[&str]| guests.at(&path.iter().map(|step| (*step).to_owned()).collect::<Vec<_>>());
        assert_eq!(at(&["guests", "0", "name"]), at(&["guests", "77", "name"]));
        assert_eq!(at(&["nobody"]).to_json(), json!({"type": "unknown"}));
    }

    #[test]
    fn a_shape_is_bounded() {
        let wide: Map<String, Value> = (0..1000)
            .map(|n| (format!("field{n}"), json!({"a": [1]})))
            .collect();
        let mut deep = json!(1);
        for _ in 0..100 {
            deep = json!({"deeper": deep});
        }
        for value in [Value::Object(wide), deep] {
            let size = shape(&value).to_json().to_string().len();
            assert!(size < 10_000, "{size}");
        }
        let mut joined = Shape::default();
        for n in 0..50 {
            let fields: Map<String, Value> = (0..20).map(|m| (format!("f{n}x{m}"), json!(1))).collect();
            joined = joined.join(shape(&Value::Object(fields)));
        }
        assert!(joined.fields.len() <= MOST_PLACES);
    }
}
