//! A real OpenID Connect provider in a process of its own, and a person who goes there and comes back.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, header};
use serde_json::{Value, json};
use tidegate_core::{Ident, Role};
use tidegate_gateway::{ConsoleOptions, Oidc, OidcSettings};
use tidegate_store::Hidden;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::browser::{Answer, Browser};
use crate::stand::{Setting, Stand};

/// Where the gateway says that it is. Nobody has to reach it there: tests carry the answer back themselves.
const PUBLIC: &str = "https://gate.example";
const BACK: &str = "/console/sign-in/oidc/callback";

/// The provider. It ends with the test.
pub struct Provider {
    process: Child,
    /// Kept open: a provider that nobody listens to any more would end.
    _said: BufReader<ChildStdout>,
    pub issuer: String,
    secret: Option<String>,
    client: Client,
}

/// Where the provider's package is, if it is installed.
fn installed() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let place = root.join("target/console-test");
    if place.join("node_modules/oidc-provider").exists() {
        return Some(place);
    }
    assert!(
        std::env::var("CI").as_deref() != Ok("true"),
        "the OpenID Connect provider is not installed: run cargo xtask test"
    );
    eprintln!("skipped: cargo xtask test installs the OpenID Connect provider this test needs");
    None
}

impl Provider {
    /// Starts one that knows the gateway, with a secret or without, and these people.
    pub fn start(secret: Option<&str>) -> Option<Self> {
        let place = installed()?;
        let script = place.join("provider.mjs");
        // A module finds its packages from where it lies.
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oidc_stand/provider.mjs");
        write_whole(&source, &script);
        let people = json!({
            "olga": {"groups": ["desk"], "email": "olga@harbour.example", "email_verified": true},
            "rita": {"groups": ["everybody", "reviewers"]},
            "ada": {"groups": ["admins"]},
            "alice": {"groups": ["desk"]},
            "nils": {"groups": ["everybody"]},
            "una": {},
            "auth|17": {"groups": ["desk"]},
            "auth|18": {"groups": ["desk"]},
        });
        let wanted = json!({
            "host": "127.0.0.1", "redirect": format!("{PUBLIC}{BACK}"), "secret": secret, "people": people,
        });
        let mut process = Command::new("node")
            .arg(script)
            .arg(wanted.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(process.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        assert!(line.starts_with("http://127.0.0.1:"), "{line:?}");
        Some(Self {
            process,
            _said: said,
            issuer: line.trim_end().to_owned(),
            secret: secret.map(str::to_owned),
            client: Client::builder().redirect(Policy::none()).build().unwrap(),
        })
    }

    /// What a gateway is told that relies on this provider.
    pub fn settings(&self) -> OidcSettings {
        let roles = [
            ("admins", Role::Admin),
            ("reviewers", Role::PiiAuthorizedReviewer),
            ("desk", Role::HumanOperator),
        ];
        OidcSettings {
            client_secret: self.secret.as_deref().map(Hidden::new),
            roles: roles.map(|(value, role)| (value.to_owned(), role)).to_vec(),
            people: [("auth|17".to_owned(), Ident::parse("gustav").unwrap())].into(),
            ..OidcSettings::of(&self.issuer, "tidegate", PUBLIC)
        }
    }

    /// Tells the provider what its tokens are to say, or that it changes its key.
    pub async fn tell(&self, wanted: Value) {
        let told = self.client.post(format!("{}/test", self.issuer));
        let told = told.body(wanted.to_string()).send().await.unwrap();
        assert!(told.status().is_success());
    }

    /// Goes where the gateway sends a person, says a name there, and gives the address that the provider sends them back to.
    pub async fn visit(&self, address: &str, login: &str) -> String {
        let mut cookies = Vec::<String>::new();
        let mut next = format!("{address}&login_hint={}", crate::browser::escaped(login));
        for _ in 0..6 {
            let request = self.client.get(&next).header(header::COOKIE, cookies.join("; "));
            let answer = request.send().await.unwrap();
            for cookie in answer.headers().get_all(header::SET_COOKIE) {
                let pair = cookie.to_str().unwrap().split(';').next().unwrap();
                cookies.push(pair.to_owned());
            }
            let location = answer.headers().get(header::LOCATION);
            let location = location.unwrap_or_else(|| panic!("{next}: {}", answer.status()));
            let location = location.to_str().unwrap();
            if let Some(back) = location.strip_prefix(PUBLIC) {
                assert!(back.starts_with(BACK), "{back}");
                return back.to_owned();
            }
            next = match location.starts_with('/') {
                true => format!("{}{location}", self.issuer),
                false => location.to_owned(),
            };
        }
        panic!("the provider sends people in circles");
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A gateway that relies on a provider.
pub async fn gateway(settings: OidcSettings) -> Stand {
    let oidc = Some(Arc::new(Oidc::new(settings).unwrap()));
    let console = ConsoleOptions {
        oidc,
        ..ConsoleOptions::STANDARD
    };
    Stand::start_with(Setting {
        console,
        ..Setting::default()
    })
    .await
}

/// Sets out for the provider, and gives where the gateway sends them.
pub async fn leave(browser: &mut Browser) -> String {
    let left = browser.get("/console/sign-in/oidc").await;
    assert_eq!(left.status, reqwest::StatusCode::SEE_OTHER, "{}", left.body);
    left.location().to_owned()
}

/// Goes there and comes back.
pub async fn sign_in(provider: &Provider, browser: &mut Browser, login: &str) -> Answer {
    let address = leave(browser).await;
    let back = provider.visit(&address, login).await;
    browser.get(&back).await
}

/// A gateway that relies on whatever is there, and does not wait long for it.
pub async fn unready(issuer: &str) -> Stand {
    gateway(OidcSettings {
        patience: Duration::from_millis(500),
        ..OidcSettings::of(issuer, "tidegate", "https://gate.example")
    })
    .await
}

/// A server that says this and then no more, or goes on without end.
pub async fn hostile(said: &'static [u8], is_endless: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 4_096];
                let _ = stream.read(&mut request).await;
                let mut written = stream.write_all(said).await;
                while is_endless && written.is_ok() {
                    written = stream.write_all(&[b' '; 4_096]).await;
                }
                let _ = stream.read(&mut request).await;
            });
        }
    });
    format!("http://{address}")
}

/// Puts a file in place in one step: other tests may be reading it.
fn write_whole(from: &Path, to: &Path) {
    let made = tempfile::NamedTempFile::new_in(to.parent().unwrap()).unwrap();
    std::fs::copy(from, made.path()).unwrap();
    made.persist(to).unwrap();
}
