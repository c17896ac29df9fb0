//! Configurations and everything that is to be said of each.

use std::path::Path;

use proptest::prelude::*;
use tidegate_core::{Class, Control};

use super::*;

pub(super) fn checked(text: &str) -> Checked {
    let overrides = Overrides {
        data_dir: Some("/nowhere/state".into()),
        ..Overrides::default()
    };
    check(text, Path::new("/nowhere"), &overrides)
}

/// The problems of a text, one per line, as `line:column: message`.
#[track_caller]
fn check_problems(text: &str, expected: &[&str]) {
    let checked = checked(text);
    let lines: Vec<_> = checked.problems.iter().map(|problem| problem.line("f")).collect();
    let lines: Vec<_> = lines
        .iter()
        .map(|line| line.strip_prefix("f:").unwrap_or(line).trim_start())
        .collect();
    assert_eq!(lines, expected, "in\n{text}");
    let failed = checked
        .problems
        .iter()
        .any(|problem| problem.severity == Severity::Error);
    assert_eq!(checked.config.is_none(), failed);
}

/// That a problem is among those of a text.
#[track_caller]
pub(super) fn check_contains(text: &str, expected: &str) {
    let problems = checked(text).problems;
    let lines: Vec<_> = problems.iter().map(|problem| problem.line("f")).collect();
    assert!(lines.contains(&format!("f:{expected}")), "{text}: {lines:#?}");
}

#[track_caller]
pub(super) fn config(text: &str) -> Config {
    let checked = checked(text);
    checked
        .config
        .unwrap_or_else(|| panic!("{:#?}", checked.problems))
}

#[test]
fn the_example_is_clean_and_says_what_the_rules_need() {
    check_problems(EXAMPLE, &[]);
    let config = config(EXAMPLE);
    let of = |name: &str| {
        let tool = config.policy.control.find(name).unwrap();
        (tool.returns, tool.ceiling, tool.external, tool.control)
    };
    use Class::{Internal, Pii, Public, Secret};
    use Control::{Auto, Blocked, HumanApproval};
    for (name, expected) in [
        ("search_email", (Internal, Secret, false, Auto)),
        ("search_docs", (Internal, Secret, false, Auto)),
        ("web_search", (Public, Public, true, Auto)),
        ("slack_post", (Public, Public, true, Auto)),
        ("external_api", (Public, Public, true, Auto)),
        ("github_create_pr", (Public, Internal, true, Auto)),
        ("github_read_file", (Public, Internal, true, Auto)),
        ("booking_lookup", (Pii, Secret, false, Auto)),
        ("gmail_guest_draft", (Internal, Pii, false, HumanApproval)),
        ("gmail_send", (Public, Public, true, Blocked)),
        ("send_payment_notification", (Public, Public, true, Auto)),
    ] {
        assert_eq!(of(name), expected, "{name}");
    }
    assert_eq!(config.policy.control.iter().count(), 11);
    let split = config
        .policy
        .control
        .iter()
        .filter(|tool| !tool.fields.is_empty());
    assert_eq!(split.count(), 1);
}

#[test]
fn every_commented_line_of_the_example_is_valid() {
    let is_setting = |line: &str| {
        line.strip_prefix("# ").is_some_and(|rest| {
            let is_key = |(key, _): (&str, &str)| {
                key.bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            };
            rest.starts_with('[') || rest.split_once(" = ").is_some_and(is_key)
        })
    };
    let mut settings = 0;
    let mut uncommented = String::new();
    for line in EXAMPLE.lines() {
        let line = if is_setting(line) {
            settings += 1;
            &line[2..]
        } else {
            line
        };
        uncommented.push_str(line);
        uncommented.push('\n');
    }
    assert_eq!(settings, 176);
    let problems = checked(&uncommented).problems;
    assert!(
        problems
            .iter()
            .all(|problem| problem.severity == Severity::Warning),
        "{problems:#?}"
    );
    assert_eq!(
        format!("{:?}", config(&uncommented).limits),
        format!("{:?}", config(EXAMPLE).limits)
    );
}

#[test]
fn nothing_at_all_is_a_configuration() {
    let config = config("");
    assert_eq!(config.listen, DEFAULT_LISTEN);
    assert!(config.listen.ip().is_loopback());
    assert_eq!(config.policy.control.iter().count(), 0);
    assert_eq!(config.telemetry.decision_log, LogTarget::Stderr);
    assert_eq!(config.limits.body_bytes, 8 << 20);
}

#[test]
fn every_mistake_is_found_in_one_run() {
    check_problems(
        r#"lisen = "127.0.0.1:1"
data_dir = 5
[tools.search_email]
returns = "confidental"
cieling = "public"
external = "yes"
[tools.web_search]
external = false
permissions = ["connect", "exec"]
[limits]
body_bytes = -1
json_depth = 1_000
[colour]
"#,
        &[
            "1:1: unknown key lisen; did you mean listen?",
            "2:12: data_dir must be a text in quotes, not an integer",
            "4:11: tools.search_email.returns: not a class: expected public, internal, confidential (or restricted), \
             pii or secret; did you mean confidential?",
            "5:1: unknown key tools.search_email.cieling; did you mean ceiling?",
            "6:12: tools.search_email.external must be true or false, not a string",
            "8:12: tools.web_search.external is false, but the permission connect makes every tool external",
            "9:27: tools.web_search.permissions: not a permission: expected read, write or connect",
            "11:14: limits.body_bytes must be between 1024 and 268435456",
            "12:14: limits.json_depth must be between 4 and 120",
            "13:2: unknown key colour",
        ],
    );
}

#[test]
fn syntax_errors_are_found_together_with_the_rest() {
    let checked = checked("a = \n[tools.x]\nreturns = \"public\"\nreturns = \"pii\"\nfoo = 1\n[[");
    let lines: Vec<_> = checked
        .problems
        .iter()
        .filter_map(|problem| problem.place)
        .map(|place| place.line)
        .collect();
    assert!(checked.config.is_none());
    for line in [1, 4, 5, 6] {
        assert!(lines.contains(&line), "{line} in {:#?}", checked.problems);
    }
}

#[test]
fn a_tool_declared_twice_is_an_error() {
    for text in [
        "[tools.a]\nexternal = true\n[tools.a]\nexternal = true\n",
        "[tools.a]\nexternal = true\n[tools.\"a\"]\nexternal = false\n",
    ] {
        let problems = checked(text).problems;
        assert!(problems[0].message.contains("duplicate key"), "{problems:?}");
        assert_eq!(problems[0].place.map(|place| place.line), Some(3));
    }
}

#[test]
fn tools_that_make_no_sense() {
    for (text, expected) in [
        (
            "[tools.a]\nexternal = true\nsink = true",
            "3:1: tools.a.sink: nothing could resolve here, since its ceiling is public; declare a higher ceiling",
        ),
        (
            "[tools.a]\nreturns = \"internal\"\nfields = { \"x.*\" = \"pii\" }",
            "3:20: tools.a.fields: a field is pii, above what the tool returns (internal); raise returns",
        ),
        (
            "[tools.a]\nreturns = \"pii\"\nfields = { \"x..y\" = \"pii\" }",
            "3:12: tools.a.fields: a field must be names joined by dots, where * stands for any one name or element \
             and ** for any number of them, or column:NAME or header:NAME",
        ),
        (
            "[tools.a]\nreturns = \"pii\"\nseal = \"never\"",
            "3:8: tools.a.seal: not a rule for sealing: expected always, on-request or above:CLASS",
        ),
        (
            "[tools.crm.lookup]\nreturns = \"pii\"\n[tools.crm]\nexternal = true",
            "1:12: unknown key tools.crm.lookup; a name with a dot in it needs quotes, [tools.\"crm.lookup\"]",
        ),
        (
            "[tools.a]\nreturns = \"public\"\ncontrol = \"human_approval\"",
            "3:11: tools.a.control: not a control level: expected auto, human-approval or blocked; did you mean \
             human-approval?",
        ),
        (
            "[tools.\"a\\u202Eb\"]\nexternal = true",
            "1:8: tools: the name holds a character that is not allowed (users, agents and sessions: letters, digits \
             and . _ - : @ +; tools and datasets: printable text)",
        ),
        (
            "[telemetry]\ndecision_log = \"stdout\"",
            "2:16: telemetry.decision_log must be stderr or a file",
        ),
        ("tools = 3", "1:9: tools must be a table, not an integer"),
        ("[tools]\na = 3", "2:5: tools.a must be a table, not an integer"),
    ] {
        check_problems(text, &[expected]);
    }
}

#[test]
fn surprises_are_warnings() {
    for (text, expected) in [
        (
            "[tools.a]\nceiling = \"pii\"",
            "1:8: warning: tool \"a\" does not say what it returns, so its results count as confidential",
        ),
        (
            "[tools.a]\nexternal = true\ncontrol = \"blocked\"\nceiling = \"pii\"",
            "4:1: warning: tool \"a\" is blocked always, so its ceiling has no effect",
        ),
        (
            "[tools.a]\nexternal = true\nceiling = \"pii\"",
            "3:1: warning: tool \"a\" is external and may be given pii data with nobody asked; consider control = \
             \"human-approval\"",
        ),
        (
            "listen = \"0.0.0.0:80\"",
            "1:10: warning: listens beyond this machine: put a proxy that speaks TLS in front, tokens travel in the clear",
        ),
        (
            "[servers.a]\nurl = \"http://10.0.0.1/mcp\"",
            "2:7: warning: plain http to another machine: what is sent can be read on the way",
        ),
    ] {
        check_contains(text, expected);
    }
}

#[test]
fn servers_are_commands_or_addresses() {
    let config = config(
        "[servers.everything]\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\nenv = [\"HOME\"]\n\
         [servers.crm]\nurl = \"http://127.0.0.1:9000/mcp\"\nheaders_env = { Authorization = \"CRM_TOKEN\" }\n",
    );
    assert_eq!(config.servers.len(), 2);
    for (text, expected) in [
        ("[servers.a]", "1:10: a server needs a command or a url"),
        (
            "[servers.a]\ncommand = \"x\"\nbare_names = true\n[servers.b]\ncommand = \"x\"\nbare_names = true",
            "6:14: servers.b.bare_names: only one server can keep its tools' own names",
        ),
        (
            "[mcp]\nclosed_tools = \"canary\"",
            "2:16: mcp.closed_tools must be mark or hide",
        ),
        (
            "[servers.a]\ncommand = \"x\"\nurl = \"http://localhost/\"",
            "1:10: a server has a command or a url, not both",
        ),
        (
            "[servers.a]\ncommand = \"x\"\nenv = [\"TOKEN=canary\"]",
            "3:8: servers.a.env: expected the name of an environment variable, never its value",
        ),
        (
            "[servers.a]\nurl = \"http://localhost/\"\nargs = [\"x\"]",
            "3:1: servers.a.args is only for a server with a command",
        ),
        (
            "[servers.a]\nurl = \"https://user:canary@example.com/\"",
            "2:7: an address must not carry a user name or a password",
        ),
        (
            "[servers.a]\nurl = \"ftp://canary\"",
            "2:7: not an address: expected http://HOST:PORT/PATH or https://...",
        ),
        (
            "[servers.\"a.b\"]\ncommand = \"x\"",
            "1:10: servers: a server's name must not hold a dot",
        ),
    ] {
        check_contains(text, expected);
    }
}

#[test]
fn retention_is_a_time_for_each_class() {
    use std::time::Duration;
    use tidegate_core::Class;
    use tidegate_ledger::vault::Retention;
    let day = Duration::from_secs(86_400);
    let expected = Retention::FOREVER
        .with(Class::Pii, 30 * day)
        .with(Class::Internal, day / 2);
    assert_eq!(
        config("[retention]\npii = \"30d\"\ninternal = \"12h\"").retention,
        expected
    );
    let expected = "2:7: retention.pii must be a time of a minute or more, such as \"30d\" or \"12h\"";
    for wrong in ["\"soon\"", "\"1s\""] {
        check_contains(&format!("[retention]\npii = {wrong}"), expected);
    }
    let unknown = checked("[retention]\nprivate = \"1d\"").problems;
    assert!(
        unknown[0].message.contains("unknown key retention.private"),
        "{unknown:?}"
    );
}

#[test]
fn state_inside_a_workspace_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let text = "data_dir = \"work/state\"\nprivate_data_dir = \"mirror\"\nworkspaces = [\"work\"]\n\
                [telemetry]\ndecision_log = \"work/log\"\n";
    let inside = check(text, dir.path(), &Overrides::default());
    let lines: Vec<_> = inside.problems.iter().map(|problem| problem.line("f")).collect();
    assert_eq!(
        lines,
        [
            "f:1:12: data_dir lies inside a workspace, where an agent's tools could change it",
            "f:5:16: decision_log lies inside a workspace, where an agent's tools could change it",
        ]
    );
    let overrides = Overrides {
        data_dir: Some(dir.path().join("state")),
        private_data_dir: Some(dir.path().join("work")),
        listen: None,
    };
    let moved = check("workspaces = [\"work\"]", dir.path(), &overrides);
    let lines: Vec<_> = moved.problems.iter().map(|problem| problem.line("f")).collect();
    assert_eq!(
        lines,
        ["f: private_data_dir lies inside a workspace, where an agent's tools could change it"]
    );
}

#[test]
fn flags_win_over_the_file() {
    let overrides = Overrides {
        listen: Some("127.0.0.1:0".parse().unwrap()),
        data_dir: Some("/elsewhere".into()),
        private_data_dir: None,
    };
    let text = "listen = \"127.0.0.1:9\"\ndata_dir = \"here\"\nprivate_data_dir = \"mirror\"";
    let config = check(text, Path::new("/base"), &overrides).config.unwrap();
    assert_eq!(config.listen.port(), 0);
    assert_eq!(config.data_dir, Path::new("/elsewhere"));
    assert_eq!(
        config.private_data_dir.as_deref(),
        Some(Path::new("/base/mirror"))
    );
}

#[test]
fn problems_never_repeat_a_value() {
    let text = "listen = \"canary\"\ndata_dir = [\"canary\"]\n[tools.a]\nreturns = \"canary\"\ncontrol = \"canary\"\n\
                permissions = [\"canary\"]\nfields = { x = \"canary\" }\n[servers.a]\nurl = \"canary\"\n\
                headers_env = { A = \"canary-1\" }\n[telemetry]\notlp_endpoint = \"canary\"\n\
                [detect]\ninternal_domains = [\"canary!\"]\n[[detect.rules]]\nid = \"a\"\npattern = \"(canary\"\n\
                class = \"canary\"\nkind = \"canary\"\n[[detect.exits]]\nrule = \"r\"\nreason = \"r\"\ntool = \"canary\"\n\
                value_sha256 = \"canary\"\n";
    let problems = checked(text).problems;
    assert!(problems.len() >= 14, "{problems:#?}");
    for problem in problems {
        assert!(!problem.line("f").contains("canary"), "{problem:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_gets_an_answer(text in "\\PC{0,60}(\n[\\[\\]a-z.=\"' {}#0-9]{0,30}){0,6}") {
        let checked = checked(&text);
        let failed = checked.problems.iter().any(|problem| problem.severity == Severity::Error);
        prop_assert_eq!(checked.config.is_none(), failed);
    }

    #[test]
    fn a_damaged_example_gets_an_answer(at in 0..EXAMPLE.len(), with in "[\\PC\n]{0,3}") {
        let at = EXAMPLE.floor_char_boundary(at);
        let end = EXAMPLE.floor_char_boundary(EXAMPLE.len().min(at + 3));
        let text = format!("{}{with}{}", &EXAMPLE[..at], &EXAMPLE[end..]);
        let checked = checked(&text);
        let failed = checked.problems.iter().any(|problem| problem.severity == Severity::Error);
        prop_assert_eq!(checked.config.is_none(), failed);
    }
}
