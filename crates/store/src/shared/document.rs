//! A session as a JSON document and back.
//!
//! A document that does not read as what was written is an error and never a guess: the label must be the one that the
//! rises and datasets add up to and the one that stands beside the document, and the rises must be a chain. So a damaged row denies, it
//! does not clear.

use serde::{Deserialize, Serialize};
use tidegate_core::{Class, ContextState, Dataset, Halt, Ident, Kind, Kinds, Label, Moment, Name, Rise};

use super::Row;
use crate::{Session, StoreError};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    user: String,
    agent: String,
    opened_at: i64,
    label: String,
    kinds: Vec<String>,
    rises: Vec<WrittenRise>,
    datasets: Vec<WrittenDataset>,
    halt: Option<WrittenHalt>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRise {
    from: String,
    to: String,
    source: String,
    at: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenDataset {
    name: String,
    class: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenHalt {
    source: String,
    at: i64,
}

pub(super) fn write(session: &Session) -> Result<String, StoreError> {
    let context = &session.context;
    let rise = |rise: &Rise| WrittenRise {
        from: rise.from.as_str().to_owned(),
        to: rise.to.as_str().to_owned(),
        source: rise.source.as_str().to_owned(),
        at: rise.at.0,
    };
    let dataset = |set: &Dataset| WrittenDataset {
        name: set.name.as_str().to_owned(),
        class: set.class.as_str().to_owned(),
    };
    let halt = |halt: &Halt| WrittenHalt {
        source: halt.source.as_str().to_owned(),
        at: halt.at.0,
    };
    let document = Document {
        user: session.user.as_str().to_owned(),
        agent: session.agent.as_str().to_owned(),
        opened_at: session.opened_at.0,
        label: context.label().class().as_str().to_owned(),
        kinds: context
            .kinds()
            .iter()
            .map(|kind| kind.as_str().to_owned())
            .collect(),
        rises: context.rises().iter().map(rise).collect(),
        datasets: context.datasets().iter().map(dataset).collect(),
        halt: context.halted().map(halt),
    };
    serde_json::to_string(&document).map_err(|_| damaged("a session"))
}

pub(super) fn read(id: &Ident, row: &Row) -> Result<Session, StoreError> {
    let document: Document = serde_json::from_str(&row.document).map_err(|_| damaged("a session"))?;
    let rises = document
        .rises
        .iter()
        .map(read_rise)
        .collect::<Result<Vec<_>, _>>()?;
    let mut reached = Label::CLEAN.class();
    for rise in &rises {
        if rise.from != reached || rise.to <= rise.from {
            return Err(damaged("a session's rises"));
        }
        reached = rise.to;
    }
    let datasets = document.datasets.iter().map(read_dataset);
    let datasets = datasets.collect::<Result<Vec<_>, _>>()?;
    let halt = document.halt.as_ref().map(read_halt).transpose()?;
    let context = ContextState::restored(read_kinds(&document.kinds)?, rises, datasets, halt);
    // INVARIANT (ratchet monotone): the label was written four times over; if one copy is lower, nobody may use it.
    let copies = [class(&document.label)?, row.label, reached];
    if copies.iter().any(|copy| *copy != context.label().class()) {
        return Err(damaged("a session's label"));
    }
    Ok(Session {
        id: id.clone(),
        user: ident(&document.user)?,
        agent: ident(&document.agent)?,
        opened_at: Moment(document.opened_at),
        context,
    })
}

fn read_rise(rise: &WrittenRise) -> Result<Rise, StoreError> {
    Ok(Rise {
        from: class(&rise.from)?,
        to: class(&rise.to)?,
        source: name(&rise.source)?,
        at: Moment(rise.at),
    })
}

fn read_dataset(set: &WrittenDataset) -> Result<Dataset, StoreError> {
    Ok(Dataset {
        name: name(&set.name)?,
        class: class(&set.class)?,
    })
}

fn read_halt(halt: &WrittenHalt) -> Result<Halt, StoreError> {
    Ok(Halt {
        source: name(&halt.source)?,
        at: Moment(halt.at),
    })
}

fn read_kinds(names: &[String]) -> Result<Kinds, StoreError> {
    let mut kinds = Kinds::NONE;
    for name in names {
        let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == name);
        kinds = kinds.with(kind.ok_or_else(|| damaged("a session's kinds"))?);
    }
    Ok(kinds)
}

/// Only the canonical names: an alias is not something this program wrote.
fn class(text: &str) -> Result<Class, StoreError> {
    let found = Class::ALL.into_iter().find(|class| class.as_str() == text);
    found.ok_or_else(|| damaged("a class"))
}

fn name(text: &str) -> Result<Name, StoreError> {
    Name::parse(text).map_err(|_| damaged("a name"))
}

fn ident(text: &str) -> Result<Ident, StoreError> {
    Ident::parse(text).map_err(|_| damaged("a name"))
}

const fn damaged(what: &'static str) -> StoreError {
    StoreError::Corrupt { what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_core::Entry;

    fn sample() -> (Session, Row) {
        let ident = |text| Ident::parse(text).unwrap();
        let mut context = ContextState::clean();
        context.admit(Entry {
            class: Class::Internal,
            kinds: Kinds::NONE.with(Kind::InternalIp),
            source: Name::parse("search \"docs\"").unwrap(),
            at: Moment(5),
        });
        context.admit_dataset(Name::parse("patients").unwrap(), Class::Pii, Moment(6));
        context.halt(Halt {
            source: Name::parse("web").unwrap(),
            at: Moment(7),
        });
        let session = Session {
            id: ident("s-1"),
            user: ident("ada"),
            agent: ident("bot"),
            opened_at: Moment(1),
            context,
        };
        let row = Row {
            version: 4,
            epoch: 0,
            label: Class::Pii,
            document: write(&session).unwrap(),
        };
        (session, row)
    }

    #[test]
    fn what_was_written_reads_back() {
        let (session, row) = sample();
        assert_eq!(read(&session.id, &row).unwrap(), session);
    }

    #[test]
    fn a_damaged_document_denies() {
        let (session, row) = sample();
        for (from, to) in [
            ("\"label\":\"pii\"", "\"label\":\"public\""),
            ("\"to\":\"pii\"", "\"to\":\"confidential\""),
            ("\"class\":\"pii\"", "\"class\":\"secret\""),
            ("\"from\":\"public\"", "\"from\":\"internal\""),
            ("\"user\":\"ada\"", "\"user\":\"../ada\""),
            ("\"opened_at\":1", "\"opened_at\":1,\"more\":1"),
            ("{", "["),
        ] {
            assert!(row.document.contains(from), "{from}");
            let spoiled = Row {
                document: row.document.replace(from, to),
                ..row.clone()
            };
            assert!(read(&session.id, &spoiled).is_err(), "{from} as {to}");
        }
        let lowered = Row {
            label: Class::Public,
            ..row
        };
        assert!(read(&session.id, &lowered).is_err());
    }
}
