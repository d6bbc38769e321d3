//! An index as a tree of text.
//!
//! Literal tokens in the order of their bytes, then `*`, then `>`; a branch that does not fork is
//! one line. Behind a pattern stand its subscriptions: id, and the queue after `@`.

use std::fmt::{self, Write};

use super::Index;
use super::order::Order;

impl fmt::Display for Index {
    /// Cost: all patterns are looked at, and sorted if nobody asked for their order before.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.len() == 1 { "" } else { "s" };
        write!(out, "SubjectTrie: {} subscription{noun}", self.len())?;
        let order = self.order();
        let mut waiting = Vec::new();
        stack_branches(order, "", "", &mut waiting);
        while let Some((before, is_last, mut branch)) = waiting.pop() {
            let turn = if is_last { "└── " } else { "├── " };
            write!(out, "\n{before}{turn}")?;
            write_shown(out, last_token(&branch))?;
            while let Some(only) = only_branch(order, &branch) {
                out.write_char('.')?;
                write_shown(out, last_token(&only))?;
                branch = only;
            }
            self.write_list(out, order, &branch)?;
            let below = before + if is_last { "    " } else { "│   " };
            stack_branches(order, &below, &branch, &mut waiting);
        }
        Ok(())
    }
}

/// What is drawn before a branch, whether it is the last one there, and its tokens.
type Waiting = (String, bool, String);

/// Puts the branches below some tokens on the stack, the first on top.
fn stack_branches(order: &Order, before: &str, tokens: &str, waiting: &mut Vec<Waiting>) {
    let from = waiting.len();
    for child in order.children(tokens) {
        let branch = super::order::joined(tokens, &child);
        waiting.push((before.to_owned(), false, branch));
    }
    if let Some((_, is_last, _)) = waiting[from..].last_mut() {
        *is_last = true;
    }
    waiting[from..].reverse();
}

/// The only way on from tokens at which no pattern ends.
fn only_branch(order: &Order, tokens: &str) -> Option<String> {
    let mut children = order.children(tokens);
    let only = children.next()?;
    let is_only = children.next().is_none() && order.exactly(tokens).next().is_none();
    is_only.then(|| super::order::joined(tokens, &only))
}

fn last_token(tokens: &str) -> &str {
    tokens.rsplit('.').next().unwrap_or_default()
}

impl Index {
    fn write_list(&self, out: &mut impl Write, order: &Order, pattern: &str) -> fmt::Result {
        let mut sign = "  [";
        for id in order.exactly(pattern) {
            write!(out, "{sign}{id}")?;
            if let Some(queue) = self.find(id).and_then(|ticket| self.queue(ticket)) {
                out.write_char('@')?;
                write_shown(out, queue)?;
            }
            sign = ", ";
        }
        if sign == ", " {
            out.write_char(']')?;
        }
        Ok(())
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
