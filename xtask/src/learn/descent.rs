//! Weights that tell two sorts of texts apart, found step by step.
//!
//! Of a text that gives orders only the words count that speak most for it: one order among ordinary sentences is enough. Of an
//! ordinary text all words count. After each look the weights of these words are moved a little towards the right answer, the
//! less the more often they were moved before.

use std::ops::Range;

use super::corpus::{Row, Sort};
use tidegate_detect::injection::learned::{BIAS, FEATURES, share, windows};

/// How often everything is gone through.
const ROUNDS: usize = 20;

/// How many of the last rounds the weights are the mean of.
const MEAN_OF: usize = 10;

/// How far weights move at first.
const RATE: f32 = 0.2;

/// How much all texts of a sort count together.
const fn counts(sort: Sort) -> f32 {
    match sort {
        Sort::Order | Sort::Ordinary => 4000.0,
        Sort::Documentation => 8000.0,
    }
}

/// Words to learn from: all of an ordinary text's, or those of an order that speak most for one.
struct Lesson<'a> {
    row: &'a Row,
    /// Those of an ordinary text; of an order they are chosen each time.
    words: Option<Range<usize>>,
    weight: f32,
}

/// The weights after learning from all rows.
pub(super) fn learn(rows: &[&Row]) -> Vec<f32> {
    let lessons = lessons(rows);
    let mut weights = vec![0.0_f32; FEATURES];
    let mut mean = vec![0.0_f32; FEATURES];
    let mut moved = vec![1e-4_f32; FEATURES];
    let mut order: Vec<usize> = (0..lessons.len()).collect();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for round in 0..ROUNDS {
        dice.shuffle(&mut order);
        for lesson in order.iter().filter_map(|number| lessons.get(*number)) {
            let window = lesson
                .words
                .clone()
                .unwrap_or_else(|| best(&weights, lesson.row).1);
            let sum = sum(&weights, lesson.row, &window);
            let taken = 1.0 / (1.0 + (-sum).exp());
            let right = f32::from(u8::from(lesson.row.sort == Sort::Order));
            let share = share(window.len());
            let pull = (taken - right) * lesson.weight * share;
            for number in lesson.row.words.get(window).unwrap_or_default().iter().flatten() {
                let number = *number as usize;
                if let (Some(weight), Some(moved)) = (weights.get_mut(number), moved.get_mut(number)) {
                    *moved += pull * pull;
                    *weight -= RATE * pull / moved.sqrt();
                }
            }
        }
        if round >= ROUNDS - MEAN_OF {
            for (mean, weight) in mean.iter_mut().zip(&weights) {
                *mean += weight / MEAN_OF as f32;
            }
        }
    }
    mean
}

/// What is learned from each row, so that each sort of texts counts as much as any other.
fn lessons<'a>(rows: &[&'a Row]) -> Vec<Lesson<'a>> {
    let mut lessons = Vec::new();
    for row in rows {
        let whole = |words| Lesson {
            row,
            words,
            weight: row.weight,
        };
        match row.sort {
            Sort::Order => lessons.push(whole(None)),
            Sort::Ordinary | Sort::Documentation => {
                lessons.extend(windows(row.words.len()).map(|words| whole(Some(words))));
            }
        }
    }
    for sort in [Sort::Order, Sort::Ordinary, Sort::Documentation] {
        let such = lessons.iter().filter(|lesson| lesson.row.sort == sort);
        let all: f32 = such.map(|lesson| lesson.weight).sum();
        for lesson in lessons.iter_mut().filter(|lesson| lesson.row.sort == sort) {
            lesson.weight *= counts(sort) / all;
        }
    }
    lessons
}

/// What the words say that speak most for an order, and which they are.
pub(super) fn best(weights: &[f32], row: &Row) -> (f32, Range<usize>) {
    windows(row.words.len())
        .map(|window| (sum(weights, row, &window), window))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .unwrap_or((BIAS, 0..0))
}

fn sum(weights: &[f32], row: &Row, window: &Range<usize>) -> f32 {
    let words = row.words.get(window.clone()).unwrap_or_default();
    let weight = |number: &u32| weights.get(*number as usize).copied().unwrap_or(0.0);
    let all: f32 = words.iter().flatten().map(weight).sum();
    all.mul_add(share(window.len()), BIAS)
}

/// A small generator that gives the same numbers everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides.max(1) as u64).unwrap_or(0)
    }

    fn shuffle(&mut self, order: &mut [usize]) {
        for last in (1..order.len()).rev() {
            order.swap(last, self.roll(last + 1));
        }
    }
}
