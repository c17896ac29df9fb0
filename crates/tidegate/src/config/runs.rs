//! `[memory]` and `[children]`: what runs may keep, and what the runs they start may hand back.

use std::ops::RangeInclusive;

use tidegate_core::Class;
use tidegate_engine::RunRules;

use super::tools::CLASSES;
use super::walk::Section;

/// Reads both sections; what is not said takes its default.
pub(super) fn read(root: &mut Section<'_, '_>) -> RunRules {
    let mut rules = RunRules::STANDARD;
    if let Some(mut section) = root.section("memory") {
        read_memory(&mut section, &mut rules);
    }
    if let Some(mut section) = root.section("children") {
        read_children(&mut section, &mut rules);
    }
    rules
}

fn read_memory(section: &mut Section<'_, '_>, rules: &mut RunRules) {
    rules.memory_sink = section.flag("sink").is_some_and(|at| at.value);
    if let Some(ceiling) = section.parsed::<Class>("ceiling", &CLASSES) {
        let name = section.name_of("ceiling");
        if ceiling.value == Class::Secret {
            let error = format_args!("{name}: secrets are kept from run to run by nobody; at most pii");
            section.report().error(ceiling.offset, error);
        } else if ceiling.value > Class::Internal && !rules.memory_sink {
            let error = format_args!(
                "{name}: above internal the memory must be designated as a sink; say sink = true if that is meant"
            );
            section.report().error(ceiling.offset, error);
        }
        rules.memory_ceiling = ceiling.value;
    }
    read_count(section, "notes", 1..=1_024, &mut rules.notes);
    read_count(section, "note_bytes", 64..=262_144, &mut rules.note_bytes);
}

fn read_children(section: &mut Section<'_, '_>, rules: &mut RunRules) {
    for (key, class) in [
        ("answer_ceiling", &mut rules.answer_ceiling),
        ("clean_up_to", &mut rules.clean_child_ceiling),
    ] {
        if let Some(at) = section.parsed::<Class>(key, &CLASSES) {
            *class = at.value;
        }
    }
    for (key, bits) in [
        ("answer_bits", &mut rules.answer_bits),
        ("run_bits", &mut rules.run_bits),
    ] {
        if let Some(count) = section
            .count(key, 0..=4_096)
            .and_then(|count| u32::try_from(count).ok())
        {
            *bits = count;
        }
    }
    read_count(section, "most", 0..=256, &mut rules.children);
}

fn read_count(
    section: &mut Section<'_, '_>,
    key: &'static str,
    range: RangeInclusive<u64>,
    bound: &mut usize,
) {
    if let Some(count) = section
        .count(key, range)
        .and_then(|count| usize::try_from(count).ok())
    {
        *bound = count;
    }
}
