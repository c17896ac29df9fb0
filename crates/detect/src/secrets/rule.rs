//! A credential rule as it is written in TOML, and the same rule checked and ready to run.
//!
//! A rule has one of two forms. A *pattern* begins with one of the rule's literals (or up to `before` bytes ahead of
//! it) and is tried only there. A *value* has no mark of its own: it counts only shortly after one of the rule's names.
//! Patterns are compiled the first time that they are needed: a process that never sees a provider's name never
//! pays for its automaton, and start-up costs no more than reading the file.

use std::collections::HashSet;
use std::sync::OnceLock;

use regex_automata::meta;
use regex_automata::util::syntax;
use serde::Deserialize;
use thiserror::Error;
use tidegate_core::{Class, Kind};

use super::checksum::Check;
use crate::candidates::MIN_LITERAL;
use crate::{Confidence, RuleId};

/// The most memory that one compiled pattern may take.
const PATTERN_BYTES: usize = 512 * 1024;

/// The longest pattern in source form.
const PATTERN_SOURCE: usize = 2048;

/// The furthest that a pattern may begin before its literal.
const BEFORE: usize = 128;

/// A rule as it is written, in the embedded files and in `tidegate.toml` alike.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretRule {
    /// The rule's stable name.
    pub id: String,
    /// What is looked for, in a few words.
    pub description: String,
    /// Byte strings of which one must stand in the text for `pattern` to be tried.
    #[serde(default)]
    pub literals: Vec<String>,
    /// Whether the literals stand in any ASCII case. The pattern needs its own `(?i)`.
    #[serde(default)]
    pub ignore_case: bool,
    /// What a secret looks like, from its literal on. A group, if there is one, is the secret itself.
    pub pattern: Option<String>,
    /// How many bytes before the literal the pattern may begin.
    #[serde(default)]
    pub before: usize,
    /// Names (of a provider, of a product) after which `value` is looked for, in any case.
    #[serde(default)]
    pub names: Vec<String>,
    /// What a secret looks like that stands after one of the names.
    pub value: Option<String>,
    /// Whether the names are ordinary words, so that a word such as "key" must stand between name and value.
    #[serde(default)]
    pub ordinary_word: bool,
    /// The fewest bits of entropy per byte.
    pub entropy: Option<f32>,
    /// A checksum within the secret that, where it holds, makes the finding certain.
    pub check: Option<Check>,
    /// How sure a hit is, in percent.
    pub confidence: Option<u8>,
    /// What is found. The embedded files hold credentials alone; an organisation's own rules may find other things.
    #[serde(skip)]
    pub finds: Finds,
}

/// What a written rule finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finds {
    /// The class that a find puts its carrier in.
    pub class: Class,
    /// What sort of thing it is.
    pub kind: Kind,
}

impl Default for Finds {
    fn default() -> Self {
        Self {
            class: Class::Secret,
            kind: Kind::Credentials,
        }
    }
}

impl Finds {
    /// Whether what is found was drawn at random, so that an even or a well-known text cannot be it.
    pub(super) fn is_drawn(self) -> bool {
        self.kind == Kind::Credentials
    }
}

/// Why rules cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RuleError {
    /// The text is not TOML of the expected form.
    #[error("rules, line {line}: {message}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
    /// A rule has neither or both of the two forms.
    #[error("rule \"{rule}\": give either `pattern` with `literals` or `value` with `names`")]
    Form {
        /// The rule's id.
        rule: String,
    },
    /// A literal or a name is so short that it stands everywhere.
    #[error("rule \"{rule}\", `{field}`: needs at least {MIN_LITERAL} bytes")]
    Short {
        /// The rule's id.
        rule: String,
        /// The field at fault.
        field: &'static str,
    },
    /// A pattern cannot be compiled within the bounds.
    #[error("rule \"{rule}\", `{field}`: {reason}")]
    Pattern {
        /// The rule's id.
        rule: String,
        /// The field at fault.
        field: &'static str,
        /// Why.
        reason: String,
    },
    /// Two rules have one id.
    #[error("rule \"{rule}\", `id`: is used twice")]
    Twice {
        /// The rule's id.
        rule: String,
    },
    /// The id is not a plain name.
    #[error("rule \"{rule}\", `id`: use small letters, digits and dashes")]
    Id {
        /// The rule's id.
        rule: String,
    },
    /// The pattern would begin too far before its literal.
    #[error("rule \"{rule}\", `before`: at most {BEFORE}")]
    Before {
        /// The rule's id.
        rule: String,
    },
}

impl RuleError {
    /// The id of the rule that is wrong, if it is one rule.
    #[must_use]
    pub fn rule(&self) -> Option<&str> {
        match self {
            Self::Syntax { .. } => None,
            Self::Form { rule }
            | Self::Short { rule, .. }
            | Self::Pattern { rule, .. }
            | Self::Twice { rule }
            | Self::Id { rule }
            | Self::Before { rule } => Some(rule),
        }
    }

    /// The field at fault, and what is wrong with it without a word of the rule's own.
    #[must_use]
    pub fn fault(&self) -> (&'static str, String) {
        match self {
            Self::Syntax { message, .. } => ("pattern", message.clone()),
            Self::Form { .. } => (
                "literals",
                format!("needs texts of {MIN_LITERAL} bytes or more, of which one is in every match"),
            ),
            Self::Short { field, .. } => (field, format!("each needs at least {MIN_LITERAL} bytes")),
            Self::Pattern { field, reason, .. } => (field, reason.clone()),
            Self::Twice { .. } => ("id", "is used twice, or is that of a built-in rule".to_owned()),
            Self::Id { .. } => ("id", "use small letters, digits and dashes".to_owned()),
            Self::Before { .. } => ("before", format!("at most {BEFORE}")),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    rule: Vec<SecretRule>,
}

impl SecretRule {
    /// Reads all rules of a TOML text that holds an array `rule`.
    ///
    /// # Errors
    /// Names the line if the text is not of that form.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, RuleError> {
        toml::from_str::<RuleFile>(text)
            .map(|file| file.rule)
            .map_err(|error| RuleError::Syntax {
                line: error
                    .span()
                    .and_then(|span| text.get(..span.start))
                    .map_or(1, |before| before.matches('\n').count() + 1),
                message: error.message().to_owned(),
            })
    }

    /// Whether this rule could be used, by itself.
    ///
    /// # Errors
    /// Names the field that is wrong.
    pub fn check(&self) -> Result<(), RuleError> {
        Rule::check(self.clone(), true).map(|_| ())
    }
}

/// How a rule finds its secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A pattern that begins at a literal or up to so many bytes before it.
    Pattern { before: usize },
    /// A value somewhere after a name.
    Named { ordinary_word: bool },
}

/// A checked rule.
#[derive(Debug)]
pub(super) struct Rule {
    pub id: RuleId,
    pub description: String,
    pub form: Form,
    pub literals: Vec<String>,
    pub ignore_case: bool,
    pub entropy: f32,
    pub check: Option<Check>,
    pub confidence: Confidence,
    pub finds: Finds,
    source: String,
    compiled: OnceLock<Option<meta::Regex>>,
}

impl Rule {
    /// Checks all rules; `eager` compiles their patterns at once so that a wrong one is refused.
    pub(super) fn check_all(rules: Vec<SecretRule>, eager: bool) -> Result<Vec<Self>, RuleError> {
        let mut ids = HashSet::new();
        rules
            .into_iter()
            .map(|rule| {
                if !ids.insert(rule.id.clone()) {
                    return Err(RuleError::Twice { rule: rule.id });
                }
                Self::check(rule, eager)
            })
            .collect()
    }

    fn check(rule: SecretRule, eager: bool) -> Result<Self, RuleError> {
        let id_is_plain = !rule.id.is_empty()
            && rule
                .id
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if !id_is_plain {
            return Err(RuleError::Id { rule: rule.id });
        }
        if rule.before > BEFORE {
            return Err(RuleError::Before { rule: rule.id });
        }
        let (form, field, source, literals, ignore_case) = match (rule.pattern, rule.value) {
            (Some(pattern), None) if rule.names.is_empty() && !rule.literals.is_empty() => {
                let form = Form::Pattern { before: rule.before };
                (form, "pattern", pattern, rule.literals, rule.ignore_case)
            }
            (None, Some(value)) if rule.literals.is_empty() && !rule.names.is_empty() => {
                let form = Form::Named {
                    ordinary_word: rule.ordinary_word,
                };
                (form, "value", value, rule.names, true)
            }
            _ => return Err(RuleError::Form { rule: rule.id }),
        };
        let is_named = matches!(form, Form::Named { .. });
        if literals.iter().any(|literal| literal.len() < MIN_LITERAL) {
            let field = if is_named { "names" } else { "literals" };
            return Err(RuleError::Short { rule: rule.id, field });
        }
        let compiled = OnceLock::new();
        if eager {
            let wrong = |reason| RuleError::Pattern {
                rule: rule.id.clone(),
                field,
                reason,
            };
            let regex = compile(&source).map_err(wrong)?;
            if regex.is_match("") {
                return Err(wrong("matches the empty text".to_owned()));
            }
            compiled.get_or_init(|| Some(regex));
        }
        let confidence = rule.confidence.unwrap_or(if is_named { 75 } else { 90 });
        Ok(Self {
            id: RuleId::new(&rule.id),
            description: rule.description,
            form,
            literals,
            ignore_case,
            entropy: rule.entropy.unwrap_or(match (rule.finds.is_drawn(), is_named) {
                (false, _) => 0.0,
                (true, true) => 2.5,
                (true, false) => 2.8,
            }),
            check: rule.check,
            confidence: Confidence::percent(confidence),
            finds: rule.finds,
            source,
            compiled,
        })
    }

    #[cfg(test)]
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// The compiled pattern. Embedded patterns are known to compile (a test compiles them all); users' are compiled
    /// when they are read.
    pub(super) fn regex(&self) -> Option<&meta::Regex> {
        self.compiled.get_or_init(|| compile(&self.source).ok()).as_ref()
    }
}

/// Compiles a pattern for bytes: no Unicode tables, bounded size, and only engines whose time is linear. The match must
/// end where a word ends, so that of several alternatives the one that fits the whole token is taken.
fn compile(source: &str) -> Result<meta::Regex, String> {
    if source.len() > PATTERN_SOURCE {
        return Err(format!("is longer than {PATTERN_SOURCE} bytes"));
    }
    meta::Builder::new()
        .syntax(syntax::Config::new().unicode(false).utf8(false))
        .configure(
            meta::Config::new()
                .utf8_empty(false)
                .nfa_size_limit(Some(PATTERN_BYTES))
                .onepass_size_limit(Some(PATTERN_BYTES))
                .auto_prefilter(false),
        )
        .build(&format!("(?:{source})\\b{{end-half}}"))
        .map_err(|error| match (error.syntax_error(), error.size_limit()) {
            (Some(syntax), _) => format!("is no valid pattern: {}", first_line(&syntax.to_string())),
            (None, Some(_)) => "is too large when compiled".to_owned(),
            (None, None) => "cannot be compiled".to_owned(),
        })
}

fn first_line(message: &str) -> &str {
    message
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: &str) {
        let text = format!("[[rule]]\n{body}");
        let result = SecretRule::parse_all(&text).and_then(|rules| Rule::check_all(rules, true).map(|_| ()));
        assert_eq!(
            result.map_or_else(|error| error.to_string(), |()| "fine".to_owned()),
            expected,
            "{body}"
        );
    }

    #[test]
    fn errors_name_the_rule_and_the_field() {
        let head = "id = 'acme'\ndescription = 'x'\n";
        check(
            &format!("{head}literals = ['acme_']\npattern = 'acme_[a-z]{{8}}'"),
            "fine",
        );
        check(&format!("{head}names = ['acme']\nvalue = '[a-z]{{8}}'"), "fine");
        check(
            &format!("{head}literals = ['acme_']\npattern = 'acme_['"),
            "rule \"acme\", `pattern`: is no valid pattern: error: unclosed character class",
        );
        check(
            &format!("{head}names = ['acme']\nvalue = '(?:[a-z]{{900}}){{900}}'"),
            "rule \"acme\", `value`: is too large when compiled",
        );
        check(
            &format!("{head}literals = ['a']\npattern = 'a'"),
            "rule \"acme\", `literals`: needs at least 3 bytes",
        );
        check(
            &format!("{head}pattern = 'a'"),
            "rule \"acme\": give either `pattern` with `literals` or `value` with `names`",
        );
        check(
            &format!("{head}before = 999\nliterals = ['acme_']\npattern = 'a'"),
            "rule \"acme\", `before`: at most 128",
        );
        check(
            "id = 'A b'\ndescription = 'x'\nliterals = ['acme_']\npattern = 'a'",
            "rule \"A b\", `id`: use small letters, digits and dashes",
        );
        check(
            &format!(
                "{head}literals = ['acme_']\npattern = 'a'\n[[rule]]\n{head}literals = ['acme_']\npattern = 'a'"
            ),
            "rule \"acme\", `id`: is used twice",
        );
        check(
            &format!("{head}colour = 1"),
            "rules, line 4: unknown field `colour`, expected one of `id`, `description`, `literals`, `ignore_case`, \
             `pattern`, `before`, `names`, `value`, `ordinary_word`, `entropy`, `check`, `confidence`",
        );
    }
}
