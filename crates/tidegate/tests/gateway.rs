//! The gateway as an operator runs it: started, spoken to, looked at from the side, stopped.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod run;

use run::gateway::{Gateway, create_token};
use run::{Place, Ran, tidegate};
use serde_json::json;

fn expect(ran: &Ran, code: i32, said: &str) {
    let all = format!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.code, code, "{all}");
    assert!(all.contains(said), "{said:?} in {all}");
}

#[test]
fn with_no_configuration_it_starts_and_gives_a_first_token_once() {
    let place = Place::new();
    let gateway = Gateway::start(&place, &[]);
    let first = tidegate(&place, &["token", "list"]);
    expect(&first, 0, "agent");
    let said = gateway.stop();
    let token = said
        .split_whitespace()
        .find(|word| word.starts_with("tg_"))
        .unwrap()
        .to_owned();
    assert!(!first.stdout.contains(&token));

    let again = Gateway::start(&place, &[]);
    assert_eq!(again.send(&token, "/v1/sessions", Some(json!({}))).0, 201);
    assert!(!again.stop().contains("tg_"));
}

#[test]
fn a_running_gateway_sees_what_the_command_line_changes() {
    let place = Place::new();
    let gateway = Gateway::start(&place, &[]);
    let agent = create_token(&place, "agent", "alice");
    let admin = create_token(&place, "admin", "root");
    assert_eq!(
        gateway
            .send(&agent, "/v1/sessions", Some(json!({"session_id": "s1"})))
            .0,
        201
    );
    let response = json!({"tool": "search_email", "content": "canary"});
    assert_eq!(
        gateway.send(&agent, "/v1/session/s1/responses", Some(response)).0,
        200
    );

    let shown = tidegate(&place, &["session", "show", "s1"]);
    expect(&shown, 0, "public -> internal by search_email");
    assert!(
        shown
            .stdout
            .contains("blocked tools  web_search, slack_post, external_api"),
        "{}",
        shown.stdout
    );
    expect(&tidegate(&place, &["session", "show"]), 0, "s1 ");
    expect(&tidegate(&place, &["session", "show", "nobody"]), 1, "no session");

    let reset = |token: &str| {
        let through = ["--gateway", &gateway.url, "--token", token];
        tidegate(
            &place,
            &[&["session", "reset", "s1", "--reason", "test"][..], &through].concat(),
        )
    };
    expect(&reset(&agent), 1, "may not reset");
    expect(&reset("tg_unknown"), 1, "unknown or revoked");
    let aside = tidegate(&place, &["session", "reset", "s1", "--reason", "test"]);
    expect(&aside, 3, "--gateway and an administrator");
    assert_eq!(
        gateway.send(&agent, "/v1/session/s1", None).1["sensitivity"],
        "internal"
    );
    expect(&reset(&admin), 0, "starts anew");
    assert_eq!(
        gateway.send(&agent, "/v1/session/s1", None).1["sensitivity"],
        "public"
    );

    let listed = tidegate(&place, &["token", "list"]);
    let line = listed.stdout.lines().find(|line| line.contains("alice")).unwrap();
    let id = line.split_whitespace().next().unwrap();
    expect(&tidegate(&place, &["token", "revoke", id]), 0, "revoked");
    assert_eq!(gateway.send(&agent, "/v1/session/s1", None).0, 401);
    expect(
        &tidegate(&place, &["token", "revoke", "tok_none"]),
        1,
        "there is no token",
    );
    let said = gateway.stop();
    assert!(!said.contains("canary") && !said.contains(&agent), "{said}");
}

#[test]
fn without_a_gateway_a_reset_needs_an_administrator_and_a_reason() {
    let place = Place::new();
    let gateway = Gateway::start(&place, &[]);
    let agent = create_token(&place, "agent", "alice");
    assert_eq!(
        gateway
            .send(&agent, "/v1/sessions", Some(json!({"session_id": "s1"})))
            .0,
        201
    );
    let response = json!({"tool": "search_email", "content": "x"});
    assert_eq!(
        gateway.send(&agent, "/v1/session/s1/responses", Some(response)).0,
        200
    );
    gateway.stop();

    let reset = |args: &[&str]| tidegate(&place, &[&["session", "reset"][..], args].concat());
    expect(
        &reset(&["s1", "--reason", "test", "--token", &agent]),
        1,
        "may not reset",
    );
    expect(&reset(&["s1"]), 2, "--reason");
    expect(&reset(&["s1", "--reason", " "]), 2, "a reset needs a reason");
    expect(&reset(&["nobody", "--reason", "test"]), 1, "no session");
    expect(
        &tidegate(&place, &["session", "show", "s1"]),
        0,
        "public -> internal by search_email",
    );
    expect(&reset(&["s1", "--reason", "test"]), 0, "starts anew");
    expect(
        &tidegate(&place, &["session", "show", "s1"]),
        0,
        "blocked tools  none",
    );
}

#[test]
fn variables_are_honoured_and_flags_win() {
    let place = Place::new();
    place.write("mine.toml", "[tools.only_mine]\nreturns = \"pii\"\n");
    let run = |args: &[&str]| -> Ran {
        let mut command = place.command(args);
        let state = place.path("elsewhere");
        command
            .env("TIDEGATE_CONFIG", "mine.toml")
            .env("TIDEGATE_DATA_DIR", &state);
        command.env("PRIVATE_DATA_DIR", place.path("mirror"));
        command.output().unwrap().into()
    };
    expect(
        &run(&["token", "create", "--role", "admin", "--principal", "a"]),
        0,
        "tg_",
    );
    assert!(place.path("elsewhere/tidegate.db").exists());
    expect(
        &run(&[
            "token",
            "create",
            "--role",
            "admin",
            "--principal",
            "a",
            "--data-dir",
            "flag",
        ]),
        0,
        "tg_",
    );
    assert!(place.path("flag/tidegate.db").exists());
    expect(&run(&["session", "show"]), 0, "SESSION");
    expect(
        &run(&["session", "show", "s1", "--config", "absent.toml"]),
        2,
        "absent.toml",
    );
}

#[test]
fn it_refuses_to_start_on_what_is_wrong() {
    let place = Place::new();
    place.write("typo.toml", "[tools.a]\nreturn = \"pii\"\n");
    place.write(
        "inside.toml",
        "data_dir = \"work/state\"\nworkspaces = [\"work\"]\n",
    );
    place.write("file", "");
    for (args, code, said) in [
        (
            &["--config", "typo.toml"][..],
            2,
            "typo.toml:2:1: unknown key tools.a.return; did you mean returns?",
        ),
        (
            &["--config", "inside.toml"],
            2,
            "inside.toml:1:12: data_dir lies inside a workspace",
        ),
        (&["--config", "absent.toml"], 2, "there is no such file"),
        (&["--data-dir", "file/state"], 3, "state in file/state"),
        (&["--listen", "not-an-address"], 2, "--listen"),
        (&["--listen", "192.0.2.1:1"], 3, "cannot listen on"),
    ] {
        let mut all = vec!["serve"];
        all.extend(args);
        let ran = tidegate(&place, &all);
        expect(&ran, code, said);
        assert_eq!(ran.stdout, "", "{args:?}");
    }
    assert_eq!(
        tidegate(&place, &["token", "create", "--role", "king", "--principal", "a"]).code,
        2
    );
    assert_eq!(
        tidegate(
            &place,
            &["token", "create", "--role", "admin", "--principal", "../a"]
        )
        .code,
        2
    );
}
