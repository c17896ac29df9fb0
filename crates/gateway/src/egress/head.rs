//! The head of a request, read strictly.
//!
//! Two programs that read one message differently let a second request hide in the first. The libraries here are lenient
//! in places (a bare line feed ends a line, equal lengths may repeat, a length beside chunks is dropped), so the bytes are
//! judged before any of them sees them: what is not spelled in the one plain way is refused. Each connection carries one
//! request, so there is no second message for a smuggled one to become.

use std::time::Duration;

use axum::http::Method;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use memchr::memmem;
use tidegate_core::Fault;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The most headers that are read.
const MOST_HEADERS: usize = 100;

/// The end of a head.
const END: &[u8] = b"\r\n\r\n";

/// The head of a request and all bytes that came with it.
pub(super) struct Head {
    /// What is asked for.
    pub(super) method: Method,
    /// Of what, as it was written.
    pub(super) target: String,
    /// The headers.
    pub(super) headers: HeaderMap,
    /// Everything that was read: the head, and what came after it.
    pub(super) bytes: Vec<u8>,
    /// Where the head ends in it.
    pub(super) end: usize,
}

impl Head {
    /// What came after the head.
    pub(super) fn rest(&self) -> &[u8] {
        self.bytes.get(self.end..).unwrap_or_default()
    }

    /// The one value of a header; a fault where there are several.
    pub(super) fn only(&self, name: &HeaderName) -> Result<Option<&str>, Fault> {
        let mut values = self.headers.get_all(name).iter();
        let Some(value) = values.next() else {
            return Ok(None);
        };
        match (values.next(), value.to_str()) {
            (None, Ok(text)) => Ok(Some(text)),
            (Some(_), _) | (_, Err(_)) => Err(Fault::Malformed),
        }
    }
}

/// Reads the head of a request. Nothing where the client leaves without having said anything.
pub(super) async fn read(
    from: &mut (impl AsyncRead + Unpin),
    most_bytes: usize,
    timeout: Duration,
) -> Result<Option<Head>, Fault> {
    let reading = tokio::time::timeout(timeout, read_bytes(from, most_bytes));
    let Some((bytes, end)) = reading.await.map_err(|_| Fault::TooSlow)?? else {
        return Ok(None);
    };
    parse(bytes, end).map(Some)
}

async fn read_bytes(
    from: &mut (impl AsyncRead + Unpin),
    most_bytes: usize,
) -> Result<Option<(Vec<u8>, usize)>, Fault> {
    let mut bytes = Vec::with_capacity(2_048);
    loop {
        let seen = bytes.len();
        match from.read_buf(&mut bytes).await {
            Ok(0) | Err(_) if bytes.is_empty() => return Ok(None),
            Ok(0) | Err(_) => return Err(Fault::Malformed),
            Ok(_) => {}
        }
        let end = memmem::find(&bytes, END).map(|at| at + END.len());
        let head = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        // A line feed by itself would be the end of a line to some readers: it is not waited for.
        if !has_strict_lines(head, seen) {
            return Err(Fault::Malformed);
        }
        if head.len() > most_bytes {
            return Err(Fault::HeadTooLarge);
        }
        if let Some(end) = end {
            return Ok(Some((bytes, end)));
        }
    }
}

/// Whether lines end in carriage return and line feed alone, and none goes on in the next, from a place on.
fn has_strict_lines(head: &[u8], from: usize) -> bool {
    let starts_well = !matches!(head.first(), Some(b'\r' | b'\n' | b' ' | b'\t'));
    let news = head.get(from..).unwrap_or_default();
    let mut before = from.checked_sub(1).and_then(|last| head.get(last).copied());
    for &byte in news {
        let follows_well = match (before, byte) {
            (Some(b'\r'), byte) => byte == b'\n',
            (_, b'\n') => false,
            (Some(b'\n'), b' ' | b'\t') => false,
            (_, 0) => false,
            _ => true,
        };
        if !follows_well {
            return false;
        }
        before = Some(byte);
    }
    starts_well
}

fn parse(bytes: Vec<u8>, end: usize) -> Result<Head, Fault> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let head = bytes.get(..end).unwrap_or_default();
    match request.parse(head) {
        Ok(httparse::Status::Complete(read)) if read == end => {}
        Err(httparse::Error::TooManyHeaders) => return Err(Fault::HeadTooLarge),
        Ok(_) | Err(_) => return Err(Fault::Malformed),
    }
    let method = Method::from_bytes(request.method.unwrap_or_default().as_bytes());
    let mut map = HeaderMap::new();
    for header in request.headers.iter() {
        let name = HeaderName::from_bytes(header.name.as_bytes());
        let value = HeaderValue::from_bytes(header.value);
        let (Ok(name), Ok(value)) = (name, value) else {
            return Err(Fault::Malformed);
        };
        map.append(name, value);
    }
    let target = request.path.unwrap_or_default().to_owned();
    let is_newest = request.version == Some(1);
    let method = method.map_err(|_| Fault::Malformed)?;
    let head = Head {
        method,
        target,
        headers: map,
        bytes,
        end,
    };
    check_framing(&head, is_newest)?;
    Ok(head)
}

/// One way to say how long a body is, one host, no other protocol.
fn check_framing(head: &Head, is_newest: bool) -> Result<(), Fault> {
    let length = head.only(&header::CONTENT_LENGTH)?;
    let coding = head.only(&header::TRANSFER_ENCODING)?;
    let host = head.only(&header::HOST)?;
    let is_number =
        |text: &str| !text.is_empty() && text.len() <= 18 && text.bytes().all(|b| b.is_ascii_digit());
    let has_body = length.is_some_and(|length| length.bytes().any(|b| b != b'0')) || coding.is_some();
    let fits = length.is_none_or(is_number)
        && coding.is_none_or(|coding| is_newest && coding.eq_ignore_ascii_case("chunked"))
        && !(length.is_some() && coding.is_some())
        && (host.is_some() || !is_newest)
        && !(has_body && matches!(head.method, Method::CONNECT | Method::TRACE));
    if !fits {
        return Err(Fault::Malformed);
    }
    let connection = head.headers.get_all(header::CONNECTION);
    let mut options = connection
        .iter()
        .flat_map(|value| value.as_bytes().split(|b| *b == b','));
    let upgrades = options.any(|option| option.trim_ascii().eq_ignore_ascii_case(b"upgrade"));
    if upgrades || head.headers.contains_key(header::UPGRADE) {
        return Err(Fault::Upgrade);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    async fn outcome(pieces: &[&[u8]]) -> Result<Option<Head>, Fault> {
        let (mut near, mut far) = tokio::io::duplex(64 * 1024);
        for piece in pieces {
            tokio::io::AsyncWriteExt::write_all(&mut near, piece)
                .await
                .unwrap();
        }
        drop(near);
        read(&mut far, 4_096, Duration::from_secs(5)).await
    }

    #[tokio::test]
    async fn only_plain_heads_pass() {
        let long = format!(
            "GET http://a/ HTTP/1.1\r\nHost: a\r\nx: {}\r\n\r\n",
            "y".repeat(5_000)
        );
        let many = format!(
            "GET http://a/ HTTP/1.1\r\nHost: a\r\n{}\r\n",
            "x: y\r\n".repeat(101)
        );
        let cases: &[(&str, Option<Fault>)] = &[
            ("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", None),
            ("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n\x16\x03", None),
            ("CONNECT a:443 HTTP/1.0\r\n\r\n", None),
            (
                "POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                None,
            ),
            (
                "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
                None,
            ),
            ("GET http://a/ HTTP/1.1\nHost: a\n\n", Some(Fault::Malformed)),
            (
                "GET http://a/ HTTP/1.1\r\nHost: a\nX: y\r\n\r\n",
                Some(Fault::Malformed),
            ),
            (
                "GET http://a/ HTTP/1.1\r\nHost: a\rX: y\r\n\r\n",
                Some(Fault::Malformed),
            ),
            (
                "\r\nGET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
                Some(Fault::Malformed),
            ),
            (
                "GET http://a/ HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n",
                Some(Fault::Malformed),
            ),
            (
                "GET http://a/ HTTP/1.1\r\nHost : a\r\n\r\n",
                Some(Fault::Malformed),
            ),
            ("GET http://a/ HTTP/1.1\r\n\r\n", Some(Fault::Malformed)),
            (
                "GET http://a/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
                Some(Fault::Malformed),
            ),
            (
                "GET  http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
                Some(Fault::Malformed),
            ),
            ("GET http://a/\r\nHost: a\r\n\r\n", Some(Fault::Malformed)),
            (
                "GET http://a/ HTTP/2.0\r\nHost: a\r\n\r\n",
                Some(Fault::Malformed),
            ),
            (
                "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
                Some(Fault::Malformed),
            ),
            (
                "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
                Some(Fault::Malformed),
            ),
            (
                "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\n",
                Some(Fault::Malformed),
            ),
            (
                "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\n",
                Some(Fault::Malformed),
            ),
            (
                "POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
                Some(Fault::Malformed),
            ),
            (
                "POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n",
                Some(Fault::Malformed),
            ),
            (
                "POST http://a/ HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
                Some(Fault::Malformed),
            ),
            (
                "CONNECT a:443 HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nabcd",
                Some(Fault::Malformed),
            ),
            (
                "GET http://a/ HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\n\r\n",
                Some(Fault::Upgrade),
            ),
            (
                "GET http://a/ HTTP/1.1\r\nHost: a\r\nConnection: close, Upgrade\r\n\r\n",
                Some(Fault::Upgrade),
            ),
            (
                "GET http://a/ HTTP/1.1\r\nHost: a\r\nx: \0\r\n\r\n",
                Some(Fault::Malformed),
            ),
            ("GET http://a/ HT", Some(Fault::Malformed)),
            (&long, Some(Fault::HeadTooLarge)),
            (&many, Some(Fault::HeadTooLarge)),
        ];
        for (text, fault) in cases {
            let whole = outcome(&[text.as_bytes()]).await;
            assert_eq!(whole.as_ref().err(), fault.as_ref(), "{text:?}");
            assert!(matches!(whole, Ok(Some(_)) | Err(_)));
        }
        assert!(matches!(outcome(&[]).await, Ok(None)));
    }

    proptest! {
        #[test]
        fn a_head_is_judged_alike_however_it_arrives(
            text in "(GET|G\nET) http://a/ HTTP/1.1(\r\n|\n|\r)Host: a(\r\n|\n|\r\n )(x: y\r\n)?\r\n", cut in 0..40usize
        ) {
            let bytes = text.as_bytes();
            let whole = has_strict_lines(bytes, 0);
            let cut = cut.min(bytes.len());
            let pieces = has_strict_lines(&bytes[..cut], 0) && has_strict_lines(bytes, cut);
            prop_assert_eq!(whole, pieces);
        }
    }
}
