//! A server that misbehaves in every way yields a typed error, in bounded time and memory.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use tidegate_classify::{ClassifyError, Endpoint, EndpointSettings, Opinion};
use tidegate_core::Class;

/// What the server does with one connection after it has read a request.
type Manner = fn(&mut TcpStream);

fn answer(stream: &mut TcpStream, status: &str, body: &str) {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all((head + body).as_bytes());
}

fn completion(content: &str) -> String {
    serde_json::json!({"choices": [{"message": {"role": "assistant", "content": content}}]}).to_string()
}

/// Serves one connection in a manner of its own; gives back the address.
fn serve(manner: Manner) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let _ = stream.read(&mut request);
        manner(&mut stream);
    });
    format!("http://{address}/v1/chat/completions")
}

fn ask(url: &str) -> Result<Opinion, ClassifyError> {
    let mut settings = EndpointSettings::new(url, "any");
    settings.timeout = Duration::from_millis(700);
    settings.max_answer = 4096;
    Endpoint::new(settings).classify("the quick brown fox")
}

#[test]
fn a_good_answer_is_an_opinion() {
    let url = serve(|stream| {
        answer(
            stream,
            "200 OK",
            &completion(r#"{"class": "pii", "injection": 0.5}"#),
        )
    });
    let opinion = ask(&url).unwrap();
    assert_eq!((opinion.class, opinion.injection), (Class::Pii, 0.5));
}

#[test]
fn every_misbehaviour_is_a_typed_error() {
    let cases: [(&str, Manner, ClassifyError); 9] = [
        (
            "error status",
            |s| answer(s, "500 Oops", "{}"),
            ClassifyError::Status(500),
        ),
        (
            "redirect",
            |s| answer(s, "307 Elsewhere", ""),
            ClassifyError::Status(307),
        ),
        (
            "wrong JSON",
            |s| answer(s, "200 OK", "{\"choices\": 7}"),
            ClassifyError::Unreadable,
        ),
        (
            "no JSON",
            |s| answer(s, "200 OK", "<html>"),
            ClassifyError::Unreadable,
        ),
        (
            "no opinion",
            |s| answer(s, "200 OK", &completion("It looks fine to me.")),
            ClassifyError::Unreadable,
        ),
        (
            "silence",
            |_| thread::sleep(Duration::from_secs(3)),
            ClassifyError::TimedOut,
        ),
        (
            "one byte at a time",
            |s| {
                let _ = s.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n");
                while s.write_all(b" ").is_ok() {
                    thread::sleep(Duration::from_millis(100));
                }
            },
            ClassifyError::TimedOut,
        ),
        (
            "huge answer",
            |s| answer(s, "200 OK", &" ".repeat(100_000)),
            ClassifyError::AnswerTooLong,
        ),
        ("hangs up", |_| {}, ClassifyError::Unreachable),
    ];
    for (name, manner, expected) in cases {
        let outcome = ask(&serve(manner)).unwrap_err();
        assert_eq!(outcome, expected, "{name}");
    }
}

#[test]
fn nobody_there_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    assert_eq!(ask(&url), Err(ClassifyError::Unreachable));
}

#[test]
fn a_long_text_is_not_sent() {
    let settings = EndpointSettings::new("http://127.0.0.1:9/", "any");
    let text = "x".repeat(settings.max_text + 1);
    assert_eq!(
        Endpoint::new(settings).classify(&text),
        Err(ClassifyError::TextTooLong)
    );
}

#[test]
fn the_key_is_never_shown() {
    let settings = EndpointSettings::new("http://127.0.0.1:9/", "any").with_key("do-not-print".to_owned());
    assert!(!format!("{:?}", Endpoint::new(settings)).contains("do-not-print"));
}
