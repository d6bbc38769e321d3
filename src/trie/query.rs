//! Patterns asked by pattern: which overlap a query, which does it cover?
//!
//! Both go down the prefixes that agree with the query; a final `>` takes whole branches.

use super::order::{Order, joined};
use super::walk::tickets_into;
use super::{Index, Ticket};
use crate::error::Error;

impl Index {
    /// The subscriptions whose pattern has a subject in common with `query`, in ascending id.
    ///
    /// Cost: a search in the ordered patterns for each prefix that agrees with the query; the first
    /// question of this kind sorts all patterns.
    pub fn matching(&self, query: &str) -> Result<Vec<Ticket>, Error> {
        Ok(self.ask(query, true)?.0)
    }

    /// The subscriptions whose pattern matches nothing but what `query` matches, in ascending id.
    ///
    /// Cost: as [`Index::matching`].
    pub fn covered_by(&self, query: &str) -> Result<Vec<Ticket>, Error> {
        Ok(self.ask(query, false)?.0)
    }

    /// How many prefixes and patterns a query looks at: what its cost is made of.
    pub fn work_of(&self, query: &str, overlap: bool) -> Result<usize, Error> {
        Ok(self.ask(query, overlap)?.1)
    }

    fn ask(&self, query: &str, overlap: bool) -> Result<(Vec<Ticket>, usize), Error> {
        self.check_pattern(query)?;
        let order = self.order();
        let mut tokens: Vec<&str> = query.split('.').collect();
        let tail = tokens.last() == Some(&">");
        if tail {
            tokens.pop();
        }
        let mut search = Search {
            order,
            tokens,
            tail,
            overlap,
            ids: Vec::new(),
            work: 0,
        };
        search.run();
        let mut ids = search.ids;
        ids.sort_unstable();
        Ok((self.found(&ids), search.work))
    }

    /// The patterns in order; sorted now if nobody has asked before.
    pub(super) fn order(&self) -> &Order {
        self.order.get_or_init(|| {
            let all = self.first_rows().flat_map(|block| self.ids_of(block));
            Order::of(all)
        })
    }

    /// The tickets of ids, which are all here.
    pub(super) fn found(&self, ids: &[u64]) -> Vec<Ticket> {
        ids.iter().filter_map(|&id| self.find(id)).collect()
    }

    fn ids_of(&self, block: u32) -> impl Iterator<Item = (String, u64)> {
        let words = self.blocks.get(block);
        let mut tickets = Vec::new();
        tickets_into(self, words, &mut tickets);
        let text = super::pattern::text_of(words);
        tickets
            .into_iter()
            .map(move |ticket| (text.clone(), ticket.id))
    }
}

struct Search<'a> {
    order: &'a Order,
    /// The query without a final `>`.
    tokens: Vec<&'a str>,
    tail: bool,
    /// Overlap is enough; else the pattern must be covered.
    overlap: bool,
    ids: Vec<u64>,
    work: usize,
}

impl Search<'_> {
    fn run(&mut self) {
        let mut waiting = vec![(String::new(), 0)];
        while let Some((prefix, depth)) = waiting.pop() {
            self.work += 1;
            let Some(&token) = self.tokens.get(depth) else {
                self.end(&prefix);
                continue;
            };
            if self.overlap {
                // '>' of a pattern takes this token of the query and all that follow.
                self.take(&joined(&prefix, ">"));
            }
            if token == "*" {
                let children = self.order.children(&prefix).filter(|child| child != ">");
                waiting.extend(children.map(|child| (joined(&prefix, &child), depth + 1)));
            } else {
                let literal = [Some(token), self.overlap.then_some("*")];
                for child in literal.into_iter().flatten() {
                    let below = joined(&prefix, child);
                    if self.order.leads_on(&below) {
                        waiting.push((below, depth + 1));
                    }
                }
            }
        }
    }

    fn take(&mut self, pattern: &str) {
        self.work += 1;
        self.ids.extend(self.order.exactly(pattern));
    }

    /// All tokens of the query agree with the prefix.
    fn end(&mut self, prefix: &str) {
        if !self.tail {
            self.take(prefix);
            return;
        }
        for (pattern, ids) in self.order.below(prefix) {
            self.work += 1;
            if pattern.len() > prefix.len() {
                self.ids.extend(ids);
            }
        }
    }
}
