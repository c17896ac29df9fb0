//! `tidegate ledger` and `tidegate evidence` on what a real gateway wrote.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod run;

use std::process::Stdio;

use run::gateway::{Gateway, create_token};
use run::{Place, Ran, tidegate};
use serde_json::{Value, json};

fn expect(ran: &Ran, code: i32, said: &str) {
    let all = format!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.code, code, "{all}");
    assert!(all.contains(said), "{said:?} in {all}");
}

fn records(place: &Place, args: &[&str]) -> Vec<Value> {
    let ran = tidegate(place, &[&["ledger", "export"], args].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A gateway that has done something worth recording: a call that was stopped for its arguments, evidence kept.
fn worked(place: &Place) -> Gateway {
    let gateway = Gateway::start(place, &[]);
    let agent = create_token(place, "agent", "alice");
    for id in ["s1", "s2"] {
        assert_eq!(
            gateway
                .send(&agent, "/v1/sessions", Some(json!({"session_id": id})))
                .0,
            201
        );
    }
    let brought = json!({"tool": "search_email", "content": "the plan"});
    assert_eq!(
        gateway.send(&agent, "/v1/session/s1/responses", Some(brought)).0,
        200
    );
    let leak = json!({"tool": "web_search", "arguments": {"q": "who is jane.roe@corp.example"}});
    let (_, denied) = gateway.send(&agent, "/v1/session/s2/authorize", Some(leak));
    assert_eq!(denied["rule"], "arguments-above-ceiling");
    gateway
}

#[test]
fn the_record_can_be_read_and_checked_while_a_gateway_runs() {
    let place = Place::new();
    let gateway = worked(&place);
    expect(&tidegate(&place, &["ledger", "verify"]), 0, "all is well");
    expect(&tidegate(&place, &["ledger", "show"]), 0, "pii_egress_block");
    let all = records(&place, &[]);
    assert!(all.len() > 8, "{}", all.len());
    for (args, fits) in [
        (
            &["--session", "s1"][..],
            &(|record: &Value| record["session"] == "s1") as &dyn Fn(&Value) -> bool,
        ),
        (&["--event", "rise"], &|record| record["event"]["type"] == "rise"),
        (&["--class", "pii"], &|record| {
            record["event"].to_string().contains("\"pii\"")
        }),
        (&["--tool", "web_search"], &|record| {
            record["event"].to_string().contains("web_search")
        }),
        (&["--from", "2020-01-01"], &|_| true),
    ] {
        let some = records(&place, args);
        assert!(!some.is_empty() && some.iter().all(fits), "{args:?}: {some:?}");
    }
    assert!(records(&place, &["--until", "2020-01-01"]).is_empty());
    assert!(records(&place, &["--session", "s1", "--event", "session_opened"]).len() == 1);
    let csv = tidegate(&place, &["ledger", "export", "--format", "csv"]);
    assert_eq!(csv.stdout.lines().count(), all.len() + 1);
    assert!(csv.stdout.starts_with("index,session,seq,at,type,class,tool,"));
    expect(
        &tidegate(&place, &["evidence", "rotate"]),
        3,
        "a gateway is running",
    );
    expect(
        &tidegate(&place, &["ledger", "show", "--event", "nonsense"]),
        2,
        "nonsense",
    );
    expect(
        &tidegate(&place, &["ledger", "verify", "--dir", "absent"]),
        3,
        "absent",
    );
    gateway.stop();
}

#[test]
fn a_changed_record_is_named_and_outside_trust_finds_what_the_directory_cannot_tell() {
    let place = Place::new();
    let data = place.path("home/.local/share/tidegate");
    worked(&place).stop();
    let ledger = data.join("ledger");
    let key = std::fs::read_dir(&ledger)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| {
            std::fs::read_to_string(path).is_ok_and(|text| text.starts_with("tidegate-ledger-ed25519"))
        })
        .unwrap();
    std::fs::copy(key, place.path("trusted.pub")).unwrap();
    let verify = |args: &[&str]| tidegate(&place, &[&["ledger", "verify"], args].concat());
    expect(
        &verify(&["--key", "trusted.pub", "--save", "seen"]),
        0,
        "closed in order",
    );
    expect(&verify(&["--seen", "seen"]), 0, "all is well");
    expect(&verify(&["--seen", "trusted.pub"]), 2, "is not a checkpoint");

    let other = Place::new();
    worked(&other).stop();
    let foreign = other.path("home/.local/share/tidegate/ledger");
    let foreign = foreign.to_str().unwrap();
    expect(&verify(&["--dir", foreign]), 0, "all is well");
    expect(
        &verify(&["--dir", foreign, "--key", "trusted.pub"]),
        1,
        "another key",
    );
    expect(&verify(&["--dir", foreign, "--seen", "seen"]), 1, "checkpoint");

    let segment = std::fs::read_dir(&ledger)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .max_by_key(|path| path.metadata().unwrap().len())
        .unwrap();
    let mut bytes = std::fs::read(&segment).unwrap();
    let at = bytes
        .windows(12)
        .position(|window| window == b"search_email")
        .unwrap();
    bytes[at] = b'x';
    std::fs::write(&segment, bytes).unwrap();
    expect(&verify(&[]), 1, "record");
}

#[test]
fn evidence_is_rotated_and_destroyed_on_the_record() {
    let place = Place::new();
    worked(&place).stop();
    let blocks = records(&place, &["--event", "pii_egress_block"]);
    let pointer = blocks[0]["event"]["evidence_pointer"]
        .as_str()
        .unwrap()
        .to_owned();
    let key = || std::fs::read(place.path("home/.local/share/tidegate/vault.key")).unwrap();
    let before = key();
    expect(
        &tidegate(&place, &["evidence", "rotate"]),
        0,
        "pieces put under it: 1",
    );
    assert_ne!(before, key());
    expect(&tidegate(&place, &["evidence", "expire"]), 0, "destroyed: 0");
    expect(
        &tidegate(&place, &["evidence", "destroy", "evidence://pii/zz"]),
        2,
        "POINTER",
    );
    expect(
        &tidegate(&place, &["evidence", "destroy", &pointer]),
        0,
        "is destroyed",
    );
    expect(
        &tidegate(&place, &["evidence", "destroy", &pointer]),
        1,
        "leads nowhere",
    );
    let destroyed = records(&place, &["--event", "evidence_destroyed"]);
    assert_eq!(destroyed.len(), 1);
    assert_eq!(destroyed[0]["event"]["evidence_pointer"], pointer.as_str());
    assert_eq!(destroyed[0]["event"]["cause"], "request");
    assert_eq!(destroyed[0]["event"]["by"], "local-administrator");
    expect(&tidegate(&place, &["ledger", "verify"]), 0, "all is well");
}

/// Runs the gateway for a client that says nothing.
fn visited(place: &Place, session: &str) {
    let mut command = place.command(&["mcp", "--session", session]);
    let ran: Ran = command.stdin(Stdio::null()).output().unwrap().into();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let opened = format!("there was no session {session}");
    assert!(ran.stderr.contains(&opened), "{}", ran.stderr);
}

#[test]
fn every_record_of_the_directory_is_read_and_checked() {
    let place = Place::new();
    expect(
        &tidegate(&place, &["ledger", "verify"]),
        3,
        "there is no record in",
    );
    visited(&place, "by-client");
    expect(&tidegate(&place, &["ledger", "verify"]), 0, "all is well");
    assert!(!records(&place, &["--session", "by-client"]).is_empty());
    worked(&place).stop();
    let verified = tidegate(&place, &["ledger", "verify"]);
    expect(&verified, 0, "ledgers/mcp-1: all is well");
    assert_eq!(verified.stdout.matches("all is well").count(), 2);
    assert!(!records(&place, &["--session", "by-client"]).is_empty());
    assert!(!records(&place, &["--session", "s1"]).is_empty());
    let saved = tidegate(&place, &["ledger", "verify", "--save", "seen"]);
    expect(&saved, 0, "not looked at: ");

    let segment = place.path("home/.local/share/tidegate/ledgers/mcp-1/0000000001.tgl");
    let mut bytes = std::fs::read(&segment).unwrap();
    let at = bytes
        .windows(9)
        .position(|window| window == b"by-client")
        .unwrap();
    bytes[at] = b'x';
    std::fs::write(&segment, bytes).unwrap();
    let verified = tidegate(&place, &["ledger", "verify"]);
    expect(&verified, 1, "mcp-1");
    expect(&verified, 1, "all is well");
}

#[test]
fn a_record_that_is_gone_is_missed() {
    let place = Place::new();
    let data = place.path("home/.local/share/tidegate");
    let verify = |args: &[&str]| tidegate(&place, &[&["ledger", "verify"], args].concat());
    visited(&place, "by-client");
    // Whatever belongs to one record belongs to the gateway's, and there was none yet.
    expect(&verify(&["--save", "seen"]), 3, "no record of a gateway");
    worked(&place).stop();
    let other = data.join("ledgers/mcp-1");
    let other = other.to_str().unwrap();
    expect(&verify(&["--dir", other, "--save", "seen-1"]), 0, "all is well");
    expect(&verify(&["--save", "seen"]), 0, "not looked at: ");

    std::fs::rename(data.join("ledger"), place.path("aside")).unwrap();
    let missed = verify(&[]);
    expect(&missed, 1, "tidegate/ledger: the record is missing");
    expect(&missed, 1, "mcp-1: all is well");
    for args in [
        &["--seen", "seen"][..],
        &["--seen", "seen-1"],
        &["--save", "again"],
    ] {
        let missed = verify(args);
        expect(&missed, 1, "tidegate/ledger: the record is missing");
        assert_eq!(missed.stdout, "", "{args:?}");
    }
    assert!(!place.path("again").exists());
    expect(&tidegate(&place, &["ledger", "show"]), 0, "the record is missing");

    // Its index alone tells, as its key does, and so do those of the other records.
    std::fs::rename(data.join("ledger.key"), place.path("aside.key")).unwrap();
    expect(&verify(&[]), 1, "ledger.index is there");
    std::fs::rename(place.path("aside"), data.join("ledger")).unwrap();
    expect(&verify(&[]), 0, "ledger: all is well");
    std::fs::remove_dir_all(other).unwrap();
    expect(&verify(&[]), 1, "ledgers/mcp-1: the record is missing");
}

#[test]
fn a_mistyped_directory_has_no_evidence() {
    let place = Place::new();
    for verb in ["rotate", "expire"] {
        let ran = tidegate(&place, &["evidence", verb, "--data-dir", "mistyped"]);
        expect(&ran, 1, "is it the right --data-dir?");
        assert!(!place.path("mistyped").exists());
    }
}
