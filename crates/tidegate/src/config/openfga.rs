//! `[openfga]`: the server that says who may use which tool. Absent, the control list lets everybody use its tools.

use std::time::Duration;

use tidegate_authority::{Consistency, Settings};

use super::model::needed;
use super::servers::{read_url, variable};
use super::walk::Section;

const MAX_CACHE_TTL_MS: u64 = 300_000;

/// A server, and where the secrets for it are.
#[derive(Clone, Debug)]
pub(crate) struct OpenFga {
    /// Everything but the credentials.
    pub(crate) settings: Settings,
    /// How the gateway shows who it is.
    pub(crate) login: Login,
}

/// How the gateway shows who it is. Secrets are named by the variables that hold them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Login {
    /// Not at all.
    None,
    /// By a key that the server knows.
    PresharedKey {
        /// The variable that holds it.
        variable: String,
    },
    /// By tokens from a token server.
    ClientCredentials {
        /// The token server's address.
        token_url: String,
        /// Who the gateway is there.
        client_id: String,
        /// The variable that holds its secret.
        secret_variable: String,
        /// For whom the tokens are.
        audience: Option<String>,
        /// What they are good for.
        scopes: Option<String>,
    },
}

/// Reads the section.
pub(super) fn read(root: &mut Section<'_, '_>) -> Option<OpenFga> {
    let mut section = root.section("openfga")?;
    let address = needed(&mut section, "url");
    let url = address.and_then(|_| {
        let text = section.text("url")?;
        read_url(&section, text)
    });
    let store = needed(&mut section, "store");
    let model = section.text("model").map(|text| {
        if text.len() != 26 || !text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            let name = section.name_of("model");
            let error =
                format_args!("{name} must be the id of an authorization model, 26 letters and digits");
            section.report().error(text.offset, error);
        }
        text.to_string()
    });
    let known = [
        Consistency::MinimizeLatency.as_str(),
        Consistency::HigherConsistency.as_str(),
    ];
    let consistency = section.parsed("consistency", &known);
    let cache_ttl = section.count("cache_ttl_ms", 0..=MAX_CACHE_TTL_MS);
    let most = u64::try_from(Settings::MAX_TIMEOUT.as_millis()).unwrap_or(u64::MAX);
    let timeout = section.count("timeout_ms", 10..=most);
    let login = login(&mut section);
    let mut settings = Settings::new(url?.as_str(), &store?);
    settings.model = model;
    settings.consistency = consistency.map_or(settings.consistency, |at| at.value);
    settings.cache_ttl = cache_ttl.map_or(settings.cache_ttl, Duration::from_millis);
    settings.timeout = timeout.map_or(settings.timeout, Duration::from_millis);
    Some(OpenFga {
        settings,
        login: login?,
    })
}

fn login(section: &mut Section<'_, '_>) -> Option<Login> {
    let key = section.text("token_env");
    if key.is_some() && section.has("client_credentials") {
        let error = "openfga takes token_env or client_credentials, and not both";
        section
            .report()
            .error(section.offset_of("client_credentials"), error);
    }
    if let Some(mut client) = section.section("client_credentials") {
        return client_credentials(&mut client);
    }
    match key {
        Some(text) => Some(Login::PresharedKey {
            variable: variable(section, &section.name_of("token_env"), text)?,
        }),
        None => Some(Login::None),
    }
}

fn client_credentials(section: &mut Section<'_, '_>) -> Option<Login> {
    let address = needed(section, "token_url");
    let token_url = address.and_then(|_| {
        let text = section.text("token_url")?;
        read_url(section, text)
    });
    let client_id = needed(section, "client_id");
    let secret = needed(section, "client_secret_env");
    let secret_variable = secret.and_then(|_| {
        let text = section.text("client_secret_env")?;
        variable(section, &section.name_of("client_secret_env"), text)
    });
    let audience = section.text("audience").map(|text| text.to_string());
    let scopes = section.text("scopes").map(|text| text.to_string());
    Some(Login::ClientCredentials {
        token_url: token_url?.into(),
        client_id: client_id?,
        secret_variable: secret_variable?,
        audience,
        scopes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Overrides, check};
    use std::path::Path;

    const PLAIN: &str = "[openfga]\nurl = \"http://127.0.0.1:8080/\"\nstore = \"tidegate\"\n";

    fn read(text: &str) -> Result<OpenFga, Vec<String>> {
        let overrides = Overrides {
            data_dir: Some("state".into()),
            ..Overrides::default()
        };
        let checked = check(text, Path::new("."), &overrides);
        let problems = checked.problems.iter().map(|problem| problem.line("f")).collect();
        checked.config.and_then(|config| config.openfga).ok_or(problems)
    }

    #[test]
    fn an_address_and_a_store_are_enough() {
        let read = read(PLAIN).unwrap();
        assert_eq!(read.settings.url, "http://127.0.0.1:8080");
        assert_eq!(read.settings.timeout, Settings::TIMEOUT);
        assert_eq!(read.settings.cache_ttl, Settings::CACHE_TTL);
        assert_eq!(read.login, Login::None);
    }

    #[test]
    fn every_setting_is_read() {
        let more = "model = \"01HVMMBCMGZNT3SED4Z17ECXCA\"\nconsistency = \"higher_consistency\"\ncache_ttl_ms = 0\n\
                    timeout_ms = 300\n[openfga.client_credentials]\ntoken_url = \"http://127.0.0.1:9/token\"\n\
                    client_id = \"gateway\"\nclient_secret_env = \"SECRET\"\naudience = \"fga\"\nscopes = \"a b\"\n";
        let read = read(&format!("{PLAIN}{more}")).unwrap();
        assert_eq!(read.settings.consistency, Consistency::HigherConsistency);
        assert_eq!(read.settings.cache_ttl, Duration::ZERO);
        assert_eq!(read.settings.timeout, Duration::from_millis(300));
        assert!(read.settings.model.is_some());
        let login = Login::ClientCredentials {
            token_url: "http://127.0.0.1:9/token".into(),
            client_id: "gateway".into(),
            secret_variable: "SECRET".into(),
            audience: Some("fga".into()),
            scopes: Some("a b".into()),
        };
        assert_eq!(read.login, login);
    }

    #[test]
    fn mistakes_are_named_and_values_are_not_repeated() {
        for (more, said) in [
            (
                "consistency = \"strong\"\n",
                "openfga.consistency: not a consistency",
            ),
            (
                "timeout_ms = 3000\n",
                "openfga.timeout_ms must be between 10 and 2500",
            ),
            (
                "cache_ttl_ms = 900000\n",
                "openfga.cache_ttl_ms must be between 0 and 300000",
            ),
            ("model = \"canary\"\n", "openfga.model must be the id"),
            (
                "token_env = \"canary value\"\n",
                "openfga.token_env: expected the name of an environment variable",
            ),
            (
                "tokn_env = \"X\"\n",
                "unknown key openfga.tokn_env; did you mean token_env?",
            ),
            (
                "token_env = \"X\"\nclient_credentials = { token_url = \"http://127.0.0.1:9\", client_id = \"a\", client_secret_env = \"S\" }\n",
                "token_env or client_credentials, and not both",
            ),
            (
                "client_credentials = { client_id = \"a\" }\n",
                "openfga.client_credentials.token_url is needed",
            ),
        ] {
            let problems = read(&format!("{PLAIN}{more}")).unwrap_err().join("\n");
            assert!(problems.contains(said), "{said}: {problems}");
            assert!(!problems.contains("canary"), "{problems}");
        }
        for text in [
            "[openfga]\nstore = \"x\"\n",
            "[openfga]\nurl = \"http://127.0.0.1:1\"\n",
        ] {
            assert!(read(text).unwrap_err().join("\n").contains("is needed"));
        }
    }
}
