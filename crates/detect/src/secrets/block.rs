//! Secrets that carry their own structure: private key blocks and signed tokens.

use std::ops::Range;

use data_encoding::BASE64URL_NOPAD;

use super::bounds::{ahead, may_begin};
use super::exclude::{contains_any_case, is_published_sample};
use crate::candidates::LOOK_AHEAD;

/// The fewest characters of key material; manuals show less.
const KEY_MATERIAL: usize = 40;

/// The longest first part of a signed token.
const TOKEN_HEADER: usize = 2048;

/// `-----BEGIN ... PRIVATE KEY-----` to its end, or to the end of the material if the end is cut off.
pub(super) fn private_key(text: &[u8], at: &Range<usize>) -> Option<Range<usize>> {
    let block = ahead(text, at.start, LOOK_AHEAD);
    let label_start = at.len();
    let label_length = block
        .get(label_start..)?
        .iter()
        .take(48)
        .position(|&byte| byte == b'-')?;
    let label = block.get(label_start..label_start + label_length)?;
    if !label.ends_with(b"PRIVATE KEY") && !label.ends_with(b"PRIVATE KEY BLOCK") {
        return None;
    }
    let dashes = block
        .get(label_start + label_length..)?
        .iter()
        .take_while(|&&byte| byte == b'-')
        .count();
    let body_start = label_start + label_length + dashes;
    let body = block.get(body_start..)?;
    let body_length = body
        .windows(5)
        .position(|window| window == b"-----")
        .unwrap_or(body.len());
    let body = body.get(..body_length)?;
    let material = body.iter().filter(|&&byte| is_material(byte)).count();
    if dashes != 5 || material < KEY_MATERIAL || material * 10 < body.len() * 8 {
        return None;
    }
    let tail = block.get(body_start + body_length..).unwrap_or_default();
    let footer = if tail.starts_with(b"-----END") {
        footer_length(tail)
    } else {
        0
    };
    Some(at.start..at.start + body_start + body_length + footer)
}

/// A JSON web token: a first part that decodes to JSON with an algorithm, and at least two more parts.
pub(super) fn signed_token(text: &[u8], at: &Range<usize>) -> Option<Range<usize>> {
    if !may_begin(text, at.start) {
        return None;
    }
    let token = ahead(text, at.start, LOOK_AHEAD);
    let header_length = token
        .iter()
        .take(TOKEN_HEADER)
        .take_while(|&&byte| is_base64url(byte))
        .count();
    if token.get(header_length) != Some(&b'.') {
        return None;
    }
    let header = BASE64URL_NOPAD.decode(token.get(..header_length)?).ok()?;
    if !header.starts_with(b"{") || !header.ends_with(b"}") || !contains_any_case(&header, b"\"alg\"") {
        return None;
    }
    let length = token
        .iter()
        .take_while(|&&byte| is_base64url(byte) || byte == b'.')
        .count();
    let length = token.get(..length)?.iter().rposition(|&byte| byte != b'.')? + 1;
    let parts = token.get(..length)?.split(|&byte| byte == b'.');
    let long_parts = parts.filter(|part| part.len() >= 8).count();
    (long_parts >= 2 && !is_published_sample(token.get(..length)?)).then(|| at.start..at.start + length)
}

fn footer_length(tail: &[u8]) -> usize {
    let opening = 5;
    tail.get(opening..)
        .and_then(|rest| rest.iter().take(64).position(|&byte| byte == b'-'))
        .map_or(opening, |closing| opening + closing + 5)
        .min(tail.len())
}

fn is_material(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}
