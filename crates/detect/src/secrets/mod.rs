//! Credentials: keys, tokens, passwords.
//!
//! Three nets, from fine to coarse. *Written rules* (`rules/secrets-*.toml`, and the user's own) know a provider's
//! format by its prefix, or by the provider's name shortly before a value of the right shape. *Structured secrets* are
//! known by what they are: key blocks, signed tokens, logins in URLs and on command lines. *Assignments* catch what nobody
//! wrote a rule for: a name that promises a secret, and a value that looks like one.
//!
//! Every judgement starts from a literal that the shared pass found and looks at a bounded window around it; the span
//! of a finding is the secret itself, so that it alone can be taken out of the text.

mod assignment;
mod block;
mod bounds;
mod checksum;
mod exclude;
mod login;
mod matching;
mod name;
mod rule;
mod shape;
mod value;
mod words;

use std::ops::Range;

use tidegate_core::Class;

pub use checksum::Check;
pub use rule::{Finds, RuleError, SecretRule};

use self::name::Promise;
use self::rule::{Form, Rule};
use crate::candidates::{Case, Hit, Literal, RuleFamily};
use crate::{Confidence, Finding, FindingKind, RuleDescription, RuleId};

/// The embedded rules, in TOML.
const EMBEDDED: &[&str] = &[
    include_str!("../../rules/secrets-prefixed.toml"),
    include_str!("../../rules/secrets-named.toml"),
    include_str!("../../rules/secrets-services.toml"),
];

/// All credential rules, ready to judge.
#[derive(Debug)]
pub struct Secrets {
    rules: Vec<Rule>,
    structured: Vec<(Structured, RuleId)>,
    generic: [(Promise, RuleId); 6],
}

impl Secrets {
    /// The embedded rules.
    ///
    /// # Errors
    /// Never for the embedded files as they are: a test reads them.
    pub fn embedded() -> Result<Self, RuleError> {
        Self::with_rules(Vec::new())
    }

    /// The embedded rules and the user's own.
    ///
    /// # Errors
    /// Names the first rule and field that cannot be used.
    pub fn with_rules(own: Vec<SecretRule>) -> Result<Self, RuleError> {
        let mut written = Vec::new();
        for text in EMBEDDED {
            written.extend(SecretRule::parse_all(text)?);
        }
        let mut rules = Rule::check_all(written, false)?;
        for rule in Rule::check_all(own, true)? {
            if rules.iter().any(|known| known.id == rule.id) {
                return Err(RuleError::Twice {
                    rule: rule.id.as_str().to_owned(),
                });
            }
            rules.push(rule);
        }
        let structured = Structured::ALL
            .map(|kind| (kind, RuleId::new(kind.id())))
            .to_vec();
        let generic = [
            (Promise::Password, RuleId::new("generic-password")),
            (Promise::PerhapsPassword, RuleId::new("generic-password")),
            (Promise::Secret, RuleId::new("generic-secret")),
            (Promise::Mentioned, RuleId::new("generic-secret")),
            (Promise::Key, RuleId::new("generic-key")),
            (Promise::Label, RuleId::new("generic-key")),
        ];
        Ok(Self {
            rules,
            structured,
            generic,
        })
    }

    /// Judges without the shared pass: patterns at every byte, whether or not a literal stands there, and everything else
    /// wherever its words stand. Slow; the measure for the fast way.
    #[doc(hidden)]
    #[must_use]
    pub fn scan_plainly(&self, text: &[u8]) -> Vec<Finding> {
        let mut found = Vec::new();
        for rule in &self.rules {
            if let Form::Pattern { .. } = rule.form {
                let spans = (0..text.len()).filter_map(|start| matching::pattern_at(rule, text, start));
                found.extend(spans.map(|span| finding_of(rule, text, span)));
            }
        }
        let is_pattern = |tag: u32| {
            self.rules
                .get(tag as usize)
                .is_some_and(|rule| matches!(rule.form, Form::Pattern { .. }))
        };
        for literal in self.literals().iter().filter(|literal| !is_pattern(literal.tag)) {
            self.verify_everywhere(text, literal, &mut found);
        }
        sort_and_merge(&mut found);
        found
    }

    /// Finds a literal byte by byte and judges wherever it stands.
    fn verify_everywhere(&self, text: &[u8], literal: &Literal, found: &mut Vec<Finding>) {
        let length = literal.bytes.len();
        for (start, window) in text.windows(length).enumerate() {
            let stands = match literal.case {
                Case::Exact => window == literal.bytes,
                Case::Ignore => window.eq_ignore_ascii_case(&literal.bytes),
            };
            if stands {
                let at = start..start + length;
                self.verify(text, &Hit { at, tag: literal.tag }, found);
            }
        }
    }

    fn generic_id(&self, promise: Promise) -> Option<&RuleId> {
        self.generic
            .iter()
            .find(|(kind, _)| *kind == promise)
            .map(|(_, id)| id)
    }
}

impl RuleFamily for Secrets {
    fn literals(&self) -> Vec<Literal> {
        let mut literals = Vec::new();
        for (rule, tag) in self.rules.iter().zip(0_u32..) {
            for literal in &rule.literals {
                let literal = if rule.ignore_case {
                    Literal::any_case(literal.as_bytes(), tag)
                } else {
                    Literal::exact(literal.as_bytes(), tag)
                };
                literals.push(match rule.form {
                    Form::Pattern { before: 0 } | Form::Named { .. } => literal.at_word_start(),
                    Form::Pattern { .. } => literal,
                });
            }
        }
        let after_rules = self.rules.len() as u32;
        for ((kind, _), tag) in self.structured.iter().zip(after_rules..) {
            literals.extend(kind.literals().iter().map(|literal| match kind {
                Structured::PrivateKey => Literal::exact(*literal, tag),
                Structured::SignedToken => Literal::exact(*literal, tag).at_word_start(),
                Structured::BasicHeader | Structured::BearerHeader | Structured::FlagPassword => {
                    Literal::any_case(*literal, tag).at_word_start()
                }
                Structured::UrlPassword | Structured::CurlPassword | Structured::ConnectionString => {
                    Literal::any_case(*literal, tag)
                }
            }));
        }
        let generic = after_rules.saturating_add(self.structured.len() as u32);
        literals.extend(
            assignment::WORDS
                .iter()
                .map(|word| Literal::any_case(*word, generic)),
        );
        literals.extend(
            name::FOREIGN
                .iter()
                .map(|word| Literal::any_case(*word, generic).at_word_start()),
        );
        literals
    }

    fn verify(&self, text: &[u8], hit: &Hit, found: &mut Vec<Finding>) {
        let tag = hit.tag as usize;
        if let Some(rule) = self.rules.get(tag) {
            found.extend(matching::secret_at(rule, text, &hit.at).map(|span| finding_of(rule, text, span)));
        } else if let Some((kind, id)) = self.structured.get(tag - self.rules.len()) {
            found.extend(
                kind.judge(text, &hit.at)
                    .map(|span| finding(id, span, kind.confidence())),
            );
        } else {
            let held = assignment::judge(text, &hit.at).into_iter();
            for held in held.chain(assignment::in_column(text, &hit.at)) {
                let confidence = Confidence::percent(held.confidence);
                found.extend(
                    self.generic_id(held.promise)
                        .map(|id| finding(id, held.span, confidence)),
                );
            }
        }
    }

    fn rules(&self) -> Vec<RuleDescription> {
        let written = self.rules.iter().map(|rule| RuleDescription {
            rule: rule.id.clone(),
            looks_for: rule.description.clone(),
            verified_by: match (rule.form, rule.check) {
                _ if !rule.finds.is_drawn() => "the organisation's own pattern",
                (Form::Pattern { .. }, None) => "the provider's prefix and format, entropy, no placeholder",
                (Form::Pattern { .. }, Some(_)) => {
                    "the provider's prefix and format, entropy, no placeholder; a checksum raises confidence"
                }
                (Form::Named { .. }, _) => {
                    "the provider's name shortly before, the format, entropy, no placeholder"
                }
            }
            .to_owned(),
        });
        let structured = self.structured.iter().map(|(kind, id)| RuleDescription {
            rule: id.clone(),
            looks_for: kind.looks_for().to_owned(),
            verified_by: kind.verified_by().to_owned(),
        });
        let generic = [
            (
                "generic-password",
                "A value given to a name such as password",
                "no placeholder, reference, type or code",
            ),
            (
                "generic-secret",
                "A value given to a name such as token or client_secret",
                "looks drawn at random; no hash field, path or word",
            ),
            (
                "generic-key",
                "A value given to a name that ends in key",
                "long and looks drawn at random; no table or public key",
            ),
        ]
        .map(|(id, looks_for, verified_by)| RuleDescription {
            rule: RuleId::new(id),
            looks_for: looks_for.to_owned(),
            verified_by: verified_by.to_owned(),
        });
        written.chain(structured).chain(generic).collect()
    }
}

/// Secrets that are known by their own structure or by the user name beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Structured {
    PrivateKey,
    SignedToken,
    UrlPassword,
    CurlPassword,
    FlagPassword,
    ConnectionString,
    BasicHeader,
    BearerHeader,
}

impl Structured {
    const ALL: [Self; 8] = [
        Self::PrivateKey,
        Self::SignedToken,
        Self::UrlPassword,
        Self::CurlPassword,
        Self::FlagPassword,
        Self::ConnectionString,
        Self::BasicHeader,
        Self::BearerHeader,
    ];

    const fn id(self) -> &'static str {
        match self {
            Self::PrivateKey => "private-key",
            Self::SignedToken => "json-web-token",
            Self::UrlPassword => "url-password",
            Self::CurlPassword => "curl-password",
            Self::FlagPassword => "command-line-password",
            Self::ConnectionString => "connection-string-password",
            Self::BasicHeader => "basic-auth-header",
            Self::BearerHeader => "bearer-token",
        }
    }

    const fn literals(self) -> &'static [&'static str] {
        match self {
            Self::PrivateKey => &["-----BEGIN "],
            Self::SignedToken => &["eyJ"],
            Self::UrlPassword => &["://"],
            Self::CurlPassword => &["-u ", "--user "],
            Self::FlagPassword => &["-p ", "mysql", "mariadb"],
            Self::ConnectionString => &["password", "pwd"],
            Self::BasicHeader => &["basic "],
            Self::BearerHeader => &["bearer ", "bearer: "],
        }
    }

    fn judge(self, text: &[u8], at: &Range<usize>) -> Option<Range<usize>> {
        match self {
            Self::PrivateKey => block::private_key(text, at),
            Self::SignedToken => block::signed_token(text, at),
            Self::UrlPassword => login::in_url(text, at),
            Self::CurlPassword => login::on_command_line(text, at),
            Self::FlagPassword => login::after_flag(text, at),
            Self::ConnectionString => login::in_connection_string(text, at),
            Self::BasicHeader => login::basic_header(text, at),
            Self::BearerHeader => login::bearer_header(text, at),
        }
    }

    const fn confidence(self) -> Confidence {
        match self {
            Self::PrivateKey | Self::SignedToken => Confidence::CERTAIN,
            Self::UrlPassword | Self::BasicHeader | Self::BearerHeader => Confidence::percent(90),
            Self::CurlPassword | Self::FlagPassword | Self::ConnectionString => Confidence::percent(80),
        }
    }

    const fn looks_for(self) -> &'static str {
        match self {
            Self::PrivateKey => "A private key in PEM, OpenSSH or PGP armour",
            Self::SignedToken => "A JSON web token",
            Self::UrlPassword => "A password in the user part of a URL",
            Self::CurlPassword => "A login on a curl command line",
            Self::FlagPassword => "A password after -p on a command line",
            Self::ConnectionString => "A password in a database connection string",
            Self::BasicHeader => "A login in a Basic authorization header",
            Self::BearerHeader => "A token in a Bearer authorization header",
        }
    }

    const fn verified_by(self) -> &'static str {
        match self {
            Self::PrivateKey => "the armour lines and enough key material between them",
            Self::SignedToken => "the first part decodes to JSON that names an algorithm",
            Self::UrlPassword => "the shape of the URL; no placeholder or reference",
            Self::CurlPassword => "the command before it; no placeholder or reference",
            Self::FlagPassword => "the command before it; no placeholder or reference",
            Self::ConnectionString => "other parts of a connection string around it; no reference",
            Self::BasicHeader => "decodes to a user name and a password; no placeholder",
            Self::BearerHeader => "length, entropy, no placeholder",
        }
    }
}

fn finding_of(rule: &Rule, text: &[u8], span: Range<usize>) -> Finding {
    let value = text.get(span.clone()).unwrap_or_default();
    let certain = rule.check.is_some_and(|check| check.holds(value));
    let confidence = if certain {
        Confidence::CERTAIN
    } else {
        rule.confidence
    };
    Finding {
        rule: rule.id.clone(),
        kind: rule.finds.kind.into(),
        class: rule.finds.class,
        span,
        confidence,
    }
}

fn finding(id: &RuleId, span: Range<usize>, confidence: Confidence) -> Finding {
    Finding {
        rule: id.clone(),
        kind: FindingKind::Credentials,
        class: Class::Secret,
        span,
        confidence,
    }
}

/// Puts findings in order and merges equal ones.
fn sort_and_merge(found: &mut Vec<Finding>) {
    found.sort_by(|a, b| (a.span.start, a.span.end, &a.rule).cmp(&(b.span.start, b.span.end, &b.rule)));
    found.dedup();
}

#[cfg(test)]
mod tests;
