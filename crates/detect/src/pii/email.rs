//! E-mail addresses, found from their `@`.

use super::rule::{PiiRule, Sink};

pub(crate) static EMAIL: PiiRule = PiiRule::personal(
    "email",
    "an e-mail address",
    "the characters, lengths and dots of local part and domain, and an ending that is no file name's",
);

const MAX_LOCAL: usize = 64;
const MAX_DOMAIN: usize = 253;

/// Endings that follow an `@` in file names, units and package references, never in mail domains.
const NOT_TOP_LEVEL: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "css", "scss", "js", "mjs", "ts", "tsx", "jsx",
    "json", "html", "php", "py", "rb", "rs", "go", "java", "class", "jar", "xml", "yml", "yaml", "toml",
    "lock", "md", "txt", "pdf", "service", "socket", "timer", "mount", "target", "slice", "local", "exe",
    "dll", "so",
];

/// Decides about the `@` at a place.
pub(crate) fn check(text: &[u8], at: usize, sink: &mut Sink<'_>) {
    let Some(end) = domain_end(text, at + 1) else {
        return;
    };
    let Some(start) = local_start(text, at) else {
        return;
    };
    if is_userinfo(text, start) {
        return;
    }
    let sure = if text.get(start..at) == Some(b"git") {
        40
    } else {
        97
    };
    sink.push(&EMAIL, start..end, sure);
}

/// Where the local part begins. What is longer than any local part ends in one all the same: something stands before it that
/// nobody can tell from it.
fn local_start(text: &[u8], at: usize) -> Option<usize> {
    let floor = at.saturating_sub(MAX_LOCAL);
    let mut start = at;
    while start > floor
        && text
            .get(start - 1)
            .is_some_and(|byte| is_local(*byte) && !parts_url(*byte))
    {
        start -= 1;
    }
    // In a JSON or source string the letter of an escape such as \n is not part of the address.
    if start > 0 && text.get(start - 1) == Some(&b'\\') && matches!(text.get(start), Some(b'n' | b't' | b'r'))
    {
        start += 1;
    }
    // Quotes, dots and dashes around an address are punctuation of the sentence.
    while start < at
        && text
            .get(start)
            .is_some_and(|byte| b".-'`*|{}!$%^~+".contains(byte))
    {
        start += 1;
    }
    let local = text.get(start..at)?;
    let dots_ok = !local.ends_with(b".") && !local.windows(2).any(|pair| pair == b"..");
    (!local.is_empty()
        && dots_ok
        && local
            .iter()
            .any(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80))
    .then_some(start)
}

/// What parts the pieces of a URL. A local part may have it as well, yet hardly any does, and many an address stands in a URL.
const fn parts_url(byte: u8) -> bool {
    matches!(byte, b'/' | b'?' | b'=' | b'&' | b'#')
}

const fn is_local(byte: u8) -> bool {
    byte >= 0x80 || LOCAL >> byte & 1 != 0
}

/// The ASCII characters of a local part, one bit for each.
const LOCAL: u128 = {
    let mut characters = 0;
    let mut byte = 0_u8;
    while byte < 0x80 {
        if byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'.' | b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'/'
            )
            || matches!(byte, b'=' | b'?' | b'^' | b'_' | b'`' | b'{' | b'|' | b'}' | b'~')
        {
            characters |= 1 << byte;
        }
        byte += 1;
    }
    characters
};

/// The end of the longest domain that starts here and has a top level.
fn domain_end(text: &[u8], start: usize) -> Option<usize> {
    let mut end = None;
    let mut at = start;
    loop {
        let label = text.get(at..)?;
        let length = label.iter().take(64).take_while(|byte| is_label(**byte)).count();
        let label = label.get(..length)?;
        // A dash at the end belongs to the sentence.
        let trimmed = length - label.iter().rev().take_while(|byte| **byte == b'-').count();
        let label = label.get(..trimmed)?;
        if label.is_empty() || length > 63 || label.starts_with(b"-") {
            break;
        }
        if at > start && is_top_level(label) {
            end = Some(at + trimmed);
        }
        at += length;
        if trimmed != length || text.get(at) != Some(&b'.') || at - start > MAX_DOMAIN {
            break;
        }
        at += 1;
    }
    end
}

fn is_label(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte >= 0x80
}

fn is_top_level(label: &[u8]) -> bool {
    let lettered = label
        .iter()
        .all(|byte| byte.is_ascii_alphabetic() || *byte >= 0x80);
    let encoded = label
        .get(..4)
        .is_some_and(|start| start.eq_ignore_ascii_case(b"xn--"));
    label.len() >= 2
        && (lettered || encoded)
        && !NOT_TOP_LEVEL
            .iter()
            .any(|ending| label.eq_ignore_ascii_case(ending.as_bytes()))
}

/// What may stand behind a URL in a table, a list or a text, where another value begins.
const ENDS_URL: &[u8] = b"\"'`,;<>()[]{}";

/// Whether what looks like a local part is the user or the password of a URL: `https://user:password@host`.
fn is_userinfo(text: &[u8], start: usize) -> bool {
    let floor = start.saturating_sub(128);
    let before = text.get(floor..start).unwrap_or_default();
    let word = before
        .rsplit(|byte| byte.is_ascii_whitespace() || ENDS_URL.contains(byte))
        .next()
        .unwrap_or_default();
    let scheme = word.windows(3).rposition(|part| part == b"://");
    let said = scheme.and_then(|scheme| word.get(scheme + 3..));
    // Behind the host comes what the URL says.
    said.is_some_and(|said| !said.iter().any(|byte| matches!(byte, b'/' | b'?' | b'#')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;

    fn check_all(text: &str, expected: &[&str]) {
        let mut found = Vec::new();
        let mut sink = Sink::new(&mut found, Confidence::percent(50));
        for (at, _) in text.match_indices('@') {
            check(text.as_bytes(), at, &mut sink);
        }
        let spans: Vec<_> = found.iter().map(|finding| &text[finding.span.clone()]).collect();
        assert_eq!(spans, expected, "{text}");
    }

    #[test]
    fn addresses_in_urls() {
        check_all(
            "https://evil.example/c?mail=ann@example.org",
            &["ann@example.org"],
        );
        check_all(
            "GET http://x.example/u/ann.b@example.org/edit?a=1#bob@example.org",
            &["ann.b@example.org", "bob@example.org"],
        );
        for behind in [",", ";", ", ", "\",\"", "','", ">", ")("] {
            check_all(
                &format!("Acme,https://acme.example{behind}ann@acme.example"),
                &["ann@acme.example"],
            );
        }
        let tracked =
            "utm_source=news&utm_medium=mail&utm_campaign=spring&ref=abcdefghijk&email=ann@example.org";
        check_all(tracked, &["ann@example.org"]);
        let long = format!("{}ann@example.org", "x".repeat(80));
        check_all(&long, &[&long[19..]]);
    }

    #[test]
    fn addresses_and_what_only_looks_like_them() {
        check_all("Mail a.b+c@example.co.uk.", &["a.b+c@example.co.uk"]);
        check_all("<x@y.de>,'q@r.org'", &["x@y.de", "q@r.org"]);
        check_all("jörg@müller.example", &["jörg@müller.example"]);
        check_all(r#"{"t":"hi\nbob@example.com"}"#, &["bob@example.com"]);
        check_all("a@b, @c.de, logo@2x.png, pkg@1.2.3, user@localhost", &[]);
        check_all("https://user:hunter2@example.com/x", &[]);
        check_all("https://user:p=w&d@example.com/x ssh://git@example.com/y", &[]);
        check_all("mailto:ann@example.org?subject=x", &["ann@example.org"]);
        check_all("a..b@example.com .@example.com", &[]);
    }
}
