//! Prefixes as ranges of the sorted patterns: those that begin with the same tokens are neighbours.
//!
//! A step to a child is a binary search in the range of its parent, and a step over a child a
//! galloping search (Bentley and Yao 1976) from its first pattern.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use super::sorted_patterns::{first_token, rank};
use crate::trie::address::BlockAddr;
use crate::trie::pattern::packed_pattern::text;
use crate::trie::view::View;

/// The patterns of an index or an image, by prefix.
pub(in crate::trie) struct Prefixes<'a, V> {
    pub view: &'a V,
    order: Arc<Vec<BlockAddr>>,
    /// Patterns read so far, also to sort them.
    read: Cell<usize>,
}

/// The patterns that begin with the same tokens, or equal them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::trie) struct Prefix {
    pub start: usize,
    pub end: usize,
    /// The place of the next token in their texts.
    at: usize,
}

impl Prefix {
    /// A prefix with one more token, of `length` bytes.
    const fn child(self, length: usize, start: usize, end: usize) -> Self {
        let at = self.at + length + 1;
        Self { start, end, at }
    }
}

impl<'a, V: View> Prefixes<'a, V> {
    /// Sorts the patterns, unless an earlier query has.
    pub fn new(view: &'a V) -> Self {
        let (order, work) = view.sorted_patterns();
        Self {
            view,
            order,
            read: Cell::new(work),
        }
    }

    /// The prefix of no tokens: all patterns.
    pub fn root(&self) -> Prefix {
        Prefix {
            start: 0,
            end: self.order.len(),
            at: 0,
        }
    }

    /// The number of patterns read so far.
    pub fn work(&self) -> usize {
        self.read.get()
    }

    /// The address of the pattern at a place in the order.
    pub fn address(&self, place: usize) -> BlockAddr {
        self.order.get(place).copied().unwrap_or(BlockAddr::NONE)
    }

    /// The packed pattern at a place in the order, and what follows it.
    pub fn block(&self, place: usize) -> &'a [u64] {
        self.read.set(self.read.get() + 1);
        self.view.pattern(self.address(place))
    }

    /// The last token of a prefix.
    pub fn token(&self, of: Prefix) -> Cow<'a, [u8]> {
        let before_dot = of.at.saturating_sub(1);
        let part = |text: &[u8]| {
            let prefix = text.get(..before_dot).unwrap_or_default();
            let start = prefix.iter().rposition(|&byte| byte == b'.');
            start.map_or(0, |dot| dot + 1)..prefix.len()
        };
        match text(self.block(of.start)) {
            Cow::Borrowed(text) => Cow::Borrowed(&text[part(text)]),
            Cow::Owned(text) => Cow::Owned(text[part(&text)].to_vec()),
        }
    }

    /// Calls `look` with the token that follows a prefix in the pattern at `place`, as
    /// [`rank`] orders it; `None` if the pattern ends there.
    fn next_token<R>(
        &self,
        of: Prefix,
        place: usize,
        look: impl Fn(Option<(u8, &[u8])>) -> R,
    ) -> R {
        let text = text(self.block(place));
        look(text.get(of.at..).map(|rest| rank(first_token(rest))))
    }

    /// The pattern that has no more tokens than this prefix: its place in the order.
    pub fn exact(&self, of: Prefix) -> Option<usize> {
        let is_exact = of.start < of.end && self.next_token(of, of.start, |token| token.is_none());
        is_exact.then_some(of.start)
    }

    /// The pattern in which `>` follows this prefix: its place in the order.
    pub fn tail(&self, of: Prefix) -> Option<usize> {
        let last = of.end.checked_sub(1).filter(|&last| last >= of.start)?;
        self.next_token(of, last, |token| token == Some(rank(b">")))
            .then_some(last)
    }

    /// The prefix with one more token, if any pattern begins with it.
    pub fn child(&self, of: Prefix, token: &[u8]) -> Option<Prefix> {
        let last = of.end.checked_sub(1).filter(|&last| last >= of.start)?;
        let wanted = Some(rank(token));
        // Most prefixes have a single child: the first pattern and the last tell.
        let (mut low, mut high) = (of.start, last);
        match self.next_token(of, last, |next| next.cmp(&wanted)) {
            std::cmp::Ordering::Less => return None,
            std::cmp::Ordering::Equal if self.next_token(of, low, |next| next == wanted) => {
                return Some(of.child(token.len(), low, of.end));
            }
            _ => {}
        }
        while low < high {
            let middle = low.midpoint(high);
            if self.next_token(of, middle, |next| next < wanted) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let found = self.next_token(of, low, |next| next == wanted);
        found.then(|| of.child(token.len(), low, self.end_of_child(of, low, token)))
    }

    /// The place behind the patterns that have `token` after a prefix, of which `first` is the first.
    fn end_of_child(&self, of: Prefix, first: usize, token: &[u8]) -> usize {
        let wanted = Some(rank(token));
        let has_token = |place| self.next_token(of, place, |next| next == wanted);
        let mut low = first + 1;
        let mut step = 1;
        while low + step <= of.end && has_token(low + step - 1) {
            low += step;
            step *= 2;
        }
        let mut high = of.end.min(low + step);
        while low < high {
            let middle = low.midpoint(high);
            if has_token(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The prefixes with one more token, in order.
    pub fn children(&self, of: Prefix) -> impl Iterator<Item = Prefix> {
        let mut place = of.start + usize::from(self.exact(of).is_some());
        std::iter::from_fn(move || {
            if place >= of.end {
                return None;
            }
            let text = text(self.block(place));
            let token = first_token(text.get(of.at..).unwrap_or_default());
            let child = of.child(token.len(), place, self.end_of_child(of, place, token));
            place = child.end;
            Some(child)
        })
    }
}
