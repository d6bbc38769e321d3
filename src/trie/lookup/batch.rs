//! Batch lookup: what each of many subjects matches, as plain numbers.
//!
//! Lookups are interleaved (see [`super::interleaved`]).

/// The matches of many subjects: ids, one subject's after another's.
#[derive(Debug, Default)]
pub struct BatchMatches {
    /// The ids of all subjects; each subject's in ascending order.
    pub ids: Vec<i32>,
    /// Whether an id is too large for `ids`, which then has another number in its place.
    pub too_large: bool,
    /// The end of the ids of each subject.
    pub ends: Vec<usize>,
    /// Whether each row is a valid subject.
    pub valid: Vec<bool>,
}

impl BatchMatches {
    /// Appends the matches of a group of subjects of which none matches two: the id of each, and how
    /// many it matches.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // reported
    pub(super) fn append_one_each(&mut self, found: &[(u64, u32)], valid: &[bool]) {
        self.valid.extend_from_slice(valid);
        let mut at = self.ids.len();
        // Room for all, so that a subject without a match needs no branch.
        self.ids.resize(at + found.len(), 0);
        let mut highest = 0;
        self.ends.extend(found.iter().map(|&(id, count)| {
            if let Some(place) = self.ids.get_mut(at) {
                *place = id as i32;
            }
            highest |= id;
            at += count as usize;
            at
        }));
        self.ids.truncate(at);
        self.too_large |= i32::try_from(highest).is_err();
    }

    /// Appends the matches of a group of subjects: ids, each with the place of its subject in the
    /// group, in any order; and whether each is valid.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // reported
    pub(super) fn append(&mut self, found: &[(u32, u64)], valid: &[bool]) {
        let (start, first_end) = (self.ids.len(), self.ends.len());
        // A counting sort by subject: `ends` is where the ids of each begin, and then where they end.
        self.valid.extend_from_slice(valid);
        self.ends.resize(first_end + valid.len(), 0);
        let ends = self.ends.get_mut(first_end..).unwrap_or_default();
        for &(subject, _) in found {
            if let Some(count) = ends.get_mut(subject as usize) {
                *count += 1;
            }
        }
        let mut at = start;
        for end in &mut *ends {
            at += std::mem::replace(end, at);
        }
        self.ids.resize(at, 0);
        for &(subject, id) in found {
            if let Some(end) = ends.get_mut(subject as usize)
                && let Some(place) = self.ids.get_mut(*end)
            {
                self.too_large |= i32::try_from(id).is_err();
                *place = id as i32;
                *end += 1;
            }
        }
        let mut begin = start;
        let mut repeats = false;
        for &end in &*ends {
            if end - begin > 1 {
                let ids = self.ids.get_mut(begin..end).unwrap_or_default();
                ids.sort_unstable();
                repeats |= ids.windows(2).any(|pair| pair[0] == pair[1]);
            }
            begin = end;
        }
        if repeats {
            self.remove_repeated(start, first_end);
        }
    }

    /// Removes repeated ids of the subjects from `first_end` on, as [`super::sort_dedup`] does.
    #[cold]
    fn remove_repeated(&mut self, start: usize, first_end: usize) {
        let (mut begin, mut kept) = (start, start);
        for end in self.ends.iter_mut().skip(first_end) {
            let first = kept;
            for at in begin..*end {
                if kept == first || self.ids[at] != self.ids[kept - 1] {
                    self.ids[kept] = self.ids[at];
                    kept += 1;
                }
            }
            begin = std::mem::replace(end, kept);
        }
        self.ids.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::BatchMatches;

    #[test]
    fn ids_are_sorted_by_subject_and_repeated_ones_removed() {
        let first: [(u32, u64); 5] = [(1, 7), (0, 9), (1, 7), (1, 2), (2, 7)];
        // Every list of four of these, and all its ends.
        let rows = [(0, 5), (0, 6), (1, 5), (2, 4), (2, 4 << 16)];
        for number in 0..5usize.pow(4) {
            let mut found: Vec<(u32, u64)> = (0..4)
                .map(|place| rows[number / 5usize.pow(place) % 5])
                .collect();
            while !found.is_empty() {
                let mut batch = BatchMatches::default();
                batch.append(&first, &[true, true, true, false]);
                batch.append(&found, &[true, false, true]);
                assert_eq!(batch.ids[..4], [9, 2, 7, 7]);
                let mut expected = found.clone();
                expected.sort_unstable();
                expected.dedup();
                let ids: Vec<u64> = batch.ids[4..]
                    .iter()
                    .map(|&id| u64::try_from(id).unwrap())
                    .collect();
                assert!(
                    ids.iter().eq(expected.iter().map(|(_, id)| id)),
                    "{found:?}"
                );
                let end = |of| 4 + expected.iter().filter(|row| row.0 <= of).count();
                assert_eq!(
                    batch.ends,
                    [1, 3, 4, 4, end(0), end(1), end(2)],
                    "{found:?}"
                );
                assert_eq!(batch.valid, [true, true, true, false, true, false, true]);
                assert!(!batch.too_large);
                found.pop();
            }
        }
    }

    #[test]
    fn an_id_that_is_too_large_is_reported() {
        for (id, too_large) in [(0x7fff_ffff, false), (0x8000_0000, true), (u64::MAX, true)] {
            for found in [[(0, 1), (0, id)], [(0, id), (0, 1)]] {
                let mut batch = BatchMatches::default();
                batch.append(&found, &[true]);
                assert_eq!((batch.too_large, batch.ids.len()), (too_large, 2));
            }
        }
    }
}
