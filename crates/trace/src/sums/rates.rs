//! Rates: how often something happened over time, as at most 32 bars of one width.
//!
//! The width is a power of two of seconds, and a bar begins at a multiple of it. It is the least
//! width with which all times have a bar, and so follows from the first and the last of them: rates
//! that are added in any order and grouping are equal.

use std::sync::Arc;

use arrow_array::StructArray;
use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_data::ArrayData;
use arrow_schema::ArrowError;

use super::input::{Input, invalid};
use super::output::table;

/// The most bars of a rate.
const MOST_BARS: u8 = 32;
/// A second in microseconds.
const SECOND: i64 = 1_000_000;
/// The widest bars, as a power of two of seconds: 64 bits of microseconds are less.
const WIDEST: u32 = 44;

/// Numbers by time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The width of a bar, as a power of two of seconds.
    power: u32,
    /// The start of the first bar, divided by the width.
    first: i64,
    /// The bars; the first and the last are not zero.
    bars: Vec<i64>,
}

impl Rate {
    /// Return the rate of one time in microseconds.
    pub fn at(time: i64) -> Self {
        let first = time.div_euclid(SECOND);
        let (power, bars) = (0, vec![1]);
        Self { power, first, bars }
    }

    /// Return the rate that `write` wrote; none of nothing.
    ///
    /// # Errors
    ///
    /// `ArrowError` if the numbers are not those of a rate.
    pub fn of(numbers: &[i64]) -> Result<Option<Self>, ArrowError> {
        let [width, start, bars @ ..] = numbers else {
            return Ok(None);
        };
        let power = width.trailing_zeros();
        let limit = 1_i64 << WIDEST;
        let sound = *width > 0
            && width.count_ones() == 1
            && power <= WIDEST
            && (-limit..=limit).contains(start)
            && start & (width - 1) == 0
            && !bars.is_empty()
            && bars.len() <= usize::from(MOST_BARS);
        if !sound {
            return Err(invalid(format!("{numbers:?} is not a rate")));
        }
        let (first, bars) = (start >> power, bars.to_vec());
        Ok(Some(Self { power, first, bars }))
    }

    /// Write the width in seconds, the start of the first bar in seconds since 1970, and the bars.
    pub fn write(&self, to: &mut Int64Builder) {
        to.append_slice(&[1 << self.power, self.first << self.power]);
        to.append_slice(&self.bars);
    }

    /// Add a time in microseconds.
    pub fn add_time(&mut self, time: i64) {
        let at = (time.div_euclid(SECOND) >> self.power) - self.first;
        match usize::try_from(at)
            .ok()
            .and_then(|at| self.bars.get_mut(at))
        {
            Some(bar) => *bar = bar.saturating_add(1),
            None => self.add(&Self::at(time)),
        }
    }

    /// Add another rate.
    pub fn add(&mut self, other: &Self) {
        let mut power = self.power.max(other.power);
        let ends = |rate: &Self| {
            (
                rate.first >> (power - rate.power),
                rate.last() >> (power - rate.power),
            )
        };
        let ((one, one_end), (another, other_end)) = (ends(self), ends(other));
        let (mut first, mut last) = (one.min(another), one_end.max(other_end));
        while last - first >= i64::from(MOST_BARS) {
            (power, first, last) = (power + 1, first >> 1, last >> 1);
        }
        if (power, first, last) != (self.power, self.first, self.last()) {
            let bars = (first..=last).map(|_| 0).collect();
            let old = std::mem::replace(self, Self { power, first, bars });
            self.fill(&old);
        }
        self.fill(other);
    }

    /// Return the number of the last bar, as `first` is that of the first.
    fn last(&self) -> i64 {
        self.first - 1 + i64::try_from(self.bars.len()).unwrap_or_default()
    }

    /// Add the bars of another rate to those that contain them.
    fn fill(&mut self, other: &Self) {
        for (number, &added) in (other.first..).zip(&other.bars) {
            let at = (number >> (self.power - other.power)) - self.first;
            if let Some(bar) = usize::try_from(at)
                .ok()
                .and_then(|at| self.bars.get_mut(at))
            {
                *bar = bar.saturating_add(added);
            }
        }
    }
}

/// Add up rates by the number of their group; return the column `rate` with a row for each group.
///
/// `batch` has the columns `group` and `rate`.
///
/// # Errors
///
/// `ArrowError` if a column has another type, or the numbers of a row are not those of a rate.
pub fn added_rates(batch: ArrayData, groups: usize) -> Result<StructArray, ArrowError> {
    let input = Input::new(batch, Vec::new())?;
    let (group, rates) = (input.numbers("group")?, input.lists("rate")?);
    let mut sums: Vec<Option<Rate>> = vec![None; groups];
    for row in 0..input.len() {
        let number = group
            .get(row)
            .and_then(|number| usize::try_from(number).ok());
        let sum = number.and_then(|number| sums.get_mut(number));
        let (Some(sum), Some(rate)) = (sum, Rate::of(rates.get(row))?) else {
            continue;
        };
        match sum {
            Some(sum) => sum.add(&rate),
            None => *sum = Some(rate),
        }
    }
    let mut lists = ListBuilder::new(Int64Builder::new());
    for sum in &sums {
        if let Some(rate) = sum {
            rate.write(lists.values());
        }
        lists.append(sum.is_some());
    }
    table(vec![Some(("rate", Arc::new(lists.finish())))], groups)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::{MOST_BARS, Rate, SECOND};

    fn of(times: &[i64]) -> Option<Rate> {
        let mut times = times.iter();
        let mut found = Rate::at(*times.next()?);
        times.for_each(|&time| found.add_time(time));
        Some(found)
    }

    /// The bars of the least width with which there are at most 32.
    fn by_definition(times: &[i64]) -> Option<Rate> {
        let seconds = || times.iter().map(|time| time.div_euclid(SECOND));
        let (low, high) = (seconds().min()?, seconds().max()?);
        let power =
            (0..63).find(|&power| (high >> power) - (low >> power) < i64::from(MOST_BARS))?;
        let (first, last) = (low >> power, high >> power);
        let bar = |at| {
            seconds()
                .map(|second| i64::from(second >> power == at))
                .sum()
        };
        let bars = (first..=last).map(bar).collect();
        Some(Rate { power, first, bars })
    }

    /// Times that are near each other, or anywhere.
    fn times() -> impl Strategy<Value = Vec<i64>> {
        let (span, base) = (15..62_u32, any::<i64>());
        let some = prop::collection::vec(any::<i64>(), 0..40);
        (span, base, some).prop_map(|(span, base, some)| {
            let near = |time: i64| (base >> 1).saturating_add(time.rem_euclid(1 << span));
            some.into_iter().map(near).collect()
        })
    }

    proptest! {
        #[test]
        fn a_rate_is_that_of_its_definition(times in times()) {
            prop_assert_eq!(of(&times), by_definition(&times));
        }

        #[test]
        fn parts_add_up_to_the_rate_of_the_whole(times in times(), at in any::<prop::sample::Index>()) {
            let (one, other) = times.split_at(at.index(times.len() + 1));
            let sum = match (of(other), of(one)) {
                (Some(mut sum), Some(one)) => { sum.add(&one); Some(sum) }
                (sum, one) => sum.or(one),
            };
            prop_assert_eq!(sum, by_definition(&times));
        }
    }

    #[test]
    fn the_earliest_and_the_latest_time_have_bars() {
        let found = of(&[i64::MIN, i64::MAX]).unwrap();
        assert_eq!(found.bars.iter().sum::<i64>(), 2);
        assert_eq!(Some(found), by_definition(&[i64::MIN, i64::MAX]));
    }

    #[test]
    fn other_numbers_are_refused() {
        assert_eq!(Rate::of(&[]).unwrap(), None);
        assert!(Rate::of(&[4, 8, 1, 0, 2]).unwrap().is_some());
        for numbers in [
            &[3, 0, 1][..],
            &[0, 0, 1],
            &[-4, 0, 1],
            &[4, 2, 1],
            &[4, 0],
            &[1, i64::MAX, 1],
            &[i64::MIN, 0, 1],
        ] {
            assert!(Rate::of(numbers).is_err(), "{numbers:?}");
        }
    }
}
