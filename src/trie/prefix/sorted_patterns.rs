//! Sorted patterns: the prefix trie as an ordered map.
//!
//! Queries by pattern, explanations and the text tree go by prefix, which a hash table cannot
//! answer. So the first of them sorts the patterns token by token, and changes keep them sorted
//! from then on. The patterns below a prefix are neighbours, so a step to a child or a sibling is
//! one search. An index without such queries spends no memory on this.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// A pattern as a key, or the place behind all patterns that begin with these tokens.
///
/// Literal tokens are in the order of their bytes, then `*`, then `>`; a prefix comes first.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SortKey {
    text: Box<str>,
    after: bool,
}

impl SortKey {
    fn at(text: &str) -> Self {
        Self {
            text: text.into(),
            after: false,
        }
    }

    fn after(text: &str) -> Self {
        Self {
            text: text.into(),
            after: true,
        }
    }
}

impl PartialOrd for SortKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SortKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let (one, two) = (self.text.as_bytes(), other.text.as_bytes());
        match (begins_with(two, one), begins_with(one, two)) {
            (true, true) => return self.after.cmp(&other.after),
            (true, false) if self.after => return Ordering::Greater,
            (true, false) => return Ordering::Less,
            (false, true) if other.after => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            (false, false) => {}
        }
        let equal = one.iter().zip(two).take_while(|(a, b)| a == b).count();
        let start = one[..equal]
            .iter()
            .rposition(|&byte| byte == b'.')
            .map_or(0, |dot| dot + 1);
        let token = |text: &'_ [u8]| -> (u8, Vec<u8>) {
            let token = text[start..].split(|&byte| byte == b'.').next();
            let token = token.unwrap_or_default();
            let rank = match token {
                b"*" => 1,
                b">" => 2,
                _ => 0,
            };
            (rank, token.to_vec())
        };
        token(one).cmp(&token(two))
    }
}

/// Whether the text begins with these tokens. Every text begins with no tokens.
fn begins_with(text: &[u8], tokens: &[u8]) -> bool {
    text.strip_prefix(tokens)
        .is_some_and(|rest| tokens.is_empty() || rest.is_empty() || rest[0] == b'.')
}

/// The ids of a pattern's subscriptions, ascending. Most patterns have one.
#[derive(Debug, Clone)]
enum PatternIds {
    Single(u64),
    Several(BTreeSet<u64>),
}

impl PatternIds {
    fn iter(&self) -> impl Iterator<Item = u64> {
        let (one, many) = match self {
            Self::Single(id) => (Some(*id), None),
            Self::Several(ids) => (None, Some(ids)),
        };
        one.into_iter().chain(many.into_iter().flatten().copied())
    }
}

/// Patterns in order, with the ids of their subscriptions.
#[derive(Debug, Clone, Default)]
pub(crate) struct SortedPatterns {
    patterns: BTreeMap<SortKey, PatternIds>,
}

/// A pattern and its ids.
pub(crate) type PatternAndIds<'a> = (&'a str, Box<dyn Iterator<Item = u64> + 'a>);

impl SortedPatterns {
    /// Sorts patterns.
    pub fn new(patterns: impl Iterator<Item = (String, u64)>) -> Self {
        let mut sorted = Self::default();
        for (pattern, id) in patterns {
            sorted.insert(&pattern, id);
        }
        sorted
    }

    /// Adds a subscription.
    pub fn insert(&mut self, pattern: &str, id: u64) {
        let key = SortKey::at(pattern);
        let ids = self.patterns.entry(key).or_insert(PatternIds::Single(id));
        match ids {
            PatternIds::Single(other) if *other == id => {}
            PatternIds::Single(other) => *ids = PatternIds::Several(BTreeSet::from([*other, id])),
            PatternIds::Several(all) => {
                all.insert(id);
            }
        }
    }

    /// Removes a subscription.
    pub fn remove(&mut self, pattern: &str, id: u64) {
        let key = SortKey::at(pattern);
        match self.patterns.get_mut(&key) {
            Some(PatternIds::Several(all)) if all.len() > 1 => {
                all.remove(&id);
            }
            _ => {
                self.patterns.remove(&key);
            }
        }
    }

    /// The ids of exactly this pattern.
    pub fn ids_of(&self, pattern: &str) -> impl Iterator<Item = u64> {
        let ids = self.patterns.get(&SortKey::at(pattern));
        ids.into_iter().flat_map(PatternIds::iter)
    }

    /// Whether any pattern is or begins with these tokens.
    pub fn has_prefix(&self, tokens: &str) -> bool {
        let first = self.patterns.range(SortKey::at(tokens)..).next();
        first.is_some_and(|(key, _)| begins_with(key.text.as_bytes(), tokens.as_bytes()))
    }

    /// The patterns that are or begin with these tokens, in order.
    pub fn with_prefix<'a>(&'a self, tokens: &str) -> impl Iterator<Item = PatternAndIds<'a>> {
        let range = (
            Bound::Included(SortKey::at(tokens)),
            Bound::Excluded(SortKey::after(tokens)),
        );
        self.patterns.range(range).map(pattern_and_ids)
    }

    /// The first pattern behind all that begin with `skipped`, if it begins with `within`.
    pub fn next_after_prefix<'a>(
        &'a self,
        skipped: &str,
        within: &str,
    ) -> Option<PatternAndIds<'a>> {
        let range = (
            Bound::Excluded(SortKey::after(skipped)),
            Bound::Excluded(SortKey::after(within)),
        );
        self.patterns.range(range).next().map(pattern_and_ids)
    }

    /// The pattern behind this one, if it begins with `within`.
    pub fn next_after<'a>(&'a self, pattern: &str, within: &str) -> Option<PatternAndIds<'a>> {
        let range = (
            Bound::Excluded(SortKey::at(pattern)),
            Bound::Excluded(SortKey::after(within)),
        );
        self.patterns.range(range).next().map(pattern_and_ids)
    }

    /// The tokens that follow a prefix in any pattern, in order. Cost: a search for each.
    pub fn children<'a>(&'a self, prefix: &str) -> Children<'a> {
        Children {
            sorted: self,
            prefix: prefix.to_owned(),
            last: None,
        }
    }

    /// An estimate of the memory in bytes.
    pub fn memory(&self) -> usize {
        let text: usize = self.patterns.keys().map(|key| key.text.len()).sum();
        text + self.patterns.len() * (size_of::<(SortKey, PatternIds)>() + 16)
    }
}

fn pattern_and_ids<'a>((key, ids): (&'a SortKey, &'a PatternIds)) -> PatternAndIds<'a> {
    (&key.text, Box::new(ids.iter()))
}

/// The tokens that follow a prefix.
pub(crate) struct Children<'a> {
    sorted: &'a SortedPatterns,
    prefix: String,
    last: Option<String>,
}

impl Iterator for Children<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let from = match &self.last {
            // Behind the prefix itself, which is not a child of its own.
            None => Bound::Excluded(SortKey::at(&self.prefix)),
            Some(last) => Bound::Excluded(SortKey::after(&join(&self.prefix, last))),
        };
        let range = (from, Bound::Excluded(SortKey::after(&self.prefix)));
        let (key, _) = self.sorted.patterns.range(range).next()?;
        let rest = key.text.get(self.prefix.len()..)?;
        let rest = rest.strip_prefix('.').unwrap_or(rest);
        let token = rest.split('.').next()?.to_owned();
        self.last = Some(token.clone());
        Some(token)
    }
}

/// The prefix with one more token.
pub(crate) fn join(prefix: &str, token: &str) -> String {
    if prefix.is_empty() {
        token.to_owned()
    } else {
        format!("{prefix}.{token}")
    }
}

#[cfg(test)]
mod tests {
    use super::SortedPatterns;

    #[test]
    fn patterns_below_a_prefix_are_neighbours() {
        let all = [
            "a", "a.>", "a.!", "a!b", "a.b.c", "a.b", "a.*", "*.a", ">", "a.b!.c", "*",
        ];
        let sorted_patterns =
            SortedPatterns::new(all.iter().zip(0..).map(|(p, id)| ((*p).to_owned(), id)));
        let sorted: Vec<&str> = sorted_patterns
            .with_prefix("")
            .map(|(pattern, _)| pattern)
            .collect();
        assert_eq!(
            sorted,
            [
                "a", "a.!", "a.b", "a.b.c", "a.b!.c", "a.*", "a.>", "a!b", "*", "*.a", ">"
            ]
        );
        let below: Vec<&str> = sorted_patterns
            .with_prefix("a.b")
            .map(|(pattern, _)| pattern)
            .collect();
        assert_eq!(below, ["a.b", "a.b.c"]);
        let children: Vec<String> = sorted_patterns.children("a").collect();
        assert_eq!(children, ["!", "b", "b!", "*", ">"]);
        let roots: Vec<String> = sorted_patterns.children("").collect();
        assert_eq!(roots, ["a", "a!b", "*", ">"]);
        assert!(
            sorted_patterns.has_prefix("a.b!")
                && sorted_patterns.has_prefix("")
                && !sorted_patterns.has_prefix("a.c")
        );
        let next = sorted_patterns
            .next_after_prefix("a.b", "a")
            .map(|(pattern, _)| pattern);
        assert_eq!(next, Some("a.b!.c"));
        assert!(sorted_patterns.next_after_prefix("a.>", "a").is_none());
    }
}
