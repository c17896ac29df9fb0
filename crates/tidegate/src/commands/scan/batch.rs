//! Many texts at once: a line of JSON in, a line of JSON out, in the same order.

use std::io::{BufRead, Read, Write};

use serde_json::{Value, json};
use tidegate_core::Class;

use super::read::ScanError;
use super::{Rules, counted, finding_json, injection_json};

/// The most bytes of one line.
const LONGEST_LINE: usize = 16 << 20;

/// The longest id that is repeated in an answer.
const LONGEST_ID: usize = 1_024;

/// Answers every line. Nothing of a line that cannot be read is repeated, except the id it gives itself.
pub(super) fn run(rules: &Rules, input: &mut dyn BufRead, out: &mut dyn Write) -> Result<(), ScanError> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let taken = (&mut *input)
            .take(LONGEST_LINE as u64 + 1)
            .read_until(b'\n', &mut line);
        if taken.map_err(ScanError::Read)? == 0 {
            return out.flush().map_err(ScanError::Write);
        }
        let answer = if line.len() > LONGEST_LINE && !line.ends_with(b"\n") {
            input.skip_until(b'\n').map_err(ScanError::Read)?;
            failed(&Value::Null, "the line is longer than 16777216 bytes")
        } else {
            answer(rules, &line)
        };
        // Whoever waits for each answer before sending the next line gets it at once.
        writeln!(out, "{answer}")
            .and_then(|()| out.flush())
            .map_err(ScanError::Write)?;
    }
}

fn answer(rules: &Rules, line: &[u8]) -> Value {
    let Ok(Value::Object(mut row)) = serde_json::from_slice(line) else {
        return failed(&Value::Null, "the line is not a JSON object");
    };
    let id = row.remove("id").filter(is_id).unwrap_or_default();
    let Some(Value::String(text)) = row.remove("text") else {
        return failed(&id, "the line has no \"text\" that is a string");
    };
    let inspection = rules.inspect(text.as_bytes());
    let injection = inspection.injection;
    let findings = counted(rules, text.as_bytes(), inspection.scan, &injection);
    let class = findings
        .iter()
        .fold(Class::Public, |class, finding| class.join(finding.class));
    json!({
        "id": id,
        "class": class.as_str(),
        "injection": injection_json(injection.score, injection.verdict),
        "findings": findings.iter().map(finding_json).collect::<Vec<_>>(),
    })
}

fn is_id(id: &Value) -> bool {
    match id {
        Value::String(text) => text.len() <= LONGEST_ID,
        Value::Number(_) => true,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

fn failed(id: &Value, why: &str) -> Value {
    json!({ "id": id, "error": why })
}
