//! From what a verified token says to a principal and a role.
//!
//! Nobody is let in by default: a person needs a name that can stand on the record and a value that the configuration maps to a role.

use serde_json::{Map, Value};
use tidegate_core::{Ident, Role, vouched};

use super::OidcSettings;

/// Who somebody is here.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) principal: Ident,
    pub(super) role: Role,
}

/// Why somebody is nobody here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(in crate::console) enum Stranger {
    #[error("the token has no name for this person under `principal_claim`")]
    Nameless,
    #[error("the provider has not verified the e-mail address that `principal_claim` asks for")]
    Unverified,
    #[error("the name in the token cannot be a principal's; map it under `people`")]
    BadName,
    #[error("nothing in the token is mapped to a role under `roles`")]
    Roleless,
}

/// Who somebody is, by the first line of the mapping that fits.
pub(super) fn identity(settings: &OidcSettings, claims: &Map<String, Value>) -> Result<Identity, Stranger> {
    let name = claim(claims, &settings.principal_claim).and_then(Value::as_str);
    let name = name.filter(|name| !name.is_empty()).ok_or(Stranger::Nameless)?;
    // Whoever may write any address into their account could be anybody.
    if settings.principal_claim == "email" && !is_verified(claims) {
        return Err(Stranger::Unverified);
    }
    let name = settings.people.get(name).map_or(name, Ident::as_str);
    let principal = vouched(name).map_err(|_| Stranger::BadName)?;
    let held = claim(claims, &settings.roles_claim);
    let fitting = settings
        .roles
        .iter()
        .find(|(value, _)| held.is_some_and(|held| holds(held, value)));
    let (_, role) = fitting.ok_or(Stranger::Roleless)?;
    Ok(Identity {
        principal,
        role: *role,
    })
}

/// A claim by its whole name, or else by the names on the way to it, with dots between.
fn claim<'c>(claims: &'c Map<String, Value>, name: &str) -> Option<&'c Value> {
    claims.get(name).or_else(|| {
        let (first, rest) = name.split_once('.')?;
        claim(claims.get(first)?.as_object()?, rest)
    })
}

/// Whether a claim is that text or a list with that text in it.
fn holds(held: &Value, value: &str) -> bool {
    match held {
        Value::String(one) => one == value,
        Value::Array(all) => all.iter().any(|one| one.as_str() == Some(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

fn is_verified(claims: &Map<String, Value>) -> bool {
    match claims.get("email_verified") {
        Some(Value::Bool(verified)) => *verified,
        // Some providers write it as text.
        Some(Value::String(verified)) => verified == "true",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use serde_json::json;

    fn settings(principal: &str, roles: &str) -> OidcSettings {
        OidcSettings {
            principal_claim: principal.to_owned(),
            roles_claim: roles.to_owned(),
            roles: vec![
                ("admins".to_owned(), Role::Admin),
                ("desk".to_owned(), Role::HumanOperator),
            ],
            people: BTreeMap::from([("auth0|17".to_owned(), Ident::parse("olga").unwrap())]),
            ..OidcSettings::of("https://login.example", "tidegate", "https://gate.example")
        }
    }

    #[test]
    fn nobody_is_let_in_without_a_name_and_a_mapped_role() {
        let ok = |principal: &str, role| {
            let principal = Ident::parse(principal).unwrap();
            Ok(Identity { principal, role })
        };
        for (principal, roles, claims, expected) in [
            (
                "sub",
                "groups",
                json!({"sub": "ada", "groups": ["desk", "x"]}),
                ok("oidc:ada", Role::HumanOperator),
            ),
            (
                "sub",
                "groups",
                json!({"sub": "ada", "groups": ["desk", "admins"]}),
                ok("oidc:ada", Role::Admin),
            ),
            (
                "sub",
                "groups",
                json!({"sub": "ada", "groups": "desk"}),
                ok("oidc:ada", Role::HumanOperator),
            ),
            (
                "sub",
                "groups",
                json!({"sub": "auth0|17", "groups": "desk"}),
                ok("oidc:olga", Role::HumanOperator),
            ),
            (
                "sub",
                "a.b.roles",
                json!({"sub": "ada", "a": {"b": {"roles": ["desk"]}}}),
                ok("oidc:ada", Role::HumanOperator),
            ),
            (
                "sub",
                "https://x.example/r",
                json!({"sub": "ada", "https://x.example/r": ["desk"]}),
                ok("oidc:ada", Role::HumanOperator),
            ),
            (
                "email",
                "groups",
                json!({"email": "a@x.example", "email_verified": true, "groups": "desk"}),
                ok("oidc:a@x.example", Role::HumanOperator),
            ),
            (
                "email",
                "groups",
                json!({"email": "a@x.example", "email_verified": "true", "groups": "desk"}),
                ok("oidc:a@x.example", Role::HumanOperator),
            ),
            (
                "email",
                "groups",
                json!({"email": "a@x.example", "groups": "desk"}),
                Err(Stranger::Unverified),
            ),
            (
                "email",
                "groups",
                json!({"email": "a@x.example", "email_verified": false, "groups": "desk"}),
                Err(Stranger::Unverified),
            ),
            (
                "sub",
                "groups",
                json!({"groups": ["desk"]}),
                Err(Stranger::Nameless),
            ),
            (
                "sub",
                "groups",
                json!({"sub": "", "groups": ["desk"]}),
                Err(Stranger::Nameless),
            ),
            (
                "sub",
                "groups",
                json!({"sub": 7, "groups": ["desk"]}),
                Err(Stranger::Nameless),
            ),
            (
                "sub",
                "groups",
                json!({"sub": "auth0|18", "groups": ["desk"]}),
                Err(Stranger::BadName),
            ),
            (
                "sub",
                "groups",
                json!({"sub": "../ada", "groups": ["desk"]}),
                Err(Stranger::BadName),
            ),
            ("sub", "groups", json!({"sub": "ada"}), Err(Stranger::Roleless)),
            (
                "sub",
                "groups",
                json!({"sub": "ada", "groups": ["Desk", "desk ", "desk,admins"]}),
                Err(Stranger::Roleless),
            ),
            (
                "sub",
                "groups",
                json!({"sub": "ada", "groups": {"desk": true}}),
                Err(Stranger::Roleless),
            ),
            (
                "sub",
                "groups",
                json!({"sub": "ada", "groups": [["desk"]]}),
                Err(Stranger::Roleless),
            ),
        ] {
            let Value::Object(claims) = claims else { panic!() };
            assert_eq!(
                identity(&settings(principal, roles), &claims),
                expected,
                "{claims:?}"
            );
        }
    }
}
