//! Times of single calls and of blocks, corrected for the cost of reading the clock.

use std::time::{Duration, Instant};

/// Times in nanoseconds, in ascending order.
pub struct Spread(Vec<f64>);

impl Spread {
    pub fn of(mut times: Vec<f64>) -> Self {
        times.sort_unstable_by(f64::total_cmp);
        Self(times)
    }

    /// The time at this many thousandths of the distribution.
    pub fn at(&self, thousandths: usize) -> f64 {
        let last = self.0.len().saturating_sub(1);
        let time = self.0.get(last * thousandths / 1000).copied();
        (time.unwrap_or(0.0) * 10.0).round() / 10.0
    }

    pub fn median(&self) -> f64 {
        self.at(500)
    }

    pub fn max(&self) -> f64 {
        self.at(1000)
    }
}

/// The nanoseconds that reading the clock adds to a time: the median of many.
pub fn cost() -> f64 {
    let readings = (0..10_001).map(|_| nanoseconds(Instant::now().elapsed()));
    Spread::of(readings.collect()).median()
}

/// A time without the cost of the clock, never below zero.
pub fn corrected(time: Duration, cost: f64) -> f64 {
    (nanoseconds(time) - cost).max(0.0)
}

pub fn nanoseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}
