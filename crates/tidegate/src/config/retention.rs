//! `[retention]`: how long evidence of each class is kept.

use std::time::Duration;

use tidegate_core::Class;
use tidegate_ledger::vault::Retention;

use super::walk::Section;

/// The shortest time that evidence is kept: less would destroy it while somebody is still deciding.
const SHORTEST: Duration = Duration::from_secs(60);

/// Reads the section; a class that is not named is kept until somebody destroys it.
pub(super) fn read(root: &mut Section<'_, '_>) -> Retention {
    let mut retention = Retention::FOREVER;
    let Some(mut section) = root.section("retention") else {
        return retention;
    };
    for class in Class::ALL {
        let Some(text) = section.text(class.as_str()) else {
            continue;
        };
        match humantime::parse_duration(&text) {
            Ok(time) if time >= SHORTEST => retention = retention.with(class, time),
            Ok(_) | Err(_) => {
                let name = section.name_of(class.as_str());
                let expected = "must be a time of a minute or more, such as \"30d\" or \"12h\"";
                section
                    .report()
                    .error(text.offset, format_args!("{name} {expected}"));
            }
        }
    }
    retention
}
