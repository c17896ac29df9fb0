//! Quoted values of a record: what stands in `{"text": "…"}` was written by whoever filled the record in, and a request
//! in the midst of it is no letter to the reader.

use std::ops::Range;

/// Where the quoted values of named members stand in a text, in order. A value that does not end goes on to the end.
pub(super) fn values(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut values = Vec::new();
    let mut at = 0;
    while let Some(colon) = bytes.get(at..).and_then(|rest| memchr::memchr(b':', rest)) {
        let colon = at + colon;
        at = colon + 1;
        if let Some(start) = value_start(bytes, colon) {
            let end = value_end(bytes, start);
            values.push(start..end);
            at = end;
        }
    }
    values
}

/// Where a quoted value begins after a colon that follows a quoted name.
fn value_start(bytes: &[u8], colon: usize) -> Option<usize> {
    let named = matches!(bytes.get(..colon), Some([.., b'"' | b'\'']));
    let rest = bytes.get(colon + 1..).filter(|_| named)?;
    let blanks = rest.iter().take_while(|byte| **byte == b' ').count();
    matches!(rest.get(blanks), Some(b'"' | b'\'')).then_some(colon + blanks + 2)
}

/// Where the value ends that begins after a quote: at the same quote before a comma or a bracket, for others stand in it.
fn value_end(bytes: &[u8], start: usize) -> usize {
    let quote = start.checked_sub(1).and_then(|at| bytes.get(at));
    let rest = bytes.get(start..).unwrap_or_default();
    let closes = |pair: &[u8]| match pair {
        [first, next] => Some(first) == quote && matches!(next, b',' | b'}' | b']'),
        _ => false,
    };
    rest.windows(2)
        .position(closes)
        .map_or(bytes.len(), |length| start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_what_named_members_hold() {
        for (text, wanted) in [
            (r#"{"a": "one", "b":"two"}"#, vec!["one", "two"]),
            ("{'a': 'it's one', 'b': 3}", vec!["it's one"]),
            ("{'a': 'from '/x' to '/y'.'}", vec!["from '/x' to '/y'."]),
            (r#"{"a": "cut off"#, vec!["cut off"]),
            (r#"She said: "open it""#, vec![]),
            ("a: b, c: d", vec![]),
            (r#"{"a": ["one"]}"#, vec![]),
        ] {
            let found: Vec<_> = values(text).into_iter().map(|range| &text[range]).collect();
            assert_eq!(found, wanted, "{text}");
        }
    }
}
