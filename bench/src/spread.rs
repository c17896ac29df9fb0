//! How long a thing took, many times over.

use std::fmt;
use std::time::{Duration, Instant};

/// Times of one operation, sorted.
pub struct Spread {
    sorted: Vec<Duration>,
    elapsed: Duration,
}

impl Spread {
    /// The spread of these times, which took this long together.
    #[must_use]
    pub fn new(mut times: Vec<Duration>, elapsed: Duration) -> Self {
        times.sort_unstable();
        Self {
            sorted: times,
            elapsed,
        }
    }

    /// Several spreads that were measured at the same time, as one.
    #[must_use]
    pub fn together(spreads: Vec<Self>) -> Self {
        let elapsed = spreads
            .iter()
            .map(|spread| spread.elapsed)
            .max()
            .unwrap_or_default();
        let times = spreads.into_iter().flat_map(|spread| spread.sorted).collect();
        Self::new(times, elapsed)
    }

    /// Times an operation `count` times, one after the other.
    pub fn of(count: usize, mut operation: impl FnMut()) -> Self {
        let began = Instant::now();
        let times = (0..count).map(|_| {
            let began = Instant::now();
            operation();
            began.elapsed()
        });
        let times = times.collect();
        Self::new(times, began.elapsed())
    }

    /// Both together, as if they had been measured one after the other.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let times = [self.sorted, other.sorted].concat();
        Self::new(times, self.elapsed + other.elapsed)
    }

    /// The time under which this share of the operations stayed.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Duration {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rank in a list of at most a few million"
        )]
        let rank = (self.sorted.len().saturating_sub(1) as f64 * share) as usize;
        self.sorted.get(rank).copied().unwrap_or_default()
    }

    /// The middle time.
    #[must_use]
    pub fn p50(&self) -> Duration {
        self.quantile(0.5)
    }

    /// Operations a second, all of them together.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a count of at most a few million")]
        let count = self.sorted.len() as f64;
        count / self.elapsed.as_secs_f64()
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>10.0}/s  p50 {:>9.1?}  p99 {:>9.1?}",
            self.per_second(),
            self.p50(),
            self.quantile(0.99)
        )
    }
}
