//! The traits of collections of the standard library for a [`SubjectTrie`].

use super::SubjectTrie;
use crate::error::Error;
use crate::grammar::Dialect;
use crate::trie::subscription::Subscription;

/// An empty trie of the strict dialect.
impl<T> Default for SubjectTrie<T> {
    fn default() -> Self {
        Self::new(Dialect::Strict)
    }
}

/// Inserts all rows in one bulk load, which takes a fraction of the time of single insertions.
///
/// # Panics
///
/// A pattern is not valid, or the index is full; then no row is inserted. To get an error instead,
/// insert the rows one by one, or check them with [`crate::grammar::check`].
///
/// # Examples
///
/// ```
/// # use subtrie::SubjectTrie;
/// let mut trie = SubjectTrie::default();
/// trie.extend([("orders.>", 1), ("orders.*.new", 2)]);
/// assert_eq!(trie.count("orders.eu.new"), Ok(2));
/// ```
impl<P: AsRef<str>, T> Extend<(P, T)> for SubjectTrie<T> {
    fn extend<I: IntoIterator<Item = (P, T)>>(&mut self, rows: I) {
        let (patterns, values): (Vec<P>, Vec<T>) = rows.into_iter().unzip();
        let patterns: Vec<&str> = patterns.iter().map(AsRef::as_ref).collect();
        let first = self.reserve_for(&patterns);
        #[allow(clippy::panic)] // documented
        let first = first.unwrap_or_else(|error| panic!("{error}"));
        self.index
            .insert_all(&patterns, |at| (first + at as u64, None, 0));
        self.values.extend(values);
    }
}

impl<T> SubjectTrie<T> {
    /// Reserves ids for patterns, if all are valid, and returns the first.
    fn reserve_for(&mut self, patterns: &[&str]) -> Result<u64, Error> {
        for pattern in patterns {
            self.index.check_pattern(pattern)?;
        }
        let bytes = patterns.iter().map(|pattern| pattern.len()).sum();
        self.index.reserve(patterns.len(), bytes)
    }
}

/// A trie of the strict dialect, made as by [`SubjectTrie::extend`].
///
/// # Panics
///
/// As for [`SubjectTrie::extend`].
///
/// # Examples
///
/// ```
/// # use subtrie::SubjectTrie;
/// let trie: SubjectTrie<u32> = [("orders.>", 1), ("carts.*", 2)].into_iter().collect();
/// assert_eq!(trie.len(), 2);
/// ```
impl<P: AsRef<str>, T> FromIterator<(P, T)> for SubjectTrie<T> {
    fn from_iter<I: IntoIterator<Item = (P, T)>>(rows: I) -> Self {
        let mut trie = Self::default();
        trie.extend(rows);
        trie
    }
}

/// All subscriptions and their values, as [`SubjectTrie::iter`].
///
/// # Examples
///
/// ```
/// # use subtrie::SubjectTrie;
/// let trie: SubjectTrie<u32> = [("orders.>", 1), ("carts.*", 2)].into_iter().collect();
/// for (subscription, value) in &trie {
///     assert_eq!(trie.get(subscription), Some(value));
/// }
/// ```
impl<'a, T> IntoIterator for &'a SubjectTrie<T> {
    type Item = (Subscription, &'a T);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter().collect::<Vec<_>>().into_iter()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::SubjectTrie;

    #[test]
    fn a_row_that_is_not_valid_extends_by_none() {
        let mut trie: SubjectTrie<u32> = (0..200).map(|n| (format!("a.{n}"), n)).collect();
        let rows = [("b", 1), ("a..b", 2)];
        assert!(catch_unwind(AssertUnwindSafe(|| trie.extend(rows))).is_err());
        assert_eq!((trie.len(), trie.count("b")), (200, Ok(0)));
        trie.extend([("b", 1)]);
        assert!(trie.matches("b").unwrap().eq(&[1]));
    }

    /// A panic of the caller's closure is between two complete removals.
    #[test]
    fn a_panic_in_retain_leaves_a_whole_trie() {
        let mut trie: SubjectTrie<u32> = (0..200).map(|n| (format!("a.{n}.*"), n)).collect();
        let keep = |_, value: &mut u32| {
            assert!(*value < 150);
            value.is_multiple_of(3)
        };
        assert!(catch_unwind(AssertUnwindSafe(|| trie.retain(keep))).is_err());
        assert_eq!(trie.len(), 50 + 50);
        for n in 0..200 {
            let expected = (n >= 150 || n % 3 == 0).then_some(n);
            let subject = format!("a.{n}.x");
            assert!(trie.matches(&subject).unwrap().eq(expected.as_ref()));
        }
    }
}
