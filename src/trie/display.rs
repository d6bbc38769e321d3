//! An index as a tree of text, and its statistics.
//!
//! In the tree, literal tokens are in the order of their bytes, then `*`, then `>`; a branch without
//! siblings stays on the line of its parent. Behind a pattern stand its subscriptions: the id, and
//! the queue after `@`.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::{self, Write};

use super::index::Index;
use super::lookup::append_subscriptions;
use super::pattern::packed_pattern::text;
use super::prefix::prefixes::{Prefix, Prefixes};

impl fmt::Display for Index {
    /// Writes the tree. Cost: all patterns, sorted first if no query by pattern has done so.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.len() == 1 { "" } else { "s" };
        write!(out, "SubjectTrie: {} subscription{noun}", self.len())?;
        let prefixes = Prefixes::new(self);
        let mut pending = Vec::new();
        push_branches(&prefixes, "", prefixes.root(), &mut pending);
        while let Some(branch) = pending.pop() {
            let (indent, mut prefix) = (branch.indent, branch.prefix);
            let elbow = if branch.is_last {
                "└── "
            } else {
                "├── "
            };
            write!(out, "\n{indent}{elbow}")?;
            write_escaped(out, &String::from_utf8_lossy(&prefixes.token(prefix)))?;
            let exact = loop {
                let exact = prefixes.exact(prefix);
                let mut children = prefixes.children(prefix);
                match (exact, children.next(), children.next()) {
                    (None, Some(only), None) => prefix = only,
                    _ => break exact,
                }
                out.write_char('.')?;
                write_escaped(out, &String::from_utf8_lossy(&prefixes.token(prefix)))?;
            };
            if let Some(place) = exact {
                self.write_subscriptions(out, prefixes.block(place))?;
            }
            let below = indent + if branch.is_last { "    " } else { "│   " };
            push_branches(&prefixes, &below, prefix, &mut pending);
        }
        Ok(())
    }
}

/// A branch to be drawn.
struct PendingBranch {
    indent: String,
    is_last: bool,
    prefix: Prefix,
}

/// Pushes the children of a prefix, the first on top.
fn push_branches(
    prefixes: &Prefixes<'_, Index>,
    indent: &str,
    prefix: Prefix,
    pending: &mut Vec<PendingBranch>,
) {
    let from = pending.len();
    for child in prefixes.children(prefix) {
        pending.push(PendingBranch {
            indent: indent.to_owned(),
            is_last: false,
            prefix: child,
        });
    }
    if let Some(last) = pending[from..].last_mut() {
        last.is_last = true;
    }
    pending[from..].reverse();
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
#[non_exhaustive]
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
    fn write_subscriptions(&self, out: &mut impl Write, block: &[u64]) -> fmt::Result {
        let mut found = Vec::new();
        append_subscriptions(self, block, &mut found);
        let mut separator = "  [";
        for subscription in found {
            write!(out, "{separator}{}", subscription.id)?;
            if let Some(queue) = self.queue(subscription) {
                out.write_char('@')?;
                write_escaped(out, queue)?;
            }
            separator = ", ";
        }
        out.write_char(']')
    }

    /// An estimate of the index's memory in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        size_of::<Self>()
            + self.nodes.memory()
            + self.leaves.memory()
            + self.patterns.memory()
            + self.pattern_table.memory()
            + self.subscriptions.memory()
            + self.sorted.memory()
    }

    /// Counts and memory. Cost: all patterns are read, sorted first if no query by pattern has done
    /// so; nothing is allocated for a pattern or a token.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let memory = self.memory();
        let (order, _) = self.sorted.order(self);
        let (mut nodes, mut depth) = (0, 0);
        let mut shapes: HashSet<Box<[u8]>> = HashSet::new();
        let mut shape = Vec::new();
        let mut before: Cow<'_, [u8]> = Cow::Borrowed(&[]);
        for &address in order.iter() {
            let pattern = text(self.patterns.get(address));
            shape.clear();
            shape.extend(tokens(&pattern).map(kind));
            let shared = tokens(&pattern).zip(tokens(&before));
            nodes += shape.len() - shared.take_while(|(one, other)| one == other).count();
            nodes -= usize::from(shape.last() == Some(&b'>'));
            depth = depth.max(shape.len());
            if !shapes.contains(&*shape) {
                shapes.insert(shape.as_slice().into());
            }
            before = pattern;
        }
        Stats {
            subscriptions: self.len(),
            patterns: self.pattern_count,
            nodes,
            queues: self.subscriptions.queue_names.len(),
            depth,
            shapes: shapes.len(),
            memory,
        }
    }
}

fn tokens(pattern: &[u8]) -> impl Iterator<Item = &[u8]> {
    pattern.split(|&byte| byte == b'.')
}

/// The kind of a token: `*`, `>` or literal.
const fn kind(token: &[u8]) -> u8 {
    match token {
        b"*" => b'*',
        b">" => b'>',
        _ => b'x',
    }
}
