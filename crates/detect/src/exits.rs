//! Narrow exits for false positives.
//!
//! An exit lets one kind of finding pass, named by tool, rule or value, never all of them. It is a pure function over
//! findings, and says which exit let which finding through, so that its use can be put on the record.

use std::ops::Range;

use data_encoding::HEXLOWER_PERMISSIVE;
use sha2::{Digest as _, Sha256};

use crate::scan::resolve::resolve;
use crate::{Finding, FindingKind, RuleId, Scan};

/// One exit. Every condition that is given must hold, and at least one must be given besides the tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The name it is audited by.
    pub name: String,
    /// Only in texts from or to this tool.
    pub tool: Option<String>,
    /// Only findings of this rule.
    pub rule: Option<RuleId>,
    /// Only this value, by its digest.
    pub value: Option<ValueDigest>,
}

/// The SHA-256 of a value. Plain, so that anybody can make one with `sha256sum`: an exit is for what is no secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ValueDigest([u8; 32]);

impl ValueDigest {
    /// The digest of a value.
    #[must_use]
    pub fn of(value: &[u8]) -> Self {
        Self(Sha256::digest(value).into())
    }

    /// A digest that was made elsewhere.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads a digest from its 64 hexadecimal digits, in either case.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        let bytes = HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()?;
        bytes.try_into().ok().map(Self)
    }

    /// The digest in hexadecimal digits.
    #[must_use]
    pub fn to_hex(self) -> String {
        HEXLOWER_PERMISSIVE.encode(&self.0)
    }
}

impl std::fmt::Debug for ValueDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_hex())
    }
}

/// The exits of an installation.
#[derive(Clone, Debug)]
pub struct Exits {
    exits: Vec<Exit>,
}

/// Why an exit cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadExit {
    /// It has no name to be audited by.
    #[error("an exit needs a name")]
    Unnamed,
    /// It would let everything pass.
    #[error("exit `{0}` is too wide: it needs a rule or a value")]
    TooWide(String),
    /// Two exits cannot be told apart in the record.
    #[error("exit `{0}` is named twice")]
    NamedTwice(String),
}

/// What is left after the exits, and what they let pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Exited {
    /// Findings that no exit covers.
    pub kept: Vec<Finding>,
    /// Findings that an exit covers, each with the exit's name.
    pub let_through: Vec<(String, Finding)>,
}

impl Exits {
    /// No exits: every finding counts.
    pub const NONE: Self = Self { exits: Vec::new() };

    /// Checks exits.
    ///
    /// # Errors
    /// When one has no name, shares its name, or names neither a rule nor a value.
    pub fn new(exits: Vec<Exit>) -> Result<Self, BadExit> {
        for (index, exit) in exits.iter().enumerate() {
            if exit.name.is_empty() {
                return Err(BadExit::Unnamed);
            }
            if exit.rule.is_none() && exit.value.is_none() {
                return Err(BadExit::TooWide(exit.name.clone()));
            }
            if exits.iter().take(index).any(|earlier| earlier.name == exit.name) {
                return Err(BadExit::NamedTwice(exit.name.clone()));
            }
        }
        Ok(Self { exits })
    }

    /// Splits what was found in a text by the first exit that covers each finding. Of findings that overlapped, an exit lets
    /// only those pass that it names, or the very value that all of them are about: what else a rule found there counts.
    /// Injections have no exit here: they are decided by a person, one at a time. Where nobody knows which of several tools
    /// the text is from, `tool` is `None`, and exits that are for one tool alone do not hold.
    #[must_use]
    pub fn apply(&self, text: &[u8], tool: Option<&str>, scan: Scan) -> Exited {
        let mut exited = Exited {
            kept: Vec::new(),
            let_through: Vec::new(),
        };
        if self.exits.is_empty() {
            exited.kept = scan.findings;
            return exited;
        }
        let mut left = Vec::new();
        for finding in scan.findings {
            let covering =
                |finding: &Finding| self.exits.iter().find(|exit| exit.covers(text, tool, finding));
            let members = members(&scan.merged, &finding.span);
            match covering(&finding) {
                Some(exit) if members.is_empty() || exit.value.is_some() => {
                    exited.let_through.push((exit.name.clone(), finding));
                }
                None if members.is_empty() => left.push(finding),
                _ => {
                    for member in members {
                        match covering(member) {
                            Some(exit) => exited.let_through.push((exit.name.clone(), member.clone())),
                            None => left.push(member.clone()),
                        }
                    }
                }
            }
        }
        exited.kept = resolve(left);
        exited
    }
}

/// The findings that one was merged from; none when it stands by itself.
fn members<'a>(merged: &'a [Finding], span: &Range<usize>) -> &'a [Finding] {
    let first = merged.partition_point(|member| member.span.start < span.start);
    let end = merged.partition_point(|member| member.span.start < span.end);
    merged.get(first..end).unwrap_or_default()
}

impl Exit {
    fn covers(&self, text: &[u8], tool: Option<&str>, finding: &Finding) -> bool {
        finding.kind != FindingKind::Injection
            && self.tool.as_deref().is_none_or(|wanted| Some(wanted) == tool)
            && self.rule.as_ref().is_none_or(|wanted| *wanted == finding.rule)
            && self
                .value
                .is_none_or(|wanted| is_value(wanted, text, &finding.span))
    }
}

fn is_value(wanted: ValueDigest, text: &[u8], span: &Range<usize>) -> bool {
    text.get(span.clone())
        .is_some_and(|value| ValueDigest::of(value) == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;
    use tidegate_core::Class;

    const TEXT: &[u8] = b"a@example.com b@example.com";

    fn finding(rule: &'static str, kind: FindingKind, span: Range<usize>) -> Finding {
        Finding {
            rule: RuleId::built_in(rule),
            kind,
            class: Class::Pii,
            span,
            confidence: Confidence::CERTAIN,
        }
    }

    fn exit(tool: Option<&str>, rule: Option<&'static str>, value: Option<&[u8]>) -> Exit {
        Exit {
            name: "support-inbox".into(),
            tool: tool.map(Into::into),
            rule: rule.map(RuleId::built_in),
            value: value.map(ValueDigest::of),
        }
    }

    fn check<'a>(exit: Exit, tool: impl Into<Option<&'a str>>, expected: [bool; 2]) {
        let findings = vec![
            finding("email", FindingKind::Pii, 0..13),
            finding("email", FindingKind::Pii, 14..27),
        ];
        let exited = Exits::new(vec![exit.clone()])
            .unwrap()
            .apply(TEXT, tool.into(), Scan::of(findings));
        let through: Vec<_> = exited
            .let_through
            .iter()
            .map(|(_, finding)| finding.span.start)
            .collect();
        let wanted: Vec<_> = [0, 14]
            .into_iter()
            .zip(expected)
            .filter(|(_, through)| *through)
            .map(|(at, _)| at)
            .collect();
        assert_eq!(through, wanted, "{exit:?}");
        assert_eq!(exited.kept.len(), 2 - wanted.len());
    }

    #[test]
    fn every_given_condition_must_hold() {
        check(exit(None, Some("email"), None), "mail", [true, true]);
        check(exit(None, Some("phone"), None), "mail", [false, false]);
        check(exit(Some("mail"), Some("email"), None), "web", [false, false]);
        check(exit(None, None, Some(b"b@example.com")), "mail", [false, true]);
        check(
            exit(Some("mail"), Some("email"), Some(b"a@example.com")),
            "mail",
            [true, false],
        );
    }

    #[test]
    fn an_exit_for_one_tool_is_none_for_one_of_several() {
        check(exit(Some("mail"), Some("email"), None), None, [false, false]);
        check(exit(None, Some("email"), None), None, [true, true]);
    }

    #[test]
    fn what_else_was_found_in_the_same_place_counts() {
        let raw = || {
            vec![
                finding("generic-password", FindingKind::Credentials, 0..13),
                finding("email", FindingKind::Pii, 0..13),
                finding("phone", FindingKind::Pii, 3..9),
            ]
        };
        for (exit, expected, through) in [
            (exit(None, Some("generic-password"), None), vec!["email"], 1),
            (exit(None, Some("phone"), None), vec!["email"], 1),
            (exit(None, Some("email"), None), vec!["generic-password"], 1),
            (exit(None, None, Some(b"a@example.com")), vec![], 1),
        ] {
            let exits = Exits::new(vec![exit.clone()]).unwrap();
            let exited = exits.apply(TEXT, Some("mail"), Scan::of(raw()));
            let rules: Vec<_> = exited.kept.iter().map(|kept| kept.rule.as_str()).collect();
            assert_eq!(rules, expected, "{exit:?}");
            assert_eq!(exited.let_through.len(), through, "{exit:?}");
        }
    }

    #[test]
    fn exits_that_are_refused() {
        assert_eq!(
            Exits::new(vec![exit(Some("mail"), None, None)]).unwrap_err(),
            BadExit::TooWide("support-inbox".into())
        );
        let twice = vec![exit(None, Some("email"), None), exit(None, Some("phone"), None)];
        assert_eq!(
            Exits::new(twice).unwrap_err(),
            BadExit::NamedTwice("support-inbox".into())
        );
    }

    #[test]
    fn an_injection_has_no_exit() {
        let findings = vec![finding("override", FindingKind::Injection, 0..5)];
        let exits = Exits::new(vec![exit(None, Some("override"), None)]).unwrap();
        assert_eq!(exits.apply(TEXT, Some("mail"), Scan::of(findings)).kept.len(), 1);
    }

    #[test]
    fn a_digest_reads_back() {
        let digest = ValueDigest::of(b"x");
        assert_eq!(ValueDigest::from_hex(&digest.to_hex()), Some(digest));
        let printed_elsewhere = "2D711642B726B04401627CA9FBAC32F5C8530FB1903CC4DB02258717921A4881";
        assert_eq!(ValueDigest::from_hex(printed_elsewhere), Some(digest));
        assert_eq!(ValueDigest::from_hex("zz"), None);
    }
}
