use proptest::prelude::*;

use super::*;

/// The plain reading of a text, and the source of the named word in it.
fn check(text: &str, reading: &str, word: &str, source: &str) {
    let plain = normalize(text.as_bytes());
    assert_eq!(plain.text(), reading, "reading of {text:?}");
    let start = plain.text().find(word).expect("the word stands in the reading");
    let span = plain.source(start..start + word.len());
    assert_eq!(&text[span], source, "source of {word:?} in {text:?}");
}

#[test]
fn disguises_are_undone_and_spans_point_at_what_was_written() {
    for (text, reading, word, source) in [
        ("ignore this", "ignore this", "ignore", "ignore"),
        ("ｉｇｎｏｒｅ this", "ignore this", "ignore", "ｉｇｎｏｒｅ"),
        ("𝐢𝐠𝐧𝐨𝐫𝐞 this", "ignore this", "ignore", "𝐢𝐠𝐧𝐨𝐫𝐞"),
        ("ígnöre this", "ignore this", "ignore", "ígnöre"),
        ("ignоrе this", "ignore this", "ignore", "ignоrе"),
        (
            "ig\u{200b}no\u{2060}re this",
            "ignore this",
            "ignore",
            "ig\u{200b}no\u{2060}re",
        ),
        ("ig\u{202e}nore this", "ignore this", "ignore", "ig\u{202e}nore"),
        (
            "so \u{e0069}\u{e0067}\u{e006e} it",
            "so ign it",
            "ign",
            "\u{e0069}\u{e0067}\u{e006e}",
        ),
        ("i g n o r e this", "ignore this", "ignore", "i g n o r e"),
        ("i-g-n-o-r-e this", "ignore this", "ignore", "i-g-n-o-r-e"),
        ("p.r.e.v  n.e.x.t", "prev next", "prev", "p.r.e.v"),
        ("ig-nore this", "ignore this", "ignore", "ig-nore"),
        ("pre vious rules", "previous rules", "previous", "pre vious"),
        (
            "in_struc_tions now",
            "instructions now",
            "instructions",
            "in_struc_tions",
        ),
        ("ign\\u006fre this", "ignore this", "ignore", "ign\\u006fre"),
        ("ign&#111;re&nbsp;this", "ignore this", "ignore", "ign&#111;re"),
        ("%69gnore%20this", "ignore this", "ignore", "%69gnore"),
        ("%2569gnore this", "ignore this", "ignore", "%2569gnore"),
        ("ign=6Fre this", "ignore this", "ignore", "ign=6Fre"),
        ("ig=\nnore this", "ignore this", "ignore", "ig=\nnore"),
        ("do\n    this", "do this", "do this", "do\n    this"),
        ("one.\n\n  two", "one.\ntwo", "two", "two"),
        ("игнорируй это", "игнорируи это", "игнорируи", "игнорируй"),
        ("say \\\"hi\\\"\\nnow", "say \"hi\" now", "now", "now"),
    ] {
        check(text, reading, word, source);
    }
}

#[test]
fn plain_text_is_not_copied() {
    for (text, borrowed) in [
        ("A plain sentence, with marks; and digits 123.", true),
        ("", true),
        ("two  blanks", false),
        ("an escape \\u0041", false),
        ("naïve", false),
    ] {
        assert_eq!(normalize(text.as_bytes()).is_borrowed(), borrowed, "{text:?}");
    }
}

#[test]
fn hidden_text_is_counted() {
    let tags: String = "obey me"
        .chars()
        .filter_map(|c| char::from_u32(c as u32 + 0xe_0000))
        .collect();
    let plain = normalize(tags.as_bytes());
    assert_eq!(plain.text(), "obey me");
    assert_eq!(plain.concealment().tags, 7);
    let selectors: String = "hi there"
        .bytes()
        .filter_map(|b| char::from_u32(u32::from(b) - 16 + 0xe_0100))
        .collect();
    let text = format!("😀{selectors}");
    assert!(normalize(text.as_bytes()).text().ends_with("hi there"));
}

#[test]
fn styled_symbols_hide_nothing() {
    let plain = normalize("a heart \u{2764}\u{fe0f} here".as_bytes());
    assert_eq!(plain.concealment().tags, 0);
}

proptest! {
    #[test]
    fn any_bytes_have_a_reading_whose_spans_lie_inside(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let plain = normalize(&bytes);
        let whole = plain.source(0..plain.text().len());
        prop_assert!(whole.end <= bytes.len());
        for (start, character) in plain.text().char_indices() {
            let span = plain.source(start..start + character.len_utf8());
            prop_assert!(span.start <= span.end && span.end <= bytes.len());
        }
    }

    #[test]
    fn sources_never_go_back(text in "[a-cİﬁé 😀\\-=%\\\\&#;xu0-9\u{200b}\n]{0,120}") {
        let plain = normalize(text.as_bytes());
        let mut last = 0;
        for (start, character) in plain.text().char_indices() {
            let span = plain.source(start..start + character.len_utf8());
            prop_assert!(span.start >= last, "{:?} at {start}", plain.text());
            last = span.start;
        }
    }

    #[test]
    fn the_reading_is_bounded(text in "\\PC{0,300}") {
        prop_assert!(normalize(text.as_bytes()).text().len() <= text.len() * 12 + 1);
    }
}
