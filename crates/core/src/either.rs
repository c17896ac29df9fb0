//! One of several tools, where nobody knows whose word it is.

use crate::{Integrity, Stated, Tool, Trust, Unknown};

impl Tool {
    /// This tool or another, where nobody knows whose word it is. What is said goes by the name of the one that returns
    /// more, and everything else is at the strict end of the two for what *comes from* a tool: either may have been given
    /// what a sink is given, so either may give it back. It is no tool that a call could be made to.
    #[must_use]
    pub fn or(self, other: &Self) -> Self {
        if self == *other {
            return self;
        }
        // Taken apart, so that a new member is not forgotten here.
        let Self {
            name,
            permissions,
            returns,
            ceiling,
            external,
            sink,
            control,
            grant,
            // What follows from the facts of one of them need not hold for the other: whatever is chosen here is stated.
            stated: _,
            integrity,
            fields,
            seal,
            keeps_secrets,
            target,
        } = self;
        let highest = returns.join(other.returns);
        let lowest = ceiling.min(other.ceiling);
        Self {
            name: if other.returns > returns {
                other.name.clone()
            } else {
                name
            },
            permissions: permissions.union(other.permissions),
            returns: highest,
            ceiling: lowest,
            external: external || other.external,
            sink: sink || other.sink,
            control: control.stricter(other.control),
            grant: grant.stricter(other.grant),
            stated: Stated {
                returns: Some(highest),
                ceiling: Some(lowest),
            },
            integrity: integrity.or(&other.integrity),
            fields: fields.or(&other.fields, highest),
            seal: seal.stricter(other.seal),
            keeps_secrets: keeps_secrets && other.keeps_secrets,
            target: target.filter(|target| other.target.as_ref() == Some(target)),
        }
    }
}

impl Integrity {
    /// This or another, where nobody knows which: believed only where both are, and guarded where either is.
    fn or(self, other: &Self) -> Self {
        let Self {
            trust,
            mut trusted_fields,
            mut guard,
            unknown,
        } = self;
        trusted_fields.retain(|field| other.trusted_fields.contains(field));
        for guarded in &other.guard {
            if !guard.contains(guarded) {
                guard.push(guarded.clone());
            }
        }
        Self {
            trust: match (trust, other.trust) {
                (Trust::Trusted, Trust::Trusted) => Trust::Trusted,
                (Trust::Untrusted, _) | (_, Trust::Untrusted) => Trust::Untrusted,
            },
            trusted_fields,
            guard,
            unknown: match (unknown, other.unknown) {
                (Unknown::Allow, Unknown::Allow) => Unknown::Allow,
                (Unknown::Hold, _) | (_, Unknown::Hold) => Unknown::Hold,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Class, Control, FieldClasses, FieldPath, Grant, Integrity, Name, Permission, SealRule, Stated,
        ToolFacts, Unknown,
    };

    /// A tool of which everything is declared that is lax when nobody knows whose word it is.
    fn lax(name: &str) -> Tool {
        Tool::declared(ToolFacts {
            returns: Some(Class::Internal),
            ceiling: Some(Class::Secret),
            integrity: Integrity {
                trust: Trust::Trusted,
                unknown: Unknown::Allow,
                ..Integrity::UNDECLARED
            },
            keeps_secrets: true,
            ..ToolFacts::named(Name::parse(name).unwrap())
        })
    }

    fn path(text: &str) -> FieldPath {
        text.parse().unwrap()
    }

    fn fields(declared: &[(&str, Class)]) -> FieldClasses {
        FieldClasses::new(
            declared
                .iter()
                .map(|(text, class)| (text.parse().unwrap(), *class)),
        )
    }

    /// Two tools that differ in one member alone, whichever is named first and whichever returns more.
    fn check(
        member: &str,
        one: impl Fn(&mut Tool),
        other: impl Fn(&mut Tool),
        strict: impl Fn(&Tool) -> bool,
    ) {
        for (of_one, of_other) in [
            (Class::Internal, Class::Internal),
            (Class::Internal, Class::Confidential),
            (Class::Confidential, Class::Internal),
        ] {
            let (mut first, mut second) = (lax("one"), lax("other"));
            first.returns = of_one;
            second.returns = of_other;
            one(&mut first);
            other(&mut second);
            for either in [first.clone().or(&second), second.clone().or(&first)] {
                assert!(strict(&either), "{member}, {of_one} or {of_other}: {either:?}");
            }
            for alone in [first, second] {
                assert_eq!(alone.clone().or(&alone), alone, "{member}");
            }
        }
    }

    #[test]
    fn of_two_tools_the_higher_one_gives_its_name() {
        let (high, mut low) = (lax("high"), lax("low"));
        low.returns = Class::Public;
        for either in [high.clone().or(&low), low.clone().or(&high)] {
            assert_eq!((either.name.as_str(), either.returns), ("high", Class::Internal));
        }
    }

    #[test]
    fn of_two_tools_the_strict_end_of_every_member_counts() {
        let same = |_: &mut Tool| {};
        check(
            "permissions",
            |tool| tool.permissions = [Permission::Write].into_iter().collect(),
            |tool| tool.permissions = [Permission::Connect].into_iter().collect(),
            |tool| tool.permissions == [Permission::Write, Permission::Connect].into_iter().collect(),
        );
        check(
            "ceiling",
            |tool| tool.ceiling = Class::Public,
            same,
            |tool| tool.ceiling == Class::Public,
        );
        check(
            "external",
            |tool| tool.external = true,
            same,
            |tool| tool.external,
        );
        check("sink", |tool| tool.sink = true, same, |tool| tool.sink);
        for (one, other, strict) in [
            (Control::HumanApproval, Control::Auto, Control::HumanApproval),
            (Control::HumanApproval, Control::Blocked, Control::Blocked),
            (Control::Auto, Control::Blocked, Control::Blocked),
        ] {
            check(
                "control",
                |tool| tool.control = one,
                |tool| tool.control = other,
                |tool| tool.control == strict,
            );
        }
        for (one, other, strict) in [
            (Grant::Given, Grant::Refused, Grant::Refused),
            (Grant::Given, Grant::Unanswered("away"), Grant::Unanswered("away")),
            (Grant::Refused, Grant::Unanswered("away"), Grant::Refused),
        ] {
            check(
                "grant",
                |tool| tool.grant = one,
                |tool| tool.grant = other,
                |tool| tool.grant == strict,
            );
        }
        let unstated = |tool: &mut Tool| {
            tool.stated = Stated {
                returns: None,
                ceiling: None,
            };
        };
        let is_stated = |tool: &Tool| {
            (tool.stated.returns, tool.stated.ceiling) == (Some(tool.returns), Some(tool.ceiling))
        };
        check("stated", unstated, same, is_stated);
        check("stated", unstated, unstated, is_stated);
        for (one, other, strict) in [
            (SealRule::Always, SealRule::OnRequest, SealRule::Always),
            (SealRule::Always, SealRule::Above(Class::Public), SealRule::Always),
            (
                SealRule::Above(Class::Pii),
                SealRule::OnRequest,
                SealRule::Above(Class::Pii),
            ),
            (
                SealRule::Above(Class::Pii),
                SealRule::Above(Class::Internal),
                SealRule::Above(Class::Internal),
            ),
        ] {
            check(
                "seal",
                |tool| tool.seal = one,
                |tool| tool.seal = other,
                |tool| tool.seal == strict,
            );
        }
        check(
            "keeps_secrets",
            |tool| tool.keeps_secrets = false,
            same,
            |tool| !tool.keeps_secrets,
        );
        check(
            "target",
            |tool| tool.target = Some("tool".into()),
            same,
            |tool| tool.target.is_none(),
        );
    }

    #[test]
    fn of_two_tools_only_fields_that_raise_or_are_declared_of_both_count() {
        let status = [("**.status", Class::Public)];
        let cases: [[&[(&str, Class)]; 3]; 4] = [
            [&status, &[], &[]],
            [&status, &status, &status],
            [&status, &[("status", Class::Public)], &[]],
            [
                &[("code", Class::Secret), ("city", Class::Public)],
                &[("name", Class::Pii)],
                &[("code", Class::Secret), ("name", Class::Pii)],
            ],
        ];
        for [one, other, counting] in cases {
            let counts = |tool: &Tool| {
                let found: Vec<_> = tool.fields.iter().collect();
                let wanted = fields(counting);
                found.len() == wanted.iter().count() && wanted.iter().all(|field| found.contains(&field))
            };
            check(
                "fields",
                |tool| tool.fields = fields(one),
                |tool| tool.fields = fields(other),
                counts,
            );
        }
    }

    #[test]
    fn of_two_tools_the_lesser_belief_counts_and_every_guard() {
        let untrusted = |believed: &'static [&'static str]| {
            move |tool: &mut Tool| {
                tool.integrity.trust = Trust::Untrusted;
                tool.integrity.trusted_fields = believed.iter().map(|text| path(text)).collect();
            }
        };
        let believes = |believed: &'static [&'static str]| {
            move |tool: &Tool| {
                let believed: Vec<_> = believed.iter().map(|text| path(text)).collect();
                tool.integrity.trust == Trust::Untrusted && tool.integrity.trusted_fields == believed
            }
        };
        check("trust", untrusted(&[]), |_| {}, believes(&[]));
        check("trust", untrusted(&["id"]), |_| {}, believes(&[]));
        check("trust", untrusted(&["id"]), untrusted(&["total"]), believes(&[]));
        check(
            "trust",
            untrusted(&["id", "total"]),
            untrusted(&["total"]),
            believes(&["total"]),
        );
        check(
            "guard",
            |tool| tool.integrity.guard = vec![path("to"), path("amount")],
            |tool| tool.integrity.guard = vec![path("to"), path("iban")],
            |tool| {
                let guarded = ["to", "amount", "iban"].map(path);
                tool.integrity.guard.len() == 3
                    && guarded.iter().all(|path| tool.integrity.guard.contains(path))
            },
        );
        check(
            "unknown",
            |tool| tool.integrity.unknown = Unknown::Hold,
            |_| {},
            |tool| tool.integrity.unknown == Unknown::Hold,
        );
    }
}
