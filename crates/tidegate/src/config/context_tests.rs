//! Configurations of contexts, notes and child sessions, and what is to be said of each.

use tidegate_core::Class;
use tidegate_engine::{SourceKind, Trust};

use super::tests::{checked, config};

/// That some problem of a text says so.
#[track_caller]
fn check_says(text: &str, words: &str) {
    let problems = checked(text).problems;
    let lines: Vec<_> = problems.iter().map(|problem| problem.line("f")).collect();
    assert!(
        lines.iter().any(|line| line.contains(words)),
        "{text}: {lines:#?}"
    );
}

#[test]
fn sources_citations_memory_and_children_are_read() {
    let config = config(
        "[sources.web]\nclass = \"public\"\n[sources.desk]\nclass = \"internal\"\nkind = \"operator\"\ntrust = \"trusted\"\n\
         [citations.grant]\npattern = \"GR-[0-9]+\"\nlist = \"grants.txt\"\n\
         [citations.parcel]\npattern = \"P-[0-9]+\"\nurl = \"http://127.0.0.1:9/p/{id}\"\nprivate = true\nceiling = \"internal\"\n\
         [memory]\nsink = true\nceiling = \"pii\"\nnotes = 3\n[children]\nanswer_bits = 4\nclean_up_to = \"internal\"",
    );
    let kinds: Vec<_> = config
        .sources
        .iter()
        .map(|source| (source.kind, source.trust))
        .collect();
    assert_eq!(
        kinds,
        [
            (SourceKind::Retrieval, Trust::Untrusted),
            (SourceKind::Operator, Trust::Trusted)
        ]
    );
    let ceilings: Vec<_> = config.citations.iter().map(|citation| citation.ceiling).collect();
    assert_eq!(
        ceilings,
        [Class::Secret, Class::Internal],
        "a list keeps what it is asked to itself"
    );
    assert_eq!((config.runs.memory_takes(), config.runs.notes), (Class::Pii, 3));
    assert_eq!((config.runs.answer_bits, config.runs.run_bits), (4, 128));
    assert_eq!(config.runs.clean_child_ceiling, Class::Internal);
}

#[test]
fn what_would_open_a_way_out_is_refused() {
    for (text, words) in [
        ("[sources.a]\nclas = \"public\"", "unknown key sources.a.clas"),
        (
            "[sources.a]\nkind = \"system\"",
            "sources.a.kind must be retrieval or operator or instructions",
        ),
        (
            "[sources.a]",
            "does not say its class, so it counts as confidential",
        ),
        (
            "[tools.a]\nreturns = \"pii\"\n[sources.a]\nclass = \"public\"",
            "a tool of this name is declared",
        ),
        ("[citations.a]\nlist = \"x\"", "citations.a.pattern is missing"),
        (
            "[citations.a]\npattern = \"(\"\nlist = \"x\"",
            "citations.a.pattern is no regular expression",
        ),
        (
            "[citations.a]\npattern = \"x*\"\nlist = \"x\"",
            "citations.a.pattern fits the empty text",
        ),
        (
            "[citations.a]\npattern = \"x\"",
            "citations.a needs a list or a url, and not both",
        ),
        (
            "[citations.a]\npattern = \"x\"\nurl = \"https://{id}.example/\"",
            "in its path or query",
        ),
        (
            "[citations.a]\npattern = \"x\"\nurl = \"https://gis.example/\"",
            "in its path or query",
        ),
        (
            "[citations.a]\npattern = \"x\"\nurl = \"http://10.0.0.1/{id}\"",
            "a private network; say private = true",
        ),
        (
            "[citations.a]\npattern = \"x\"\nurl = \"http://localhost/{id}\"",
            "a private network; say private = true",
        ),
        (
            "[memory]\nceiling = \"confidential\"",
            "must be designated as a sink",
        ),
        (
            "[memory]\nsink = true\nceiling = \"secret\"",
            "secrets are kept from run to run by nobody",
        ),
        (
            "[children]\nanswer_bits = 5000",
            "children.answer_bits must be between 0 and 4096",
        ),
    ] {
        check_says(text, words);
    }
}
