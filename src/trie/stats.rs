//! The size of an index, and what its patterns are like.

use std::collections::HashSet;

use super::Index;
use super::pattern::text_of;

/// The size of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// How many subscriptions there are.
    pub subscriptions: usize,
    /// How many different patterns they have.
    pub patterns: usize,
    /// Nodes of the prefix trie below its root; `>` needs none.
    pub nodes: usize,
    /// How many different queue names they have.
    pub queues: usize,
    /// Tokens of the deepest pattern.
    pub depth: usize,
    /// How many different shapes patterns have: number of tokens, which are `*`, `>` or not.
    pub shapes: usize,
    /// Bytes of the index's own structures, about.
    pub memory: usize,
}

impl Index {
    /// Bytes of the index's own structures, about.
    #[must_use]
    pub fn memory(&self) -> usize {
        size_of::<Self>()
            + self.table.memory()
            + self.lists.memory()
            + self.blocks.memory()
            + self.rows.memory()
            + self.order.get().map_or(0, super::Order::memory)
    }

    /// Counts and memory. Cost: all patterns are looked at, and sorted.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let mut texts: Vec<Vec<String>> = self
            .first_rows()
            .map(|block| {
                let text = text_of(self.blocks.get(block));
                text.split('.').map(str::to_owned).collect()
            })
            .collect();
        texts.sort_unstable();
        let mut nodes = 0;
        let mut before: &[String] = &[];
        let mut shapes = HashSet::new();
        for tokens in &texts {
            let shared = tokens.iter().zip(before).take_while(|(a, b)| a == b);
            nodes += tokens.len() - shared.count();
            nodes -= usize::from(tokens.last().is_some_and(|token| token == ">"));
            shapes.insert(shape(tokens));
            before = tokens;
        }
        Stats {
            subscriptions: self.len(),
            patterns: self.patterns,
            nodes,
            queues: self.rows.queues.len(),
            depth: texts.iter().map(Vec::len).max().unwrap_or(0),
            shapes: shapes.len(),
            memory: self.memory(),
        }
    }
}

fn shape(tokens: &[String]) -> Vec<u8> {
    let kind = |token: &String| match token.as_str() {
        "*" => b'*',
        ">" => b'>',
        _ => b'x',
    };
    tokens.iter().map(kind).collect()
}
