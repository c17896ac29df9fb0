//! Passwords that stand beside a user name: in URLs, on command lines, in connection strings, in HTTP headers.

use std::ops::Range;

use data_encoding::BASE64_NOPAD;

use super::bounds::{ahead, behind, may_begin, name_may_begin};
use super::exclude::{
    contains_any_case, is_published_sample, is_reference, is_stock_word, never_a_secret, not_random,
};
use super::shape::entropy;

/// The longest authority of a URL that is read.
const AUTHORITY: usize = 512;

/// The longest header value that is read.
const HEADER: usize = 4096;

/// `scheme://user:password@host`: the password, at the `://`.
pub(super) fn in_url(text: &[u8], at: &Range<usize>) -> Option<Range<usize>> {
    let scheme = behind(text, at.start, 1);
    if !scheme.first().is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let rest = ahead(text, at.end, AUTHORITY);
    let end = rest
        .iter()
        .position(|&byte| ends_authority(byte))
        .unwrap_or(rest.len());
    let authority = rest.get(..end)?;
    let host = authority.iter().rposition(|&byte| byte == b'@')?;
    let login = authority.get(..host)?;
    let colon = login.iter().position(|&byte| byte == b':')?;
    let password = login.get(colon + 1..)?;
    let names_host = authority
        .get(host + 1)
        .is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'[' | b'$' | b'{'));
    let user = login.get(..colon)?;
    let is_default = user.eq_ignore_ascii_case(password) && is_near_host(authority.get(host + 1..)?);
    (names_host && !is_default && is_login(user, password)).then(|| at.end + colon + 1..at.end + host)
}

/// `curl -u user:password`: the password, at the `-u ` or `--user `.
pub(super) fn on_command_line(text: &[u8], at: &Range<usize>) -> Option<Range<usize>> {
    if !is_flag(text, at) || !contains_any_case(behind(text, at.start, 256), b"curl") {
        return None;
    }
    let word = shell_word(text, at.end);
    let bytes = text.get(word.clone())?;
    let colon = bytes.iter().position(|&byte| byte == b':')?;
    let user = unquoted(text, word.start..word.start + colon);
    let password = unquoted(text, word.start + colon + 1..word.end);
    let (user_bytes, password_bytes) = (text.get(user.clone())?, text.get(password.clone())?);
    if password_bytes.is_empty() {
        let is_key =
            user_bytes.len() >= 8 && never_a_secret(user_bytes).is_none() && not_random(user_bytes).is_none();
        return is_key.then_some(user);
    }
    is_login(user_bytes, password_bytes).then_some(password)
}

/// `psexec ... -p password`, `sshpass -p password`, `docker login -p password`: the password, at the `-p ` or at the
/// command that glues it to its flag.
pub(super) fn after_flag(text: &[u8], at: &Range<usize>) -> Option<Range<usize>> {
    if text.get(at.start) != Some(&b'-') {
        return after_glued_flag(text, at);
    }
    if !is_flag(text, at) {
        return None;
    }
    let command = behind(text, at.start, 160);
    let known = [
        "psexec",
        "sshpass",
        "docker login",
        "podman login",
        "plink",
        "net use",
        "svn ",
    ];
    if !known
        .iter()
        .any(|name| contains_any_case(command, name.as_bytes()))
    {
        return None;
    }
    let password = unquoted(text, shell_word(text, at.end));
    let bytes = text.get(password.clone())?;
    (bytes.len() >= 4 && never_a_secret(bytes).is_none() && !is_stock_word(bytes)).then_some(password)
}

/// `mysql -uroot -ppassword`: the password, at the command.
fn after_glued_flag(text: &[u8], at: &Range<usize>) -> Option<Range<usize>> {
    let rest = ahead(text, at.end, 160);
    let end = rest
        .iter()
        .position(|byte| matches!(byte, b'\n' | b'|' | b';' | b'&' | b'`'))
        .unwrap_or(rest.len());
    let line = rest.get(..end)?;
    let flag = line
        .windows(3)
        .position(|window| matches!(window, [b' ', b'-', b'p']))?;
    let password = unquoted(text, shell_word(text, at.end + flag + 3));
    let glued = password.start <= at.end + flag + 4;
    let bytes = text.get(password.clone())?;
    let convinces = bytes.len() >= 6
        && bytes.iter().any(u8::is_ascii_digit)
        && bytes.iter().any(u8::is_ascii_alphabetic)
        && never_a_secret(bytes).is_none()
        && !is_stock_word(bytes);
    (glued && convinces && !line.get(flag + 3)?.is_ascii_whitespace()).then_some(password)
}

/// `Server=...;User Id=...;Password=value;`: the value, at the `password` or `pwd`. A whole connection string says that
/// the value is meant, so even a poor password counts.
pub(super) fn in_connection_string(text: &[u8], at: &Range<usize>) -> Option<Range<usize>> {
    let rest = ahead(text, at.end, 256);
    let blanks = rest.iter().take_while(|&&byte| byte == b' ').count();
    if rest.get(blanks) != Some(&b'=') {
        return None;
    }
    let start = at.end + blanks + 1;
    let value = ahead(text, start, 128);
    let length = value
        .iter()
        .position(|byte| matches!(byte, b';' | b'"' | b'\'' | b'\n' | b'\r' | b'<'))?;
    let bytes = value.get(..length)?;
    let around = text.get(at.start.saturating_sub(256)..text.len().min(at.end + 256))?;
    let parts = [
        "server=",
        "data source=",
        "uid=",
        "user id=",
        "host=",
        "database=",
        "initial catalog=",
        "driver=",
        "provider=",
    ];
    let known = parts
        .iter()
        .filter(|part| contains_any_case(around, part.as_bytes()))
        .count();
    let joined = value.get(length) == Some(&b';') || behind(text, at.start, 4).contains(&b';');
    let plain = !bytes.is_empty() && !bytes.iter().any(u8::is_ascii_whitespace) && !is_reference(bytes);
    (joined && known >= 2 && plain && bytes.iter().any(u8::is_ascii_alphanumeric))
        .then_some(start..start + length)
}

/// `Basic <base64 of user:password>`: the base64, at the `basic `.
pub(super) fn basic_header(text: &[u8], at: &Range<usize>) -> Option<Range<usize>> {
    if !header_may_begin(text, at.start) {
        return None;
    }
    let run = header_run(text, at.end);
    let bytes = text.get(run.clone())?;
    let unpadded = bytes.split(|&byte| byte == b'=').next().unwrap_or_default();
    if unpadded.len() < 8 {
        return None;
    }
    let login = BASE64_NOPAD.decode(unpadded).ok()?;
    let colon = login.iter().position(|&byte| byte == b':')?;
    let printable = login.iter().all(|byte| !byte.is_ascii_control());
    let password = login.get(colon + 1..).unwrap_or_default();
    (printable && !is_published_sample(bytes) && is_login(login.get(..colon)?, password)).then_some(run)
}

/// `Bearer <token>`: the token, at the `bearer `.
pub(super) fn bearer_header(text: &[u8], at: &Range<usize>) -> Option<Range<usize>> {
    if !header_may_begin(text, at.start) {
        return None;
    }
    let run = header_run(text, at.end);
    let bytes = text.get(run.clone())?;
    let convinces = bytes.len() >= 16
        && bytes.iter().any(u8::is_ascii_digit)
        && entropy(bytes) >= 3.0
        && never_a_secret(bytes).is_none()
        && not_random(bytes).is_none();
    convinces.then_some(run)
}

fn header_may_begin(text: &[u8], at: usize) -> bool {
    may_begin(text, at) || name_may_begin(text, at)
}

fn is_flag(text: &[u8], at: &Range<usize>) -> bool {
    behind(text, at.start, 1)
        .first()
        .is_none_or(u8::is_ascii_whitespace)
}

fn is_login(user: &[u8], password: &[u8]) -> bool {
    let same = user.eq_ignore_ascii_case(password);
    password.len() >= 3
        && never_a_secret(password).is_none()
        && never_a_secret(user).is_none()
        && !is_stock_word(password)
        && !(same && is_stock_word(user))
}

/// This machine, or a host without a domain: where `guest:guest` is what the software comes with.
fn is_near_host(host: &[u8]) -> bool {
    let name = match host {
        [b'[', rest @ ..] => return rest.starts_with(b"::1]"),
        _ => host.split(|byte| *byte == b':').next().unwrap_or_default(),
    };
    let is_label = name
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    is_label || name.starts_with(b"127.") || name == b"0.0.0.0"
}

fn ends_authority(byte: u8) -> bool {
    byte.is_ascii_whitespace()
        || matches!(
            byte,
            b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b'(' | b')'
        )
}

/// The word of a shell command that begins at or after `at`; quotes keep blanks inside.
fn shell_word(text: &[u8], at: usize) -> Range<usize> {
    let rest = ahead(text, at, 256);
    let start = rest
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    let mut quote = None;
    let mut end = start;
    while let Some(&byte) = rest.get(end) {
        match quote {
            Some(open) if byte == open => quote = None,
            Some(_) if byte == b'\n' => break,
            Some(_) => {}
            None if byte.is_ascii_whitespace() => break,
            None if matches!(byte, b'"' | b'\'') => quote = Some(byte),
            None => {}
        }
        end += 1;
    }
    at + start..at + end
}

/// The range without the quotes and braces around it.
fn unquoted(text: &[u8], range: Range<usize>) -> Range<usize> {
    let bytes = text.get(range.clone()).unwrap_or_default();
    let is_quote = |byte: &&u8| matches!(byte, b'"' | b'\'');
    let front = bytes.iter().take_while(is_quote).count();
    let back = bytes
        .iter()
        .rev()
        .take_while(is_quote)
        .count()
        .min(bytes.len() - front);
    range.start + front..range.end - back
}

fn header_run(text: &[u8], start: usize) -> Range<usize> {
    let length = ahead(text, start, HEADER)
        .iter()
        .take_while(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'+' | b'/' | b'=')
        })
        .count();
    start..start + length
}
