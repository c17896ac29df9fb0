//! What the embedded store does when the file, the disk or a neighbour is not as it should be.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use rusqlite::Connection;
use tidegate_core::{Class, Entry, Halt, Ident, Moment, Name};
use tidegate_store::{
    OpenError, Opening, Reset, SessionStore, SqliteOptions, SqliteStore, StoreError, TokenDigest,
    TokenRecord, TokenStore,
};
use tokio::task::JoinSet;

fn ident(text: &str) -> Ident {
    Ident::parse(text).unwrap()
}

fn opening(id: &str) -> Opening {
    Opening {
        id: ident(id),
        user: ident("ada"),
        agent: ident("agent-1"),
        at: Moment(1),
    }
}

fn entry(class: Class) -> Entry {
    let kinds = class.kind().into_iter().collect();
    Entry {
        class,
        kinds,
        source: Name::parse("crm").unwrap(),
        at: Moment(2),
    }
}

fn open(file: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(file, SqliteOptions::default())
}

fn state() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("state/tidegate.db");
    (dir, file)
}

/// A file with the session `s`, raised to secret by a dataset, halted once and reset once before.
async fn used() -> (tempfile::TempDir, PathBuf) {
    let (dir, file) = state();
    let store = open(&file).unwrap();
    let id = ident("s");
    store.open(opening("s")).await.unwrap();
    let halt = Halt {
        source: Name::parse("web").unwrap(),
        at: Moment(3),
    };
    store.halt(&id, halt.clone()).await.unwrap();
    let reset = Reset {
        by: ident("root"),
        reason: "test".to_owned(),
        at: Moment(4),
    };
    store.reset(&id, Class::Secret, reset).await.unwrap();
    store.raise(&id, entry(Class::Internal)).await.unwrap();
    store
        .add_dataset(&id, Name::parse("keys").unwrap(), Class::Secret, Moment(5))
        .await
        .unwrap();
    store.halt(&id, halt).await.unwrap();
    store.issue(token()).await.unwrap();
    store.revoke(&ident("t"), Moment(7)).await.unwrap();
    (dir, file)
}

fn token() -> TokenRecord {
    TokenRecord {
        id: ident("t"),
        digest: TokenDigest([1; 32]),
        role: tidegate_core::Role::Agent,
        principal: ident("ada"),
        agent: None,
        issued_at: Moment(6),
        revoked_at: None,
    }
}

#[tokio::test]
async fn a_damaged_row_is_an_error_and_never_a_lower_label() {
    let damages = [
        "UPDATE session SET label = 'public'",
        "UPDATE session SET label = 'confidential'",
        "UPDATE session SET label = 'SECRET'",
        "UPDATE session SET label = ''",
        "UPDATE session SET label = 'restricted'",
        "UPDATE session SET kinds = 'pii,nonsense'",
        "UPDATE session SET epoch = 2",
        "UPDATE session SET epoch = 0",
        "UPDATE session SET user = '../etc'",
        "UPDATE session SET halted_at = NULL",
        "UPDATE session SET halted_by = char(10)",
        "DELETE FROM rise WHERE to_class = 'secret'",
        "DELETE FROM rise",
        "UPDATE rise SET to_class = 'public' WHERE to_class = 'secret'",
        "UPDATE rise SET to_class = 'pii' WHERE to_class = 'secret'",
        "UPDATE rise SET from_class = 'public'",
        "UPDATE rise SET source = ''",
        "UPDATE rise SET source = CAST(x'ff' AS TEXT)",
        "UPDATE dataset SET class = 'none'",
        "UPDATE dataset SET name = ''",
    ];
    for damage in damages {
        let (_dir, file) = used().await;
        let raw = Connection::open(&file).unwrap();
        without_triggers(&raw);
        raw.execute_batch(&format!("PRAGMA ignore_check_constraints = ON; {damage}"))
            .unwrap();
        let store = open(&file).unwrap();
        let id = ident("s");
        let answers = [
            store.current(&id).await.map(drop),
            store.raise(&id, entry(Class::Secret)).await.map(drop),
            store.list(None, 10).await.map(drop),
        ];
        for answer in answers {
            assert!(
                matches!(answer, Err(StoreError::Corrupt { .. })),
                "{damage}: {answer:?}"
            );
        }
        assert!(
            matches!(
                store.open(opening("s")).await,
                Err(OpenError::Store(StoreError::Corrupt { .. }))
            ),
            "{damage}"
        );
        store.open(opening("other")).await.unwrap();
    }
}

/// The second lock: the file itself refuses what the program never asks for.
#[tokio::test]
async fn no_statement_lowers_a_label_by_the_way() {
    let (_dir, file) = used().await;
    let raw = Connection::open(&file).unwrap();
    let refused = [
        "UPDATE session SET label = 'public'",
        "UPDATE session SET label = 'pii', revision = revision + 1",
        "UPDATE session SET label = 'nonsense'",
        "UPDATE session SET label = 'public', epoch = epoch + 1",
        "UPDATE session SET label = 'public', epoch = 0",
        "UPDATE session SET halted_by = NULL, halted_at = NULL",
        "UPDATE session SET user = 'mallory'",
        "DELETE FROM session",
        "DELETE FROM rise",
        "UPDATE rise SET to_class = 'public'",
        "DELETE FROM dataset",
        "UPDATE dataset SET class = 'public'",
        "DELETE FROM reset",
        "UPDATE reset SET reason = ''",
        "INSERT INTO change (revision, session) VALUES (0, 's')",
        "UPDATE change SET session = 'other'",
        "DELETE FROM change",
        "UPDATE token SET revoked_at = NULL",
        "DELETE FROM token",
    ];
    for statement in refused {
        let error = raw.execute_batch(statement).unwrap_err();
        assert_eq!(
            error.sqlite_error_code(),
            Some(rusqlite::ErrorCode::ConstraintViolation),
            "{statement}"
        );
    }
    let session = open(&file).unwrap().current(&ident("s")).await.unwrap().unwrap();
    assert_eq!(session.context.label().class(), Class::Secret);
}

fn without_triggers(raw: &Connection) {
    let mut names = raw
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
        .unwrap();
    let names: Vec<String> = names
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for name in names {
        raw.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
    }
}

#[tokio::test]
async fn a_file_that_is_not_ours_is_refused_and_left_alone() {
    let (_dir, file) = used().await;
    Connection::open(&file)
        .unwrap()
        .pragma_update(None, "user_version", 99)
        .unwrap();
    assert_eq!(
        open(&file).err(),
        Some(StoreError::TooNew { found: 99, known: 7 })
    );

    let (_dir, file) = state();
    fs::create_dir(file.parent().unwrap()).unwrap();
    fs::set_permissions(file.parent().unwrap(), fs::Permissions::from_mode(0o700)).unwrap();
    Connection::open(&file)
        .unwrap()
        .execute_batch("CREATE TABLE recipes (title TEXT)")
        .unwrap();
    let before = fs::read(&file).unwrap();
    assert!(matches!(open(&file).err(), Some(StoreError::Corrupt { .. })));
    assert_eq!(fs::read(&file).unwrap(), before);

    fs::write(
        &file,
        "not a database, whatever the name says; it is long enough to have a header though".repeat(40),
    )
    .unwrap();
    assert_eq!(open(&file).err(), Some(StoreError::Corrupt { what: "a file" }));
}

#[tokio::test]
async fn the_file_is_for_its_owner_alone() {
    let (_dir, file) = state();
    let _store = open(&file).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for name in ["tidegate.db", "tidegate.db-wal", "tidegate.db-shm"] {
        assert_eq!(mode(&file.with_file_name(name)), 0o600, "{name}");
    }
    assert_eq!(mode(file.parent().unwrap()), 0o700);

    let (_dir, loose) = used().await;
    fs::set_permissions(&loose, fs::Permissions::from_mode(0o644)).unwrap();
    let _store = open(&loose).unwrap();
    assert_eq!(mode(&loose), 0o600);

    let (_dir, shared) = used().await;
    fs::set_permissions(shared.parent().unwrap(), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(open(&shared).err(), Some(StoreError::Backend(_))));

    // Only the system's own user can give something to another, so elsewhere nothing is left to be seen.
    if rustix::process::geteuid().is_root() {
        let other = rustix::process::Uid::from_raw(65_534);
        for is_directory in [true, false] {
            let (_dir, file) = used().await;
            let given = if is_directory {
                file.parent().unwrap()
            } else {
                &file
            };
            rustix::fs::chown(given, Some(other), None).unwrap();
            let refused = open(&file).err().unwrap().to_string();
            assert!(refused.contains("belongs to another user"), "{refused}");
        }
    }

    let (dir, target) = used().await;
    let link = dir.path().join("state/link.db");
    symlink(target, &link).unwrap();
    assert!(matches!(open(&link).err(), Some(StoreError::Backend(_))));
}

/// Opens sessions until the store refuses; gives those that were acknowledged and the refusal.
async fn fill(store: &SqliteStore) -> (Vec<Ident>, StoreError) {
    let mut acknowledged = Vec::new();
    for number in 0..20_000 {
        let id = format!("s-{number:05}-{}", "x".repeat(100));
        match store.open(opening(&id)).await {
            Ok(session) => acknowledged.push(session.id.clone()),
            Err(OpenError::Store(error)) => return (acknowledged, error),
            Err(OpenError::Taken) => panic!("{id} was never acknowledged"),
        }
    }
    panic!("the disk never filled up");
}

#[tokio::test]
async fn a_full_file_refuses_and_loses_nothing() {
    let dir = tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap();
    let file = dir.path().join("tidegate.db");
    let options = SqliteOptions {
        max_pages: Some(200),
        ..SqliteOptions::default()
    };
    let store = SqliteStore::open(&file, options).unwrap();
    let (acknowledged, error) = fill(&store).await;
    assert!(
        matches!(&error, StoreError::Backend(text) if text.contains("full")),
        "{error:?}"
    );
    assert!(acknowledged.len() > 100);
    drop(store);
    works_again(&open(&file).unwrap(), &acknowledged).await;
}

/// The same on a real, small file system, where a test may make one: without leaving the process.
#[tokio::test]
async fn a_full_disk_refuses_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=600k,mode=0700", "tmpfs"])
        .arg(dir.path())
        .output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        return;
    }
    let _unmount = Unmount(dir.path().to_owned());
    fs::write(dir.path().join("ballast"), vec![1; 200 << 10]).unwrap();
    let store = open(&dir.path().join("tidegate.db")).unwrap();
    let (acknowledged, error) = fill(&store).await;
    assert!(matches!(error, StoreError::Backend(_)), "{error:?}");
    assert!(!acknowledged.is_empty());
    for id in &acknowledged {
        assert!(store.current(id).await.unwrap().is_some(), "{id}");
    }
    // A rise is smaller than an opening: a few may still find room.
    let mut refused = None;
    for id in &acknowledged {
        let raised = store.raise(id, entry(Class::Secret)).await.is_ok();
        let shown = store.current(id).await.unwrap().unwrap();
        assert_eq!(shown.context.label().is_private(), raised, "{id}");
        if !raised {
            refused = Some(id);
            break;
        }
    }
    assert!(refused.is_some(), "the disk has room after all");
    fs::remove_file(dir.path().join("ballast")).unwrap();
    works_again(&store, &acknowledged).await;
}

struct Unmount(PathBuf);

impl Drop for Unmount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

async fn works_again(store: &SqliteStore, acknowledged: &[Ident]) {
    store.ready().await.unwrap();
    for id in acknowledged {
        assert!(
            store.current(id).await.unwrap().is_some(),
            "{id} was acknowledged and is gone"
        );
    }
    let last = acknowledged.last().unwrap();
    let raised = store.raise(last, entry(Class::Secret)).await.unwrap();
    assert_eq!(raised.session.context.label().class(), Class::Secret);
}

/// One change of a batch fails half way, by a lock in the file: its first half is undone, the others go through.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_fails_leaves_its_neighbours_alone() {
    let (_dir, file) = state();
    let store = Arc::new(open(&file).unwrap());
    let ids: Vec<_> = (0..40)
        .map(|number| {
            ident(&format!(
                "{}-{number}",
                if number % 4 == 0 { "bad" } else { "good" }
            ))
        })
        .collect();
    for id in &ids {
        store.open(opening(id.as_str())).await.unwrap();
    }
    let lock = "CREATE TRIGGER lock BEFORE INSERT ON rise WHEN NEW.session LIKE 'bad%' BEGIN SELECT RAISE(ABORT, 'no'); END";
    Connection::open(&file).unwrap().execute_batch(lock).unwrap();
    let mut tasks = JoinSet::new();
    for id in ids.clone() {
        let store = store.clone();
        tasks.spawn(async move { (store.raise(&id, entry(Class::Secret)).await.is_ok(), id) });
    }
    while let Some(done) = tasks.join_next().await {
        let (raised, id) = done.unwrap();
        assert_eq!(raised, id.as_str().starts_with("good"), "{id}");
    }
    for store in [store, Arc::new(open(&file).unwrap())] {
        for id in &ids {
            let label = store.current(id).await.unwrap().unwrap().context.label();
            assert_eq!(label.is_private(), id.as_str().starts_with("good"), "{id}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn too_much_at_once_is_refused_not_queued_without_end() {
    let (_dir, file) = state();
    let options = SqliteOptions {
        queue: 2,
        batch: 1,
        ..SqliteOptions::default()
    };
    let store = Arc::new(SqliteStore::open(&file, options).unwrap());
    let mut tasks = JoinSet::new();
    for number in 0..200 {
        let store = store.clone();
        tasks.spawn(async move { store.open(opening(&format!("s-{number}"))).await });
    }
    let (mut done, mut refused) = (0, 0);
    for outcome in tasks.join_all().await {
        match outcome {
            Ok(session) => {
                done += 1;
                assert!(store.current(&session.id).await.unwrap().is_some());
            }
            Err(error) => {
                refused += 1;
                assert_eq!(error, OpenError::Store(StoreError::Overloaded));
            }
        }
    }
    assert_eq!(done + refused, 200);
    assert!(done > 0 && refused > 0, "{done} done, {refused} refused");
    store.ready().await.unwrap();
}

/// While another program holds the file, changes wait a bounded time and reads do not wait at all.
#[tokio::test]
async fn a_file_that_is_held_is_an_answer() {
    let (_dir, file) = used().await;
    let options = SqliteOptions {
        busy: std::time::Duration::from_millis(50),
        ..SqliteOptions::default()
    };
    let store = SqliteStore::open(&file, options).unwrap();
    let raw = Connection::open(&file).unwrap();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(
        store.open(opening("new")).await,
        Err(OpenError::Store(StoreError::Overloaded))
    );
    assert!(store.current(&ident("s")).await.unwrap().is_some());
    raw.execute_batch("ROLLBACK").unwrap();
    store.open(opening("new")).await.unwrap();
}
