//! Shapes that carry meaning for the patterns: addresses, links, account numbers, sums of money, tool names.

use std::ops::Range;

use super::class::Class;
use super::token::Token;

/// The most bytes one shape may have.
const MAX_SHAPE: usize = 256;

/// Pushes a token for each shape in the text.
pub(super) fn find(text: &str, tokens: &mut Vec<Token>) {
    for (start, word) in words(text) {
        let classes = [
            (Class::Address, is_mail_address(word)),
            (Class::Link, is_link(word)),
            (Class::Account, is_account(word)),
            (Class::Money, is_money(word)),
            (Class::Toolname, is_tool_name(word)),
        ];
        for (class, holds) in classes {
            if holds {
                tokens.push(Token::of(start..start + word.len(), class));
            }
        }
    }
    find_spoken_money(text, tokens);
    find_image_links(text, tokens);
}

/// Pieces without blanks, freed of the marks around them.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split([' ', '\n', '"', '\'', '(', ')', '<', '>', '`', '[', ']', '{', '}'])
        .filter_map(move |piece| {
            let start = at;
            at += piece.len() + 1;
            let word = piece.trim_start_matches([',', ';', ':', '*', '.']);
            let start = start + piece.len() - word.len();
            let word = word.trim_end_matches(['.', ',', ';', ':', '!', '?', '*']);
            (word.len() >= 2 && word.len() <= MAX_SHAPE).then_some((start, word))
        })
}

fn is_mail_address(word: &str) -> bool {
    let word = word.strip_prefix("mailto:").unwrap_or(word);
    word.split_once('@').is_some_and(|(local, host)| {
        !local.is_empty()
            && host.contains('.')
            && host
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'))
    })
}

fn is_link(word: &str) -> bool {
    ["http://", "https://", "www.", "ftp://", "hxxp://", "hxxps://"]
        .iter()
        .any(|prefix| {
            word.len() > prefix.len()
                && word
                    .get(..prefix.len())
                    .is_some_and(|lead| lead.eq_ignore_ascii_case(prefix))
        })
        || is_bare_host(word)
}

/// `example.com/path`: a host in a top-level domain that is written without a scheme.
fn is_bare_host(word: &str) -> bool {
    let host = word.split('/').next().unwrap_or_default();
    let Some((name, ending)) = host.rsplit_once('.') else {
        return false;
    };
    !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'))
        && [
            "com", "net", "org", "io", "xyz", "info", "biz", "ru", "cn", "co", "ai", "app", "dev", "site",
            "online",
        ]
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known))
}

/// An IBAN, or at least eight digits with little else.
fn is_account(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    let other = word.len() - digits - letters;
    let dashes = word.bytes().filter(|&b| b == b'-').count();
    digits >= 8 && letters <= 8 && other == dashes && !is_date(word)
}

fn is_date(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.get(4) == Some(&b'-') && bytes.get(7) == Some(&b'-')
}

fn is_money(word: &str) -> bool {
    let Some(amount) = word.strip_prefix(['$', '€', '£', '¥', '₹']) else {
        return false;
    };
    amount.bytes().next().is_some_and(|b| b.is_ascii_digit())
}

/// `5 Bitcoin`, `2000 USD`: an amount and a currency in words.
fn find_spoken_money(text: &str, tokens: &mut Vec<Token>) {
    let mut previous: Option<(usize, &str)> = None;
    for (start, word) in words(text) {
        if let Some((number_start, number)) = previous
            && number
                .bytes()
                .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b','))
            && CURRENCIES.iter().any(|known| word.eq_ignore_ascii_case(known))
        {
            tokens.push(Token::of(number_start..start + word.len(), Class::Money));
        }
        previous = Some((start, word));
    }
}

/// Names in the manner of programs: `send_money`, `GmailSendEmail`, `sendEmail`.
fn is_tool_name(word: &str) -> bool {
    if !word
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
    {
        return false;
    }
    let humps = word
        .as_bytes()
        .windows(2)
        .filter(|pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()))
        .count();
    humps >= 1 || (word.contains('_') && word.bytes().any(|b| b.is_ascii_lowercase()))
}

/// A Markdown image whose address has a place to fill in, or carries data in its query.
fn find_image_links(text: &str, tokens: &mut Vec<Token>) {
    let mut at = 0;
    while let Some(open) = text
        .get(at..)
        .and_then(|rest| rest.find("!["))
        .map(|offset| at + offset)
    {
        at = open + 2;
        if let Some(link) = image_link(text, open)
            && text.get(link.clone()).is_some_and(carries_data)
        {
            tokens.push(Token::of(link, Class::Filled));
        }
    }
}

fn image_link(text: &str, open: usize) -> Option<Range<usize>> {
    let rest = text.get(open..)?;
    let start = open + rest.find("](").filter(|&offset| offset <= MAX_SHAPE)? + 2;
    let length = text
        .get(start..)?
        .find([')', '\n'])
        .filter(|&offset| offset <= MAX_SHAPE)?;
    Some(start..start + length)
}

fn carries_data(link: &str) -> bool {
    let Some((_, query)) = link.split_once('?') else {
        return link.contains(['{', '$', '[']);
    };
    query.split('&').any(|pair| {
        pair.split_once('=').is_some_and(|(name, value)| {
            value.contains(['{', '[', '<', '$'])
                || value.bytes().all(|b| b.is_ascii_uppercase() || b == b'_') && value.len() >= 4
                || DATA_PARAMETERS
                    .iter()
                    .any(|known| name.eq_ignore_ascii_case(known))
        })
    })
}

const DATA_PARAMETERS: [&str; 14] = [
    "data",
    "d",
    "exfil",
    "secret",
    "leak",
    "info",
    "payload",
    "msg",
    "message",
    "history",
    "chat",
    "conversation",
    "context",
    "token",
];

const CURRENCIES: [&str; 22] = [
    "usd", "eur", "gbp", "dollars", "dollar", "euros", "euro", "pounds", "btc", "bitcoin", "bitcoins", "eth",
    "ethereum", "yuan", "yen", "rupees", "units", "shares", "usdt", "coins", "chf", "francs",
];
