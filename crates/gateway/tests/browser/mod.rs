//! What a browser does with cookies and forms, without a browser: so that a test can also do what a browser would not.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use std::collections::BTreeMap;

use reqwest::redirect::Policy;
use reqwest::{Client, Method, StatusCode, header};

use crate::stand::{Holder, Stand};

pub struct Browser {
    client: Client,
    origin: String,
    pub cookies: BTreeMap<String, String>,
    /// Headers that are sent along with everything.
    pub sent: Vec<(&'static str, String)>,
}

pub struct Answer {
    pub status: StatusCode,
    pub headers: header::HeaderMap,
    pub body: String,
}

impl Answer {
    /// The secret that the page's forms carry.
    pub fn csrf(&self) -> String {
        let (_, rest) = self
            .body
            .split_once("name=\"csrf\" value=\"")
            .unwrap_or_else(|| panic!("{}", self.body));
        rest.split('"').next().unwrap().to_owned()
    }

    pub fn location(&self) -> &str {
        self.headers
            .get(header::LOCATION)
            .map_or("", |value| value.to_str().unwrap())
    }

    pub fn set_cookies(&self) -> Vec<&str> {
        let all = self.headers.get_all(header::SET_COOKIE).iter();
        all.map(|value| value.to_str().unwrap()).collect()
    }
}

impl Browser {
    pub fn at(stand: &Stand) -> Self {
        Self {
            client: Client::builder().redirect(Policy::none()).build().unwrap(),
            origin: stand.url(""),
            cookies: BTreeMap::new(),
            sent: Vec::new(),
        }
    }

    /// Somebody who has signed in.
    pub async fn of(stand: &Stand, holder: &Holder) -> Self {
        let mut browser = Self::at(stand);
        let entered = browser.enter(&holder.token).await;
        assert_eq!(entered.status, StatusCode::SEE_OTHER, "{}", entered.body);
        browser
    }

    /// Shows a token at the door.
    pub async fn enter(&mut self, token: &str) -> Answer {
        let csrf = self.get("/console/sign-in").await.csrf();
        self.post("/console/sign-in", &[("csrf", &csrf), ("token", token)])
            .await
    }

    pub async fn get(&mut self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], None).await
    }

    /// Sends a form as a page of this origin does.
    pub async fn post(&mut self, path: &str, form: &[(&str, &str)]) -> Answer {
        let headers = [
            ("origin", self.origin.clone()),
            ("sec-fetch-site", "same-origin".to_owned()),
        ];
        self.post_from(&headers, path, form).await
    }

    /// Sends a form with these headers alone.
    pub async fn post_from(
        &mut self,
        headers: &[(&str, String)],
        path: &str,
        form: &[(&str, &str)],
    ) -> Answer {
        let body: Vec<_> = form
            .iter()
            .map(|(name, value)| format!("{name}={}", escaped(value)))
            .collect();
        self.send(Method::POST, path, headers, Some(body.join("&"))).await
    }

    async fn send(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, String)],
        body: Option<String>,
    ) -> Answer {
        let mut request = self.client.request(method, format!("{}{path}", self.origin));
        let cookies: Vec<_> = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        request = request.header(header::COOKIE, cookies.join("; "));
        for (name, value) in headers
            .iter()
            .map(|(name, value)| (*name, value))
            .chain(self.sent.iter().map(|(name, value)| (*name, value)))
        {
            request = request.header(name, value);
        }
        if let Some(body) = body {
            request = request
                .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(body);
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let answer = Answer {
            status,
            headers,
            body: response.text().await.unwrap(),
        };
        for cookie in answer.set_cookies() {
            let (pair, flags) = cookie.split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            if flags.contains("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }
}

pub fn escaped(text: &str) -> String {
    text.bytes()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}
