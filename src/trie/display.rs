//! An index as a tree of text, and its statistics.
//!
//! In the tree, literal tokens are in the order of their bytes, then `*`, then `>`; a branch without
//! siblings stays on the line of its parent. Behind a pattern stand its subscriptions: the id, and
//! the queue after `@`.

use std::collections::HashSet;
use std::fmt::{self, Write};

use super::index::Index;
use super::pattern::packed_pattern::unpack;
use super::prefix::sorted_patterns::{SortedPatterns, join};

impl fmt::Display for Index {
    /// Writes the tree. Cost: all patterns, sorted first if no query by pattern has done so.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.len() == 1 { "" } else { "s" };
        write!(out, "SubjectTrie: {} subscription{noun}", self.len())?;
        let sorted = self.sorted_patterns();
        let mut pending = Vec::new();
        push_branches(sorted, "", "", &mut pending);
        while let Some(branch) = pending.pop() {
            let (indent, mut prefix) = (branch.indent, branch.prefix);
            let elbow = if branch.is_last {
                "└── "
            } else {
                "├── "
            };
            write!(out, "\n{indent}{elbow}")?;
            write_escaped(out, last_token(&prefix))?;
            while let Some(only) = only_child(sorted, &prefix) {
                out.write_char('.')?;
                write_escaped(out, last_token(&only))?;
                prefix = only;
            }
            self.write_subscriptions(out, sorted, &prefix)?;
            let below = indent + if branch.is_last { "    " } else { "│   " };
            push_branches(sorted, &below, &prefix, &mut pending);
        }
        Ok(())
    }
}

/// A branch to be drawn.
struct PendingBranch {
    indent: String,
    is_last: bool,
    prefix: String,
}

/// Pushes the children of a prefix, the first on top.
fn push_branches(
    sorted: &SortedPatterns,
    indent: &str,
    prefix: &str,
    pending: &mut Vec<PendingBranch>,
) {
    let from = pending.len();
    for child in sorted.children(prefix) {
        pending.push(PendingBranch {
            indent: indent.to_owned(),
            is_last: false,
            prefix: join(prefix, &child),
        });
    }
    if let Some(last) = pending[from..].last_mut() {
        last.is_last = true;
    }
    pending[from..].reverse();
}

/// The only child of a prefix that is not a pattern itself.
fn only_child(sorted: &SortedPatterns, prefix: &str) -> Option<String> {
    let mut children = sorted.children(prefix);
    let only = children.next()?;
    let is_only = children.next().is_none() && sorted.ids_of(prefix).next().is_none();
    is_only.then(|| join(prefix, &only))
}

fn last_token(prefix: &str) -> &str {
    prefix.rsplit('.').next().unwrap_or_default()
}

/// Writes a text with everything except printable ASCII escaped.
fn write_escaped(out: &mut impl Write, text: &str) -> fmt::Result {
    for c in text.chars() {
        if c.is_ascii_graphic() {
            out.write_char(c)?;
        } else {
            write!(out, "{}", c.escape_unicode())?;
        }
    }
    Ok(())
}

/// Counts of an index, and its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// The number of subscriptions.
    pub subscriptions: usize,
    /// The number of different patterns.
    pub patterns: usize,
    /// Nodes of the prefix trie below its root; `>` is not counted.
    pub nodes: usize,
    /// The number of different queue names.
    pub queues: usize,
    /// Tokens of the deepest pattern.
    pub depth: usize,
    /// The number of different shapes of the patterns: the number of tokens, and which of them are
    /// `*` or `>`.
    pub shapes: usize,
    /// An estimate of the index's memory in bytes.
    pub memory: usize,
}

impl Index {
    fn write_subscriptions(
        &self,
        out: &mut impl Write,
        sorted: &SortedPatterns,
        pattern: &str,
    ) -> fmt::Result {
        let mut separator = "  [";
        for id in sorted.ids_of(pattern) {
            write!(out, "{separator}{id}")?;
            let subscription = self.find(id);
            if let Some(queue) = subscription.and_then(|found| self.queue(found)) {
                out.write_char('@')?;
                write_escaped(out, queue)?;
            }
            separator = ", ";
        }
        if separator == ", " {
            out.write_char(']')?;
        }
        Ok(())
    }

    /// An estimate of the index's memory in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        size_of::<Self>()
            + self.nodes.memory()
            + self.leaves.memory()
            + self.patterns.memory()
            + self.subscriptions.memory()
            + self.sorted.get().map_or(0, SortedPatterns::memory)
    }

    /// Counts and memory. Cost: all patterns are read and sorted.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let mut patterns: Vec<Vec<String>> = self
            .pattern_addresses()
            .map(|address| {
                let text = unpack(self.patterns.get(address));
                text.split('.').map(str::to_owned).collect()
            })
            .collect();
        patterns.sort_unstable();
        let mut nodes = 0;
        let mut before: &[String] = &[];
        let mut shapes = HashSet::new();
        for tokens in &patterns {
            let shared = tokens.iter().zip(before).take_while(|(a, b)| a == b);
            nodes += tokens.len() - shared.count();
            nodes -= usize::from(tokens.last().is_some_and(|token| token == ">"));
            shapes.insert(shape(tokens));
            before = tokens;
        }
        Stats {
            subscriptions: self.len(),
            patterns: self.pattern_count,
            nodes,
            queues: self.subscriptions.queue_names.len(),
            depth: patterns.iter().map(Vec::len).max().unwrap_or(0),
            shapes: shapes.len(),
            memory: self.memory(),
        }
    }
}

/// The kinds of the tokens: `*`, `>` or literal.
fn shape(tokens: &[String]) -> Vec<u8> {
    let kind = |token: &String| match token.as_str() {
        "*" => b'*',
        ">" => b'>',
        _ => b'x',
    };
    tokens.iter().map(kind).collect()
}
