//! The patterns in order: the prefix trie laid flat.
//!
//! What is asked by pattern, explained or drawn goes by prefixes, which hashes know nothing of. So
//! the first such question sorts the patterns, token by token, and from then on changes keep them
//! sorted. All patterns below a prefix stand side by side; a step to a child or a sibling is one
//! search. Memory is spent only where such questions are asked.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// A pattern, or the place behind all patterns that begin with these tokens.
///
/// Literal tokens come in the order of their bytes, then `*`, then `>`; what is shorter comes first.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Path {
    text: Box<str>,
    after: bool,
}

impl Path {
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

impl PartialOrd for Path {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Path {
    fn cmp(&self, other: &Self) -> Ordering {
        let (one, two) = (self.text.as_bytes(), other.text.as_bytes());
        if begins_with(two, one) {
            return match (one.len() == two.len(), self.after) {
                (true, _) => self.after.cmp(&other.after),
                (false, true) => Ordering::Greater,
                (false, false) => Ordering::Less,
            };
        }
        if begins_with(one, two) {
            return other.cmp(self).reverse();
        }
        let differ = one.iter().zip(two).take_while(|(a, b)| a == b).count();
        let start = one[..differ]
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

/// Are these the first tokens of the text? No tokens are those of every text.
fn begins_with(text: &[u8], tokens: &[u8]) -> bool {
    text.strip_prefix(tokens)
        .is_some_and(|rest| tokens.is_empty() || rest.is_empty() || rest[0] == b'.')
}

/// The ids of a pattern's subscriptions, ascending. Most have one.
#[derive(Debug, Clone)]
enum Ids {
    One(u64),
    Many(BTreeSet<u64>),
}

impl Ids {
    fn iter(&self) -> impl Iterator<Item = u64> {
        let (one, many) = match self {
            Self::One(id) => (Some(*id), None),
            Self::Many(ids) => (None, Some(ids)),
        };
        one.into_iter().chain(many.into_iter().flatten().copied())
    }
}

/// Patterns in order, with the ids of their subscriptions.
#[derive(Debug, Clone, Default)]
pub(super) struct Order {
    paths: BTreeMap<Path, Ids>,
}

/// A pattern and its ids.
pub(super) type Found<'a> = (&'a str, Box<dyn Iterator<Item = u64> + 'a>);

impl Order {
    pub fn of(patterns: impl Iterator<Item = (String, u64)>) -> Self {
        let mut order = Self::default();
        for (pattern, id) in patterns {
            order.insert(&pattern, id);
        }
        order
    }

    pub fn insert(&mut self, pattern: &str, id: u64) {
        let ids = self.paths.entry(Path::at(pattern)).or_insert(Ids::One(id));
        match ids {
            Ids::One(other) if *other == id => {}
            Ids::One(other) => *ids = Ids::Many(BTreeSet::from([*other, id])),
            Ids::Many(all) => {
                all.insert(id);
            }
        }
    }

    pub fn remove(&mut self, pattern: &str, id: u64) {
        let path = Path::at(pattern);
        match self.paths.get_mut(&path) {
            Some(Ids::Many(all)) if all.len() > 1 => {
                all.remove(&id);
            }
            _ => {
                self.paths.remove(&path);
            }
        }
    }

    /// The ids of the pattern that is exactly this.
    pub fn exactly(&self, pattern: &str) -> impl Iterator<Item = u64> {
        let ids = self.paths.get(&Path::at(pattern));
        ids.into_iter().flat_map(Ids::iter)
    }

    /// Does any pattern begin with these tokens, or is it just these?
    pub fn leads_on(&self, tokens: &str) -> bool {
        let first = self.paths.range(Path::at(tokens)..).next();
        first.is_some_and(|(path, _)| begins_with(path.text.as_bytes(), tokens.as_bytes()))
    }

    /// The patterns that begin with these tokens, those tokens alone too; in order.
    pub fn below<'a>(&'a self, tokens: &str) -> impl Iterator<Item = Found<'a>> {
        let range = (
            Bound::Included(Path::at(tokens)),
            Bound::Excluded(Path::after(tokens)),
        );
        self.paths.range(range).map(found)
    }

    /// The first pattern behind all those that begin with `skipped` and before the end of `within`.
    pub fn next_after<'a>(&'a self, skipped: &str, within: &str) -> Option<Found<'a>> {
        let range = (
            Bound::Excluded(Path::after(skipped)),
            Bound::Excluded(Path::after(within)),
        );
        self.paths.range(range).next().map(found)
    }

    /// The pattern behind this one and before the end of `within`.
    pub fn after<'a>(&'a self, pattern: &str, within: &str) -> Option<Found<'a>> {
        let range = (
            Bound::Excluded(Path::at(pattern)),
            Bound::Excluded(Path::after(within)),
        );
        self.paths.range(range).next().map(found)
    }

    /// The tokens that follow these ones, in order; each costs one search.
    pub fn children<'a>(&'a self, tokens: &str) -> Children<'a> {
        Children {
            order: self,
            tokens: tokens.to_owned(),
            last: None,
        }
    }

    /// Bytes, about.
    pub fn memory(&self) -> usize {
        let text: usize = self.paths.keys().map(|path| path.text.len()).sum();
        text + self.paths.len() * (size_of::<(Path, Ids)>() + 16)
    }
}

fn found<'a>((path, ids): (&'a Path, &'a Ids)) -> Found<'a> {
    (&path.text, Box::new(ids.iter()))
}

/// The tokens that follow a prefix.
pub(super) struct Children<'a> {
    order: &'a Order,
    tokens: String,
    last: Option<String>,
}

impl Iterator for Children<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let from = match &self.last {
            // Behind the prefix itself, which is no child of its own.
            None => Bound::Excluded(Path::at(&self.tokens)),
            Some(last) => Bound::Excluded(Path::after(&joined(&self.tokens, last))),
        };
        let range = (from, Bound::Excluded(Path::after(&self.tokens)));
        let (path, _) = self.order.paths.range(range).next()?;
        let rest = path.text.get(self.tokens.len()..)?;
        let rest = rest.strip_prefix('.').unwrap_or(rest);
        let token = rest.split('.').next()?.to_owned();
        self.last = Some(token.clone());
        Some(token)
    }
}

/// A token more.
pub(super) fn joined(tokens: &str, token: &str) -> String {
    if tokens.is_empty() {
        token.to_owned()
    } else {
        format!("{tokens}.{token}")
    }
}

#[cfg(test)]
mod tests {
    use super::Order;

    #[test]
    fn patterns_below_a_prefix_stand_side_by_side() {
        let all = [
            "a", "a.>", "a.!", "a!b", "a.b.c", "a.b", "a.*", "*.a", ">", "a.b!.c", "*",
        ];
        let order = Order::of(all.iter().zip(0..).map(|(p, id)| ((*p).to_owned(), id)));
        let sorted: Vec<&str> = order.below("").map(|(pattern, _)| pattern).collect();
        assert_eq!(
            sorted,
            [
                "a", "a.!", "a.b", "a.b.c", "a.b!.c", "a.*", "a.>", "a!b", "*", "*.a", ">"
            ]
        );
        let below: Vec<&str> = order.below("a.b").map(|(pattern, _)| pattern).collect();
        assert_eq!(below, ["a.b", "a.b.c"]);
        let children: Vec<String> = order.children("a").collect();
        assert_eq!(children, ["!", "b", "b!", "*", ">"]);
        let roots: Vec<String> = order.children("").collect();
        assert_eq!(roots, ["a", "a!b", "*", ">"]);
        assert!(order.leads_on("a.b!") && order.leads_on("") && !order.leads_on("a.c"));
        let next = order.next_after("a.b", "a").map(|(pattern, _)| pattern);
        assert_eq!(next, Some("a.b!.c"));
        assert!(order.next_after("a.>", "a").is_none());
    }
}
