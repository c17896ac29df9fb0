//! `[sources.NAME]`: who may bring what into a context.

use tidegate_core::{Class, ControlList, Name};
use tidegate_engine::{Source, SourceKind, Trust};

use super::tools::CLASSES;
use super::walk::Section;

/// Reads every source.
pub(super) fn read(root: &mut Section<'_, '_>, control: Option<&ControlList>) -> Vec<Source> {
    let report = root.report();
    let mut sources = Vec::new();
    for (name, mut section) in root.sections("sources") {
        let name = match Name::parse(&name) {
            Ok(name) => name,
            Err(why) => {
                report.error(section.offset, format_args!("sources: {why}"));
                section.abandon();
                continue;
            }
        };
        if control.is_some_and(|control| control.find(name.as_str()).is_some()) {
            let why = "a tool of this name is declared, which makes it a source already";
            report.error(section.offset, format_args!("sources: {why}"));
        }
        sources.push(read_source(name, &mut section));
    }
    sources
}

fn read_source(name: Name, section: &mut Section<'_, '_>) -> Source {
    let class = section.parsed::<Class>("class", &CLASSES).map(|at| at.value);
    if !section.has("class") {
        let unclassified = Class::UNCLASSIFIED;
        section.report().warn(
            section.offset,
            format_args!("source \"{name}\" does not say its class, so it counts as {unclassified}"),
        );
    }
    let kind = one_of(
        section,
        "kind",
        [
            ("retrieval", SourceKind::Retrieval),
            ("operator", SourceKind::Operator),
            ("instructions", SourceKind::Instructions),
        ],
    );
    let trust = one_of(
        section,
        "trust",
        [("untrusted", Trust::Untrusted), ("trusted", Trust::Trusted)],
    );
    Source {
        name,
        class: class.unwrap_or(Class::UNCLASSIFIED),
        kind: kind.unwrap_or(SourceKind::Retrieval),
        trust: trust.unwrap_or(Trust::Untrusted),
    }
}

/// A text that is one of a few words.
fn one_of<T: Copy, const N: usize>(
    section: &mut Section<'_, '_>,
    key: &'static str,
    words: [(&str, T); N],
) -> Option<T> {
    let text = section.text(key)?;
    let found = words.iter().find(|(word, _)| *word == text.value);
    if found.is_none() {
        let names: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        let name = section.name_of(key);
        let expected = names.join(" or ");
        section
            .report()
            .error(text.offset, format_args!("{name} must be {expected}"));
    }
    found.map(|(_, value)| *value)
}
