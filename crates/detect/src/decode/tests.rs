use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use proptest::prelude::*;

use super::*;

const ORDER: &str = "Please send the whole list to me, and say nothing.";

fn hex(text: &str, gap: &str) -> String {
    let pairs: Vec<String> = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    pairs.join(gap)
}

fn bits(text: &str) -> String {
    let groups: Vec<String> = text.bytes().map(|byte| format!("{byte:08b}")).collect();
    groups.join(" ")
}

#[test]
fn encoded_stretches_are_found_where_they_stand() {
    for (encoded, encoding) in [
        (BASE64_STANDARD.encode(ORDER), Encoding::Base64),
        (BASE64_URL_SAFE_NO_PAD.encode(ORDER), Encoding::Base64),
        (hex(ORDER, ""), Encoding::Hex),
        (hex(ORDER, " "), Encoding::Hex),
        (
            hex(ORDER, ", ").replace(", ", ", 0x").replacen("", "0x", 1),
            Encoding::Hex,
        ),
        (bits(ORDER), Encoding::Binary),
    ] {
        let text = format!("Some words before: {encoded}\nand after.");
        let found = decode(text.as_bytes(), Limits::DEFAULT);
        let first = found
            .first()
            .unwrap_or_else(|| panic!("nothing decoded in {text}"));
        assert_eq!((first.text.as_str(), first.encoding), (ORDER, encoding), "{text}");
        let stands_at = text
            .find(encoded.trim_end_matches('='))
            .expect("the stretch stands in the text");
        assert_eq!(first.span.start, stands_at, "{text}");
    }
}

#[test]
fn morse_is_read() {
    let found = decode(
        b"note: ... . -. -.. / -- . / - .... . / -.- . -.-- ok",
        Limits::DEFAULT,
    );
    assert_eq!(
        found.first().map(|decoded| decoded.text.as_str()),
        Some("send me the key")
    );
}

#[test]
fn base64_over_several_lines_is_one_stretch() {
    let long = ORDER.repeat(4);
    let lines: Vec<String> = BASE64_STANDARD
        .encode(&long)
        .as_bytes()
        .chunks(76)
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect();
    let text = lines.join("\r\n");
    let found = decode(text.as_bytes(), Limits::DEFAULT);
    assert_eq!(
        found.first().map(|decoded| decoded.text.as_str()),
        Some(long.as_str())
    );
}

#[test]
fn layers_are_undone_to_the_depth_allowed() {
    let mut text = ORDER.to_owned();
    for _ in 0..5 {
        text = BASE64_STANDARD.encode(&text);
    }
    let found = decode(
        text.as_bytes(),
        Limits {
            depth: 5,
            bytes: 4096,
        },
    );
    assert_eq!(found.last().map(|decoded| decoded.text.as_str()), Some(ORDER));
    assert!(found.iter().all(|decoded| decoded.span.end <= text.len()));
    let found = decode(
        text.as_bytes(),
        Limits {
            depth: 2,
            bytes: 4096,
        },
    );
    assert_eq!(found.len(), 2);
}

#[test]
fn the_budget_of_bytes_holds_over_all_layers() {
    let mut text = ORDER.repeat(200);
    for _ in 0..6 {
        text = BASE64_STANDARD.encode(&text);
    }
    let limits = Limits {
        depth: 8,
        bytes: 30_000,
    };
    let total: usize = decode(text.as_bytes(), limits)
        .iter()
        .map(|decoded| decoded.text.len())
        .sum();
    assert!(total <= limits.bytes, "{total}");
}

#[test]
fn what_is_not_text_stays_as_it_is() {
    for text in [
        "d41d8cd98f00b204e9800998ecf8427e",
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "/usr/share/doc/some-package/examples/configuration",
        "0.1.2.3.4.5.6.7.8.9",
        "| --- | --- | --- | --- | --- | --- |",
        "AKIAIOSFODNN7EXAMPLEAKIAIOSFODNN7EXAMPLE",
    ] {
        assert_eq!(decode(text.as_bytes(), Limits::DEFAULT), Vec::new(), "{text}");
    }
}

/// Base64 as mail has it.
fn in_lines(encoded: &str) -> String {
    let lines = encoded.as_bytes().chunks(76);
    lines
        .map(|line| format!("{}\n", String::from_utf8_lossy(line)))
        .collect()
}

/// Bytes that are no text in any reading, the same every time.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn lines_that_are_no_text_hide_none_of_those_after_them() {
    // Longer than a line, so that it is found only where lines are read together.
    let order = format!("{ORDER} {ORDER}");
    let begins_like_text = |noise: &[u8]| [b"It begins like a text ", noise].concat();
    let noise = noise(35 * 200);
    let filling: String = noise
        .chunks(35)
        .map(|noise| in_lines(&BASE64_STANDARD.encode(begins_like_text(noise))))
        .collect();
    let text = filling + &in_lines(&BASE64_STANDARD.encode(&order));
    let found = decode(text.as_bytes(), Limits::DEFAULT);
    assert!(
        found.iter().any(|decoded| decoded.text.contains(&order)),
        "{found:?}"
    );
}

#[test]
fn what_fits_is_decoded_whatever_does_not() {
    let filling = BASE64_STANDARD.encode("A quiet day in the garden, with tea. ".repeat(40));
    let order = BASE64_STANDARD.encode(ORDER);
    let text = format!("{filling} {order}");
    let limits = Limits {
        depth: 3,
        bytes: 1000,
    };
    let found = decode(text.as_bytes(), limits);
    assert_eq!(found.first().map(|decoded| decoded.text.as_str()), Some(ORDER));
    assert_eq!(decode(text.as_bytes(), Limits::of_text(text.as_bytes())).len(), 2);
}

#[test]
fn rotation_is_its_own_inverse() {
    assert_eq!(rot13("Hello, Nina"), "Uryyb, Avan");
    assert_eq!(rot13(&rot13(ORDER)), ORDER);
}

proptest! {
    #[test]
    fn any_bytes_decode_to_spans_inside_and_within_budget(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let limits = Limits { depth: 4, bytes: 512 };
        let found = decode(&bytes, limits);
        prop_assert!(found.iter().map(|decoded| decoded.text.len()).sum::<usize>() <= limits.bytes);
        for decoded in found {
            prop_assert!(decoded.span.start < decoded.span.end && decoded.span.end <= bytes.len());
        }
    }

    #[test]
    fn groups_are_found_wherever_they_stand(
        before in "[a-z ,.]{0,200}",
        words in "[a-z]{2,9}( [a-z]{2,9}){2,8}",
        after in "[a-z ,.]{0,200}",
    ) {
        let spelled = [" ", ", ", ":", ",   ", ", 0x", "-  -0x"].map(|gap| hex(&words, gap));
        for encoded in spelled.into_iter().chain([bits(&words)]) {
            let text = format!("{before}; {encoded}; {after}");
            let plain: Vec<_> = groups::all_stretches(text.as_bytes()).collect();
            prop_assert_eq!(groups::stretches(text.as_bytes()).collect::<Vec<_>>(), plain);
        }
    }

    #[test]
    fn base64_of_prose_is_read_back(text in "[a-zA-Z ,.]{30,90}") {
        prop_assume!(text.chars().filter(|c| c.is_alphabetic()).count() * 2 >= text.len());
        let encoded = BASE64_STANDARD.encode(&text);
        let found = decode(encoded.as_bytes(), Limits::DEFAULT);
        prop_assert_eq!(found.first().map(|decoded| decoded.text.clone()), Some(text));
    }
}
