//! `[catalog.sql.NAME]`, `[catalog.files.NAME]`, `[catalog.openapi.NAME]`: sources that the gateway reads itself, and the
//! classes of what is in them.
//!
//! Addresses with passwords and headers with keys are named by the environment variable that holds them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidegate_connect::sql::TableClasses;
use tidegate_connect::{Bounds, PathClasses};
use tidegate_core::{Class, FieldPattern, Ident};
use url::Url;

use super::Server;
use super::servers::{read_headers, read_url, variable};
use super::tools::CLASSES;
use super::walk::{At, Section};

/// Everything that the gateway reads itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalog {
    /// Databases.
    pub(crate) databases: Vec<Database>,
    /// Directories.
    pub(crate) directories: Vec<Directory>,
    /// Web APIs.
    pub(crate) apis: Vec<Api>,
}

/// A database.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    pub(crate) name: Ident,
    pub(crate) place: DatabasePlace,
    pub(crate) classes: TableClasses,
    pub(crate) names: Class,
    pub(crate) ceiling: Option<Class>,
    pub(crate) bounds: Bounds,
    pub(crate) ca_file: Option<PathBuf>,
}

/// Where a database is.
#[derive(Clone, Debug)]
pub(crate) enum DatabasePlace {
    /// At the address in this variable.
    Variable(String),
    /// In this file of SQLite's.
    File(PathBuf),
}

/// A directory.
#[derive(Clone, Debug)]
pub(crate) struct Directory {
    pub(crate) name: Ident,
    pub(crate) root: PathBuf,
    pub(crate) classes: PathClasses,
    pub(crate) names: Class,
    pub(crate) fields: Vec<(FieldPattern, Class)>,
    pub(crate) ceiling: Option<Class>,
    pub(crate) hard_links: bool,
    pub(crate) pdf: bool,
    pub(crate) bounds: Bounds,
}

/// A web API.
#[derive(Clone, Debug)]
pub(crate) struct Api {
    pub(crate) name: Ident,
    pub(crate) document: DocumentPlace,
    pub(crate) base_url: Option<Url>,
    pub(crate) headers_env: Vec<(String, String)>,
    pub(crate) tags: Vec<(String, Class)>,
    pub(crate) paths: PathClasses,
    pub(crate) fields: Vec<(FieldPattern, Class)>,
    pub(crate) operations: Vec<String>,
    pub(crate) external: bool,
    pub(crate) ceiling: Option<Class>,
    pub(crate) bounds: Bounds,
    pub(crate) ca_file: Option<PathBuf>,
}

/// Where the document of an API is.
#[derive(Clone, Debug)]
pub(crate) enum DocumentPlace {
    /// In a file.
    File(PathBuf),
    /// At an address.
    Url(Url),
}

/// Reads the catalog. Relative paths in it start from `directory`.
pub(super) fn read(root: &mut Section<'_, '_>, directory: &Path, servers: &[Server]) -> Catalog {
    let mut catalog = Catalog::default();
    let Some(mut section) = root.section("catalog") else {
        return catalog;
    };
    let mut taken: HashSet<String> = servers
        .iter()
        .map(|server| server.name.as_str().to_owned())
        .collect();
    for (name, mut source) in section.sections("sql") {
        let name = read_name(name, &source, &mut taken);
        catalog
            .databases
            .extend(read_database(name, &mut source, directory));
    }
    for (name, mut source) in section.sections("files") {
        let name = read_name(name, &source, &mut taken);
        catalog
            .directories
            .extend(read_directory(name, &mut source, directory));
    }
    for (name, mut source) in section.sections("openapi") {
        let name = read_name(name, &source, &mut taken);
        catalog.apis.extend(read_api(name, &mut source, directory));
    }
    catalog
}

/// A name that begins the names of tools, so it is nobody else's.
fn read_name(name: At<&str>, source: &Section<'_, '_>, taken: &mut HashSet<String>) -> Option<Ident> {
    let report = source.report();
    let parsed = Ident::parse(&name)
        .map_err(|why| report.error(name.offset, format_args!("catalog: {why}")))
        .ok()?;
    if name.contains('.') {
        report.error(name.offset, "catalog: a source's name must not hold a dot");
    }
    if !taken.insert(parsed.as_str().to_owned()) {
        report.error(
            name.offset,
            "catalog: a server or another source has this name, and their tools would be mixed up",
        );
    }
    Some(parsed)
}

fn read_database(name: Option<Ident>, section: &mut Section<'_, '_>, directory: &Path) -> Option<Database> {
    let (url_env, path) = (section.text("url_env"), section.text("path"));
    let report = section.report();
    let place = match (url_env, path) {
        (Some(text), None) => {
            variable(section, &section.name_of("url_env"), text).map(DatabasePlace::Variable)
        }
        (None, Some(path)) => Some(DatabasePlace::File(directory.join(path.value))),
        _ => {
            let needed =
                "a database needs url_env, the variable that holds its address, or the path of a SQLite file";
            report.error(section.offset, needed);
            None
        }
    };
    let ca_file = section.text("ca_file").map(|file| directory.join(file.value));
    let mut classes = TableClasses::new(read_default(section));
    let (tables, columns) = (read_classes(section, "tables"), read_classes(section, "columns"));
    let name_of = |key| section.name_of(key);
    for (table, class) in tables {
        if let Err(why) = classes.table(&table, class) {
            report.error(table.offset, format_args!("{}: {why}", name_of("tables")));
        }
    }
    for (column, class) in columns {
        if let Err(why) = classes.column(&column, class) {
            report.error(column.offset, format_args!("{}: {why}", name_of("columns")));
        }
    }
    let (names, ceiling, bounds) = (read_names(section), read_ceiling(section), read_bounds(section));
    Some(Database {
        name: name?,
        place: place?,
        classes,
        names,
        ceiling,
        bounds,
        ca_file,
    })
}

fn read_directory(name: Option<Ident>, section: &mut Section<'_, '_>, directory: &Path) -> Option<Directory> {
    let root = section.text("root").filter(|root| !root.trim().is_empty());
    if root.is_none() {
        section
            .report()
            .error(section.offset, "files need a root, the directory to read below");
    }
    let classes = read_paths(section);
    let names = read_names(section);
    let fields = read_fields(section);
    let ceiling = read_ceiling(section);
    let hard_links = section.flag("hard_links").is_some_and(|flag| flag.value);
    let pdf = section.flag("pdf").is_none_or(|flag| flag.value);
    let bounds = read_bounds(section);
    Some(Directory {
        name: name?,
        root: directory.join(root?.value),
        classes: classes?,
        names,
        fields,
        ceiling,
        hard_links,
        pdf,
        bounds,
    })
}

fn read_api(name: Option<Ident>, section: &mut Section<'_, '_>, directory: &Path) -> Option<Api> {
    let (file, url) = (section.text("document"), section.text("document_url"));
    let document = match (file, url) {
        (Some(file), None) => Some(DocumentPlace::File(directory.join(file.value))),
        (None, Some(url)) => read_url(section, url).map(DocumentPlace::Url),
        _ => {
            let needed = "an API needs a document, the file of its OpenAPI description, or a document_url";
            section.report().error(section.offset, needed);
            None
        }
    };
    let base_url = section.text("base_url").map(|url| read_url(section, url));
    let headers_env = read_headers(section);
    let tags = read_classes(section, "tags");
    let paths = read_paths(section);
    let fields = read_fields(section);
    let operations = section
        .texts("operations")
        .iter()
        .map(|text| (*text.value).to_owned())
        .collect();
    let external = section.flag("external").is_none_or(|flag| flag.value);
    let ceiling = read_ceiling(section);
    let ca_file = section.text("ca_file").map(|file| directory.join(file.value));
    let bounds = read_bounds(section);
    Some(Api {
        name: name?,
        document: document?,
        base_url: match base_url {
            Some(read) => Some(read?),
            None => None,
        },
        headers_env,
        tags: tags
            .into_iter()
            .map(|(tag, class)| ((*tag).to_owned(), class))
            .collect(),
        paths: paths?,
        fields,
        operations,
        external,
        ceiling,
        bounds,
        ca_file,
    })
}

/// The class of what no line names: what cannot be classified.
fn read_default(section: &mut Section<'_, '_>) -> Class {
    let default = section.parsed::<Class>("default", &CLASSES);
    default.map_or(Class::UNCLASSIFIED, |at| at.value)
}

/// The class of names: of tables and columns, of files.
fn read_names(section: &mut Section<'_, '_>) -> Class {
    let names = section.parsed::<Class>("names", &CLASSES);
    names.map_or(Class::Internal, |at| at.value)
}

fn read_ceiling(section: &mut Section<'_, '_>) -> Option<Class> {
    section.parsed::<Class>("ceiling", &CLASSES).map(|at| at.value)
}

fn read_classes<'r>(section: &mut Section<'r, '_>, key: &'static str) -> Vec<(At<&'r str>, Class)> {
    let name = section.name_of(key);
    let pairs = section.pairs(key);
    let read = |(what, text): (At<&'r str>, At<&str>)| {
        let class = section.parse::<Class>(&name, text, &CLASSES)?;
        Some((what, class.value))
    };
    pairs.into_iter().filter_map(read).collect()
}

fn read_paths(section: &mut Section<'_, '_>) -> Option<PathClasses> {
    let name = section.name_of("paths");
    let default = read_default(section);
    let patterns = read_classes(section, "paths");
    for (pattern, class) in &patterns {
        if let Err(why) = PathClasses::new([(pattern.value, *class)], default) {
            section
                .report()
                .error(pattern.offset, format_args!("{name}: {why}"));
        }
    }
    PathClasses::new(
        patterns.iter().map(|(pattern, class)| (pattern.value, *class)),
        default,
    )
    .ok()
}

fn read_fields(section: &mut Section<'_, '_>) -> Vec<(FieldPattern, Class)> {
    let name = section.name_of("fields");
    let fields = read_classes(section, "fields");
    let read = |(path, class): (At<&str>, Class)| {
        let pattern = path.parse::<FieldPattern>();
        let pattern =
            pattern.map_err(|why| section.report().error(path.offset, format_args!("{name}: {why}")));
        pattern.ok().map(|pattern| (pattern, class))
    };
    fields.into_iter().filter_map(read).collect()
}

fn read_bounds(section: &mut Section<'_, '_>) -> Bounds {
    let mut bounds = Bounds::STANDARD;
    for (key, range, bound) in [
        ("max_rows", 1..=100_000, &mut bounds.rows),
        ("max_bytes", 1_024..=64 << 20, &mut bounds.bytes),
        ("at_once", 1..=256, &mut bounds.at_once),
    ] {
        if let Some(count) = section
            .count(key, range)
            .and_then(|count| usize::try_from(count).ok())
        {
            *bound = count;
        }
    }
    if let Some(millis) = section.count("timeout_ms", 50..=600_000) {
        bounds.timeout = Duration::from_millis(millis);
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_contains, config};
    use super::*;

    #[test]
    fn a_source_has_a_place_and_a_name_of_its_own() {
        for (text, expected) in [
            (
                "[catalog.sql.crm]",
                "1:14: a database needs url_env, the variable that holds its address, or the path of a SQLite file",
            ),
            (
                "[catalog.sql.crm]\nurl_env = \"postgres://canary\"",
                "2:11: catalog.sql.crm.url_env: expected the name of an environment variable, never its value",
            ),
            (
                "[catalog.sql.crm]\npath = \"a.db\"\ntables = { \"a.b.c\" = \"pii\" }",
                "3:12: catalog.sql.crm.tables: a table is named table or schema.table",
            ),
            (
                "[catalog.sql.crm]\npath = \"a.db\"\ncolumns = { email = \"pii\" }",
                "3:13: catalog.sql.crm.columns: a column is named table.column or schema.table.column",
            ),
            (
                "[catalog.sql.crm]\npath = \"a.db\"\ntabels = {}",
                "3:1: unknown key catalog.sql.crm.tabels; did you mean tables?",
            ),
            (
                "[catalog.sql.a]\npath = \"a.db\"\n[catalog.files.a]\nroot = \"x\"",
                "3:16: catalog: a server or another source has this name, and their tools would be mixed up",
            ),
            (
                "[catalog.files.docs]",
                "1:16: files need a root, the directory to read below",
            ),
            (
                "[catalog.openapi.pets]",
                "1:18: an API needs a document, the file of its OpenAPI description, or a document_url",
            ),
            ("[catalog.mail.x]", "1:10: unknown key catalog.mail"),
        ] {
            check_contains(text, expected);
        }
    }

    #[test]
    fn classes_are_read() {
        let text = "[catalog.sql.crm]\nurl_env = \"CRM\"\ntables = { \"public.guests\" = \"internal\" }\ncolumns = { \
                    \"guests.email\" = \"pii\" }\nmax_rows = 7\n[catalog.files.docs]\nroot = \"docs\"\npaths = { \
                    \"open/**\" = \"public\" }\n";
        let catalog = config(text).catalog;
        let [database] = catalog.databases.as_slice() else {
            panic!("one database");
        };
        assert_eq!(database.classes.most(), Class::Pii);
        assert_eq!((database.bounds.rows, database.names), (7, Class::Internal));
        let [docs] = catalog.directories.as_slice() else {
            panic!("one directory");
        };
        assert_eq!(docs.classes.of("open/a"), Class::Public);
        assert_eq!(docs.classes.of("a"), Class::Confidential);
        assert!(docs.pdf && !docs.hard_links);
    }
}
