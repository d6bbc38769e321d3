//! The buckets of the subjects of a batch.

use std::borrow::Cow;

use super::input::TextColumn;
use subtrie_columns::valid;

/// A subject, with U+FFFD in place of bytes that are not UTF-8, and its bucket.
pub struct Placed<'a> {
    pub text: Option<Cow<'a, str>>,
    pub bucket: usize,
}

/// Return the rows in the order of their buckets, so that a table of one is used while it is cached.
pub fn by_bucket(placed: &[Placed<'_>], count: usize) -> Vec<usize> {
    let mut next = vec![0; count];
    for row in placed {
        next[row.bucket] += 1;
    }
    let mut before = 0;
    for start in &mut next {
        before += std::mem::replace(start, before);
    }
    let mut rows = vec![0; placed.len()];
    for (row, Placed { bucket, .. }) in placed.iter().enumerate() {
        rows[next[*bucket]] = row;
        next[*bucket] += 1;
    }
    rows
}

/// Return the text of each subject and its bucket of `count`, which is the same in every process.
pub fn placed(subjects: &TextColumn, rows: usize, count: usize) -> Vec<Placed<'_>> {
    let place = |row| {
        let text = subjects.get(row).map(valid);
        let bucket = text.as_deref().map_or(0, |text| bucket_of(text, count));
        Placed { text, bucket }
    };
    (0..rows).map(place).collect()
}

/// Return the bucket of a subject.
pub fn bucket_of(text: &str, count: usize) -> usize {
    if count < 2 {
        return 0;
    }
    crc32fast::hash(text.as_bytes()) as usize % count
}
