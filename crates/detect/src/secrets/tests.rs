//! Tokens are put together at run time, so that no line of this file looks like a secret to a scanner.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::string::bytes_regex;
use proptest::test_runner::TestRunner;

use super::*;

fn embedded() -> Secrets {
    Secrets::embedded().unwrap()
}

/// The fast way: literals first, as the shared pass does it.
fn scan(secrets: &Secrets, text: &[u8]) -> Vec<Finding> {
    let mut found = Vec::new();
    for literal in secrets.literals() {
        secrets.verify_everywhere(text, &literal, &mut found);
    }
    sort_and_merge(&mut found);
    found
}

/// `text` with `{}` for the secret: the rule must report the secret and nothing but the secret.
#[track_caller]
fn check(rule: &str, text: &str, secret: &str) {
    let (before, after) = text.split_once("{}").unwrap();
    let whole = format!("{before}{secret}{after}");
    let found = scan(&embedded(), whole.as_bytes());
    let span = before.len()..before.len() + secret.len();
    assert!(
        found
            .iter()
            .any(|finding| finding.rule.as_str() == rule && finding.span == span),
        "{rule} does not fire on its secret in {text:?}; found {found:?}"
    );
}

#[track_caller]
fn check_nothing(text: &str) {
    let found = scan(&embedded(), text.as_bytes());
    assert!(found.is_empty(), "{text:?} holds no secret; found {found:?}");
}

/// Letters and digits that look random and are the same in every run.
fn noise(alphabet: &[u8], length: usize) -> String {
    let mut state = 0x2545_F491_4F6C_DD1D_u64 ^ length as u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        alphabet[(state % alphabet.len() as u64) as usize] as char
    };
    (0..length).map(|_| next()).collect()
}

const HEX: &[u8] = b"0123456789abcdef";
const ALNUM: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const LOWER: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";

#[test]
fn tokens_with_a_mark_are_found_in_any_surroundings() {
    let github = checksum::with_crc32_base62("ghp", &noise(ALNUM, 30));
    let cases = [
        ("github-token", github),
        (
            "aws-access-key-id",
            format!("{}{}", "AKIA", noise(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)),
        ),
        ("google-api-key", format!("{}{}", "AIza", noise(ALNUM, 35))),
        ("gitlab-token", format!("{}-{}", "glpat", noise(ALNUM, 20))),
        ("stripe-key", format!("sk_{}_{}", "live", noise(ALNUM, 24))),
        (
            "slack-token",
            format!(
                "{}-{}-{}-{}",
                "xoxb",
                noise(b"123456789", 12),
                noise(b"123456789", 13),
                noise(ALNUM, 24)
            ),
        ),
        ("digitalocean-token", format!("{}_v1_{}", "dop", noise(HEX, 64))),
        ("npm-token", format!("{}_{}", "npm", noise(ALNUM, 36))),
        (
            "sendgrid-key",
            format!("SG.{}.{}", noise(ALNUM, 22), noise(ALNUM, 43)),
        ),
        (
            "terraform-token",
            format!("{}.{}.{}", noise(ALNUM, 14), "atlasv1", noise(ALNUM, 60)),
        ),
        ("mailchimp-key", format!("{}-us12", noise(HEX, 32))),
        (
            "telegram-bot-token",
            format!("{}:AA{}", noise(b"123456789", 10), noise(ALNUM, 33)),
        ),
        ("bcrypt-hash", format!("$2b$12${}", noise(ALNUM, 53))),
        (
            "crypt-hash",
            format!("${}${}${}", "apr1", noise(ALNUM, 8), noise(ALNUM, 22)),
        ),
        ("huggingface-token", format!("{}_{}", "hf", noise(ALNUM, 34))),
        ("browserbase-key", format!("{}_live_{}", "bb", noise(ALNUM, 27))),
        ("e2b-key", format!("{}_{}", "e2b", noise(HEX, 40))),
        ("confluent-secret", format!("{}{}", "cflt", noise(ALNUM, 60))),
        (
            "intercom-access-token",
            format!("{}{}=", "dG9rOj", noise(ALNUM, 53)),
        ),
    ];
    for (rule, secret) in &cases {
        for text in [
            "{}",
            "export X={}",
            "{\"a\": \"{}\"}",
            "https://example.org/?t={}&q=1",
            "line\\n{}\\n",
            "x,{},y",
            "say {}.",
        ] {
            check(rule, text, secret);
        }
    }
}

#[test]
fn a_checksum_makes_certain() {
    let good = checksum::with_crc32_base62("ghs", &noise(ALNUM, 30));
    let bad = format!("{}_{}", "ghs", noise(ALNUM, 36));
    for (token, expected) in [(good, Confidence::CERTAIN), (bad, Confidence::percent(90))] {
        let found = scan(&embedded(), token.as_bytes());
        assert_eq!(found[0].confidence, expected);
    }
}

#[test]
fn keys_without_a_mark_are_found_after_a_name() {
    for (rule, text, secret) in [
        ("datadog-key", "DATADOG_API_KEY={}", noise(HEX, 32)),
        ("datadog-key", "\"datadogToken\": \"{}\"", noise(LOWER, 40)),
        ("heroku-api-key", "heroku_key: '{}'", uuid()),
        (
            "okta-token",
            "oktaToken := \"{}\"",
            format!("00{}", noise(ALNUM, 40)),
        ),
        ("algolia-key", "algolia key {}", noise(HEX, 32)),
        (
            "aws-secret-access-key",
            "aws_secret_access_key = {}",
            noise(ALNUM, 40),
        ),
        (
            "telegram-token",
            "telegram: {}",
            format!("{}:{}", noise(b"123456789", 10), noise(ALNUM, 35)),
        ),
    ] {
        check(rule, text, &secret);
    }
}

#[test]
fn structured_secrets() {
    let encode = |bytes: &str| data_encoding::BASE64URL_NOPAD.encode(bytes.as_bytes());
    let token = format!(
        "{}.{}.{}",
        encode(r#"{"alg":"HS256"}"#),
        encode(r#"{"sub":"somebody"}"#),
        noise(ALNUM, 43)
    );
    check("json-web-token", "Cookie: s={}; path=/", &token);
    check("bearer-token", "Authorization: Bearer {}\r\n", &noise(ALNUM, 32));
    let login = data_encoding::BASE64.encode(b"maria:correct-horse-7");
    check("basic-auth-header", "authorization: basic {}", &login);
    for label in [
        "PRIVATE KEY",
        "RSA PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ] {
        let block = format!(
            "-----BEGIN {label}-----\n{}\n{}\n-----END {label}-----",
            noise(ALNUM, 64),
            noise(ALNUM, 33)
        );
        check("private-key", "cat <<EOF\n{}\nEOF", &block);
        let one_line = block.replace('\n', "\\n");
        check("private-key", "{\"private_key\": \"{}\"}", &one_line);
    }
    check(
        "url-password",
        "postgres://app:{}@db.internal:5432/app",
        "h4rd-to-Gu3ss",
    );
    check("url-password", "redis://:{}@cache:6379/0", "h4rd-to-Gu3ss");
    check("url-password", "amqp://guest:{}@mq", "p@ss-With-1-at");
    check(
        "curl-password",
        "curl -s -u maria:{} https://api.example.org",
        "tr0ub4dor",
    );
    check(
        "curl-password",
        "curl https://api.example.org \\\n  --user 'maria:{}'",
        "tr0ub4dor",
    );
    check("command-line-password", "sshpass -p {} ssh host", "tr0ub4dor");
    check("command-line-password", "mysql -uroot -p{} crm", "tr0ub4dor");
    check(
        "command-line-password",
        "mysqldump -h db1 -p'{}' crm",
        "tr0ub4dor",
    );
    check(
        "connection-string-password",
        "Server=db;Database=app;User Id=app;Password={};",
        "tr0ub4dor",
    );
}

#[test]
fn assignments() {
    for text in [
        "password = \"{}\"",
        "DB_PASSWORD={}",
        "\"password\": \"{}\",",
        "my_password: {}\n",
        "--password {}",
        "<password>{}</password>",
    ] {
        check("generic-password", text, "tr0ub4dor&3".replace('&', "!").as_str());
    }
    for text in [
        "client_secret: '{}'",
        "api_token => \"{}\"",
        "X-Api-Key: {}",
        "{\\\"access_token\\\":\\\"{}\\\"}",
        "env(\"api_token\", \"{}\")",
    ] {
        check("generic-secret", text, &noise(ALNUM, 32));
    }
    check("generic-secret", "api_token: {}", &uuid());
    check("generic-key", "acme_key = {}", &noise(ALNUM, 32));
    check("generic-secret", "acme SECRET {}", &noise(LOWER, 32));
}

#[test]
fn names_and_values_in_fields_side_by_side() {
    for text in [
        "- name: DB_PASSWORD\n  value: \"{}\"",
        "{\"key\":\"password\",\"value\":\"{}\"}",
        "variable \"db_password\" {\n  type = string\n  default = \"{}\"\n}",
        "| password | {} |",
        "username,password\nbob,{}\n",
    ] {
        check("generic-password", text, "tr0ub4dorX7q");
    }
    check(
        "generic-key",
        "{\"name\":\"STRIPE_KEY\",\"value\":\"{}\"}",
        &noise(ALNUM, 32),
    );
    for text in [
        "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db-main-7\n      key: password",
        "- name: DB_PASSWORD\n  value: ${DB_PASSWORD}",
        "variable \"db_password\" {\n  type = string\n  sensitive = true\n}",
        "| password | string | the new password, 8 to 64 characters |",
        "| password | sha256 | yes |",
        "user,password\nbob,changeme\nann,********\n",
        "    colon_token,\n    ty: Box::new(ty),\n",
        "mysql -h db1 -P3306 -p crm1234",
        "mysql -uroot -p$MYSQL_PWD1 crm",
        "mysql; docker run -p8080:80",
    ] {
        check_nothing(text);
    }
}

#[test]
fn passwords_in_sentences_and_other_languages() {
    for text in [
        "the wifi password is {}",
        "my password is {}.",
        "The root password for db01 is {}, keep it safe.",
        "Your temporary password is: {}",
        "Mot de passe : {}",
        "contrase\u{f1}a: {}",
        "senha: {}",
        "hasło: {}",
        "пароль: {}",
        "密码：{}",
        "db_pw={}",
    ] {
        check("generic-password", text, "Sunflower#2024");
    }
    check("generic-password", "Your temporary password is: {}", "9mPLyOpdr3");
    for text in ["The API key for staging is {}, rotate it", "API key for prod: {}"] {
        check("generic-key", text, &noise(ALNUM, 32));
    }
    for text in [
        "the password is required, and the password is incorrect!",
        "The password is case-sensitive. The password is base64-encoded.",
        "Your password is expired; the password for this account was changed yesterday.",
        "the key for this is in the manual",
        "senha: obrigat\u{f3}ria",
        "clave: valor_2",
        "password: \"Contrase\u{f1}a\"",
        "\"password\": \"Wachtwoord\"",
        "the enclave: Sunflower#2024",
    ] {
        check_nothing(text);
    }
}

#[test]
fn what_software_comes_with_and_keys_of_tables() {
    let hash = noise(HEX, 32);
    for text in [
        "postgres://postgres:postgres@localhost/db",
        "amqp://guest:guest@rabbitmq:5672",
        "mysql://root:root@127.0.0.1/test",
        "http://admin:admin@[::1]:8080/",
    ] {
        check_nothing(text);
    }
    check(
        "url-password",
        "postgres://billing:{}@db.example.org/app",
        "billing",
    );
    for name in ["cache key: ", "partition key ", "dedupe key=", "S3 key "] {
        check_nothing(&format!("{name}{hash}"));
    }
    check_nothing(&format!("acme key: uploads/{hash}.png"));
    check("generic-key", "acme key: {}", &hash);
    check(
        "generic-secret",
        "config.secret_key_base = \"{}\"",
        &noise(HEX, 128),
    );
}

#[test]
fn what_is_no_secret() {
    let (hash, uuid) = (noise(HEX, 40), uuid());
    for text in [
        "password = \"password\"",
        "password: <your-password>",
        "password = os.environ[\"DB_PASSWORD\"]",
        "const password = process.env.PASSWORD || 'not-set'",
        "PASSWORD=${DB_PASSWORD}",
        "password: {{ .Values.password }}",
        "password = \"changeme\"",
        "password: str",
        "password: must be at least 8 characters",
        "password = getPassword();",
        "token = \"xxxxxxxxxxxxxxxxxxxxxxxx\"",
        "API_KEY=your-api-key-goes-here",
        "secret_name = \"prod/db/main-1\"",
        "the token is passed to the key server, which keeps the secret",
        "primaryKey = \"user_id_2024_01\"",
        "key: SalesResults-1.2",
        "https://user:password@example.com/",
        "https://example.com:8080/@scope/package",
        "https://${USER}:${PASS}@example.com/",
        "curl -u user:pass https://example.com",
        "curl -u \"$USER:$PASS\" https://example.com",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "-----BEGIN PUBLIC KEY-----\nMFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAK\n-----END PUBLIC KEY-----",
        "Authorization: Bearer <token>",
        "use a bearer authentication-scheme",
        "basic understanding of the matter",
        "",
    ] {
        check_nothing(text);
    }
    check_nothing(&format!("commit {hash}\nAuthor: Somebody"));
    check_nothing(&format!("\"integrity\": \"sha512-{}\"", noise(ALNUM, 86)));
    check_nothing(&format!("image: app@sha256:{}", noise(HEX, 64)));
    check_nothing(&format!("checksum = \"{}\"", noise(HEX, 64)));
    check_nothing(&format!("request_id: {uuid}"));
    check_nothing(&format!("credentialsId: '{uuid}'"));
    check_nothing(&format!("public_key = \"{}\"", noise(ALNUM, 43)));
    check_nothing(&format!("{}{}", "AKIA", "XXXXXXXXXXXXXXXX"));
    check_nothing(&format!("{}{}", "AKIAIOSFODNN7", "EXAMPLE"));
    check_nothing(&format!("{}_{}", "ghp", "x".repeat(36)));
}

#[test]
fn a_users_rule_joins_the_embedded_ones() {
    let own = SecretRule::parse_all(
        "[[rule]]\nid = 'acme-badge'\ndescription = 'Acme badge'\nliterals = ['acme:']\npattern = 'acme:([0-9a-f]{16})'",
    );
    let secrets = Secrets::with_rules(own.unwrap()).unwrap();
    let badge = noise(HEX, 16);
    let found = scan(&secrets, format!("see acme:{badge}").as_bytes());
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].rule.as_str(), found[0].span.clone()),
        ("acme-badge", 9..25)
    );
    assert!(
        secrets
            .rules()
            .iter()
            .any(|rule| rule.rule.as_str() == "acme-badge")
    );
}

#[test]
fn a_users_rule_may_find_other_things_than_credentials() {
    let mut own = SecretRule::parse_all(
        "[[rule]]\nid = 'badge'\ndescription = 'A badge'\nliterals = ['EMP-']\npattern = 'EMP-[0-9]{6}'\n",
    )
    .unwrap();
    own[0].finds = Finds {
        class: Class::Pii,
        kind: tidegate_core::Kind::Pii,
    };
    let secrets = Secrets::with_rules(own).unwrap();
    let found = scan(&secrets, b"by EMP-000000.");
    let of_badge: Vec<_> = found
        .iter()
        .map(|found| (found.class, found.kind, found.span.clone()))
        .collect();
    assert_eq!(of_badge, [(Class::Pii, FindingKind::Pii, 3..13)]);
}

#[test]
fn a_users_rule_cannot_replace_an_embedded_one() {
    let own = SecretRule::parse_all(
        "[[rule]]\nid = 'github-token'\ndescription = 'x'\nliterals = ['acme:']\npattern = 'acme:x'",
    )
    .unwrap();
    let error = Secrets::with_rules(own).unwrap_err();
    assert_eq!(
        error,
        RuleError::Twice {
            rule: "github-token".to_owned()
        }
    );
}

/// Each embedded rule compiles, fires on something that its own pattern generates, and its literals miss nothing that
/// the pattern matches.
#[test]
fn every_embedded_rule_can_fire() {
    let secrets = embedded();
    let literals = secrets.literals();
    let mut runner = TestRunner::deterministic();
    let mut wrong = Vec::new();
    for (rule, tag) in secrets.rules.iter().zip(0_u32..) {
        assert!(rule.regex().is_some(), "{} does not compile", rule.id);
        let own: Vec<_> = literals.iter().filter(|literal| literal.tag == tag).collect();
        let strategy = bytes_regex(&format!("(?-u){}", rule.source())).unwrap();
        let mut fires = false;
        for _ in 0..40 {
            let token = strategy.new_tree(&mut runner).unwrap().current();
            let text = match rule.form {
                Form::Pattern { .. } => token,
                Form::Named { .. } => [rule.literals[0].as_bytes(), b"_key = ", &token].concat(),
            };
            let mut found = Vec::new();
            own.iter()
                .for_each(|literal| secrets.verify_everywhere(&text, literal, &mut found));
            fires |= !found.is_empty();
            let is_missed = matches!(rule.form, Form::Pattern { .. })
                && found.is_empty()
                && matching::pattern_at(rule, &text, 0).is_some();
            if is_missed {
                wrong.push(format!("{}: the literals miss a match", rule.id));
                break;
            }
        }
        if !fires {
            wrong.push(format!("{}: never fires", rule.id));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Every rule has words for `explain`, and no two rules have the same name.
#[test]
fn every_rule_is_described() {
    let rules = embedded().rules();
    let mut names: Vec<_> = rules.iter().map(|rule| rule.rule.clone()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), rules.len());
    assert!(
        rules
            .iter()
            .all(|rule| !rule.looks_for.is_empty() && !rule.verified_by.is_empty())
    );
}

fn uuid() -> String {
    [8, 4, 4, 4, 12].map(|length| noise(HEX, length)).join("-")
}

/// Texts in which rules nearly fire: pieces of tokens, names, separators, and any bytes.
fn tempting_text() -> impl Strategy<Value = Vec<u8>> {
    let secrets = embedded();
    let literals: Vec<Vec<u8>> = secrets
        .literals()
        .into_iter()
        .map(|literal| literal.bytes)
        .collect();
    let patterns: Vec<_> = secrets
        .rules
        .iter()
        .filter(|rule| matches!(rule.form, Form::Pattern { .. }))
        .map(|rule| bytes_regex(&format!("(?-u){}", rule.source())).unwrap().boxed())
        .collect();
    let piece = prop_oneof![
        2 => proptest::sample::select(literals),
        2 => proptest::strategy::Union::new(patterns),
        2 => "[ =:\"'\n,_-]{1,3}".prop_map(String::into_bytes),
        1 => "[A-Za-z0-9]{8,40}".prop_map(String::into_bytes),
        1 => proptest::collection::vec(any::<u8>(), 0..20),
    ];
    proptest::collection::vec(piece, 0..7).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn fast_is_plain(text in tempting_text()) {
        let secrets = shared();
        // The plain way also starts inside a value; what counts is what is left when overlaps are merged.
        let resolved = crate::scan::resolve::resolve;
        prop_assert_eq!(resolved(scan(secrets, &text)), resolved(secrets.scan_plainly(&text)));
    }

    /// What stands beyond the window of a hit changes nothing: the condition for cutting a stream anywhere.
    #[test]
    fn judgement_is_local(text in tempting_text(), filler in any::<u8>()) {
        let secrets = shared();
        let behind = vec![filler; crate::candidates::LOOK_BEHIND];
        let near = [&behind[..], &text].concat();
        let far = [&[b'x'; 777][..], &near].concat();
        let moved: Vec<_> = scan(secrets, &near)
            .into_iter()
            .filter(|finding| finding.span.start >= behind.len())
            .map(|finding| Finding { span: finding.span.start + 777..finding.span.end + 777, ..finding })
            .collect();
        let found: Vec<_> =
            scan(secrets, &far).into_iter().filter(|finding| finding.span.start >= behind.len() + 777).collect();
        prop_assert_eq!(moved, found);
    }

    #[test]
    fn spans_lie_in_the_text(text in proptest::collection::vec(any::<u8>(), 0..400)) {
        for finding in scan(shared(), &text) {
            prop_assert!(finding.span.start < finding.span.end && finding.span.end <= text.len());
        }
    }
}

fn shared() -> &'static Secrets {
    static SHARED: std::sync::LazyLock<Secrets> = std::sync::LazyLock::new(embedded);
    &SHARED
}
