//! What was asked of the gateways, when, and what came of it; and the program that checks it.

use std::collections::HashMap;
use std::time::Duration;

/// One thing that was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) session: String,
    pub(crate) what: What,
    /// When it was sent and when the answer was there, since the test began.
    pub(crate) began: Duration,
    pub(crate) ended: Duration,
}

/// What was asked, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Data above the tool's ceiling was brought, and given out.
    Raised,
    /// It was brought, and whether it is in force nobody knows.
    MayHaveRaised,
    /// A call passed.
    Passed,
    /// A call was refused for what the session holds.
    Blocked,
    /// A call got no decision, which is a denial.
    NoDecision,
}

/// Whether the ratchet held: a call that was sent after a rise had been acknowledged does not pass, wherever the two were, and no call is
/// blocked before anything was brought.
pub(crate) fn violations(history: &[Asked]) -> Vec<String> {
    let mut acknowledged: HashMap<&str, Duration> = HashMap::new();
    let mut brought: HashMap<&str, Duration> = HashMap::new();
    for asked in history {
        let session = asked.session.as_str();
        if asked.what == What::Raised {
            let first = acknowledged.entry(session).or_insert(asked.ended);
            *first = (*first).min(asked.ended);
        }
        if matches!(asked.what, What::Raised | What::MayHaveRaised) {
            let first = brought.entry(session).or_insert(asked.began);
            *first = (*first).min(asked.began);
        }
    }
    let wrong = history.iter().filter(|asked| {
        let session = asked.session.as_str();
        match asked.what {
            What::Passed => acknowledged.get(session).is_some_and(|rise| asked.began > *rise),
            What::Blocked => brought.get(session).is_none_or(|rise| asked.ended < *rise),
            What::Raised | What::MayHaveRaised | What::NoDecision => false,
        }
    });
    wrong.map(|asked| format!("{asked:?}")).collect()
}

/// How often each thing happened.
pub(crate) fn count(history: &[Asked], what: What) -> usize {
    history.iter().filter(|asked| asked.what == what).count()
}

#[test]
fn the_checker_finds_what_is_wrong() {
    let asked = |session: &str, what, began, ended| Asked {
        session: session.to_owned(),
        what,
        began: Duration::from_millis(began),
        ended: Duration::from_millis(ended),
    };
    for (history, wrong) in [
        (
            vec![asked("a", What::Raised, 0, 10), asked("a", What::Passed, 11, 20)],
            1,
        ),
        (
            vec![asked("a", What::Raised, 0, 10), asked("a", What::Passed, 9, 20)],
            0,
        ),
        (
            vec![asked("a", What::Raised, 0, 10), asked("b", What::Passed, 11, 20)],
            0,
        ),
        (
            vec![
                asked("a", What::MayHaveRaised, 0, 10),
                asked("a", What::Passed, 11, 20),
            ],
            0,
        ),
        (
            vec![
                asked("a", What::MayHaveRaised, 0, 10),
                asked("a", What::Blocked, 11, 20),
            ],
            0,
        ),
        (
            vec![asked("a", What::Raised, 15, 20), asked("a", What::Blocked, 0, 10)],
            1,
        ),
        (vec![asked("a", What::Blocked, 0, 10)], 1),
        (
            vec![
                asked("a", What::Raised, 0, 10),
                asked("a", What::NoDecision, 11, 20),
            ],
            0,
        ),
    ] {
        assert_eq!(violations(&history).len(), wrong, "{history:?}");
    }
}
