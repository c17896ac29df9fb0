//! Opening the file: who may read it, how durable it is, and which version it has.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use super::SqliteOptions;
use super::failure::{failed, io};
use crate::StoreError;

/// Each entry takes a file from version `index` to `index + 1`. Never change one that was released; add one.
const MIGRATIONS: [&str; 7] = [
    include_str!("schema.sql"),
    include_str!("origins.sql"),
    include_str!("memory.sql"),
    include_str!("gates.sql"),
    include_str!("changes.sql"),
    include_str!("ends.sql"),
    include_str!("reviews.sql"),
];

/// The size of a new file's pages.
const PAGE_BYTES: i64 = 1024;

/// What the connection that writes may keep in memory. Not much: whenever a tree is balanced, SQLite looks through all of it.
const WRITER_CACHE_KIB: i64 = 2 << 10;

/// Creates or opens the file with its schema, and gives the connection that writes. A new file is created by a
/// descriptor that is closed again, so no other store may be opened meanwhile: see [`super::watch`].
pub(super) fn create(path: &Path, options: &SqliteOptions) -> Result<(PathBuf, Connection), StoreError> {
    let path = private_file(path)?;
    let mut conn = connect(&path, options)?;
    check_version(&conn)?;
    // Only a file without tables takes it. A rise touches a few rows in a few pages, and each page it touches is written
    // whole: small pages make a small write to wait for.
    set(&conn, "page_size", PAGE_BYTES)?;
    enter_wal(&conn, options)?;
    migrate(&mut conn)?;
    // The upper pages of the trees stay in memory; the others are in the system's.
    set(&conn, "cache_size", -WRITER_CACHE_KIB)?;
    // The writer checkpoints after it has answered; this is the bound if it cannot.
    set(&conn, "wal_autocheckpoint", 16_000)?;
    if let Some(pages) = options.max_pages {
        set(&conn, "max_page_count", pages)?;
    }
    Ok((path, conn))
}

/// A connection that only reads.
pub(super) fn reader(path: &Path, options: &SqliteOptions) -> Result<Connection, StoreError> {
    let conn = connect(path, options)?;
    set(&conn, "query_only", true)?;
    Ok(conn)
}

fn private_file(path: &Path) -> Result<PathBuf, StoreError> {
    let name = path
        .file_name()
        .ok_or_else(|| StoreError::Backend("the path names no file".to_owned()))?;
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    if !dir.exists() {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(|error| io("the state directory cannot be created", &error))?;
    }
    let dir = dir
        .canonicalize()
        .map_err(|error| io("the state directory cannot be read", &error))?;
    let meta = fs::metadata(&dir).map_err(|error| io("the state directory cannot be read", &error))?;
    owned(&meta, "directory")?;
    if meta.permissions().mode() & 0o022 != 0 {
        return Err(StoreError::Backend(
            "others can write to the state directory: take that away (chmod go-w) or name another".to_owned(),
        ));
    }
    let path = dir.join(name);
    let created = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path);
    match created {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => tighten(&path)?,
        Err(error) => return Err(io("the state file cannot be created", &error)),
    }
    Ok(path)
}

/// Refuses what belongs to another user, who could put something else in its place. The system's own user can do so anywhere.
fn owned(meta: &fs::Metadata, what: &str) -> Result<(), StoreError> {
    let own = rustix::process::geteuid().as_raw();
    if [own, 0].contains(&meta.uid()) {
        return Ok(());
    }
    Err(StoreError::Backend(format!(
        "the state {what} belongs to another user ({}): take it over (chown) or name another",
        meta.uid()
    )))
}

/// Takes the file from everyone else. SQLite gives its companions (`-wal`, `-shm`) the same mode.
fn tighten(path: &Path) -> Result<(), StoreError> {
    let meta = fs::symlink_metadata(path).map_err(|error| io("the state file cannot be read", &error))?;
    if !meta.is_file() {
        return Err(StoreError::Backend(
            "the state file is not a plain file".to_owned(),
        ));
    }
    owned(&meta, "file")?;
    let mode = meta.permissions().mode();
    if mode & 0o077 != 0 {
        let private = fs::Permissions::from_mode(mode & 0o700);
        fs::set_permissions(path, private)
            .map_err(|error| io("the state file cannot be made private", &error))?;
    }
    Ok(())
}

fn connect(path: &Path, options: &SqliteOptions) -> Result<Connection, StoreError> {
    // Without SQLITE_OPEN_URI a path is only ever a path; the connection is used by one thread at a time.
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut conn = Connection::open_with_flags(path, flags).map_err(failed)?;
    wait_when_busy(&mut conn, options.busy)?;
    conn.set_prepared_statement_cache_capacity(64);
    // Without it, some statements are prepared anew whenever another value is bound.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map_err(failed)?;
    set(&conn, "synchronous", "FULL")?;
    // What a statement may have to take back is noted in memory, page by page. Otherwise SQLite asks for 64 KiB each time, in
    // case the note has to go to a file, and the system gives and takes that memory with every change.
    set(&conn, "temp_store", "MEMORY")?;
    set(&conn, "fullfsync", true)?;
    set(&conn, "foreign_keys", true)?;
    set(&conn, "trusted_schema", false)?;
    set(&conn, "cell_size_check", true)?;
    Ok(conn)
}

/// SQLite's own waiting backs off to a tenth of a second, so that under steady load the process that waits longest gets
/// its turn last. A short, even wait gives every process its share.
fn wait_when_busy(conn: &mut Connection, limit: Duration) -> Result<(), StoreError> {
    let mut since = Instant::now();
    conn.busy_handler(Some(move |tries: i32| {
        if tries == 0 {
            since = Instant::now();
        }
        std::thread::sleep(Duration::from_micros(if tries < 20 { 200 } else { 1_000 }));
        since.elapsed() < limit
    }))
    .map_err(failed)
}

fn set(conn: &Connection, pragma: &str, value: impl rusqlite::ToSql) -> Result<(), StoreError> {
    conn.pragma_update(None, pragma, value).map_err(failed)
}

fn version(conn: &Connection) -> Result<i64, StoreError> {
    conn.pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(failed)
}

/// Before anything is written: a newer file, or another program's, is left as it is.
fn check_version(conn: &Connection) -> Result<(), StoreError> {
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    let found = version(conn)?;
    if found > known {
        return Err(StoreError::TooNew { found, known });
    }
    let tables: i64 = conn
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(failed)?;
    // The version is read again: another process may have written the schema between the two.
    if tables > 0 && version(conn)? <= 0 {
        return Err(StoreError::Corrupt {
            what: "another program's tables",
        });
    }
    Ok(())
}

/// The change of mode needs the file alone, and SQLite answers busy without waiting when two processes try at once.
fn enter_wal(conn: &Connection, options: &SqliteOptions) -> Result<(), StoreError> {
    let since = Instant::now();
    loop {
        let mode = conn.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0));
        match mode {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(_) => {
                let text = "the file system cannot hold the state file (it offers no shared memory)";
                return Err(StoreError::Backend(text.to_owned()));
            }
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && since.elapsed() < options.busy =>
            {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(error) => return Err(failed(error)),
        }
    }
}

/// One transaction from reading the version to writing it, so that of two processes one migrates and one finds it done.
fn migrate(conn: &mut Connection) -> Result<(), StoreError> {
    let tx = Transaction::new(conn, TransactionBehavior::Immediate).map_err(failed)?;
    check_version(&tx)?;
    let found = usize::try_from(version(&tx)?).map_err(|_| StoreError::Corrupt { what: "a version" })?;
    for step in MIGRATIONS.iter().skip(found) {
        tx.execute_batch(step).map_err(failed)?;
    }
    if found < MIGRATIONS.len() {
        let reached = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
        tx.pragma_update(None, "user_version", reached).map_err(failed)?;
    }
    tx.commit().map_err(failed)
}
