//! Where a token may begin and end inside other text.

/// Whether a token may begin at `at`: what stands before is no part of a longer run of letters and digits, or is
/// the end of an escape (`\n`, `%3D`) in a string inside a string.
pub(super) fn may_begin(text: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).and_then(|last| text.get(last)) else {
        return true;
    };
    if !is_word(*before) || text.get(at).is_some_and(|&first| !is_word(first)) {
        return true;
    }
    let tail = text.get(at.saturating_sub(3)..at).unwrap_or_default();
    matches!(tail, [.., b'\\', b'n' | b'r' | b't'])
        || matches!(tail, [b'%', b'2' | b'3', last] if last.is_ascii_hexdigit())
}

/// Whether a token may end before `end`: what follows is no part of a longer run.
pub(super) fn may_end(text: &[u8], end: usize) -> bool {
    text.get(end).is_none_or(|&after| !is_word(after))
}

/// Whether a name may begin at `at`, for words that stand inside identifiers: `my_github_token`, `myGithubToken`,
/// but not the `okta` of `rookTable`.
pub(super) fn name_may_begin(text: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|last| text.get(last));
    match (before, text.get(at)) {
        (Some(before), Some(first)) => {
            !before.is_ascii_alphabetic() || (before.is_ascii_lowercase() && first.is_ascii_uppercase())
        }
        _ => true,
    }
}

/// Whether a name may end before `end`: the next letter begins another word (`acmeKey`, `acme_key`) or one of the words
/// that names of secrets are made of (`acmekey`), so that the `descript` of `description` is no name.
pub(super) fn name_may_end(text: &[u8], end: usize) -> bool {
    let (last, next) = (end.checked_sub(1).and_then(|last| text.get(last)), text.get(end));
    let goes_on = matches!((last, next), (Some(last), Some(next))
        if next.is_ascii_alphabetic() && last.is_ascii_lowercase() == next.is_ascii_lowercase() && last.is_ascii_alphabetic());
    let rest = ahead(text, end, 8);
    !goes_on
        || [
            "key", "token", "secret", "access", "private", "pass", "auth", "api", "id", "client", "cloud",
            "app",
        ]
        .iter()
        .any(|word| {
            rest.get(..word.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes()))
        })
}

/// The bytes from `start` on, at most `most` of them.
pub(super) fn ahead(text: &[u8], start: usize, most: usize) -> &[u8] {
    let end = text.len().min(start.saturating_add(most));
    text.get(start..end).unwrap_or_default()
}

/// The bytes before `end`, at most `most` of them.
pub(super) fn behind(text: &[u8], end: usize, most: usize) -> &[u8] {
    text.get(end.saturating_sub(most)..end).unwrap_or_default()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_begins_after_what_is_not_a_word() {
        for (text, at, expected) in [
            ("tok", 0, true),
            ("=tok", 1, true),
            ("atok", 1, false),
            ("_tok", 1, false),
            (r"\ntok", 2, true),
            ("%3Dtok", 3, true),
            ("%zDtok", 3, false),
        ] {
            assert_eq!(may_begin(text.as_bytes(), at), expected, "{text}");
        }
    }

    #[test]
    fn a_name_begins_at_a_change_of_case() {
        assert!(name_may_begin(b"myOkta", 2));
        assert!(name_may_begin(b"my_okta", 3));
        assert!(!name_may_begin(b"rookTable", 2));
        assert!(name_may_end(b"acmeKey", 4));
        assert!(name_may_end(b"acmekey", 4));
        assert!(name_may_end(b"ACMEKEY", 4));
        assert!(name_may_end(b"acme", 4));
        assert!(!name_may_end(b"description", 8));
    }
}
