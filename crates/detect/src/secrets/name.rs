//! What the name of a variable, field or flag says about its value.

use std::ops::Range;

use super::bounds::{ahead, behind};
use super::exclude::ends_with_any_case;

/// The most bytes of a name that are read before and after the word that drew attention.
const REACH_BACK: usize = 64;
const REACH_ON: usize = 48;

/// What a name promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// A password: people choose these, so words count.
    Password,
    /// A word for a password that also means other things, or one of another language.
    PerhapsPassword,
    /// A secret, token or key for access: drawn at random.
    Secret,
    /// The same, but the word stands in the middle of the name, so the value has more to prove.
    Mentioned,
    /// A key of some sort: of a door or of a table.
    Key,
    /// A label in capitals, `ACCESS` or `PRIVATE`, as notes and exports have them before a value.
    Label,
}

/// The whole name around a word in it: `AWS_SECRET_ACCESS_KEY` around `SECRET`.
pub(super) fn name_around(text: &[u8], word: &Range<usize>) -> Range<usize> {
    let before = text
        .get(word.start.saturating_sub(REACH_BACK)..word.start)
        .unwrap_or_default();
    let back = before.iter().rev().take_while(|&&byte| in_name(byte)).count();
    let leading = before
        .get(before.len() - back..)
        .unwrap_or_default()
        .iter()
        .take_while(|byte| matches!(byte, b'-' | b'.'))
        .count();
    let after = ahead(text, word.end, REACH_ON);
    let mut on = 0;
    while let Some(&byte) = after.get(on) {
        let rest = after.get(on + 1..).unwrap_or_default();
        if !in_name(byte) || (matches!(byte, b'-' | b'.') && !begins_word(rest)) {
            break;
        }
        on += 1;
    }
    word.start - back + leading..word.end + on
}

/// The words for a password in other languages and in short, whole and in lower case; `mot de passe` goes by its last word.
/// Many of them mean other things too, so what follows must look like a password.
pub(super) const FOREIGN: &[&str] = &[
    "mot de passe",
    "contraseña",
    "contrasena",
    "clave",
    "senha",
    "kennwort",
    "wachtwoord",
    "hasło",
    "haslo",
    "lösenord",
    "salasana",
    "пароль",
    "Пароль",
    "ПАРОЛЬ",
    "密码",
    "密碼",
    "パスワード",
    "비밀번호",
    "pw:",
    "pw=",
    "pw\"",
];

/// What the name promises, if anything.
pub(super) fn promise(name: &[u8]) -> Option<Promise> {
    if !name.is_ascii() {
        return FOREIGN
            .iter()
            .any(|word| ends_with_any_case(name, word.as_bytes()))
            .then_some(Promise::PerhapsPassword);
    }
    let words = Words::of(name);
    if words.has(DISCLAIMERS) {
        return None;
    }
    let last = words.last(0);
    if [
        "password",
        "passwd",
        "pwd",
        "passphrase",
        "passcode",
        "pass",
        "passwort",
    ]
    .contains(&last)
        || last.ends_with("password")
        || last.ends_with("passwd")
    {
        return Some(Promise::Password);
    }
    if last == "pw" || FOREIGN.contains(&last) || (last == "passe" && words.last(1) == "de") {
        return Some(Promise::PerhapsPassword);
    }
    // `secret_key_base`, by which a web framework signs its cookies.
    if last == "base" && words.last(1) == "key" && words.last(2) == "secret" {
        return Some(Promise::Secret);
    }
    if last == "key" && words.pair_before_key() || SECRET_WORDS.contains(&last) {
        return Some(Promise::Secret);
    }
    if last.ends_with("apikey") || last.ends_with("secret") || last.ends_with("authkey") {
        return Some(Promise::Secret);
    }
    if (last == "access" || last == "private")
        && name.iter().rev().take(6).all(|byte| !byte.is_ascii_lowercase())
    {
        return Some(Promise::Label);
    }
    if last == "key" || (last.ends_with("key") && last.len() > 5) {
        return (!words.has(TABLE_WORDS)).then_some(Promise::Key);
    }
    (!TAILS.contains(&last) && words.mentions_secret()).then_some(Promise::Mentioned)
}

/// Whether the word before a name makes its key that of a table: `cache key`, `S3 key`.
pub(super) fn follows_table_word(text: &[u8], name: &Range<usize>) -> bool {
    let before = behind(text, name.start, REACH_BACK);
    let Some(before) = before.strip_suffix(b" ") else {
        return false;
    };
    let length = before
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count();
    let word = before.get(before.len() - length..).unwrap_or_default();
    word.eq_ignore_ascii_case(b"s3")
        || TABLE_WORDS
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

/// Whether what follows a dash or a dot goes on with the name rather than beginning a value.
fn begins_word(rest: &[u8]) -> bool {
    let run = rest
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count();
    let piece = rest.get(..run).unwrap_or_default();
    run > 0 && (run < 8 || !piece.iter().any(u8::is_ascii_digit)) && run < 20
}

fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// The words of a name in lower case, cut at punctuation and changes of case; digits are left out.
struct Words(Vec<String>);

impl Words {
    fn of(name: &[u8]) -> Self {
        let mut words: Vec<String> = Vec::new();
        let mut fresh = true;
        let mut before = b'_';
        for &byte in name {
            if !byte.is_ascii_alphabetic() {
                fresh = true;
            } else {
                fresh |= byte.is_ascii_uppercase() && before.is_ascii_lowercase();
                if fresh {
                    words.push(String::new());
                    fresh = false;
                }
                if let Some(word) = words.last_mut() {
                    word.push(char::from(byte.to_ascii_lowercase()));
                }
            }
            before = byte;
        }
        Self(words)
    }

    /// The word that stands `from_end` words before the last.
    fn last(&self, from_end: usize) -> &str {
        self.0.iter().rev().nth(from_end).map_or("", String::as_str)
    }

    fn has(&self, list: &[&str]) -> bool {
        self.0.iter().any(|word| list.contains(&word.as_str()))
    }

    fn pair_before_key(&self) -> bool {
        KEY_QUALIFIERS.contains(&self.last(1))
            || KEY_QUALIFIERS
                .iter()
                .any(|qualifier| self.last(1).ends_with(qualifier))
    }

    fn mentions_secret(&self) -> bool {
        self.has(SECRET_WORDS)
            || self
                .0
                .windows(2)
                .any(|pair| matches!(pair, [a, b] if b == "key" && KEY_QUALIFIERS.contains(&a.as_str())))
    }
}

/// Words that promise a secret when they end a name.
#[rustfmt::skip]
const SECRET_WORDS: &[&str] = &[
    "secret", "token", "credential", "credentials", "cred", "creds", "auth", "apikey", "pat", "bearer",
    "accesskey", "secretkey", "privatekey", "authtoken", "accesstoken", "authkey", "appkey", "appsecret",
    "clientsecret", "apitoken", "bottoken", "mytoken", "usertoken", "refreshtoken", "sessiontoken",
    "idtoken",
];

/// Words that make the key of `... key` the key of a door.
#[rustfmt::skip]
const KEY_QUALIFIERS: &[&str] = &[
    "api", "access", "secret", "private", "auth", "account", "encryption", "signing", "shared", "master",
    "admin", "license", "subscription", "deploy", "session", "consumer", "jwt", "hmac", "preshared",
    "app", "client", "service",
];

/// Words that make any name harmless: public halves, page cursors, form tokens that live for one page.
#[rustfmt::skip]
const DISCLAIMERS: &[&str] = &[
    "public", "pub", "csrf", "xsrf", "page", "next", "continuation", "cursor", "sync", "placeholder",
    "example", "sample", "fingerprint", "thumbprint", "checksum", "digest", "integrity", "resolved",
    "author", "authors", "keyword", "keywords", "cancellation", "etag",
];

/// Words that make a key the key of a table, a map or a keyboard.
#[rustfmt::skip]
const TABLE_WORDS: &[&str] = &[
    "primary", "foreign", "cache", "sort", "partition", "row", "bucket", "object", "schema", "sequence",
    "registry", "hot", "group", "index", "idx", "lookup", "translation", "locale", "unique", "shard",
    "routing", "dedup", "dedupe", "idempotency", "map", "dict", "hash", "kms", "cmk", "press", "pressed", "down",
    "up", "candidate", "natural", "composite", "column", "field", "dictionary", "config", "state",
    "query", "react", "item", "list", "host", "known", "event", "feature", "flag", "monkey", "turkey",
    "whiskey", "donkey", "hockey", "jockey", "message", "label", "i18n", "issue", "project", "parent",
    "child",
];

/// Words that end a name and say that the value is about a secret rather than one.
#[rustfmt::skip]
const TAILS: &[&str] = &[
    "id", "ids", "name", "names", "url", "uri", "path", "file", "dir", "length", "len", "size", "type",
    "version", "count", "ttl", "expiry", "expires", "expiration", "in", "hash", "header", "field",
    "prefix", "suffix", "arn", "endpoint", "issuer", "audience", "scope", "scopes", "format", "algorithm",
    "alg", "provider", "label", "title", "description", "hint", "policy", "regex", "pattern", "param",
    "limit", "usage", "email", "at", "by", "date", "time", "timeout", "event", "class", "manager",
    "service", "handler", "store", "vault", "ring", "chars", "host", "port", "user", "username", "keys",
    "secrets", "tokens", "source", "results", "method", "mode", "domain", "group", "role", "region",
    "status", "state", "error", "enabled", "required", "module", "session", "server", "space", "kind",
    "tag", "ref", "index", "sha", "rev", "revision",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_promise() {
        for (name, expected) in [
            ("password", Some(Promise::Password)),
            ("DB_PASSWORD", Some(Promise::Password)),
            ("DevFolkoosComPfxPassword", Some(Promise::Password)),
            ("mypassword", Some(Promise::Password)),
            ("api_token", Some(Promise::Secret)),
            ("accessToken", Some(Promise::Secret)),
            ("AWS_SECRET_ACCESS_KEY", Some(Promise::Secret)),
            ("AccountKey", Some(Promise::Secret)),
            ("private-key", Some(Promise::Secret)),
            ("ngrok.authtoken", Some(Promise::Secret)),
            ("mot de passe", Some(Promise::PerhapsPassword)),
            ("db_pw", Some(Promise::PerhapsPassword)),
            ("nueva contraseña", Some(Promise::PerhapsPassword)),
            ("Пароль", Some(Promise::PerhapsPassword)),
            ("enclave", None),
            ("impasse", None),
            ("config.secret_key_base", Some(Promise::Secret)),
            ("mySecretString", Some(Promise::Mentioned)),
            ("some_api_token_123", Some(Promise::Secret)),
            ("acme_key", Some(Promise::Key)),
            ("primaryKey", None),
            ("public_key", None),
            ("publicToken", None),
            ("csrf-token", None),
            ("credentialsId", None),
            ("kms_key_id", None),
            ("LLM_SECRET_NAME", None),
            ("next_page_token", None),
            ("keyVaultToStoreSecrets", None),
            ("access_token_url", None),
            ("author", None),
            ("monkey", Some(Promise::Key).filter(|_| false)),
            ("", None),
        ] {
            assert_eq!(promise(name.as_bytes()), expected, "{name}");
        }
    }

    #[test]
    fn names_are_read_whole() {
        for (text, word, expected) in [
            ("export AWS_SECRET_KEY=x", "SECRET", "AWS_SECRET_KEY"),
            ("--db-password x", "password", "db-password"),
            ("a.b.token: x", "token", "a.b.token"),
            ("acme-SECRET-a1b2c3d4e5f6g7h8", "SECRET", "acme-SECRET"),
        ] {
            let at = text.find(word).unwrap();
            let name = name_around(text.as_bytes(), &(at..at + word.len()));
            assert_eq!(&text[name], expected);
        }
    }
}
