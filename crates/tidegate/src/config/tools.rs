//! `[tools.NAME]`: the control list.

use tidegate_core::{Class, Control, ControlList, Name, Permission, Permissions, Tool, ToolFacts};

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

/// Every declared tool: what the rules know of it, and the classes of its fields.
#[derive(Clone, Debug)]
pub(super) struct Tools {
    /// What the rules know.
    pub(super) control: ControlList,
    /// The tools whose fields are declared, in the order of the control list.
    pub(super) fields: Vec<ToolFields>,
}

/// The declared fields of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolFields {
    /// The tool.
    pub(crate) tool: Name,
    /// Its fields.
    pub(crate) fields: Vec<Field>,
}

/// The class of one part of a tool's result. Until results are split by field, the entire result counts at what the tool
/// returns, which is never lower.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// A dotted path; `*` stands for any one name.
    pub(crate) path: String,
    /// Its class.
    pub(crate) class: Class,
}

/// Reads every tool. One that has mistakes is left out, which is safe because mistakes keep the configuration from
/// being used.
pub(super) fn read(root: &mut Section<'_, '_>) -> Option<Tools> {
    let report = root.report();
    let offset = root.offset_of("tools");
    let (mut declared, mut fields) = (Vec::new(), Vec::new());
    for (name, mut section) in root.sections("tools") {
        let name = match Name::parse(&name) {
            Ok(name) => name,
            Err(why) => {
                report.error(section.offset, format_args!("tools: {why}"));
                section.abandon();
                continue;
            }
        };
        let tool = read_tool(name.clone(), &mut section);
        let parts = read_fields(&tool, &mut section);
        if !parts.is_empty() {
            fields.push(ToolFields {
                tool: name,
                fields: parts,
            });
        }
        declared.push(tool);
    }
    let control = ControlList::new(declared)
        .map_err(|duplicate| report.error(offset, duplicate))
        .ok()?;
    Some(Tools { control, fields })
}

fn read_tool(name: Name, section: &mut Section<'_, '_>) -> Tool {
    let permissions = read_permissions(section);
    let returns = section.parsed::<Class>("returns", &CLASSES);
    let ceiling = section.parsed::<Class>("ceiling", &CLASSES);
    let external = section.flag("external");
    let sink = section.flag("sink");
    let control = section.parsed::<Control>("control", &["auto", "human-approval", "blocked"]);
    let integrity = integrity::read(section);
    let target = read_target(section);
    let tool = Tool::declared(ToolFacts {
        name,
        permissions,
        returns: returns.map(|at| at.value),
        ceiling: ceiling.map(|at| at.value),
        external: external.is_some_and(|at| at.value),
        sink: sink.is_some_and(|at| at.value),
        control: control.map_or(Control::Auto, |at| at.value),
        integrity,
        target,
    });
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

fn read_fields(tool: &Tool, section: &mut Section<'_, '_>) -> Vec<Field> {
    let name = section.name_of("fields");
    let mut fields = Vec::new();
    for (path, text) in section.pairs("fields") {
        let report = section.report();
        if !is_path(&path) {
            let wanted = "names joined by dots, where * stands for any one name";
            report.error(path.offset, format_args!("{name}: a field must be {wanted}"));
        }
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
        fields.push(Field {
            path: (*path).to_owned(),
            class: class.value,
        });
    }
    fields
}

fn is_path(text: &str) -> bool {
    let is_step = |step: &str| step == "*" || (Name::parse(step).is_ok() && !step.contains('*'));
    text.len() <= 500 && text.split('.').all(is_step)
}
