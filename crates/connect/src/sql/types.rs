//! The types that a query may turn values into: those that look nothing up.
//!
//! A list of what is allowed, as with functions. PostgreSQL's `regclass`, `regrole` and their like turn a number into a
//! name from the database's own tables, and a type of the database's owner may run a function.

use sqlparser::ast::{ArrayElemTypeDef, DataType};

use super::Flavor;

const POSTGRES: &[&str] = &[
    "bigint",
    "bit",
    "bit varying",
    "bool",
    "boolean",
    "bpchar",
    "bytea",
    "char",
    "char varying",
    "character",
    "character varying",
    "cidr",
    "date",
    "dec",
    "decimal",
    "double precision",
    "float",
    "float4",
    "float8",
    "inet",
    "int",
    "int2",
    "int4",
    "int8",
    "integer",
    "json",
    "jsonb",
    "numeric",
    "real",
    "smallint",
    "text",
    "time",
    "time with time zone",
    "time without time zone",
    "timestamp",
    "timestamp with time zone",
    "timestamp without time zone",
    "timestamptz",
    "timetz",
    "uuid",
    "varbit",
    "varchar",
];

const MYSQL: &[&str] = &[
    "binary",
    "char",
    "character",
    "date",
    "datetime",
    "dec",
    "decimal",
    "double",
    "double precision",
    "float",
    "int",
    "integer",
    "json",
    "real",
    "signed",
    "signed integer",
    "time",
    "timestamp",
    "unsigned",
    "unsigned integer",
    "varchar",
    "year",
];

const SQLITE: &[&str] = &[
    "bigint",
    "blob",
    "bool",
    "boolean",
    "char",
    "date",
    "datetime",
    "decimal",
    "double",
    "double precision",
    "float",
    "int",
    "integer",
    "numeric",
    "real",
    "smallint",
    "text",
    "time",
    "timestamp",
    "varchar",
];

/// Whether a value may be turned into a type. What counts is the text that is sent, without lengths.
pub(super) fn is_allowed(flavor: Flavor, kind: &DataType) -> bool {
    match kind {
        DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) => is_allowed(flavor, element),
        DataType::Interval { .. } => flavor == Flavor::Postgres,
        kind => {
            let list = match flavor {
                Flavor::Postgres => POSTGRES,
                Flavor::MySql => MYSQL,
                Flavor::Sqlite => SQLITE,
            };
            list.contains(&without_length(&kind.to_string()).as_str())
        }
    }
}

/// A type's words in small letters. Whatever else stands in it but a length stays, and is on no list.
fn without_length(written: &str) -> String {
    let Some((before, rest)) = written.split_once('(') else {
        return written.to_ascii_lowercase();
    };
    let Some((length, after)) = rest.split_once(')') else {
        return written.to_owned();
    };
    let is_length = |c: char| c.is_ascii_digit() || matches!(c, ',' | ' ' | '-');
    match length.chars().all(is_length) {
        true => format!("{before}{after}").to_ascii_lowercase(),
        false => written.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::reading;
    use super::*;

    fn is_refused(flavor: Flavor, text: &str) -> bool {
        reading::read(flavor, text).is_err()
    }

    #[test]
    fn a_value_is_turned_only_into_types_that_look_nothing_up() {
        for kind in [
            "regclass",
            "REGCLASS",
            "\"regclass\"",
            "pg_catalog.regclass",
            "regclass[]",
            "regrole",
            "regproc",
            "regprocedure",
            "regoper",
            "regoperator",
            "regtype",
            "regnamespace",
            "regconfig",
            "regdictionary",
            "regcollation",
            "oid",
            "xml",
            "name",
            "\"char\"",
            "public.checked",
            "checked",
            "checked(3)",
        ] {
            for text in [
                format!("SELECT CAST(id AS {kind}) FROM guests"),
                format!("SELECT id::{kind}::text FROM guests"),
                format!("SELECT name FROM guests WHERE id IN (SELECT id::{kind} FROM rooms)"),
                format!("SELECT a FROM unnest(ARRAY[1]) AS t(a {kind})"),
                format!("WITH t(a {kind}) AS (SELECT 1) SELECT a FROM t"),
            ] {
                assert!(is_refused(Flavor::Postgres, &text), "{text}");
            }
        }
        assert!(is_refused(Flavor::Postgres, "SELECT regclass 'guests'"));
        // Of what is no type here, a text behind it is sent as an alias, which PostgreSQL does not read.
        let sent = reading::read(Flavor::Postgres, "SELECT regrole '10'")
            .unwrap()
            .text;
        assert_eq!(sent, "SELECT regrole AS '10'");
        for kind in [
            "int",
            "int8",
            "bigint",
            "numeric(10, 2)",
            "text",
            "varchar(20)",
            "character varying(20)",
            "boolean",
            "bool",
            "date",
            "time",
            "timestamp",
            "timestamptz",
            "timestamp with time zone",
            "timestamp(3)",
            "interval",
            "uuid",
            "json",
            "jsonb",
            "bytea",
            "float8",
            "double precision",
            "real",
            "int[]",
            "text[]",
            "inet",
        ] {
            let text = format!("SELECT CAST(name AS {kind}), name::{kind} FROM guests");
            assert!(!is_refused(Flavor::Postgres, &text), "{text}");
        }
        for text in [
            "SELECT date '2020-01-02'",
            "SELECT timestamp '2020-01-02 03:04:05'",
        ] {
            assert!(!is_refused(Flavor::Postgres, text), "{text}");
        }
        for kind in [
            "signed",
            "UNSIGNED",
            "char",
            "char(10)",
            "decimal(10, 2)",
            "datetime",
            "date",
            "json",
            "binary",
        ] {
            let text = format!("SELECT CAST(name AS {kind}), CONVERT(name, {kind}) FROM guests");
            assert!(!is_refused(Flavor::MySql, &text), "{text}");
        }
        for kind in ["integer", "int", "text", "real", "numeric", "blob"] {
            let text = format!("SELECT CAST(name AS {kind}) FROM guests");
            assert!(!is_refused(Flavor::Sqlite, &text), "{text}");
        }
    }
}
