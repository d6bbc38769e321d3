//! An index as a tree of text.
//!
//! Literal tokens in the order of their bytes, then `*`, then `>`; a branch that does not fork is
//! one line. Behind a pattern stand its subscriptions: id, and the queue after `@`.

use std::fmt::{self, Write};

use super::node::ROOT;
use super::ticket::NONE;
use super::{Index, Ticket};

/// What a branch leads to: a node, or the end in `>` after one.
#[derive(Clone, Copy)]
enum Branch {
    Node(u32),
    Tail(u32),
}

impl fmt::Display for Index {
    /// Cost: the nodes times their depth.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.len() == 1 { "" } else { "s" };
        write!(out, "SubjectTrie: {} subscription{noun}", self.len())?;
        let mut waiting = Vec::new();
        self.stack_branches("", ROOT, &mut waiting);
        while let Some((before, is_last, mut branch)) = waiting.pop() {
            let turn = if is_last { "└── " } else { "├── " };
            write!(out, "\n{before}{turn}")?;
            self.write_token(out, branch)?;
            while let Some(only) = self.only_branch(branch) {
                branch = only;
                out.write_char('.')?;
                self.write_token(out, branch)?;
            }
            self.write_list(out, branch)?;
            if let Branch::Node(at) = branch {
                let before = before + if is_last { "    " } else { "│   " };
                self.stack_branches(&before, at, &mut waiting);
            }
        }
        Ok(())
    }
}

impl Index {
    fn branches(&self, at: u32) -> Vec<Branch> {
        let node = self.nodes.get(at);
        let mut children: Vec<u32> = self.nodes.children(at).collect();
        children.sort_unstable_by_key(|&child| (child == node.star, self.nodes.get(child).token()));
        let mut branches: Vec<Branch> = children.into_iter().map(Branch::Node).collect();
        if !node.tail.is_empty() {
            branches.push(Branch::Tail(at));
        }
        branches
    }

    /// Puts the branches of a node on the stack, the first on top.
    fn stack_branches(&self, before: &str, at: u32, waiting: &mut Vec<(String, bool, Branch)>) {
        for (place, branch) in self.branches(at).into_iter().rev().enumerate() {
            waiting.push((before.to_owned(), place == 0, branch));
        }
    }

    /// The only way on from a node at which no pattern ends.
    fn only_branch(&self, branch: Branch) -> Option<Branch> {
        let Branch::Node(at) = branch else {
            return None;
        };
        let node = self.nodes.get(at);
        let mut children = self.nodes.children(at);
        match (children.next(), children.next(), node.tail.is_empty()) {
            _ if !node.exact.is_empty() => None,
            (Some(only), None, true) => Some(Branch::Node(only)),
            (None, _, false) => Some(Branch::Tail(at)),
            _ => None,
        }
    }

    fn write_token(&self, out: &mut impl Write, branch: Branch) -> fmt::Result {
        match branch {
            Branch::Node(at) => write_shown(out, self.nodes.get(at).token()),
            Branch::Tail(_) => out.write_char('>'),
        }
    }

    fn write_list(&self, out: &mut impl Write, branch: Branch) -> fmt::Result {
        let list: &[Ticket] = match branch {
            Branch::Node(at) => &self.nodes.get(at).exact,
            Branch::Tail(at) => &self.nodes.get(at).tail,
        };
        let mut sign = "  [";
        for &ticket in list {
            write!(out, "{sign}{}", ticket.id)?;
            if self.records.queue(ticket.slot) != NONE {
                out.write_char('@')?;
                write_shown(out, self.queue(ticket).unwrap_or_default())?;
            }
            sign = ", ";
        }
        if list.is_empty() {
            Ok(())
        } else {
            out.write_char(']')
        }
    }
}

/// Writes the text with everything but printable ASCII escaped.
fn write_shown(out: &mut impl Write, text: &str) -> fmt::Result {
    for c in text.chars() {
        if c.is_ascii_graphic() {
            out.write_char(c)?;
        } else {
            write!(out, "{}", c.escape_unicode())?;
        }
    }
    Ok(())
}
