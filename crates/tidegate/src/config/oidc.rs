//! `[console.oidc]`: the provider that signs people in at /console.

use std::collections::BTreeMap;
use std::path::Path;

use tidegate_core::{Ident, Role, is_vouched};
use tidegate_engine::access::reach;
use tidegate_engine::{Act, Reach};
use tidegate_gateway::OidcSettings;
use url::Url;

use super::model::needed;
use super::servers::{is_loopback, variable};
use super::walk::{At, Section};

/// The most characters of what people call the provider.
const MOST_NAME: usize = 60;

/// Who signs people in.
#[derive(Clone, Debug)]
pub(crate) struct Oidc {
    /// Everything but the secret.
    pub(crate) settings: OidcSettings,
    /// The variable that holds the client's secret; without one the gateway is a public client.
    pub(crate) secret_variable: Option<String>,
}

/// Reads the section, if it is there.
pub(super) fn read(console: &mut Section<'_, '_>, directory: &Path) -> Option<Oidc> {
    let mut section = console.section("oidc")?;
    let issuer = needed(&mut section, "issuer");
    let client_id = needed(&mut section, "client_id");
    let public_url = needed(&mut section, "public_url");
    let issuer = issuer.filter(|text| is_address(&section, "issuer", text, |_| true));
    let public_url =
        public_url.filter(|text| is_address(&section, "public_url", text, |url| url.path() == "/"));
    let secret_variable = section
        .text("client_secret_env")
        .and_then(|text| variable(&section, &section.name_of("client_secret_env"), text));
    let name = section.text("name");
    let scopes = read_scopes(&mut section);
    let principal_claim = claim(&mut section, "principal_claim");
    let roles_claim = claim(&mut section, "roles_claim");
    let ca_file = section.text("ca_file").map(|file| directory.join(file.value));
    let roles = read_roles(&mut section);
    let people = read_people(&mut section);
    let mut settings = OidcSettings::of(&issuer?, &client_id?, &public_url?);
    if let Some(name) = name {
        if name.trim().is_empty() || name.chars().count() > MOST_NAME {
            let told = format_args!("console.oidc.name must have 1 to {MOST_NAME} characters");
            section.report().error(name.offset, told);
        }
        settings.name = name.trim().to_owned();
    }
    settings.principal_claim = principal_claim.unwrap_or(settings.principal_claim);
    settings.roles_claim = roles_claim.unwrap_or(settings.roles_claim);
    Some(Oidc {
        settings: OidcSettings {
            scopes,
            ca_file,
            roles,
            people,
            ..settings
        },
        secret_variable,
    })
}

/// Whether a text is the address of a server: under TLS, or on this machine.
fn is_address(section: &Section<'_, '_>, key: &str, text: &str, fits: fn(&Url) -> bool) -> bool {
    let url = Url::parse(text).ok().filter(|url| {
        let is_bare = url.query().is_none() && url.fragment().is_none();
        let is_anonymous = url.username().is_empty() && url.password().is_none();
        let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url));
        is_bare && is_anonymous && is_safe && url.has_host() && fits(url)
    });
    if url.is_none() {
        let name = section.name_of(key);
        let wanted = match key {
            "public_url" => "https://HOST, where browsers reach this gateway (http only on this machine)",
            _ => "https://HOST/PATH, exactly as the provider writes it (http only on this machine)",
        };
        let told = format_args!("{name}: expected {wanted}");
        section.report().error(section.offset_of(key), told);
    }
    url.is_some()
}

fn claim(section: &mut Section<'_, '_>, key: &'static str) -> Option<String> {
    let text = section.text(key)?;
    if text.trim().is_empty() {
        let name = section.name_of(key);
        section
            .report()
            .error(text.offset, format_args!("{name} must name a claim"));
    }
    Some((*text).to_owned())
}

fn read_scopes(section: &mut Section<'_, '_>) -> Vec<String> {
    let name = section.name_of("scopes");
    let scopes = section.texts("scopes");
    let is_scope = |text: &At<&str>| {
        let is_one = !text.is_empty()
            && text
                .bytes()
                .all(|b| b.is_ascii_graphic() && b != b'"' && b != b'\\');
        if !is_one {
            section.report().error(
                text.offset,
                format_args!("{name}: each is one word, such as \"email\""),
            );
        }
        is_one
    };
    scopes
        .into_iter()
        .filter(is_scope)
        .map(|text| text.value.to_owned())
        .collect()
}

/// Which value stands for which role, in the order of the file.
fn read_roles(section: &mut Section<'_, '_>) -> Vec<(String, Role)> {
    let known = Role::ALL.map(Role::as_str);
    let pairs = section.pairs("roles");
    let report = section.report();
    if pairs.is_empty() {
        let told = "console.oidc.roles maps nothing to a role, so nobody can sign in by the provider";
        report.warn(section.offset_of("roles"), told);
    }
    let role = |(value, text): (At<&str>, At<&str>)| {
        let name = section.name_of("roles");
        let role = section.parse::<Role>(&name, text, &known)?;
        if reach(role.value, Act::Browse) == Reach::Nothing {
            let told = format_args!(
                "{name}: {} is for programs; the console is for people",
                role.value
            );
            report.error(role.offset, told);
        }
        Some((value.value.to_owned(), role.value))
    };
    pairs.into_iter().filter_map(role).collect()
}

/// What people are called here whom the provider calls otherwise.
fn read_people(section: &mut Section<'_, '_>) -> BTreeMap<String, Ident> {
    let pairs = section.pairs("people");
    let person = |(value, text): (At<&str>, At<&str>)| {
        let ident = Ident::parse(&text).ok().filter(|ident| !is_vouched(ident));
        if ident.is_none() {
            let name = section.name_of("people");
            let told = format_args!("{name}: expected a principal's name, such as the one of their token");
            section.report().error(text.offset, told);
        }
        Some((value.value.to_owned(), ident?))
    };
    pairs.into_iter().filter_map(person).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Checked, Overrides, check};
    use super::*;

    fn checked(text: &str) -> Checked {
        check(text, Path::new("/etc/tidegate"), &Overrides::default())
    }

    const NEEDED: &str = "[console.oidc]\nissuer = \"https://login.example/realm\"\nclient_id = \"gate\"\n\
                          public_url = \"https://gate.example\"\n";

    #[test]
    fn the_first_line_that_fits_is_the_first_of_the_file() {
        let text = format!(
            "{NEEDED}ca_file = \"ca.pem\"\nclient_secret_env = \"SECRET\"\nscopes = [\"groups\"]\n[console.oidc.roles]\n\
             zebra = \"auditor\"\n\"my group\" = \"admin\"\nant = \"human-operator\"\n[console.oidc.people]\n\"auth0|1\" = \"olga\"\n"
        );
        let console = checked(&text).config.unwrap().console.unwrap();
        let Oidc {
            settings,
            secret_variable,
        } = console.oidc.unwrap();
        let roles: Vec<_> = settings
            .roles
            .iter()
            .map(|(value, role)| (value.as_str(), *role))
            .collect();
        let expected = [
            ("zebra", Role::Auditor),
            ("my group", Role::Admin),
            ("ant", Role::HumanOperator),
        ];
        assert_eq!(roles, expected);
        assert_eq!(settings.people["auth0|1"].as_str(), "olga");
        assert_eq!(settings.ca_file.unwrap(), Path::new("/etc/tidegate/ca.pem"));
        assert_eq!(secret_variable.unwrap(), "SECRET");
        assert_eq!(
            (settings.principal_claim.as_str(), settings.roles_claim.as_str()),
            ("sub", "groups")
        );
    }

    #[test]
    fn mistakes_are_told() {
        let roles = "[console.oidc.roles]\ndesk = \"human-operator\"\n";
        for (text, told) in [
            ("[console.oidc]\n".to_owned(), "console.oidc.issuer is needed"),
            (NEEDED.to_owned(), "so nobody can sign in"),
            (
                NEEDED.replace("https://login", "http://login") + roles,
                "console.oidc.issuer: expected https",
            ),
            (
                NEEDED.replace("realm", "realm?x=1") + roles,
                "console.oidc.issuer: expected https",
            ),
            (
                NEEDED.replace("https://gate", "http://gate") + roles,
                "console.oidc.public_url: expected https",
            ),
            (
                NEEDED.replace("gate.example", "gate.example/under") + roles,
                "console.oidc.public_url",
            ),
            (format!("{NEEDED}scopes = [\"a b\"]\n{roles}"), "each is one word"),
            (format!("{NEEDED}clientsecret = \"x\"\n{roles}"), "clientsecret"),
            (format!("{NEEDED}name = \"\"\n{roles}"), "1 to 60 characters"),
            (
                format!("{NEEDED}roles_claim = \" \"\n{roles}"),
                "must name a claim",
            ),
            (
                format!("{NEEDED}[console.oidc.roles]\ndesk = \"agent\"\n"),
                "is for programs",
            ),
            (
                format!("{NEEDED}[console.oidc.roles]\ndesk = \"admim\"\n"),
                "admin",
            ),
            (
                format!("{NEEDED}{roles}[console.oidc.people]\nx = \"a b\"\n"),
                "expected a principal's name",
            ),
            (
                format!("{NEEDED}{roles}[console.oidc.people]\nx = \"oidc:y\"\n"),
                "expected a principal's name",
            ),
        ] {
            let problems = checked(&text).problems;
            let said: Vec<_> = problems.iter().map(|problem| &problem.message).collect();
            assert!(said.iter().any(|said| said.contains(told)), "{told}: {said:?}");
        }
        assert!(checked(&format!("{NEEDED}{roles}")).problems.is_empty());
    }
}
