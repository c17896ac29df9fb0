//! The `.private_data` mirror, as other programs see it.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tidegate_core::{Class, ContextState, Ident, Moment, Name};
use tidegate_store::{Mirror, MirrorError, Misplaced, Session};

fn session(sets: &[(&str, Class)]) -> Session {
    let mut context = ContextState::clean();
    for (at, (name, class)) in sets.iter().enumerate() {
        let at = Moment(1_763_000_000_000 + i64::try_from(at).unwrap());
        context.admit_dataset(Name::parse(name).unwrap(), *class, at);
    }
    let ident = |text| Ident::parse(text).unwrap();
    Session {
        id: ident("s-1"),
        user: ident("ada@corp.example"),
        agent: ident("a"),
        opened_at: Moment(0),
        context,
    }
}

fn mirror() -> (tempfile::TempDir, Mirror, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let mirror = Mirror::new(dir.path().join("mirror")).unwrap();
    let file = dir.path().join("mirror/ada@corp.example/s-1/.private_data");
    (dir, mirror, file)
}

fn read(file: &Path) -> Value {
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

#[test]
fn says_what_the_session_holds() {
    let (_dir, mirror, file) = mirror();
    let sets = [
        ("news", Class::Public),
        ("patients", Class::Confidential),
        ("q4 \"draft\"", Class::Secret),
    ];
    mirror.write(&session(&sets)).unwrap();
    let expected = json!({
        "user_id": "ada@corp.example",
        "session_id": "s-1",
        "has_private_data": true,
        "sensitivity": "secret",
        "private_datasets": ["patients", "q4 \"draft\""],
        "datasets": [
            {"name": "news", "sensitivity": "public"},
            {"name": "patients", "sensitivity": "confidential"},
            {"name": "q4 \"draft\"", "sensitivity": "secret"},
        ],
        "contaminated_at": "2025-11-13T02:13:20.001Z",
        "contamination_source": "q4 \"draft\"",
    });
    assert_eq!(read(&file), expected);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    let above: Vec<_> = file.ancestors().skip(1).take(3).map(mode).collect();
    assert_eq!(above, [0o700; 3]);
    let left: Vec<_> = fs::read_dir(file.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, [".private_data"]);
}

#[test]
fn is_absent_without_private_data() {
    let (_dir, mirror, file) = mirror();
    mirror.write(&session(&[("news", Class::Public)])).unwrap();
    assert!(!file.exists());
    mirror.write(&session(&[("d", Class::Pii)])).unwrap();
    assert!(file.exists());
    mirror.reset(&session(&[])).unwrap();
    assert!(!file.exists());
    mirror.reset(&session(&[])).unwrap();
}

#[test]
fn an_older_write_that_comes_late_takes_nothing_back() {
    let (_dir, mirror, file) = mirror();
    let newer = [("a", Class::Secret), ("b", Class::Pii)];
    mirror.write(&session(&newer)).unwrap();
    let late: [&[_]; 4] = [
        &[],
        &[("a", Class::Pii)],
        &[("a", Class::Secret)],
        &[("a", Class::Secret), ("b", Class::Public)],
    ];
    for older in late {
        mirror.write(&session(older)).unwrap();
        assert_eq!(read(&file)["datasets"].as_array().unwrap().len(), 2, "{older:?}");
        assert_eq!(read(&file)["datasets"][1]["sensitivity"], "pii", "{older:?}");
    }
    mirror.reset(&session(&[("c", Class::Internal)])).unwrap();
    assert_eq!(read(&file)["sensitivity"], "internal");
}

#[test]
fn what_a_killed_process_left_is_replaced() {
    let (_dir, mirror, file) = mirror();
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file.with_file_name(".private_data.new"), "half").unwrap();
    fs::write(&file, "{\"user_id\": tr").unwrap();
    mirror.write(&session(&[("d", Class::Pii)])).unwrap();
    assert_eq!(read(&file)["sensitivity"], "pii");
}

#[test]
fn links_are_not_followed() {
    for linked in ["", "s-1", "s-1/.private_data"] {
        let (dir, mirror, _) = mirror();
        let elsewhere = dir.path().join("elsewhere");
        fs::create_dir_all(elsewhere.join("s-1")).unwrap();
        fs::write(elsewhere.join("s-1/.private_data"), "theirs").unwrap();
        let link = dir.path().join("mirror/ada@corp.example").join(linked);
        let link = if linked.is_empty() {
            dir.path().join("mirror/ada@corp.example")
        } else {
            link
        };
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        let target = if linked.is_empty() {
            elsewhere.clone()
        } else {
            elsewhere.join(linked)
        };
        symlink(target, &link).unwrap();
        let outcome = mirror.write(&session(&[("d", Class::Pii)]));
        assert!(matches!(outcome, Err(MirrorError::Link)), "{linked}: {outcome:?}");
        assert_eq!(
            fs::read(elsewhere.join("s-1/.private_data")).unwrap(),
            b"theirs",
            "{linked}"
        );
        let count = fs::read_dir(elsewhere.join("s-1")).unwrap().count();
        assert_eq!(count, 1, "{linked}: something was written elsewhere");
    }
}

#[test]
fn is_refused_inside_a_workspace() {
    let (dir, mirror, _) = mirror();
    assert!(mirror.refuse_inside(&[dir.path().join("other")]).is_ok());
    assert!(matches!(
        mirror.refuse_inside(&[dir.path()]),
        Err(Misplaced::Inside { .. })
    ));
    assert!(matches!(
        mirror.refuse_inside(&[dir.path().join("mirror/x")]),
        Err(Misplaced::Around { .. })
    ));
}
