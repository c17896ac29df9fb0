//! The numbering plans of the world, compiled when a calling code is first seen.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use phonenumber::Type;
use phonenumber::metadata::DATABASE;
use regex_automata::dfa::{Automaton, dense};
use regex_automata::util::primitives::PatternID;
use regex_automata::util::start;
use regex_automata::{Anchored, util::syntax};

/// What a plan says about a number.
pub(super) enum Verdict {
    /// It follows the plan of its calling code.
    Planned,
    /// The calling code exists and the length can be, no more.
    Possible,
    /// No such number.
    Impossible,
}

/// Judges the digits of an international number, calling code first.
pub(super) fn judge(digits: &[u8]) -> Verdict {
    if !(7..=15).contains(&digits.len()) {
        return Verdict::Impossible;
    }
    for length in 1..=3 {
        let Some((code, national)) = digits.split_at_checked(length) else {
            break;
        };
        let code = code
            .iter()
            .fold(0, |value, byte| value * 10 + u16::from(byte.wrapping_sub(b'0')));
        if let Some(plan) = PLANS.get(&code) {
            return plan.judge(code, national);
        }
    }
    Verdict::Impossible
}

/// The kinds of numbers a person or a business is reached by.
const TYPES: [Type; 8] = [
    Type::FixedLine,
    Type::Mobile,
    Type::TollFree,
    Type::PremiumRate,
    Type::SharedCost,
    Type::PersonalNumber,
    Type::Voip,
    Type::Uan,
];

static PLANS: LazyLock<HashMap<u16, Plan>> = LazyLock::new(|| {
    let mut plans: HashMap<u16, Plan> = HashMap::new();
    for region in DATABASE.iter() {
        let plan = plans.entry(region.country_code()).or_default();
        for descriptor in TYPES
            .into_iter()
            .filter_map(|kind| region.descriptors().get(kind))
        {
            for length in descriptor.possible_length() {
                plan.lengths |= 1u32.checked_shl(u32::from(*length)).unwrap_or(0);
            }
        }
    }
    plans
});

/// The numbers of one calling code.
#[derive(Default)]
struct Plan {
    /// Bit n is set when national numbers may have n digits.
    lengths: u32,
    /// Empty when the plan's pattern cannot be compiled: then the length alone counts.
    pattern: OnceLock<Option<dense::DFA<Vec<u32>>>>,
}

impl Plan {
    fn judge(&self, code: u16, national: &[u8]) -> Verdict {
        if self.lengths & (1 << national.len()) == 0 {
            return Verdict::Impossible;
        }
        match self.pattern.get_or_init(|| compile(code)) {
            Some(pattern) if matches_whole(pattern, national) => Verdict::Planned,
            Some(_) | None => Verdict::Possible,
        }
    }
}

fn compile(code: u16) -> Option<dense::DFA<Vec<u32>>> {
    let patterns: Vec<String> = DATABASE
        .by_code(&code)?
        .iter()
        .map(|region| {
            format!(
                "(?x:{})",
                region.descriptors().general().national_number().as_str()
            )
        })
        .collect();
    let whole = format!("^(?:{})$", patterns.join("|"));
    dense::Builder::new()
        .configure(
            dense::Config::new()
                .dfa_size_limit(Some(1 << 20))
                .determinize_size_limit(Some(1 << 20)),
        )
        .syntax(syntax::Config::new().unicode(false).utf8(false))
        .build(&whole)
        .ok()
}

fn matches_whole(pattern: &dense::DFA<Vec<u32>>, digits: &[u8]) -> bool {
    let Ok(mut state) = pattern.start_state(&start::Config::new().anchored(Anchored::Yes)) else {
        return false;
    };
    for byte in digits {
        state = pattern.next_state(state, *byte);
        if pattern.is_dead_state(state) {
            return false;
        }
    }
    state = pattern.next_eoi_state(state);
    pattern.is_match_state(state) && pattern.match_pattern(state, 0) == PatternID::ZERO
}
