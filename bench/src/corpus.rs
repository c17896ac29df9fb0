//! Texts to scan, made by the program itself and the same every time.

/// What a text is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Sentences of ordinary words.
    Prose,
    /// Records as a tool would answer, with nothing to find.
    Json,
    /// Records of which every field is personal.
    Dense,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Prose, Self::Json, Self::Dense];

    /// Its name in the figures.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prose => "prose",
            Self::Json => "json",
            Self::Dense => "dense",
        }
    }
}

/// A text of at least so many bytes.
#[must_use]
pub fn corpus(kind: Kind, bytes: usize) -> Vec<u8> {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut text = String::with_capacity(bytes + 4096);
    while text.len() < bytes {
        match kind {
            Kind::Prose => clean_prose(&mut dice, &mut text),
            Kind::Json => clean_json(&mut dice, &mut text),
            Kind::Dense => dense(&mut dice, &mut text),
        }
    }
    text.into_bytes()
}

/// A small generator that gives the same numbers everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn word(&mut self) -> &'static str {
        let index = usize::try_from(self.roll(WORDS.len() as u64)).unwrap_or(0);
        WORDS.get(index).copied().unwrap_or("and")
    }
}

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "the", "of", "and", "to", "a", "in", "is", "that", "for", "on", "with", "as", "was", "this", "by", "are",
    "from", "at", "or", "an", "which", "report", "system", "service", "market", "during", "between",
    "however", "several", "water", "people", "around", "small", "large", "number", "process", "different",
    "another", "through", "because", "region", "quarter", "increase", "delivery", "schedule", "weather",
    "garden", "music", "library", "mountain", "possible", "standard", "result", "measure", "without",
    "already", "language", "village", "season", "history", "growth", "pattern", "surface", "average",
    "network", "request", "response", "message", "status", "version",
];

fn clean_prose(dice: &mut Dice, text: &mut String) {
    for index in 0..6 + dice.roll(12) {
        let word = dice.word();
        if index == 0 {
            let mut letters = word.chars();
            text.extend(letters.next().into_iter().flat_map(char::to_uppercase));
            text.push_str(letters.as_str());
        } else {
            text.push(' ');
            text.push_str(word);
        }
    }
    text.push_str(if dice.roll(6) == 0 { ".\n\n" } else { ". " });
}

fn clean_json(dice: &mut Dice, text: &mut String) {
    text.push_str(&format!(
        "{{\"id\": {}, \"title\": \"{} {} {}\", \"created\": \"20{:02}-{:02}-{:02}T{:02}:{:02}:00Z\", \"score\": {}.{}, \
         \"tags\": [\"{}\", \"{}\"], \"body\": \"",
        dice.roll(100_000),
        dice.word(),
        dice.word(),
        dice.word(),
        10 + dice.roll(16),
        1 + dice.roll(12),
        1 + dice.roll(28),
        dice.roll(24),
        dice.roll(60),
        dice.roll(100),
        dice.roll(100),
        dice.word(),
        dice.word(),
    ));
    for _ in 0..3 {
        clean_prose(dice, text);
    }
    text.push_str("\"},\n");
}

fn dense(dice: &mut Dice, text: &mut String) {
    text.push_str(&format!(
        "{{\"guest_name\": \"Mary Smith\", \"email\": \"{}.{}{}@example.com\", \"phone\": \"+1 ({}) {}-{:04}\", ",
        dice.word(),
        dice.word(),
        dice.roll(100),
        201 + dice.roll(700),
        200 + dice.roll(700),
        dice.roll(10_000),
    ));
    text.push_str(&format!(
        "\"ip\": \"{}.{}.{}.{}\", \"card\": \"4111 1111 1111 1111\", \"iban\": \"DE89370400440532013000\", \
         \"ssn\": \"{:03}-{:02}-{:04}\", ",
        11 + dice.roll(100),
        dice.roll(256),
        dice.roll(256),
        1 + dice.roll(250),
        1 + dice.roll(600),
        1 + dice.roll(98),
        1 + dice.roll(9998),
    ));
    text.push_str("\"host\": \"wiki.corp.example\", \"note\": \"");
    for _ in 0..3 {
        clean_prose(dice, text);
    }
    text.push_str("\"},\n");
}
