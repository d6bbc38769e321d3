//! The nearest pattern of each subject of a column that no pattern matches.

use std::str;

use super::Column;
use super::matches::{BatchError, LookupSource};
use subtrie::raw::Scratch;

/// The nearest pattern of each row, and the first token that differs; -1 if there is none.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NearestPatterns {
    /// The id of the oldest subscription to the nearest pattern.
    pub ids: Vec<i32>,
    /// The zero-based index of the first token that differs.
    pub differs_at: Vec<i32>,
}

/// Find the nearest pattern of the rows of consecutive columns.
///
/// A row that is null, not a valid subject, or matched by a pattern has none. Changes of the index
/// wait for the whole call. Cost: all patterns once, then a few searches for each row.
///
/// # Errors
///
/// The id of a subscription exceeds int32, or the index cannot be read.
pub fn nearest_columns<S: LookupSource>(
    source: &S,
    columns: &[Column],
) -> Result<NearestPatterns, BatchError<S::Refused>> {
    let mut found = NearestPatterns::default();
    let mut too_large = false;
    source.with_target(&mut |target| {
        let explainer = target.explainer();
        let mut scratch = Scratch::default();
        for column in columns {
            for row in 0..column.len() {
                let text = column.key(row).and_then(|value| column.bytes(value));
                let nearest = text
                    .and_then(|text| str::from_utf8(text).ok())
                    .and_then(|text| explainer.explain(text, 1, &mut scratch).ok())
                    .and_then(|explanation| explanation.nearest.first().copied());
                let (id, token) = match nearest {
                    None => (-1, -1),
                    Some((subscription, token)) => {
                        let id = i32::try_from(subscription.id);
                        too_large |= id.is_err();
                        (id.unwrap_or(-1), i32::try_from(token).unwrap_or(-1))
                    }
                };
                found.ids.push(id);
                found.differs_at.push(token);
            }
        }
    })?;
    if too_large {
        Err(BatchError::IdTooLarge)
    } else {
        Ok(found)
    }
}
