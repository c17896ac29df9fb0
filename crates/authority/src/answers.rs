//! Answers that may be used again: for a bounded time, and a bounded number of them.
//!
//! INVARIANT (no answer outlives its bound): an answer's age is counted from when it was asked for, so what the server
//! changed after that is in force when the bound has passed. Two generations keep the number bounded without keeping an
//! order: when the young one is full it becomes the old one, and the old one is dropped.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_core::{Ident, Name};
use tidegate_engine::Subject;

/// Answers in one generation.
const MOST: usize = 50_000;

/// Who asked for what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    user: Ident,
    agent: Ident,
    session: Ident,
    tool: Name,
}

impl Question {
    pub(crate) fn new(subject: Subject<'_>, tool: &Name) -> Self {
        Self {
            user: subject.user.clone(),
            agent: subject.agent.clone(),
            session: subject.session.clone(),
            tool: tool.clone(),
        }
    }
}

#[derive(Clone, Debug)]
struct Answer {
    is_permitted: bool,
    asked_at: Instant,
    model: Arc<str>,
}

/// The answers.
#[derive(Debug)]
pub(crate) struct Answers {
    life: Duration,
    young: HashMap<Question, Answer>,
    old: HashMap<Question, Answer>,
}

impl Answers {
    pub(crate) fn new(life: Duration) -> Self {
        Self {
            life,
            young: HashMap::new(),
            old: HashMap::new(),
        }
    }

    /// The answer to a question, if it may still be used and was given by this model.
    pub(crate) fn find(&self, question: &Question, model: &str, now: Instant) -> Option<bool> {
        let answer = self.young.get(question).or_else(|| self.old.get(question))?;
        let age = now.saturating_duration_since(answer.asked_at);
        (age < self.life && *answer.model == *model).then_some(answer.is_permitted)
    }

    pub(crate) fn keep(
        &mut self,
        question: Question,
        is_permitted: bool,
        model: &Arc<str>,
        asked_at: Instant,
    ) {
        if self.life.is_zero() {
            return;
        }
        if self.young.len() >= MOST {
            self.old = std::mem::take(&mut self.young);
        }
        let model = Arc::clone(model);
        self.young.insert(
            question,
            Answer {
                is_permitted,
                asked_at,
                model,
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ident(text: &str) -> Ident {
        Ident::parse(text).unwrap()
    }

    fn question(session: &str) -> Question {
        let (user, agent, session) = (ident("alice"), ident("bot"), ident(session));
        let subject = Subject {
            user: &user,
            agent: &agent,
            session: &session,
        };
        Question::new(subject, &Name::parse("web_search").unwrap())
    }

    #[test]
    fn no_answer_outlives_its_bound() {
        let life = Duration::from_secs(5);
        let asked_at = Instant::now();
        let model: Arc<str> = "m1".into();
        let mut answers = Answers::new(life);
        answers.keep(question("s1"), true, &model, asked_at);
        for (session, model, age, found) in [
            ("s1", "m1", Duration::ZERO, Some(true)),
            ("s1", "m1", life - Duration::from_nanos(1), Some(true)),
            ("s1", "m1", life, None),
            ("s1", "m2", Duration::ZERO, None),
            ("s2", "m1", Duration::ZERO, None),
        ] {
            assert_eq!(
                answers.find(&question(session), model, asked_at + age),
                found,
                "{session} {model} {age:?}"
            );
        }
        let mut never = Answers::new(Duration::ZERO);
        never.keep(question("s1"), true, &model, asked_at);
        assert_eq!(never.find(&question("s1"), "m1", asked_at), None);
    }

    #[test]
    fn a_newer_answer_replaces_an_older_one() {
        let (now, model) = (Instant::now(), Arc::from("m"));
        let mut answers = Answers::new(Duration::from_secs(5));
        answers.keep(question("s"), true, &model, now);
        answers.old = std::mem::take(&mut answers.young);
        answers.keep(question("s"), false, &model, now);
        assert_eq!(answers.find(&question("s"), "m", now), Some(false));
    }

    #[test]
    fn there_is_a_bound() {
        let (now, model) = (Instant::now(), Arc::from("m"));
        let mut answers = Answers::new(Duration::from_secs(5));
        for number in 0..=2 * MOST {
            answers.keep(question(&format!("s{number}")), true, &model, now);
        }
        assert!(answers.young.len() + answers.old.len() <= 2 * MOST);
        assert_eq!(
            answers.find(&question(&format!("s{}", 2 * MOST)), "m", now),
            Some(true)
        );
        assert_eq!(answers.find(&question("s0"), "m", now), None);
    }
}
