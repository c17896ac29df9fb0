//! The words by which values are known to be harmless: what manuals, forms, types and templates put in place of a secret.

/// How a reference to a value that is kept elsewhere begins.
#[rustfmt::skip]
pub(super) const REFERENCE_STARTS: &[&str] = &[
    "{{", "<", "[", "#{", "@{", "&", "%(", "{%", "process.env", "os.environ", "os.getenv", "getenv",
    "env.", "env(", "env[", "system.getenv", "import.meta", "secrets.", "vault:", "ref:", "arn:", "self.",
    "this.", "config.", "settings.", "!ref", "!sub", "!vault", "var.", "local.", "data.", "params.",
    "args.", "options.", "request.", "req.",
];

/// What only templates and expressions hold.
#[rustfmt::skip]
pub(super) const REFERENCE_PARTS: &[&str] = &[
    "${", "{{", "#{", "$(", "<%", "%>", "process.env", "getenv(",
];

/// What stands in a value that is still to be filled in.
#[rustfmt::skip]
pub(super) const PLACEHOLDER_PARTS: &[&str] = &[
    "changeme", "change_me", "change-me", "placeholder", "replaceme", "replace_", "replace-", "xxxxx",
    "*****", ".....", "redacted", "your_", "your-", "yourp", "yours", "yourt", "yourk", "youra", "your ",
    "insert_", "insert-", "goes_here", "goes-here", "_here", "-here", "dummy", "foobar", "fixme",
    "not-set", "not_set", "notset", "to_be_", "example", "sample_", "sample-", "_sample", "-sample",
    "samplekey", "sampletoken", "samplesecret", "notreal", "not_real", "not-real", "not_a_real", "not-a-real",
    "fakekey", "faketoken", "fakesecret", "my-secret", "my_secret", "my-token", "my_token", "mytoken", "my-api", "my_api",
    "supersecret", "super-secret", "super_secret", "testtest", "bot-token", "bot_token", "todo",
];

/// Whole values that are words of a manual, a form or a type, not passwords.
#[rustfmt::skip]
pub(super) const STOCK: &[&str] = &[
    "password", "passwd", "passphrase", "passcode", "pass", "pwd", "secret", "token", "key", "apikey",
    "api_key", "user", "username", "login", "credentials", "credential", "auth", "bearer", "basic",
    "digest", "none", "null", "nil", "true", "false", "undefined", "string", "str", "text", "int", "bool",
    "boolean", "bytes", "byte", "object", "any", "char", "number", "required", "optional", "empty",
    "default", "hidden", "input", "value", "field", "type", "name", "yes", "test", "tests", "testing",
    "example", "sample", "demo", "unset", "missing", "invalid", "valid", "unknown", "blank", "prompt",
    "stdin", "yyy", "abc", "foo", "bar", "baz", "qux", "mypassword", "my_password", "my-password",
    "userpass", "varchar", "unicode", "option", "file", "env", "return", "await", "new", "function",
    "const", "self", "this", "wrong", "incorrect", "expired", "reset", "changed", "forgot", "change",
    "must", "should", "is", "was", "were", "the", "and", "or", "for", "with", "passwort", "kennwort",
    "contraseña", "contrasena", "clave", "senha", "wachtwoord", "hasło", "haslo", "lösenord", "salasana",
    "parola", "пароль", "Пароль", "密码", "密碼", "パスワード", "비밀번호",
];
