//! The organisation's own names: domains, hosts and code names from configuration.

use std::ops::Range;

use tidegate_core::Class;

use crate::candidates::{Hit, Literal, MIN_LITERAL, RuleDescription, RuleFamily};
use crate::{Confidence, Finding, FindingKind, RuleId};

const DOMAIN: &str = "internal-domain";
const HOST: &str = "internal-host";
const CODE_NAME: &str = "code-name";
const LONGEST_HOST: usize = 253;

/// A name from configuration.
enum Name {
    /// A domain and every host in it.
    Domain(String),
    /// A host, with `*` for any run of characters and `?` for one.
    Host(String),
    /// A word or words of prose.
    Word(String),
}

/// Every internal name.
pub(crate) struct InternalNames {
    names: Vec<Name>,
}

impl InternalNames {
    /// Takes names that are long enough to be looked for; gives back the first that is not.
    pub(crate) fn new(domains: &[String], hosts: &[String], code_names: &[String]) -> Result<Self, String> {
        let names: Vec<Name> = domains
            .iter()
            .map(|domain| {
                Name::Domain(
                    domain
                        .trim_start_matches("*.")
                        .trim_matches('.')
                        .to_ascii_lowercase(),
                )
            })
            .chain(hosts.iter().map(|host| Name::Host(host.to_ascii_lowercase())))
            .chain(code_names.iter().map(|name| Name::Word(name.trim().to_owned())))
            .collect();
        match names.iter().find(|name| name.literal().len() < MIN_LITERAL) {
            Some(short) => Err(short.text().to_owned()),
            None => Ok(Self { names }),
        }
    }
}

impl Name {
    fn text(&self) -> &str {
        match self {
            Self::Domain(text) | Self::Host(text) | Self::Word(text) => text,
        }
    }

    /// The longest part without wildcards.
    fn literal(&self) -> &str {
        match self {
            Self::Domain(text) | Self::Word(text) => text,
            Self::Host(text) => text
                .split(['*', '?'])
                .max_by_key(|part| part.len())
                .unwrap_or_default(),
        }
    }

    fn rule(&self) -> &'static str {
        match self {
            Self::Domain(_) => DOMAIN,
            Self::Host(_) => HOST,
            Self::Word(_) => CODE_NAME,
        }
    }

    fn span(&self, text: &[u8], at: &Range<usize>) -> Option<Range<usize>> {
        match self {
            Self::Domain(domain) => {
                let host = host_around(text, at)?;
                let written = text.get(host.clone())?;
                let head = written.len().checked_sub(domain.len())?;
                let ends = written.get(head..)?.eq_ignore_ascii_case(domain.as_bytes());
                (ends && (head == 0 || written.get(head - 1) == Some(&b'.'))).then_some(host)
            }
            Self::Host(pattern) => {
                let host = host_around(text, at)?;
                let written = text.get(host.clone())?.to_ascii_lowercase();
                matches_glob(pattern.as_bytes(), &written).then_some(host)
            }
            Self::Word(_) => {
                let is_word = |at: Option<&u8>| at.is_some_and(u8::is_ascii_alphanumeric);
                let before = at.start.checked_sub(1).and_then(|at| text.get(at));
                (!is_word(before) && !is_word(text.get(at.end))).then(|| at.clone())
            }
        }
    }
}

impl RuleFamily for InternalNames {
    fn literals(&self) -> Vec<Literal> {
        self.names
            .iter()
            .zip(0..)
            .map(|(name, tag)| {
                let literal = Literal::any_case(name.literal(), tag);
                match name {
                    Name::Domain(_) | Name::Word(_) => literal.at_word_start(),
                    Name::Host(_) => literal,
                }
            })
            .collect()
    }

    fn verify(&self, text: &[u8], hit: &Hit, found: &mut Vec<Finding>) {
        let Some(name) = self.names.get(hit.tag as usize) else {
            return;
        };
        if let Some(span) = name.span(text, &hit.at) {
            found.push(Finding {
                rule: RuleId::built_in(name.rule()),
                kind: FindingKind::InternalIp,
                class: Class::Internal,
                span,
                confidence: Confidence::percent(95),
            });
        }
    }

    fn rules(&self) -> Vec<RuleDescription> {
        [
            (
                DOMAIN,
                "a host in one of the configured internal domains",
                "the whole host name ends in the domain",
            ),
            (
                HOST,
                "a host that fits a configured pattern",
                "the whole host name fits",
            ),
            (CODE_NAME, "a configured code name", "it stands as a whole word"),
        ]
        .into_iter()
        .map(|(rule, looks_for, verified_by)| RuleDescription {
            rule: RuleId::built_in(rule),
            looks_for: looks_for.to_owned(),
            verified_by: verified_by.to_owned(),
        })
        .collect()
    }
}

/// The host name around a place, without a dot at its end.
fn host_around(text: &[u8], at: &Range<usize>) -> Option<Range<usize>> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let floor = at.start.saturating_sub(LONGEST_HOST);
    let head = text
        .get(floor..at.start)?
        .iter()
        .rev()
        .take_while(|byte| is_part(byte))
        .count();
    let tail = text
        .get(at.end..)?
        .iter()
        .take(LONGEST_HOST)
        .take_while(|byte| is_part(byte))
        .count();
    let (mut start, mut end) = (at.start - head, at.end + tail);
    while end > at.end && matches!(text.get(end - 1), Some(b'.' | b'-')) {
        end -= 1;
    }
    while start < at.start && matches!(text.get(start), Some(b'.' | b'-')) {
        start += 1;
    }
    Some(start..end)
}

/// Linear in the text for each star: the last star takes as much as the rest leaves.
fn matches_glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut retry = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p + 1, t));
                p += 1;
            }
            Some(wanted) if *wanted == b'?' || Some(wanted) == text.get(t) => {
                p += 1;
                t += 1;
            }
            _ => match retry {
                Some((after_star, from)) => {
                    retry = Some((after_star, from + 1));
                    (p, t) = (after_star, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern
        .get(p..)
        .unwrap_or_default()
        .iter()
        .all(|rest| *rest == b'*')
}

#[cfg(test)]
mod tests {
    use crate::{Detector, DetectorConfig};

    fn check(text: &str, expected: &[(&str, &str)]) {
        let config = DetectorConfig {
            internal_domains: vec!["corp.example".into()],
            internal_hosts: vec!["build-*".into(), "db??.lan".into()],
            code_names: vec!["Blue Heron".into()],
            ..DetectorConfig::default()
        };
        let scan = Detector::new(&config).unwrap().scan(text.as_bytes());
        let found: Vec<_> = scan
            .findings
            .iter()
            .map(|finding| (finding.rule.as_str(), &text[finding.span.clone()]))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn whole_names_only() {
        check(
            "see https://wiki.corp.example/x.",
            &[("internal-domain", "wiki.corp.example")],
        );
        check("CORP.EXAMPLE", &[("internal-domain", "CORP.EXAMPLE")]);
        check("notcorp.example corp.example.org", &[]);
        check(
            "on build-17 and db01.lan.",
            &[("internal-host", "build-17"), ("internal-host", "db01.lan")],
        );
        check("rebuild-17 db001.lan", &[]);
        check("project blue heron ships", &[("code-name", "blue heron")]);
        check("blue herons", &[]);
        check("bob@corp.example", &[("email", "bob@corp.example")]);
    }

    #[test]
    fn a_name_too_short_to_look_for_is_refused() {
        let config = DetectorConfig {
            code_names: vec!["x1".into()],
            ..DetectorConfig::default()
        };
        assert!(Detector::new(&config).is_err());
    }
}
