//! Records as lines: JSON for programs, CSV for spreadsheets.

use std::borrow::Cow;
use std::io::{self, Write};

use data_encoding::HEXLOWER;
use serde::Serialize;
use serde_json::value::RawValue;
use tidegate_core::Class;

use crate::record::FORMAT_VERSION;
use crate::{Event, Record};

/// A record as it is exported. `docs/ledger-schema.json` describes it.
#[derive(Serialize)]
struct Line<'a> {
    v: u8,
    index: u64,
    /// Absent for the gateway's own chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    seq: u64,
    at: String,
    at_ms: i64,
    event: &'a RawValue,
    prev: String,
    hash: String,
}

impl Record {
    /// The record as one line of JSON, without the line's end. The event is the very text that was hashed.
    #[must_use]
    pub fn to_json(&self) -> String {
        let line = Line {
            v: FORMAT_VERSION,
            index: self.index,
            session: self.chain.session().map(tidegate_core::Ident::as_str),
            seq: self.seq,
            at: self.at_text(),
            at_ms: self.at_ms,
            event: &self.event_json,
            prev: HEXLOWER.encode(&self.prev),
            hash: HEXLOWER.encode(&self.hash),
        };
        // Numbers, texts and an event that is JSON already: there is nothing that could fail.
        serde_json::to_string(&line).unwrap_or_default()
    }
}

/// Writes records as JSON lines.
///
/// # Errors
/// What the receiver reports.
pub fn write_json_lines<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    into: &mut impl Write,
) -> io::Result<()> {
    for record in records {
        writeln!(into, "{}", record.to_json())?;
    }
    Ok(())
}

/// Writes records as CSV, one page after the other under one header.
pub struct CsvExport<W: Write>(csv::Writer<W>);

impl<W: Write> CsvExport<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// What the receiver reports.
    pub fn new(into: W) -> io::Result<Self> {
        let mut writer = csv::Writer::from_writer(into);
        writer.write_record([
            "index", "session", "seq", "at", "type", "class", "tool", "event", "prev", "hash",
        ])?;
        Ok(Self(writer))
    }

    /// Writes one record.
    ///
    /// # Errors
    /// What the receiver reports.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        let event = record.event();
        self.0.write_record([
            record.index.to_string().as_str(),
            cell(record.chain.session().map_or("", tidegate_core::Ident::as_str)).as_ref(),
            record.seq.to_string().as_str(),
            record.at_text().as_str(),
            event.as_ref().map_or("", Event::type_name),
            event.as_ref().and_then(Event::class).map_or("", Class::as_str),
            event
                .as_ref()
                .and_then(Event::tool)
                .map_or("", crate::Name::as_str),
            record.event_json.get(),
            HEXLOWER.encode(&record.prev).as_str(),
            HEXLOWER.encode(&record.hash).as_str(),
        ])?;
        Ok(())
    }

    /// Hands everything on to the receiver.
    ///
    /// # Errors
    /// What the receiver reports.
    pub fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A name that a spreadsheet would take for a formula gets an apostrophe, which makes it text there.
fn cell(name: &str) -> Cow<'_, str> {
    if name.starts_with(['=', '+', '-', '@']) {
        format!("'{name}").into()
    } else {
        name.into()
    }
}
