//! Queries by pattern: which patterns have a subject in common with a query, or are covered by it.

use super::prefixes::{Prefix, Prefixes};
use crate::error::Error;
use crate::grammar::{Form, check};
use crate::trie::view::View;

/// The packed patterns that have a relation to the query, and how many prefixes and patterns were
/// visited.
pub(in crate::trie) fn query_blocks<'a, V: View>(
    view: &'a V,
    query: &str,
    relation: Relation,
) -> Result<(Vec<&'a [u64]>, usize), Error> {
    let (dialect, bounds) = view.grammar();
    check(query, Form::Pattern, dialect, bounds)?;
    let mut tokens: Vec<&str> = query.split('.').collect();
    let tail = tokens.last() == Some(&">");
    if tail {
        tokens.pop();
    }
    let mut search = PrefixSearch {
        prefixes: Prefixes::new(view),
        tokens,
        tail,
        relation,
        found: Vec::new(),
        work: 0,
    };
    search.run();
    Ok((search.found, search.work))
}

/// The relation that a pattern must have to the query.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::trie) enum Relation {
    /// They have a subject in common.
    Overlap,
    /// The query covers the pattern.
    Cover,
}

struct PrefixSearch<'a, 'q, V> {
    prefixes: Prefixes<'a, V>,
    /// The query without a final `>`.
    tokens: Vec<&'q str>,
    tail: bool,
    relation: Relation,
    found: Vec<&'a [u64]>,
    work: usize,
}

impl<V: View> PrefixSearch<'_, '_, V> {
    fn run(&mut self) {
        let overlap = self.relation == Relation::Overlap;
        let mut pending = vec![(self.prefixes.root(), 0)];
        while let Some((prefix, depth)) = pending.pop() {
            self.work += 1;
            let Some(&token) = self.tokens.get(depth) else {
                self.add_all(prefix);
                continue;
            };
            let tail = self.prefixes.tail(prefix);
            if overlap && let Some(place) = tail {
                // The `>` of a pattern takes this token of the query and all that follow.
                self.add(place);
            }
            if token == "*" {
                let children = self.prefixes.children(prefix);
                let children = children.filter(|child| Some(child.start) != tail);
                pending.extend(children.map(|child| (child, depth + 1)));
            } else {
                let children = [Some(token), overlap.then_some("*")];
                for child in children.into_iter().flatten() {
                    if let Some(below) = self.prefixes.child(prefix, child.as_bytes()) {
                        pending.push((below, depth + 1));
                    }
                }
            }
        }
    }

    /// Adds the pattern at a place in the order.
    fn add(&mut self, place: usize) {
        self.work += 1;
        self.found.push(self.prefixes.block(place));
    }

    /// Adds what a prefix that agrees with all tokens of the query leads to.
    fn add_all(&mut self, prefix: Prefix) {
        match (self.prefixes.exact(prefix), self.tail) {
            (Some(place), false) => self.add(place),
            (None, false) => {}
            (exact, true) => {
                let start = prefix.start + usize::from(exact.is_some());
                (start..prefix.end).for_each(|place| self.add(place));
            }
        }
    }
}
