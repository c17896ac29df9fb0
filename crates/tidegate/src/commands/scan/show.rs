//! Findings for people, and as one JSON document. Both are written as findings come, so that nothing piles up.

use std::io::{self, Write};

use serde_json::json;

use super::read::Total;
use super::{Found, Show, finding_json, injection_json};

/// A line for each finding.
pub(super) struct Table {
    name: String,
    rows: u64,
}

impl Table {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            rows: 0,
        }
    }
}

impl Show for Table {
    fn begin(&mut self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn finding(&mut self, found: &Found<'_>, out: &mut dyn Write) -> io::Result<()> {
        if self.rows == 0 {
            writeln!(out, "{}", self.name)?;
            writeln!(
                out,
                "{:<12} {:<32} {:<12} {:<13} {:<10} VALUE",
                "LINE:COLUMN", "RULE", "KIND", "CLASS", "CONFIDENCE"
            )?;
        }
        self.rows += 1;
        let finding = found.finding;
        let place = format!("{}:{}", found.start.line, found.start.column);
        writeln!(
            out,
            "{place:<12} {:<32} {:<12} {:<13} {:<10} ({} bytes)",
            finding.rule.as_str(),
            finding.kind.as_str(),
            finding.class.as_str(),
            format!("{}%", finding.confidence.as_percent()),
            finding.span.len(),
        )
    }

    fn end(&mut self, _: &Total, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// `{"file","findings","class","injection"}`: a finding as with `--batch`, with its line and column.
pub(super) struct Json {
    name: String,
    rows: u64,
}

impl Json {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            rows: 0,
        }
    }
}

impl Show for Json {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{{\"file\":{},\"findings\":[", json!(self.name))
    }

    fn finding(&mut self, found: &Found<'_>, out: &mut dyn Write) -> io::Result<()> {
        let mut finding = finding_json(found.finding);
        if let Some(object) = finding.as_object_mut() {
            object.insert("line".to_owned(), json!(found.start.line));
            object.insert("column".to_owned(), json!(found.start.column));
        }
        let comma = if self.rows == 0 { "" } else { "," };
        self.rows += 1;
        write!(out, "{comma}\n{finding}")
    }

    fn end(&mut self, total: &Total, out: &mut dyn Write) -> io::Result<()> {
        let injection = injection_json(total.score, total.verdict);
        writeln!(
            out,
            "],\n\"class\":{},\"injection\":{injection}}}",
            json!(total.class.as_str())
        )
    }
}
