//! `[tools.NAME]`: the control list.

use tidegate_core::{
    Class, Control, ControlList, FieldClasses, FieldPattern, MAX_FIELDS, Name, Permission, Permissions,
    SealRule, Tool, ToolFacts,
};

use super::integrity;
use super::walk::{At, Section};

/// The spellings of a class, for suggestions.
pub(super) const CLASSES: [&str; 6] = [
    "public",
    "internal",
    "confidential",
    "restricted",
    "pii",
    "secret",
];

/// Reads every tool. One that has mistakes is left out, which is safe because mistakes keep the configuration from
/// being used.
pub(super) fn read(root: &mut Section<'_, '_>) -> Option<ControlList> {
    let report = root.report();
    let offset = root.offset_of("tools");
    let mut declared = Vec::new();
    for (name, mut section) in root.sections("tools") {
        match Name::parse(&name) {
            Ok(name) => declared.push(read_tool(name, &mut section)),
            Err(why) => {
                report.error(section.offset, format_args!("tools: {why}"));
                section.abandon();
            }
        }
    }
    ControlList::new(declared)
        .map_err(|duplicate| report.error(offset, duplicate))
        .ok()
}

fn read_tool(name: Name, section: &mut Section<'_, '_>) -> Tool {
    let permissions = read_permissions(section);
    let returns = section.parsed::<Class>("returns", &CLASSES);
    let ceiling = section.parsed::<Class>("ceiling", &CLASSES);
    let external = section.flag("external");
    let sink = section.flag("sink");
    let control = section.parsed::<Control>("control", &["auto", "human-approval", "blocked"]);
    let seal = section.parsed::<SealRule>("seal", &["always", "on-request", "above:internal"]);
    let keeps_secrets = section.flag("keep_secrets");
    let integrity = integrity::read(section);
    let target = read_target(section);
    let mut tool = Tool::declared(ToolFacts {
        name,
        permissions,
        returns: returns.map(|at| at.value),
        ceiling: ceiling.map(|at| at.value),
        external: external.is_some_and(|at| at.value),
        sink: sink.is_some_and(|at| at.value),
        control: control.map_or(Control::Auto, |at| at.value),
        integrity,
        fields: FieldClasses::NONE,
        seal: seal.map_or(SealRule::OnRequest, |at| at.value),
        keeps_secrets: keeps_secrets.is_some_and(|at| at.value),
        target,
    });
    tool.fields = read_fields(&tool, section);
    check_contradictions(&tool, external, section);
    warn_of_surprises(&tool, section);
    tool
}

/// The argument of a wrapper that names the tool a call is really for.
fn read_target(section: &mut Section<'_, '_>) -> Option<String> {
    let target = section.text("target")?;
    if target.trim().is_empty() {
        let name = section.name_of("target");
        let message = format!("{name} must name the argument that holds the real tool's name");
        section.report().error(target.offset, message);
    }
    Some((*target).to_owned())
}

fn read_permissions(section: &mut Section<'_, '_>) -> Permissions {
    let name = section.name_of("permissions");
    let names = section.texts("permissions");
    let read = |text| section.parse::<Permission>(&name, text, &["read", "write", "connect"]);
    names.into_iter().filter_map(read).map(|at| at.value).collect()
}

fn check_contradictions(tool: &Tool, external: Option<At<bool>>, section: &Section<'_, '_>) {
    let report = section.report();
    if let Some(at) = external.filter(|at| !at.value && tool.external) {
        let name = section.name_of("external");
        report.error(
            at.offset,
            format_args!("{name} is false, but the permission connect makes every tool external"),
        );
    }
    if tool.sink && tool.ceiling == Class::Public {
        let name = section.name_of("sink");
        report.error(
            section.offset_of("sink"),
            format_args!(
                "{name}: nothing could resolve here, since its ceiling is public; declare a higher ceiling"
            ),
        );
    }
}

fn warn_of_surprises(tool: &Tool, section: &Section<'_, '_>) {
    let report = section.report();
    let name = &tool.name;
    if !section.has("returns") && !tool.external {
        let unclassified = Class::UNCLASSIFIED;
        report.warn(
            section.offset,
            format_args!(
                "tool \"{name}\" does not say what it returns, so its results count as {unclassified}"
            ),
        );
    }
    if tool.control == Control::Blocked && section.has("ceiling") {
        report.warn(
            section.offset_of("ceiling"),
            format_args!("tool \"{name}\" is blocked always, so its ceiling has no effect"),
        );
    }
    if tool.external && tool.ceiling >= Class::Pii && tool.control == Control::Auto {
        report.warn(
            section.offset_of("ceiling"),
            format_args!(
                "tool \"{name}\" is external and may be given {} data with nobody asked; consider \
                 control = \"human-approval\"",
                tool.ceiling
            ),
        );
    }
}

fn read_fields(tool: &Tool, section: &mut Section<'_, '_>) -> FieldClasses {
    let name = section.name_of("fields");
    let mut fields = Vec::new();
    for (path, text) in section.pairs("fields") {
        let report = section.report();
        if fields.len() == MAX_FIELDS {
            report.error(
                path.offset,
                format_args!("{name}: at most {MAX_FIELDS} fields can be declared"),
            );
            break;
        }
        let pattern = path
            .parse::<FieldPattern>()
            .map_err(|why| report.error(path.offset, format_args!("{name}: {why}")));
        let Some(class) = section.parse::<Class>(&name, text, &CLASSES) else {
            continue;
        };
        if class.value > tool.returns {
            report.error(
                class.offset,
                format_args!(
                    "{name}: a field is {}, above what the tool returns ({}); raise returns",
                    class.value, tool.returns
                ),
            );
        }
        fields.extend(pattern.ok().map(|pattern| (pattern, class.value)));
    }
    FieldClasses::new(fields)
}
