//! `tidegate ledger`: checking and reading the record, without the gateway and without its word.

mod records;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use tidegate_core::{Class, Ident};
use tidegate_ledger::{
    Chain, CsvExport, Event, Filter, Name, PublicKey, ReadError, Reader, Record, Report, SignedCheckpoint,
    Trust, VerifyError, verify, write_json_lines,
};

use crate::failure::Failure;
use crate::source::Places;
use crate::terminal::{answer, note, written};
use records::{Records, Standing};

/// The longest file that a key or a checkpoint is read from.
const LONGEST_FILE: u64 = 4_096;

/// Check and read the record of what was done
///
/// Reads the files of the record only, also while a gateway writes to them, and on a copy as well as on the original.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tidegate ledger verify
  tidegate ledger verify --key ledger.pub --save last.checkpoint                           the first time
  tidegate ledger verify --key ledger.pub --seen last.checkpoint --save last.checkpoint
  tidegate ledger show --session sess_1234
  tidegate ledger export --event decision --from 2026-01-01 --format csv > decisions.csv

Without --key, whoever holds the directory could have signed it anew with a key of their own; without --seen, they could
have put back an older copy. Keep both elsewhere.")]
pub(crate) struct Ledger {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Check everything; exits with 1 and names the first bad record when something is not as it was written
    Verify {
        /// The public key that must have signed it [default: the one beside the record]
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
        /// A checkpoint that was saved earlier and must still be part of it
        #[arg(long, value_name = "FILE")]
        seen: Option<PathBuf>,
        /// Save the newest checkpoint to this file when all is well
        #[arg(long, value_name = "FILE")]
        save: Option<PathBuf>,
        #[command(flatten)]
        whose: Whose,
    },
    /// Show records, one line each
    Show {
        #[command(flatten)]
        wanted: Wanted,
        #[command(flatten)]
        whose: Whose,
    },
    /// Write records for other programs
    Export {
        /// In which form
        #[arg(long, value_enum, default_value_t = Format::Jsonl)]
        format: Format,
        #[command(flatten)]
        wanted: Wanted,
        #[command(flatten)]
        whose: Whose,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A line of JSON for each record
    Jsonl,
    /// For spreadsheets
    Csv,
}

#[derive(Args, Debug)]
struct Whose {
    /// The directory of one record, such as a copy [default: all in the data directory: ledger/ and those in ledgers/]
    #[arg(long, value_name = "DIR", conflicts_with = "data_dir")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    places: Places,
}

impl Whose {
    /// The records to be read. One that is gone cannot be; whoever reads the others is told.
    fn directories(&self) -> Result<Vec<PathBuf>, Failure> {
        let mut directories = Vec::new();
        for standing in self.records()? {
            match there(standing) {
                Ok(dir) => directories.push(dir),
                Err(gone) => note(gone),
            }
        }
        Ok(directories)
    }

    /// All records, there or gone: of the gateway, then of each that ran on standard streams or for one command.
    fn records(&self) -> Result<Vec<Standing>, Failure> {
        if let Some(dir) = &self.dir {
            return Ok(vec![Standing::There(dir.clone())]);
        }
        let (data_dir, records) = self.in_data_dir()?;
        let all: Vec<_> = records.all().collect();
        if all.is_empty() {
            return Err(Failure::environment(format_args!(
                "there is no record in {}: nothing ran on it yet; is it the right --data-dir?",
                data_dir.display()
            )));
        }
        Ok(all)
    }

    /// The one record that is meant where only one can be: the gateway's, if no other is named. Never one that happens to be the
    /// only one left.
    fn one(&self) -> Result<PathBuf, Failure> {
        if let Some(dir) = &self.dir {
            return Ok(dir.clone());
        }
        let (data_dir, records) = self.in_data_dir()?;
        let own = records.own.ok_or_else(|| {
            Failure::environment(format_args!(
                "there is no record of a gateway in {}; --key, --seen and --save are for one record: name another with --dir",
                data_dir.display()
            ))
        })?;
        for Standing::There(dir) | Standing::Gone { dir, .. } in records.others {
            note(format_args!("not looked at: {} (--dir)", dir.display()));
        }
        there(own)
    }

    fn in_data_dir(&self) -> Result<(PathBuf, Records), Failure> {
        let data_dir = self.places.data_dir()?;
        let records = Records::of(&data_dir).map_err(|error| {
            Failure::environment(format_args!("{}: cannot be read: {error}", data_dir.display()))
        })?;
        Ok((data_dir, records))
    }
}

/// Where a record is, unless it is gone.
fn there(standing: Standing) -> Result<PathBuf, Failure> {
    match standing {
        Standing::There(dir) => Ok(dir),
        Standing::Gone { dir, left } => Err(Failure::no(format_args!(
            "{}: the record is missing, though {} is there: it was removed or moved away",
            dir.display(),
            left.display()
        ))),
    }
}

/// Which records are wanted; every part that is given must hold.
#[derive(Args, Debug)]
struct Wanted {
    /// Of this session
    #[arg(long, value_name = "ID", value_parser = Ident::parse)]
    session: Option<Ident>,
    /// Of this type
    #[arg(long, value_name = "TYPE", value_parser = PossibleValuesParser::new(Event::TYPES), hide_possible_values = true)]
    event: Option<String>,
    /// Not before this time: 2026-01-31, or 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time)]
    from: Option<SystemTime>,
    /// Before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<SystemTime>,
    /// About data of this class
    #[arg(long, value_parser = PossibleValuesParser::new(Class::ALL.map(Class::as_str)).try_map(|name| name.parse::<Class>()))]
    class: Option<Class>,
    /// About this tool
    #[arg(long, value_name = "NAME", value_parser = Name::parse)]
    tool: Option<Name>,
}

impl Ledger {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.verb {
            Verb::Verify {
                key,
                seen,
                save,
                whose,
            } => check_all(&whose, key.as_deref(), seen.as_deref(), save.as_deref()),
            Verb::Show { wanted, whose } => {
                let heading = format!(
                    "{:<8} {:<24} {:<36} {:<26} {:<13} TOOL",
                    "RECORD", "TIME", "SESSION", "EVENT", "CLASS"
                );
                answer(heading)?;
                each_page(&whose.directories()?, &wanted.filter(), |records, out| {
                    records
                        .iter()
                        .try_for_each(|record| writeln!(out, "{}", line(record)))
                })
            }
            Verb::Export {
                format: Format::Jsonl,
                wanted,
                whose,
            } => each_page(&whose.directories()?, &wanted.filter(), |records, mut out| {
                write_json_lines(records, &mut out)
            }),
            Verb::Export {
                format: Format::Csv,
                wanted,
                whose,
            } => export_csv(&whose.directories()?, &wanted.filter()),
        }
    }
}

impl Wanted {
    fn filter(self) -> Filter {
        Filter {
            chain: self.session.map(Chain::Session),
            event: self.event,
            from: self.from,
            until: self.until,
            class: self.class,
            tool: self.tool,
        }
    }
}

/// Checks every record. A key or a checkpoint belongs to one: with these, one is checked and the others are named.
fn check_all(
    whose: &Whose,
    key: Option<&Path>,
    seen: Option<&Path>,
    save: Option<&Path>,
) -> Result<(), Failure> {
    if let Some(path) = seen.filter(|path| !path.exists()) {
        return Err(Failure::usage(format_args!(
            "{}: there is no such file; the first time, --save a checkpoint without --seen",
            path.display()
        )));
    }
    let is_of_one = key.or(seen).or(save).is_some();
    let records = if is_of_one {
        vec![Standing::There(whose.one()?)]
    } else {
        whose.records()?
    };
    let count = records.len();
    let mut bad: Vec<Failure> = Vec::new();
    for standing in records {
        // Each is looked at, whatever the one before it is like.
        let checked = there(standing).and_then(|dir| Ok((check(&dir, key, seen, save)?, dir)));
        match checked {
            Ok((summary, _)) if count == 1 => answer(summary)?,
            Ok((summary, dir)) => answer(format_args!("{}: {summary}", dir.display()))?,
            Err(failure) => bad.push(failure),
        }
    }
    if key.is_none() && bad.len() < count {
        note("the key beside each record was believed: compare with a copy of your own, --key FILE");
    }
    let mut bad = bad.into_iter();
    let first = bad.next();
    bad.for_each(|failure| note(&failure));
    first.map_or(Ok(()), Err)
}

fn check(
    dir: &Path,
    key: Option<&Path>,
    seen: Option<&Path>,
    save: Option<&Path>,
) -> Result<String, Failure> {
    let key = key
        .map(|path| read_line(path, "a ledger's public key", PublicKey::parse))
        .transpose()?;
    let seen = seen
        .map(|path| read_line(path, "a checkpoint of a ledger", SignedCheckpoint::parse_text))
        .transpose()?;
    let trust = Trust {
        key: key.as_ref(),
        seen: seen.as_ref(),
    };
    let report = verify(dir, trust).map_err(|error| match error {
        VerifyError::Bad(bad) => Failure::no(format_args!("{}: {bad}", dir.display())),
        VerifyError::Io(error) => {
            Failure::environment(format_args!("{}: cannot be read: {error}", dir.display()))
        }
    })?;
    if let (Some(path), Some(newest)) = (save, &report.newest) {
        std::fs::write(path, newest.to_text()).map_err(|error| {
            Failure::environment(format_args!("{}: cannot be written: {error}", path.display()))
        })?;
    }
    Ok(summary(&report))
}

fn summary(report: &Report) -> String {
    let Report {
        records,
        chains,
        segments,
        checkpoints,
        bytes,
        unsigned,
        closed,
        unfinished_bytes,
        ..
    } = report;
    let closed = if *closed {
        "closed in order"
    } else {
        "open, or ended by a crash"
    };
    format!(
        "all is well: records: {records}, chains: {chains}, segments: {segments}, checkpoints: {checkpoints}, \
         bytes: {bytes}, not yet signed: {unsigned}, unfinished bytes: {unfinished_bytes}, {closed}"
    )
}

fn read_line<T>(path: &Path, what: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T, Failure> {
    use std::io::Read as _;
    let shown = path.display();
    let mut text = String::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(LONGEST_FILE).read_to_string(&mut text));
    read.map_err(|error| Failure::usage(format_args!("{shown}: cannot be read: {error}")))?;
    parse(&text).ok_or_else(|| Failure::usage(format_args!("{shown}: is not {what}")))
}

/// Hands every page on as it is read, so that a long record is never held as a whole.
fn each_page(
    records: &[PathBuf],
    filter: &Filter,
    mut write: impl FnMut(&[Record], &mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    for dir in records {
        let failed = |error: ReadError| Failure::environment(format_args!("{}: {error}", dir.display()));
        let reader = Reader::open(dir).map_err(failed)?;
        let mut after = None;
        loop {
            let page = reader.page(filter, after, Reader::MAX_PAGE).map_err(failed)?;
            match write(&page.records, &mut out).and_then(|()| out.flush()) {
                // Whoever was reading has read enough.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                result => written(result)?,
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }
    Ok(())
}

fn export_csv(directories: &[PathBuf], filter: &Filter) -> Result<(), Failure> {
    let mut headed = false;
    each_page(directories, filter, |records, out| {
        let mut page = Vec::new();
        let mut csv = CsvExport::new(&mut page)?;
        records.iter().try_for_each(|record| csv.write(record))?;
        csv.finish()?;
        // Each page begins with the header; only the first one's is wanted.
        let header = page
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        let from = if headed { header } else { 0 };
        headed = true;
        out.write_all(page.get(from..).unwrap_or_default())
    })
}

fn line(record: &Record) -> String {
    let event = record.event();
    let (kind, class, tool) = event
        .as_ref()
        .map_or(("(newer than this program)", None, None), |event| {
            (event.type_name(), event.class(), event.tool())
        });
    format!(
        "{:<8} {:<24} {:<36} {kind:<26} {:<13} {}",
        record.index,
        record.at_text(),
        record.chain.session().map_or("-", Ident::as_str),
        class.map_or("-", Class::as_str),
        tool.map_or("-", Name::as_str),
    )
}

/// A day, or a moment.
fn time(text: &str) -> Result<SystemTime, &'static str> {
    let moment = text.parse::<jiff::Timestamp>().ok().or_else(|| {
        let day: jiff::civil::Date = text.parse().ok()?;
        let zoned = day.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        Some(zoned.timestamp())
    });
    moment
        .map(SystemTime::from)
        .ok_or("write a day such as 2026-01-31 or a moment such as 2026-01-31T12:00:00Z")
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn days_and_moments() {
        assert_eq!(time("2026-01-31"), time("2026-01-31T00:00:00Z"));
        assert_eq!(time("2026-01-31T02:00:00+02:00"), time("2026-01-31"));
        assert!(time("yesterday").is_err());
    }
}
