//! Whatever fails, nothing passes: full disks, a ledger that cannot write, a mirror that cannot be trusted.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod stand;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reqwest::StatusCode;
use serde_json::json;
use stand::{Setting, Stand};
use tidegate_ledger::disk::{Disk, DiskFile, RealDisk};
use tidegate_store::SqliteOptions;

/// A disk that can be told to refuse every write.
#[derive(Clone)]
struct Refusing(Arc<AtomicBool>);

impl Refusing {
    fn check(&self) -> io::Result<()> {
        if self.0.load(Ordering::SeqCst) {
            Err(io::ErrorKind::StorageFull.into())
        } else {
            Ok(())
        }
    }
}

struct RefusingFile(Refusing, Box<dyn DiskFile>);

impl DiskFile for RefusingFile {
    fn reserve(&mut self, len: u64) -> io::Result<bool> {
        self.0.check()?;
        self.1.reserve(len)
    }

    fn write_at(&mut self, bytes: &[u8], position: u64) -> io::Result<usize> {
        self.0.check()?;
        self.1.write_at(bytes, position)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.0.check()?;
        self.1.sync_data()
    }
}

impl Disk for Refusing {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        self.check()?;
        Ok(Box::new(RefusingFile(self.clone(), RealDisk.create(path)?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.check()?;
        RealDisk.rename(from, to)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.check()?;
        RealDisk.sync_dir(dir)
    }

    fn shorten_durably(&self, path: &Path, len: u64) -> io::Result<()> {
        self.check()?;
        RealDisk.shorten_durably(path, len)
    }
}

#[tokio::test]
async fn what_cannot_be_recorded_does_not_pass_and_recovers_by_itself() {
    let refuses = Arc::new(AtomicBool::new(false));
    let ledger_disk = Arc::new(Refusing(Arc::clone(&refuses)));
    let stand = Stand::start_with(Setting {
        ledger_disk,
        ..Setting::default()
    })
    .await;
    let (alice, admin) = (stand.alice().await, stand.admin().await);
    let session = stand.open(&alice).await;
    let path = format!("/v1/session/{session}");
    let calls = [
        (
            &alice,
            format!("{path}/authorize"),
            json!({"tool": "github_create_pr"}),
        ),
        (
            &alice,
            format!("{path}/responses"),
            json!({"tool": "search_email", "content": "canary-content"}),
        ),
        (
            &alice,
            format!("{path}/output"),
            json!({"text": "canary-content", "recipient_role": "admin"}),
        ),
        (
            &alice,
            format!("{path}/datasets"),
            json!({"name": "d", "sensitivity": "internal"}),
        ),
        (
            &admin,
            format!("{path}/reset"),
            json!({"reason": "try to lower it"}),
        ),
        (&alice, "/v1/sessions".to_owned(), json!({})),
    ];
    stand
        .post(
            &alice,
            &format!("{path}/datasets"),
            json!({"name": "first", "sensitivity": "internal"}),
        )
        .await;
    refuses.store(true, Ordering::SeqCst);
    for (holder, path, body) in &calls {
        let document = stand
            .refuse(holder, path, body.clone(), StatusCode::SERVICE_UNAVAILABLE)
            .await;
        assert_eq!(
            document["type"], "urn:tidegate:problem:record-unavailable",
            "{path}"
        );
        assert!(!document.to_string().contains("canary"), "{document}");
    }
    refuses.store(false, Ordering::SeqCst);
    let state = stand.get(&alice, &path).await;
    assert_eq!(
        state["sensitivity"], "internal",
        "a reset that is not on the record must not lower"
    );
    assert_eq!(
        stand.post(&alice, &calls[0].1, calls[0].2.clone()).await["decision"],
        "allow"
    );
}

#[tokio::test]
async fn a_rise_that_cannot_be_stored_releases_nothing() {
    let sqlite = SqliteOptions {
        max_pages: Some(40),
        ..SqliteOptions::default()
    };
    let stand = Stand::start_with(Setting {
        sqlite,
        ..Setting::default()
    })
    .await;
    let alice = stand.alice().await;
    let mut refused = None;
    for _ in 0..10_000 {
        let response = stand
            .send(&alice, reqwest::Method::POST, "/v1/sessions", Some(json!({})))
            .await;
        if response.status() != StatusCode::CREATED {
            refused = Some(response);
            break;
        }
        let opened: serde_json::Value = response.json().await.unwrap();
        let path = format!("/v1/session/{}/responses", opened["session_id"].as_str().unwrap());
        let body = json!({"tool": "search_email", "content": "canary-content"});
        let response = stand.send(&alice, reqwest::Method::POST, &path, Some(body)).await;
        if response.status() != StatusCode::OK {
            refused = Some(response);
            break;
        }
    }
    let document = stand::problem(
        refused.expect("the file is bounded"),
        StatusCode::SERVICE_UNAVAILABLE,
    )
    .await;
    assert_eq!(document["type"], "urn:tidegate:problem:store-unavailable");
    assert!(!document.to_string().contains("canary"), "{document}");
}

#[tokio::test]
async fn a_mirror_that_is_not_ours_releases_nothing() {
    let stand = Stand::start().await;
    let alice = stand.alice().await;
    let session = stand.open(&alice).await;
    let elsewhere = stand.directory.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, stand.directory.path().join("mirror/alice")).unwrap();
    let path = format!("/v1/session/{session}/responses");
    let body = json!({"tool": "search_email", "content": "canary-content"});
    let document = stand
        .refuse(&alice, &path, body, StatusCode::SERVICE_UNAVAILABLE)
        .await;
    assert_eq!(document["type"], "urn:tidegate:problem:mirror-unavailable");
    assert!(!document.to_string().contains("canary"), "{document}");
    assert_eq!(
        std::fs::read_dir(&elsewhere).unwrap().count(),
        0,
        "something was written through the link"
    );
}

#[tokio::test]
async fn a_label_stream_too_many_is_refused() {
    let mut setting = Setting::default();
    setting.limits.streams = 1;
    let stand = Stand::start_with(setting).await;
    let alice = stand.alice().await;
    let path = format!("/v1/session/{}/events", stand.open(&alice).await);
    let _first = stand.send(&alice, reqwest::Method::GET, &path, None).await;
    let second = stand.send(&alice, reqwest::Method::GET, &path, None).await;
    stand::problem(second, StatusCode::SERVICE_UNAVAILABLE).await;
}
