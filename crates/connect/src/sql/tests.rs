//! The guard and the judgement, without a database: what is refused, and what a result counts as.

use proptest::prelude::*;

use super::judge::Relation;
use super::*;

const FLAVORS: [Flavor; 3] = [Flavor::Postgres, Flavor::MySql, Flavor::Sqlite];

fn is_refused(flavor: Flavor, text: &str) -> bool {
    reading::read(flavor, text).is_err()
}

#[test]
fn what_is_no_plain_query_is_refused_everywhere() {
    for text in [
        "",
        ";",
        "INSERT INTO guests VALUES (1)",
        "UPDATE guests SET name = 'x'",
        "DELETE FROM guests",
        "DROP TABLE guests",
        "CREATE TABLE t (a int)",
        "TRUNCATE guests",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE guests",
        "SELECT 1;; DROP TABLE guests",
        "SELECT * FROM guests FOR UPDATE",
        "SELECT * FROM guests FOR SHARE",
        "SELECT * INTO copy FROM guests",
        "WITH gone AS (DELETE FROM guests RETURNING *) SELECT * FROM gone",
        "WITH new AS (INSERT INTO guests VALUES (1) RETURNING *) SELECT * FROM new",
        "WITH up AS (UPDATE guests SET name = 'x' RETURNING *) SELECT * FROM up",
        "SELECT * FROM (DELETE FROM guests RETURNING *) AS gone",
        "EXPLAIN ANALYZE DELETE FROM guests",
        "EXPLAIN SELECT 1",
        "COPY guests TO '/tmp/x'",
        "COPY guests TO PROGRAM 'cat'",
        "COPY (SELECT 1) TO STDOUT",
        "DO $$ BEGIN PERFORM 1; END $$",
        "CALL p()",
        "SET search_path = secret",
        "SHOW ALL",
        "RESET ALL",
        "BEGIN",
        "COMMIT",
        "LOCK TABLE guests",
        "VACUUM",
        "LISTEN x",
        "NOTIFY x",
        "PREPARE p AS SELECT 1",
        "EXECUTE p",
        "GRANT ALL ON guests TO public",
        "LOAD 'x'",
        "ATTACH DATABASE '/tmp/x' AS y",
        "PRAGMA query_only = off",
        "TABLE guests",
        "SELECT * FROM guests INTO OUTFILE '/tmp/x'",
        "SELECT name INTO OUTFILE '/tmp/x' FROM guests",
        "SELECT name INTO @x FROM guests",
        "SELECT LOAD_FILE('/etc/passwd')",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT \"pg_read_file\"('/etc/passwd')",
        "SELECT PG_READ_FILE('/etc/passwd')",
        "SELECT pg_catalog.pg_read_file('/etc/passwd')",
        "SELECT public.lower('x')",
        "SELECT * FROM pg_read_file('/etc/passwd')",
        "SELECT * FROM pg_ls_dir('/')",
        "SELECT * FROM ROWS FROM (pg_ls_dir('/'))",
        "SELECT * FROM dblink('host=x', 'SELECT 1') AS t(a int)",
        "SELECT lo_import('/etc/passwd')",
        "SELECT lo_get(1)",
        "SELECT pg_sleep(10)",
        "SELECT SLEEP(10)",
        "SELECT BENCHMARK(1000000000, MD5('x'))",
        "SELECT GET_LOCK('x', 10)",
        "SELECT set_config('transaction_read_only', 'off', false)",
        "SELECT nextval('s')",
        "SELECT setval('s', 1)",
        "SELECT pg_terminate_backend(1)",
        "SELECT load_extension('x')",
        "SELECT name FROM guests WHERE pg_sleep(1) IS NULL",
        "SELECT name FROM guests ORDER BY pg_sleep(1)",
        "SELECT name FROM guests GROUP BY nextval('s')",
        "SELECT count(*) FILTER (WHERE nextval('s') > 0) FROM guests",
        "SELECT sum(id) OVER (ORDER BY nextval('s')) FROM guests",
        "SELECT 1 LIMIT nextval('s')",
        "SELECT CASE WHEN true THEN nextval('s') END",
        "SELECT (SELECT nextval('s'))",
        "SELECT 1 WHERE EXISTS (SELECT pg_sleep(1))",
        "VALUES (nextval('s'))",
        "SELECT a FROM (VALUES (pg_sleep(1))) AS t(a)",
        "SELECT 1 /* comment */",
        "SELECT 1 -- comment",
        "SELECT 1 /*! UNION SELECT LOAD_FILE('/etc/passwd') */",
        "SELECT @x := 1",
        "SELECT 1\u{0}",
    ] {
        for flavor in FLAVORS {
            assert!(is_refused(flavor, text), "{flavor:?}: {text}");
        }
    }
    for text in [
        "SELECT E'\\x41'",
        "SELECT $$x$$",
        "SELECT U&'x'",
        "SELECT N'x'",
        "SELECT B'1'",
    ] {
        assert!(is_refused(Flavor::Postgres, text), "{text}");
    }
    for text in [
        "SELECT 'a\\' OR 1=1'",
        "SELECT @@datadir",
        "SELECT 1 /*! UNION SELECT 2 */",
    ] {
        assert!(is_refused(Flavor::MySql, text), "{text}");
    }
}

#[test]
fn what_only_reads_is_read() {
    for text in [
        "SELECT 1",
        "select name, city from guests where id = 5;",
        "SELECT count(*) FROM guests",
        "SELECT g.name, b.total FROM guests g JOIN bookings b ON b.guest_id = g.id ORDER BY b.total DESC LIMIT 10",
        "WITH big AS (SELECT * FROM bookings WHERE total > 100) SELECT count(*) FROM big",
        "SELECT city, count(*) AS n FROM guests GROUP BY city HAVING count(*) > 1",
        "SELECT name FROM guests UNION ALL SELECT name FROM staff",
        "VALUES (1, 'a'), (2, 'b')",
        "SELECT CASE WHEN total > 10 THEN 'high' ELSE 'low' END FROM bookings",
        "SELECT name FROM guests WHERE name LIKE 'O''Brien%'",
        "SELECT name FROM guests WHERE id IN (SELECT guest_id FROM bookings)",
    ] {
        for flavor in FLAVORS {
            let read = reading::read(flavor, text);
            assert!(read.is_ok(), "{flavor:?}: {text}: {read:?}");
        }
    }
    for text in [
        "SELECT count(*) FROM generate_series(1, 10000000)",
        "SELECT data->>'name' FROM guests WHERE data @> '{\"a\": 1}'",
        "SELECT name FROM guests WHERE id = $1 AND city = $2",
        "SELECT total::text FROM bookings",
        "SELECT pg_catalog.lower(name) FROM guests",
    ] {
        assert!(!is_refused(Flavor::Postgres, text), "{text}");
    }
    for flavor in [Flavor::MySql, Flavor::Sqlite] {
        assert!(!is_refused(flavor, "SELECT name FROM guests WHERE id = ?"));
    }
}

#[test]
fn a_word_before_a_table_is_not_taken_for_one() {
    for text in [
        "SELECT name FROM ONLY guests",
        "SELECT name FROM only",
        "WITH \"only\" AS (SELECT 1 AS x) SELECT name FROM ONLY guests",
        "SELECT name FROM rooms JOIN ONLY guests ON true",
        "SELECT name FROM rooms, LATERAL (SELECT * FROM ONLY guests) AS g",
        "SELECT name FROM ONLY (guests)",
    ] {
        assert!(is_refused(Flavor::Postgres, text), "{text}");
    }
    // And whatever other word there is, the name behind it is sent as an alias, which no database reads as a table.
    for flavor in FLAVORS {
        let sent = |text| reading::read(flavor, text).unwrap().text;
        assert_eq!(
            sent("SELECT name FROM just guests"),
            "SELECT name FROM just AS guests"
        );
        assert_eq!(
            sent("WITH t AS (SELECT 1 AS x) SELECT x FROM t u, (SELECT 2 AS y FROM t v) w"),
            "WITH t AS (SELECT 1 AS x) SELECT x FROM t AS u, (SELECT 2 AS y FROM t AS v) AS w"
        );
    }
}

#[test]
fn a_name_behind_a_point_calls_no_function() {
    for text in [
        "SELECT ('work_mem').current_setting",
        "SELECT (10).regrole",
        "SELECT (g).email FROM guests g",
        "SELECT ($1).current_setting",
        "SELECT (ARRAY['a'])[1].current_setting",
        "SELECT g.current_setting FROM unnest(ARRAY['work_mem']) AS g",
        "SELECT g.regclass FROM generate_series(1, 9) AS g",
        "SELECT generate_series.regclass FROM generate_series(1, 9)",
        "SELECT current_setting.current_setting FROM unnest(ARRAY['a']) AS current_setting(x)",
        "SELECT current_setting.current_setting FROM json_array_elements_text('[]') AS current_setting",
        "SELECT g.current_setting FROM unnest(ARRAY['a']) AS g(\"CURRENT_SETTING\")",
        "SELECT G.current_setting FROM unnest(ARRAY['a']) AS g",
        "SELECT 1 FROM rooms WHERE EXISTS (SELECT g.pg_sleep FROM generate_series(1, 9) AS g)",
    ] {
        assert!(is_refused(Flavor::Postgres, text), "{text}");
    }
    let long = "g".repeat(64);
    let text = format!("SELECT {long}b.regclass FROM generate_series(1, 9) AS {long}a");
    assert!(is_refused(Flavor::Postgres, &text));
    for text in [
        "SELECT g.n FROM generate_series(1, 9) AS g(n)",
        "SELECT n FROM generate_series(1, 9) AS n",
        "SELECT j.key, j.value FROM guests, json_each(data) AS j",
        "SELECT (ARRAY[1, 2])[1]",
        "SELECT tags[1] FROM guests",
    ] {
        assert!(!is_refused(Flavor::Postgres, text), "{text}");
    }
}

#[test]
fn long_chains_are_read_or_refused_and_never_end_the_program() {
    let sum = format!("SELECT {}", vec!["1"; 1_500].join(" + "));
    let union = vec!["SELECT 1"; 800].join(" UNION ALL ");
    let deep = format!("SELECT {}1{}", "(".repeat(5_000), ")".repeat(5_000));
    let nots = format!("SELECT {} true", "NOT ".repeat(3_000));
    let long = format!("SELECT '{}'", "x".repeat(100_000));
    for flavor in FLAVORS {
        assert!(!is_refused(flavor, &sum));
        let _ = is_refused(flavor, &union);
        assert!(is_refused(flavor, &deep));
        assert!(is_refused(flavor, &nots));
        assert!(is_refused(flavor, &long));
    }
}

fn relation(
    schema: &str,
    name: &str,
    is_table: bool,
    columns: &[&str],
    reading: &Reading,
) -> Option<Relation> {
    let meant =
        |named: &&Named| named.name == name && named.schema.as_deref().is_none_or(|own| own == schema);
    let named = reading.relations.iter().find(meant)?;
    let columns = columns.iter().map(|column| (*column).to_owned()).collect();
    Some(Relation::new(named, schema, name, is_table, columns))
}

fn catalog() -> TableClasses {
    let mut classes = TableClasses::new(Class::Confidential);
    for (table, class) in [
        ("public.guests", Class::Internal),
        ("rooms", Class::Public),
        ("vault", Class::Secret),
    ] {
        classes.table(table, class).unwrap();
    }
    classes.column("guests.email", Class::Pii).unwrap();
    classes.column("guests.city", Class::Public).unwrap();
    classes
}

/// The highest class, the class of the number of rows, and the class of each of these columns of the result.
fn check(text: &str, columns: &[&str], expected: (Class, Class, &[Class])) {
    let reading = reading::read(Flavor::Postgres, text).unwrap();
    let relations: Vec<_> = [
        (
            "public",
            "guests",
            true,
            ["id", "name", "email", "city"].as_slice(),
        ),
        ("public", "rooms", true, &["id", "name", "guest_id"]),
        ("public", "notes", true, &["id", "body"]),
        ("public", "vault", true, &["id", "body"]),
        ("public", "everyone", false, &["id", "email"]),
        ("other", "guests", true, &["id", "email"]),
    ]
    .into_iter()
    .filter_map(|(schema, name, is_table, columns)| relation(schema, name, is_table, columns, &reading))
    .filter(|found| found.schema == "public" || text.contains("other."))
    .collect();
    let judgement = judge(&catalog(), &reading, &relations);
    let names: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
    let fields = judgement.fields(&names);
    let found: Vec<_> = names.iter().filter_map(|name| fields.column(name)).collect();
    let (class, shape, cells) = expected;
    assert_eq!((judgement.class, judgement.shape), (class, shape), "{text}");
    assert_eq!(found, cells, "{text}");
}

#[test]
fn a_result_counts_as_what_it_touched() {
    use Class::{Confidential, Internal, Pii, Public, Secret};
    for (text, columns, expected) in [
        // Each column as it is declared, and the table for the others.
        (
            "SELECT name FROM rooms",
            ["name"].as_slice(),
            (Public, Public, [Public].as_slice()),
        ),
        (
            "SELECT name FROM guests",
            &["name"],
            (Internal, Internal, &[Internal]),
        ),
        (
            "SELECT city FROM guests",
            &["city"],
            (Public, Internal, &[Public]),
        ),
        (
            "SELECT name, email FROM guests",
            &["name", "email"],
            (Pii, Internal, &[Internal, Pii]),
        ),
        (
            "SELECT email AS name, name AS email FROM guests",
            &["name", "email"],
            (Pii, Internal, &[Pii, Internal]),
        ),
        (
            "SELECT * FROM guests",
            &["id", "name", "email", "city"],
            (Pii, Internal, &[Internal, Internal, Pii, Public]),
        ),
        (
            "SELECT g.* FROM guests g",
            &["id", "email"],
            (Pii, Internal, &[Internal, Pii]),
        ),
        ("SELECT Email FROM Guests", &["email"], (Pii, Internal, &[Pii])),
        (
            "SELECT \"EMAIL\" FROM \"guests\"",
            &["EMAIL"],
            (Pii, Internal, &[Pii]),
        ),
        (
            "SELECT upper(email), name FROM guests",
            &["upper", "name"],
            (Pii, Internal, &[Pii, Internal]),
        ),
        // What a filter, a join or an order looks at counts for all.
        (
            "SELECT name FROM guests WHERE email LIKE 'a%'",
            &["name"],
            (Pii, Confidential, &[Pii]),
        ),
        (
            "SELECT name FROM guests ORDER BY email",
            &["name"],
            (Pii, Confidential, &[Pii]),
        ),
        (
            "SELECT name, email AS e FROM guests ORDER BY e",
            &["name", "e"],
            (Pii, Confidential, &[Pii, Pii]),
        ),
        (
            "SELECT name, email FROM guests ORDER BY 2",
            &["name", "email"],
            (Pii, Confidential, &[Pii, Pii]),
        ),
        (
            "SELECT city FROM guests WHERE name = 'x'",
            &["city"],
            (Internal, Internal, &[Internal]),
        ),
        (
            "SELECT r.name FROM rooms r JOIN guests g ON g.id = r.guest_id",
            &["name"],
            (Internal, Internal, &[Internal]),
        ),
        (
            "SELECT r.name FROM rooms r JOIN guests g USING (id)",
            &["name"],
            (Internal, Internal, &[Internal]),
        ),
        (
            "SELECT r.name FROM rooms r NATURAL JOIN guests g",
            &["name"],
            (Pii, Confidential, &[Pii]),
        ),
        // That rows are there is a look at the table.
        (
            "SELECT count(*) FROM guests",
            &["count"],
            (Internal, Internal, &[Internal]),
        ),
        (
            "SELECT count(*) FROM vault",
            &["count"],
            (Secret, Confidential, &[Secret]),
        ),
        (
            "SELECT r.name FROM rooms r, vault",
            &["name"],
            (Secret, Confidential, &[Secret]),
        ),
        (
            "SELECT 1 WHERE EXISTS (SELECT 1 FROM vault)",
            &["?column?"],
            (Secret, Confidential, &[Secret]),
        ),
        // Other ways to a column.
        ("SELECT g FROM guests g", &["g"], (Pii, Internal, &[Pii])),
        ("SELECT guests FROM guests", &["guests"], (Pii, Internal, &[Pii])),
        (
            "SELECT to_json(g) FROM guests g",
            &["to_json"],
            (Pii, Internal, &[Pii]),
        ),
        (
            "SELECT g.to_json FROM guests g",
            &["to_json"],
            (Pii, Internal, &[Pii]),
        ),
        (
            "SELECT row_to_json(g.*) FROM guests g",
            &["row_to_json"],
            (Pii, Internal, &[Pii]),
        ),
        (
            "SELECT count(g.*) FROM guests g",
            &["count"],
            (Pii, Internal, &[Pii]),
        ),
        (
            "SELECT b FROM guests AS g(a, b, c, d)",
            &["b"],
            (Pii, Confidential, &[Pii]),
        ),
        (
            "SELECT e FROM (SELECT email AS e FROM guests) t",
            &["e"],
            (Pii, Confidential, &[Pii]),
        ),
        (
            "SELECT e FROM (SELECT * FROM guests) AS t(a, b, e, d)",
            &["e"],
            (Pii, Confidential, &[Pii]),
        ),
        (
            "WITH t AS (SELECT * FROM guests) SELECT name FROM t",
            &["name"],
            (Pii, Confidential, &[Pii]),
        ),
        (
            "WITH t(x) AS (SELECT email FROM guests) SELECT x FROM t",
            &["x"],
            (Pii, Confidential, &[Pii]),
        ),
        (
            "SELECT name FROM rooms UNION SELECT email FROM guests",
            &["name"],
            (Pii, Confidential, &[Pii]),
        ),
        (
            "SELECT (SELECT max(email) FROM guests) FROM rooms",
            &["max"],
            (Pii, Internal, &[Pii]),
        ),
        (
            "SELECT name FROM rooms WHERE name IN (SELECT email FROM guests)",
            &["name"],
            (Pii, Confidential, &[Pii]),
        ),
        (
            "SELECT name FROM rooms, LATERAL (SELECT email FROM guests) t",
            &["name"],
            (Pii, Confidential, &[Pii]),
        ),
        // A name that the query gives does not hide a table.
        (
            "WITH guests AS (SELECT 1 AS id) SELECT id FROM guests",
            &["id"],
            (Internal, Internal, &[Internal]),
        ),
        (
            "SELECT id FROM guests UNION ALL (WITH guests AS (SELECT 2 AS id) SELECT id FROM guests)",
            &["id"],
            (Internal, Internal, &[Internal]),
        ),
        // Tables that nobody named, and views of who knows what.
        (
            "SELECT body FROM notes",
            &["body"],
            (Confidential, Confidential, &[Confidential]),
        ),
        (
            "SELECT id FROM everyone",
            &["id"],
            (Secret, Confidential, &[Secret]),
        ),
        (
            "SELECT id FROM other.guests",
            &["id"],
            (Confidential, Confidential, &[Confidential]),
        ),
        ("SELECT 1", &["?column?"], (Public, Public, &[Public])),
        ("VALUES (1)", &["column1"], (Public, Public, &[Public])),
    ] {
        check(text, columns, expected);
    }
}

/// Queries put together from pieces that are allowed, and from those that are not.
fn any_query() -> impl Strategy<Value = (String, bool)> {
    let leaf = prop_oneof![
        8 => Just(("name".to_owned(), true)),
        8 => Just(("g.email".to_owned(), true)),
        8 => Just(("1".to_owned(), true)),
        8 => "[a-z' ]{0,8}".prop_map(|text| (format!("'{}'", text.replace('\'', "''")), true)),
        1 => Just(("nextval('s')".to_owned(), false)),
        1 => Just(("\"pg_sleep\"(1)".to_owned(), false)),
        1 => Just(("x.lower('a')".to_owned(), false)),
    ];
    let expr = leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|((a, x), (b, y))| (format!("({a} = {b})"), x && y)),
            inner.clone().prop_map(|(a, x)| (format!("upper({a})"), x)),
            (inner.clone(), inner.clone())
                .prop_map(|((a, x), (b, y))| (format!("CASE WHEN {a} IS NULL THEN {b} END"), x && y)),
            inner
                .clone()
                .prop_map(|(a, x)| (format!("(SELECT max({a}) FROM guests g)"), x)),
            inner.prop_map(|(a, x)| (format!("coalesce({a}, '')"), x)),
        ]
    });
    (expr.clone(), expr).prop_map(|((a, x), (b, y))| {
        (
            format!("SELECT {a} AS a FROM guests g WHERE {b} IS NOT NULL"),
            x && y,
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_bad_piece_is_found_wherever_it_stands((text, is_fine) in any_query()) {
        prop_assert_eq!(!is_refused(Flavor::Postgres, &text), is_fine, "{}", text);
    }

    #[test]
    fn what_is_sent_reads_as_what_was_judged((text, is_fine) in any_query()) {
        if is_fine {
            let first = reading::read(Flavor::Postgres, &text).unwrap();
            let second = reading::read(Flavor::Postgres, &first.text).unwrap();
            prop_assert_eq!(first.text, second.text);
        }
    }

    #[test]
    fn no_text_ends_the_program(text in "[ -~\\n]{0,120}", start in prop_oneof![Just(""), Just("SELECT "), Just("WITH ")]) {
        for flavor in FLAVORS {
            let _ = reading::read(flavor, &format!("{start}{text}"));
        }
    }
}
