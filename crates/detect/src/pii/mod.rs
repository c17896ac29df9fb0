//! Personal data: what a byte shape or a label starts, and what checksums, structure and words nearby confirm.

mod address;
mod card;
mod context;
mod crypto;
mod email;
mod iban;
mod ids;
mod labelled;
mod names;
mod net;
mod phone;
mod rule;
mod token;

use crate::candidates::{Hit, Literal, RuleDescription};
use crate::{Confidence, Finding};
use rule::{PiiRule, Sink};
use token::Token;

/// All rules for personal data.
pub(crate) struct Pii {
    ids: ids::IdRules,
    names: names::Names,
    least: Confidence,
}

impl Pii {
    /// Prepares the rules; findings less sure than `least` are not reported.
    pub(crate) fn new(least: Confidence) -> Self {
        Self {
            ids: ids::IdRules::new(),
            names: names::Names::new(),
            least,
        }
    }

    pub(crate) fn literals() -> Vec<Literal> {
        labelled::literals()
    }

    pub(crate) fn rules() -> Vec<RuleDescription> {
        let fixed: [&PiiRule; 16] = [
            &email::EMAIL,
            &phone::PHONE,
            &card::CREDIT_CARD,
            &iban::IBAN,
            &net::PUBLIC,
            &net::PRIVATE,
            &net::MAC,
            &crypto::CRYPTO,
            &names::PERSON,
            &address::ADDRESS,
            &labelled::BIRTH_DATE,
            &labelled::PASSPORT,
            &labelled::DRIVER_LICENCE,
            &labelled::BANK_ACCOUNT,
            &labelled::MEDICAL_RECORD,
            &labelled::POSTAL_CODE,
        ];
        let mut rules: Vec<_> = fixed
            .into_iter()
            .chain(ids::rules())
            .map(PiiRule::describe)
            .collect();
        rules.sort_by(|a, b| a.rule.cmp(&b.rule));
        rules.dedup_by(|later, earlier| later.rule == earlier.rule);
        rules
    }

    pub(crate) fn at_label(&self, text: &[u8], hit: &Hit, found: &mut Vec<Finding>) {
        labelled::check(text, hit, &self.names, &mut Sink::new(found, self.least));
    }

    pub(crate) fn at_sign(&self, text: &[u8], at: usize, found: &mut Vec<Finding>) {
        email::check(text, at, &mut Sink::new(found, self.least));
    }

    pub(crate) fn at_capital(&self, text: &[u8], at: usize, found: &mut Vec<Finding>) {
        self.names.check(text, at, &mut Sink::new(found, self.least));
    }

    pub(crate) fn at_double_colon(&self, text: &[u8], at: usize, found: &mut Vec<Finding>) {
        net::check_colons(text, at, &mut Sink::new(found, self.least));
    }

    /// Decides about the number, or the word with digits, that starts with the digit at a place.
    pub(crate) fn at_digit(&self, text: &[u8], digit: usize, found: &mut Vec<Finding>) {
        let sink = &mut Sink::new(found, self.least);
        let run = text
            .get(digit..)
            .unwrap_or_default()
            .iter()
            .take(20)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let after = text.get(digit + run).copied().unwrap_or(b'\n');
        let before = digit
            .checked_sub(1)
            .and_then(|at| text.get(at))
            .copied()
            .unwrap_or(b'\n');
        if after == b'.' && run <= 3 {
            net::check_v4(text, digit, sink);
        }
        if after == b':' || before == b':' || after.is_ascii_hexdigit() || before.is_ascii_hexdigit() {
            net::check_colons(text, digit, sink);
        }
        ids::punctuated::check(text, digit, run, after, sink);
        if !before.is_ascii_alphanumeric() {
            phone::check(text, digit, run, sink);
            if run <= 5 {
                address::check(text, digit, sink);
            }
        }
        self.at_word(text, digit, sink);
    }

    fn at_word(&self, text: &[u8], digit: usize, sink: &mut Sink<'_>) {
        let Some(start) = token::word_start(text, digit) else {
            return;
        };
        if token::continues_number(text, start) {
            return;
        }
        net::check_dashed_mac(text, start, sink);
        if let Some(length) = long_word(text, start) {
            crypto::check(text, start..start + length, sink);
        }
        self.at_token(text, start, sink);
        if start == digit
            && let Some(start) = token::short_word_before(text, start)
        {
            self.at_token(text, start, sink);
        }
    }

    fn at_token(&self, text: &[u8], start: usize, sink: &mut Sink<'_>) {
        let token = Token::read(text, start);
        for candidate in token.candidates().filter(|candidate| candidate.chars.len() >= 5) {
            self.ids.check(text, &candidate, sink);
            card::check(text, &candidate, sink);
            iban::check(&candidate, sink);
        }
    }
}

/// The length of the word at a place, if it may be the address of a currency.
fn long_word(text: &[u8], start: usize) -> Option<usize> {
    const SHORTEST: usize = 26;
    const LONGEST: usize = 90;
    // Nearly all words are shorter, which one byte tells.
    text.get(start + SHORTEST - 1)
        .filter(|byte| byte.is_ascii_alphanumeric())?;
    let word = text.get(start..)?.iter().take(LONGEST + 2);
    let length = word.take_while(|byte| byte.is_ascii_alphanumeric()).count();
    (SHORTEST..=LONGEST).contains(&length).then_some(length)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::LazyLock;

    use crate::{Detector, DetectorConfig};

    /// Scans with the default configuration and compares rules and values.
    pub(crate) fn check(text: &str, expected: &[(&str, &str)]) {
        static DETECTOR: LazyLock<Detector> =
            LazyLock::new(|| Detector::new(&DetectorConfig::default()).unwrap());
        let scan = DETECTOR.scan(text.as_bytes());
        let found: Vec<_> = scan
            .findings
            .iter()
            .map(|finding| (finding.rule.as_str(), &text[finding.span.clone()]))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn cards_and_accounts() {
        check(
            "my card 4012-8888-8888-1881.",
            &[("credit-card", "4012-8888-8888-1881")],
        );
        check("4012-8888-8888-1882", &[]);
        check("371449635398431", &[("credit-card", "371449635398431")]);
        check(
            "DE89 3704 0044 0532 0130 00 to",
            &[("iban", "DE89 3704 0044 0532 0130 00")],
        );
        check("GB82WEST12345698765432", &[("iban", "GB82WEST12345698765432")]);
        check("GB82WEST12345698765433", &[]);
    }

    #[test]
    fn national_ids() {
        for (rule, text) in [
            ("us-ssn", "536-90-4399"),
            ("us-itin", "911-70-1234"),
            ("uk-nino", "AA 12 34 56 B"),
            ("es-nif", "12345678Z"),
            ("es-nie", "X1234567L"),
            ("it-fiscal-code", "RSSMRA85M01H501Q"),
            ("in-pan", "ABCPE1234F"),
            ("sg-nric-fin", "S1234567D"),
            ("au-abn", "51 824 753 556"),
            ("br-cpf", "529.982.247-25"),
            ("fi-personal-id", "131052-308T"),
            ("de-social-security", "15070649C103"),
            ("cn-resident-id", "11010519491231002X"),
            ("kr-rrn", "960121-1021413"),
        ] {
            check(text, &[(rule, text)]);
        }
        check("TCKN 10000000146", &[("tr-national-id", "10000000146")]);
        check(
            "SSN: 000-12-3456 or 536904399",
            &[("us-ssn", "000-12-3456"), ("us-ssn", "536904399")],
        );
        check("order 536904399, 123456789012, 1700000000123", &[]);
    }
}
