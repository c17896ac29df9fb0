//! Configurations of detection, and what is to be said of each.

use std::path::Path;
use std::time::Duration;

use tidegate_engine::OnFailure;

use super::tests::{check_contains, config};
use super::{EXAMPLE, Source};

#[test]
fn what_detection_is_told_is_part_of_the_policy() {
    let exit = |rule| format!("[[detect.exits]]\nrule = \"{rule}\"\ntool = \"a\"\nreason = \"ours\"\n");
    let (one, other) = (exit("email"), exit("phone"));
    let version = |text: &str| {
        config(&format!("[tools.a]\nexternal = true\n{text}"))
            .policy
            .version
    };
    let none = version("");
    assert_ne!(version(&one), none);
    assert_ne!(version(&one), version(&other));
    assert_eq!(
        version(&format!("{one}{other}")),
        version(&format!("{other}{one}"))
    );
    for told in [
        "internal_domains = [\"corp.example\"]",
        "injection_threshold = 0.7",
    ] {
        assert_ne!(version(&format!("[detect]\n{told}\n")), none, "{told}");
    }
}

#[test]
fn detection_is_told_names_rules_and_narrow_exits() {
    let digest = "0123456789abcdef".repeat(4);
    let text = format!(
        "[tools.a]\nexternal = true\n[detect]\ninternal_domains = [\"Corp.Example\"]\ninternal_hosts = [\"db-*\"]\n\
         code_names = [\"Heron\"]\ninjection_threshold = 0.7\n[[detect.rules]]\nid = \"badge\"\npattern = \"BDG-[0-9]{{6}}\"\n\
         literals = [\"BDG-\"]\nclass = \"pii\"\n[[detect.exits]]\nrule = \"email\"\ntool = \"a\"\nvalue_sha256 = \"{digest}\"\nreason = \"ours\"\n"
    );
    let detect = config(&text).detect;
    assert_eq!(detect.detector.internal_domains, ["corp.example"]);
    assert!((detect.detector.injection.injection - 0.7).abs() < 1e-6);
    assert_eq!(
        detect.detector.secret_rules[0].finds.kind,
        tidegate_core::Kind::Pii
    );
    assert_eq!(detect.exits[0].name, "email@a#0123456789ab");
    let (detector, exits) = detect.build().unwrap();
    let text = "BDG-000000 on db-7 of Heron";
    let scan = detector.scan(text.as_bytes());
    let found: Vec<_> = scan
        .findings
        .iter()
        .map(|found| (found.rule.as_str(), found.class.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("badge", "pii"),
            ("internal-host", "internal"),
            ("code-name", "internal")
        ]
    );
    assert_eq!(exits.apply(text.as_bytes(), Some("a"), scan).let_through, []);

    for (text, expected) in [
        (
            "internal_domains = [\"https://x\"]",
            "2:21: detect.internal_domains: each must be a domain such as corp.example",
        ),
        (
            "internal_hosts = [\"*.*\"]",
            "2:19: detect.internal_hosts: each must be a host name such as db-*.corp.example",
        ),
        (
            "code_names = [\"x\"]",
            "2:15: detect.code_names: each must be printable text of 3 to 200 bytes",
        ),
        (
            "injection_threshold = 0",
            "2:23: detect.injection_threshold must be above 0 and at most 1",
        ),
        (
            "injection_threshold = nan",
            "2:23: detect.injection_threshold must be above 0 and at most 1",
        ),
        (
            "exits = [{ rule = \"email\", reason = \"r\" }]",
            "2:10: an exit must be narrow: name a tool, a value_sha256, or both",
        ),
        (
            "exits = [{ rule = \"email\", reason = \"r\", tool = \"b\" }]",
            "2:49: detect.exits.tool names no tool that is declared here",
        ),
        (
            "exits = [{ rule = \"email\", tool = \"b\", reason = \" \" }]",
            "2:40: detect.exits.reason is needed, up to 4096 bytes",
        ),
        (
            "exits = [{ rule = \"injection.override\", reason = \"r\", value_sha256 = \"00\" }]",
            "2:12: detect.exits.rule: an injection has no exit; a person decides about each",
        ),
        (
            "rules = [{ id = \"a\", pattern = \"(\", literals = [\"abc\"] }]",
            "2:22: detect.rules.pattern: is no valid pattern: error: unclosed group",
        ),
        (
            "rules = [{ id = \"a\", pattern = \"x*\", literals = [\"abc\"] }]",
            "2:22: detect.rules.pattern: matches the empty text",
        ),
        (
            "rules = [{ id = \"a\", pattern = \"abc\", literals = [\"a\"] }]",
            "2:39: detect.rules.literals: each needs at least 3 bytes",
        ),
        (
            "rules = [{ id = \"a\", pattern = \"abc\" }]",
            "2:10: detect.rules.literals: needs texts of 3 bytes or more, of which one is in every match",
        ),
        (
            "rules = [{ id = \"github-token\", pattern = \"abc\", literals = [\"abc\"] }]",
            "2:10: detect.rules.id: is used twice, or is that of a built-in rule",
        ),
    ] {
        check_contains(&format!("[detect]\n{text}"), expected);
    }
}

#[test]
fn a_model_is_heard_only_when_one_is_named() {
    assert!(config(EXAMPLE).detect.model.is_none());
    let files = "model = \"m.onnx\", tokenizer = \"/t.json\", library = \"l.so\"";
    let model = config(&format!("[detect.model]\nonnx = {{ {files} }}\ntimeout_ms = 7"))
        .detect
        .model
        .unwrap();
    assert_eq!(model.on_failure, OnFailure::Raise);
    let Source::Onnx(settings) = model.source else {
        panic!("not a file")
    };
    assert!(settings.model.ends_with("m.onnx") && settings.model != Path::new("m.onnx"));
    assert_eq!(settings.tokenizer, Path::new("/t.json"));
    assert_eq!(settings.timeout, Duration::from_millis(7));
    let patterns =
        "[detect.model]\nendpoint = \"http://localhost:1/\"\nmodel = \"m\"\non_failure = \"patterns\"";
    let model = config(patterns).detect.model.unwrap();
    assert_eq!(model.on_failure, OnFailure::Patterns);
    for (text, expected) in [
        ("", "1:9: detect.model needs an endpoint or onnx, and not both"),
        (
            "endpoint = \"http://localhost:1/\"",
            "1:9: detect.model.model is needed",
        ),
        (
            "endpoint = \"ftp://x\"\nmodel = \"m\"",
            "2:12: not an address: expected http://HOST:PORT/PATH or https://...",
        ),
        (
            "endpoint = \"http://localhost:1/\"\nmodel = \"m\"\nonnx = {}",
            "1:9: detect.model needs an endpoint or onnx, and not both",
        ),
        (
            "onnx = { model = \"m\" }",
            "2:1: detect.model.onnx.tokenizer is needed",
        ),
        (
            "threshold = 0",
            "2:13: detect.model.threshold must be above 0 and at most 1",
        ),
        (
            "on_failure = \"ignore\"",
            "2:14: detect.model.on_failure must be raise or patterns",
        ),
        (
            "timeout_ms = 0",
            "2:14: detect.model.timeout_ms must be between 1 and 25000",
        ),
    ] {
        check_contains(&format!("[detect.model]\n{text}"), expected);
    }
}

#[test]
fn an_exit_for_no_rule_is_worth_a_word() {
    let digest = "00".repeat(32);
    let text =
        format!("[detect]\nexits = [{{ rule = \"emial\", reason = \"r\", value_sha256 = \"{digest}\" }}]");
    check_contains(
        &text,
        "2:10: warning: detect.exits.rule names no rule there is, so this exit does nothing",
    );
}
