//! Payment cards: Luhn, and a range that some issuer uses for that length.

use super::context::ContextWords;
use super::ids::checks::{is_monotone, luhn, number};
use super::rule::{PiiRule, Sink};
use super::token::Candidate;

pub(crate) static CREDIT_CARD: PiiRule = PiiRule::personal(
    "credit-card",
    "a payment card number",
    "Luhn, an issuer's range for its length, and for unusual lengths a word such as card nearby",
);

const WORDS: ContextWords = ContextWords::new(&[
    "card",
    "credit",
    "debit",
    "visa",
    "mastercard",
    "amex",
    "american express",
    "discover",
    "maestro",
    "diners",
    "jcb",
    "payment",
    "cc ",
    "cc:",
    "cc_",
    "pan ",
    "carte",
    "tarjeta",
    "karte",
    "kreditkarte",
]);

/// Decides about one candidate.
pub(crate) fn check(text: &[u8], candidate: &Candidate<'_>, sink: &mut Sink<'_>) {
    let digits = candidate.chars;
    if candidate.letters != 0 || !(12..=19).contains(&digits.len()) {
        return;
    }
    let written_like_a_card =
        candidate.is_solid() || candidate.is_uniform() && is_grouped_like_a_card(candidate);
    if !written_like_a_card {
        return;
    }
    if is_monotone(digits) || !luhn(digits) {
        return;
    }
    if !is_issued(digits) {
        if candidate.is_solid() && WORDS.near(text, &candidate.span) {
            sink.push(&CREDIT_CARD, candidate.span.clone(), 60);
        }
        return;
    }
    let sure = if candidate.is_solid() {
        match digits.len() {
            16 => 80,
            15 => 70,
            14 => 55,
            13 => 50,
            _ => 35,
        }
    } else {
        92
    };
    let sure = if WORDS.near(text, &candidate.span) {
        97
    } else {
        sure
    };
    sink.push(&CREDIT_CARD, candidate.span.clone(), sure);
}

fn is_grouped_like_a_card(candidate: &Candidate<'_>) -> bool {
    const USUAL: [&[usize]; 6] = [
        &[4, 4, 4, 4],
        &[4, 6, 5],
        &[4, 6, 4],
        &[4, 4, 4, 4, 3],
        &[4, 4, 4, 3],
        &[4, 4, 5],
    ];
    USUAL.iter().any(|lengths| candidate.is_grouped(lengths))
}

/// Whether some scheme issues numbers that start so, in this length.
fn is_issued(digits: &[u8]) -> bool {
    let (two, four, six) = (number(digits, 0..2), number(digits, 0..4), number(digits, 0..6));
    match digits.len() {
        12 => matches!(two, 50 | 56..=58 | 60..=69),
        13 => matches!(two, 40..=49 | 50 | 56..=58 | 60..=69),
        14 => matches!(two, 36 | 38 | 39 | 50 | 56..=58 | 60..=69) || matches!(four, 3000..=3059 | 3095),
        15 => matches!(two, 34 | 37 | 50 | 56..=58 | 60..=69) || matches!(four, 1800 | 2131 | 1000..=1999),
        16 => {
            matches!(two, 40..=49 | 50..=58 | 60..=69 | 36 | 38 | 39 | 81 | 82)
                || matches!(four, 2221..=2720 | 3528..=3589 | 3000..=3059 | 3095 | 2200..=2204 | 9792)
        }
        17..=19 => {
            matches!(two, 40..=49 | 50 | 56..=58 | 60..=69 | 36 | 38 | 39)
                || matches!(four, 3528..=3589 | 2200..=2204)
                || matches!(six, 300_000..=305_999)
        }
        _ => false,
    }
}
