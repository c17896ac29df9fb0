//! What is in each block of records, so that a filter passes over the blocks without a match.
//!
//! A row in an index of its own for every type, class, tool and time of a record costs twice what the rest of indexing
//! does, and a gateway under load would pay that for questions that are asked now and then. One row for each thing that
//! occurs in a block of [`BLOCK`] records finds the rare as fast, and the frequent is soon found in any block.

use std::collections::BTreeSet;

use rusqlite::types::Value;
use rusqlite::{Transaction, params};

use super::About;
use crate::read::Filter;
use crate::record;

/// Records in a block: a power of two.
const BLOCK: i64 = 1 << BITS;
const BITS: u32 = 10;

pub(super) const SCHEMA: &str = "
CREATE TABLE marks (mark TEXT NOT NULL, block INTEGER NOT NULL, PRIMARY KEY (mark, block)) WITHOUT ROWID;
CREATE TABLE spans (block INTEGER PRIMARY KEY, from_ms INTEGER NOT NULL, to_ms INTEGER NOT NULL);
";

/// One block as far as it was seen.
pub(super) struct Block {
    number: i64,
    from_ms: i64,
    to_ms: i64,
    types: BTreeSet<String>,
    classes: BTreeSet<u8>,
    tools: BTreeSet<String>,
}

/// Adds a record to its block. A block before it is saved first.
pub(super) fn add(
    transaction: &Transaction<'_>,
    open: &mut Option<Block>,
    index: i64,
    at_ms: i64,
    about: &About<'_>,
) -> rusqlite::Result<()> {
    let number = index >> BITS;
    if let Some(before) = open.take_if(|block| block.number != number) {
        save(transaction, &before)?;
    }
    let block = open.get_or_insert_with(|| Block {
        number,
        from_ms: at_ms,
        to_ms: at_ms,
        types: BTreeSet::new(),
        classes: BTreeSet::new(),
        tools: BTreeSet::new(),
    });
    block.from_ms = block.from_ms.min(at_ms);
    block.to_ms = block.to_ms.max(at_ms);
    note(&mut block.types, &about.kind);
    block.classes.extend(about.class);
    about.tool.iter().for_each(|tool| note(&mut block.tools, tool));
    Ok(())
}

/// Most records of a block are like others in it, so a text is copied only once.
fn note(texts: &mut BTreeSet<String>, text: &str) {
    if !texts.contains(text) {
        texts.insert(text.to_owned());
    }
}

impl Block {
    fn marks(&self) -> impl Iterator<Item = String> {
        let types = self.types.iter().map(|kind| mark_of_type(kind));
        let classes = self.classes.iter().map(|class| mark_of_class(*class));
        let tools = self.tools.iter().map(|tool| mark_of_tool(tool));
        types.chain(classes).chain(tools)
    }
}

/// Saves a block, whole or not: what comes later is added to it.
pub(super) fn save(transaction: &Transaction<'_>, block: &Block) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO spans VALUES (?1, ?2, ?3) ON CONFLICT (block) DO UPDATE
             SET from_ms = min(from_ms, excluded.from_ms), to_ms = max(to_ms, excluded.to_ms)",
        )?
        .execute(params![block.number, block.from_ms, block.to_ms])?;
    let mut insert = transaction.prepare_cached("INSERT OR IGNORE INTO marks VALUES (?1, ?2)")?;
    block
        .marks()
        .try_for_each(|mark| insert.execute(params![mark, block.number]).map(drop))
}

fn mark_of_type(kind: &str) -> String {
    format!("type:{kind}")
}

fn mark_of_class(rank: u8) -> String {
    format!("class:{rank}")
}

fn mark_of_tool(tool: &str) -> String {
    format!("tool:{tool}")
}

/// Which way records are read, and from which on.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    /// Those behind this one, oldest first.
    After(i64),
    /// Those before this one, newest first.
    Before(i64),
}

/// A question to the index. The texts here are the only ones that ever become SQL.
pub(crate) struct Query {
    pub(crate) sql: String,
    pub(crate) values: Vec<Value>,
}

/// Where the records that pass the filter lie.
pub(crate) fn query(filter: &Filter, way: Way, limit: usize) -> Query {
    let (place, beyond, blocks, direction) = match way {
        Way::After(place) => (place, "idx > ?", "block >= ?", ""),
        Way::Before(place) => (place, "idx < ?", "block <= ?", " DESC"),
    };
    let (mut from, mut order) = ("records".to_owned(), format!("idx{direction}"));
    let mut wheres = vec![beyond.to_owned()];
    let mut values = vec![Value::Integer(place)];
    let mut add = |condition: &str, value| {
        wheres.push(condition.to_owned());
        values.push(value);
    };
    if let Some(chain) = &filter.chain {
        let mut key = Vec::new();
        chain.encode(&mut key);
        add("chain = ?", Value::Blob(key));
    } else if let Some(mark) = rarest_mark(filter) {
        // The join's order is fixed: from block to block, and in each from record to record, so nothing has to be sorted.
        from = format!(
            "marks CROSS JOIN records ON idx BETWEEN block * {BLOCK} AND block * {BLOCK} + {BLOCK} - 1"
        );
        order = format!("block{direction}, idx{direction}");
        add("mark = ?", Value::Text(mark));
        add(blocks, Value::Integer(place.max(0) >> BITS));
    }
    if let Some(event) = &filter.event {
        add("type = ?", Value::Text(event.clone()));
    }
    if let Some(class) = filter.class {
        add("class = ?", Value::Integer(class.rank().into()));
    }
    if let Some(tool) = &filter.tool {
        add("tool = ?", Value::Text(tool.to_string()));
    }
    if let Some(from) = filter.from.map(record::to_ms) {
        add("at_ms >= ?", Value::Integer(from));
        add(
            &format!(
                "idx >= ifnull((SELECT min(block) FROM spans WHERE to_ms >= ?) * {BLOCK}, {})",
                i64::MAX
            ),
            Value::Integer(from),
        );
    }
    if let Some(until) = filter.until.map(record::to_ms) {
        add("at_ms < ?", Value::Integer(until));
        add(
            &format!("idx < ifnull((SELECT max(block) + 1 FROM spans WHERE from_ms < ?) * {BLOCK}, 0)"),
            Value::Integer(until),
        );
    }
    values.push(Value::Integer(i64::try_from(limit).unwrap_or(i64::MAX)));
    let wheres = wheres.join(" AND ");
    Query {
        sql: format!(
            "SELECT idx, segment, position, len FROM {from} WHERE {wheres} ORDER BY {order} LIMIT ?"
        ),
        values,
    }
}

/// Of what the filter names, the thing that most blocks are without.
fn rarest_mark(filter: &Filter) -> Option<String> {
    let tool = filter.tool.as_ref().map(|tool| mark_of_tool(&tool.to_string()));
    let event = filter.event.as_deref().map(mark_of_type);
    let class = filter.class.map(|class| mark_of_class(class.rank()));
    tool.or(event).or(class)
}
