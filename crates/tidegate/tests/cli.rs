//! The command line as scripts see it: what goes to which stream, and the exit codes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod run;

use run::{Place, tidegate};

#[test]
fn init_writes_a_configuration_that_check_likes() {
    let place = Place::new();
    let init = tidegate(&place, &["init"]);
    assert_eq!((init.code, init.stdout.as_str()), (0, ""));
    assert!(
        init.stderr.contains("tidegate check tidegate.toml"),
        "{}",
        init.stderr
    );

    let check = tidegate(&place, &["check", "tidegate.toml"]);
    assert_eq!(check.code, 0, "{}", check.stderr);
    assert!(
        check
            .stdout
            .starts_with("tidegate.toml: 0 errors, 0 warnings; tools: 11, "),
        "{}",
        check.stdout
    );

    let again = tidegate(&place, &["init"]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("--force"), "{}", again.stderr);
    place.write("tidegate.toml", "changed");
    assert_eq!(tidegate(&place, &["init", "--force"]).code, 0);
    assert_eq!(tidegate(&place, &["check"]).code, 0);
}

#[test]
fn check_names_every_mistake_with_its_line() {
    let place = Place::new();
    place.write(
        "bad.toml",
        "[tools.a]\nreturn = \"pii\"\nceiling = 3\n[store]\nurl = \"x\"\n",
    );
    let check = tidegate(&place, &["check", "bad.toml"]);
    assert_eq!(check.code, 2);
    let lines: Vec<_> = check.stdout.lines().collect();
    assert_eq!(
        lines,
        [
            "bad.toml:1:8: warning: tool \"a\" does not say what it returns, so its results count as confidential",
            "bad.toml:2:1: unknown key tools.a.return; did you mean returns?",
            "bad.toml:3:11: tools.a.ceiling must be a text in quotes, not an integer",
            "bad.toml:5:7: store.url must begin with postgres://, redis://, rediss://, redis+sentinel:// or redis+cluster://",
        ]
    );
    assert!(
        check.stderr.contains("bad.toml: 3 errors, 1 warning"),
        "{}",
        check.stderr
    );
}

#[test]
fn what_cannot_be_read_is_said_plainly() {
    let place = Place::new();
    std::fs::write(place.path("latin1.toml"), b"# caf\xe9\n").unwrap();
    place.write("huge.toml", &"# \n".repeat(2 << 20));
    for (file, code, message) in [
        ("absent.toml", 2, "there is no such file"),
        ("latin1.toml", 2, "latin1.toml:1:1: not UTF-8 text"),
        ("huge.toml", 2, "larger than"),
        (".", 3, "cannot be read"),
    ] {
        let check = tidegate(&place, &["check", file]);
        assert_eq!(check.code, code, "{file}: {}", check.stderr);
        assert!(check.stderr.contains(message), "{file}: {}", check.stderr);
    }
}

#[test]
fn what_went_wrong_is_said_with_what_to_do() {
    let place = Place::new();
    let token = ["--token", "tg_any"];
    // A gateway with [store] ran on this one.
    std::fs::create_dir(place.path("shared")).unwrap();
    std::fs::write(place.path("shared/state-on-server"), "").unwrap();
    // Nobody listens on the port of a listener that is gone.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let at = ["--gateway", url.as_str()];
    let reset = ["session", "reset", "s1", "--reason", "test"];
    for (args, code, said) in [
        ([&["gates", "list"][..], &at].concat(), 2, "TIDEGATE_TOKEN"),
        ([&reset[..], &at].concat(), 2, "tidegate token create"),
        (
            [&["gates", "list"][..], &at, &token].concat(),
            3,
            "no gateway answers at",
        ),
        ([&reset[..], &at, &token].concat(), 3, "`tidegate serve`"),
        (
            vec!["token", "list", "--data-dir", "shared"],
            3,
            "state-on-server",
        ),
        (
            vec!["token", "list", "--data-dir", "mistyped"],
            1,
            "nothing is kept in mistyped",
        ),
        (
            vec!["token", "revoke", "tok_1", "--data-dir", "mistyped"],
            1,
            "nothing is kept",
        ),
        (
            vec!["session", "show", "--data-dir", "mistyped"],
            1,
            "nothing is kept",
        ),
        (
            vec!["session", "show", "s1", "--data-dir", "mistyped"],
            1,
            "nothing is kept",
        ),
        (
            vec!["ledger", "verify", "--seen", "last", "--save", "last"],
            2,
            "the first time",
        ),
    ] {
        let ran = tidegate(&place, &args);
        assert_eq!(ran.code, code, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{args:?}");
    }
    assert!(
        !place.path("mistyped").exists(),
        "a mistyped directory is not made"
    );
    let made = tidegate(
        &place,
        &["token", "create", "--role", "admin", "--principal", "a"],
    );
    assert_eq!(made.code, 0, "{}", made.stderr);
    let unknown = tidegate(&place, &["session", "show", "nope"]);
    assert_eq!(
        (unknown.code, unknown.stderr.trim_end()),
        (1, "tidegate: there is no session nope")
    );
}

#[test]
fn a_server_that_does_not_answer_closes_no_directory() {
    let place = Place::new();
    let made = tidegate(
        &place,
        &["token", "create", "--role", "agent", "--principal", "alice"],
    );
    assert_eq!(made.code, 0, "{}", made.stderr);
    place.write("st.toml", "[store]\nurl = \"postgres://u:x@127.0.0.1:1/x\"\n");
    let ran = tidegate(&place, &["token", "list", "--config", "st.toml"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    let ran = tidegate(&place, &["token", "list"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("alice"), "{}", ran.stdout);
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_runs_in_a_session_of_a_gateway_without_a_token() {
    let place = Place::new();
    let ran = tidegate(&place, &["run", "--gateway", "http://127.0.0.1:1", "--", "true"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("TIDEGATE_TOKEN"), "{}", ran.stderr);
}

#[test]
fn the_demo_plays_to_its_end_without_colour_in_a_pipe() {
    let place = Place::new();
    let demo = tidegate(&place, &["demo"]);
    assert_eq!(demo.code, 0, "{}{}", demo.stdout, demo.stderr);
    for line in [
        "  call      BLOCKED  web_search",
        "  call      allowed  github_create_pr",
        "  plan      safe     web_search -> search_email -> github_create_pr",
        "  reset     REFUSED  the role agent may not reset sessions",
    ] {
        assert!(demo.stdout.contains(line), "{line} in {}", demo.stdout);
    }
    assert!(!demo.stdout.contains('\u{1b}'));
    assert!(!place.path("home").exists(), "the demo left something behind");
}

#[test]
fn help_and_completions_know_every_command() {
    let place = Place::new();
    let help = tidegate(&place, &["--help"]);
    assert_eq!(help.code, 0);
    let bash = tidegate(&place, &["completions", "bash"]).stdout;
    for command in [
        "serve",
        "demo",
        "init",
        "check",
        "token",
        "session",
        "completions",
    ] {
        assert!(
            help.stdout.contains(&format!("\n  {command} ")),
            "{command} in {}",
            help.stdout
        );
        assert!(bash.contains(command), "{command}");
        assert_eq!(tidegate(&place, &[command, "--help"]).code, 0, "{command}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(
            !tidegate(&place, &["completions", shell]).stdout.is_empty(),
            "{shell}"
        );
    }
    assert_eq!(tidegate(&place, &["frobnicate"]).code, 2);
    assert_eq!(tidegate(&place, &[]).code, 2);
}
