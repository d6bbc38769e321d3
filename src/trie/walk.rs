//! Who hears a subject? Down the forks, by one probe each, to the patterns that may match.
//!
//! A fork leads to the child of the subject's tokens and to its rest branch. Every fork and every
//! pattern hangs in one place, so a walk looks at each at most once: its work is bounded by what is
//! in the index, however patterns and subject were chosen, and counted.

use super::entry::{FORK, Fork, MANY, ONE, One};
use super::hash::{Hashing, rest_of};
use super::list::{address_of, ones_in};
use super::pattern::{ends_of, matches};
use super::ticket::Ticket;
use super::tokens::Tokens;
use super::{Index, ticket};
use crate::error::Error;

/// Room for one lookup at a time, kept so that lookups allocate nothing.
#[derive(Default)]
pub struct Scratch {
    pub(super) tokens: Tokens,
    /// Keys of rest branches not yet followed.
    waiting: Vec<u64>,
    /// Queue members, by number of their queue.
    pub(super) members: Vec<(u32, Ticket)>,
    found: Vec<Ticket>,
    pub(super) work: usize,
}

impl Scratch {
    /// What the last lookup looked at: entries, and patterns compared or sieved.
    #[must_use]
    pub const fn work(&self) -> usize {
        self.work
    }
}

/// Where the parts of an index are read from: memory, or an image. Whatever is asked for and not
/// there is nothing.
pub(super) trait Store {
    fn hashing(&self) -> &Hashing;
    fn root(&self) -> u64;
    /// The entry of a key.
    fn find(&self, key: u64) -> u64;
    /// The words from the beginning of a list on.
    fn list(&self, address: u32) -> &[u64];
    /// The words from the beginning of a pattern's block on.
    fn block(&self, address: u32) -> &[u64];
    /// More entries than this are not there.
    fn entries(&self) -> usize;
}

impl Store for Index {
    #[inline]
    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    #[inline]
    fn root(&self) -> u64 {
        self.root
    }

    #[inline]
    fn find(&self, key: u64) -> u64 {
        self.table.find(key)
    }

    #[inline]
    fn list(&self, address: u32) -> &[u64] {
        self.lists.get(address)
    }

    #[inline]
    fn block(&self, address: u32) -> &[u64] {
        self.blocks.get(address)
    }

    fn entries(&self) -> usize {
        self.table.len()
    }
}

/// Visits the blocks of the patterns that match, until `visit` says false. The subject is taken
/// apart in `scratch`.
#[inline]
pub(super) fn walk<S: Store>(
    store: &S,
    subject: &[u8],
    scratch: &mut Scratch,
    mut visit: impl FnMut(&[u64]) -> bool,
) {
    let Scratch {
        tokens,
        waiting,
        work,
        ..
    } = scratch;
    let hashing = store.hashing();
    waiting.clear();
    *work = 0;
    let mut steps = 0;
    let (mut key, mut entry) = (hashing.root(), store.root());
    loop {
        let mut below = None;
        if entry & 3 == FORK {
            let fork = Fork(entry);
            if fork.rest_fits(tokens.count()) {
                waiting.push(rest_of(key));
            }
            below = tokens.child(subject, hashing, fork, key);
        } else if entry & 3 == MANY {
            let ones = ones_in(store.list(address_of(entry)), entry);
            *work += ones.len();
            for &word in ones {
                let one = One(word);
                if tokens.sieve(subject, hashing, one) {
                    let block = store.block(one.block());
                    if matches(block, subject, tokens) && !visit(block) {
                        return;
                    }
                }
            }
        } else if entry & 3 == ONE {
            *work += 1;
            let one = One(entry);
            if one.fits(tokens.count()) {
                let block = store.block(one.block());
                if matches(block, subject, tokens) && !visit(block) {
                    return;
                }
            }
        }
        let Some(next) = below.or_else(|| waiting.pop()) else {
            break;
        };
        key = next;
        entry = store.find(key);
        steps += 1;
        if steps > 2 * store.entries() + 2 {
            break; // only the entries of a damaged image go round in circles
        }
    }
    *work += steps;
}

impl Index {
    /// Takes a subject apart, or says why it is none.
    #[inline]
    pub(super) fn take_apart(&self, subject: &str, scratch: &mut Scratch) -> Result<(), Error> {
        scratch.tokens.subject(subject, self.dialect, self.bounds)
    }

    /// Appends the subscriptions that match, in ascending id, to `found`.
    ///
    /// The subject is checked in the same pass. Cost: about four probes; nothing is allocated once
    /// `scratch` and `found` have grown.
    pub fn match_into(
        &self,
        subject: &str,
        scratch: &mut Scratch,
        found: &mut Vec<Ticket>,
    ) -> Result<(), Error> {
        self.take_apart(subject, scratch)?;
        let before = found.len();
        walk(self, subject.as_bytes(), scratch, |block| {
            self.tickets_into(block, found);
            true
        });
        settle(found, before);
        Ok(())
    }

    /// Appends the subscriptions of a pattern.
    #[inline]
    pub(super) fn tickets_into(&self, block: &[u64], found: &mut Vec<Ticket>) {
        let (first, last, id) = ends_of(block);
        found.push(Ticket { id, slot: first });
        if first != last {
            self.later_tickets_into(first, found);
        }
    }

    #[cold]
    fn later_tickets_into(&self, first: u32, found: &mut Vec<Ticket>) {
        let next = |slot: u32| self.rows.get(slot).map_or(ticket::NONE, |row| row.next);
        let mut slot = next(first);
        while let Some(row) = self.rows.get(slot) {
            found.push(Ticket { id: row.id, slot });
            slot = row.next;
        }
    }

    /// How many subscriptions match.
    pub fn count(&self, subject: &str, scratch: &mut Scratch) -> Result<usize, Error> {
        let mut found = std::mem::take(&mut scratch.found);
        found.clear();
        let done = self.match_into(subject, scratch, &mut found);
        let count = found.len();
        scratch.found = found;
        done.map(|()| count)
    }

    /// Does any subscription match? Stops at the first.
    pub fn has_interest(&self, subject: &str, scratch: &mut Scratch) -> Result<bool, Error> {
        self.take_apart(subject, scratch)?;
        let mut any = false;
        walk(self, subject.as_bytes(), scratch, |_| {
            any = true;
            false
        });
        Ok(any)
    }
}

/// Puts what was found in order. Two entries under one key, which chance never makes, would tell a
/// pattern twice.
#[inline]
pub(super) fn settle(found: &mut Vec<Ticket>, before: usize) {
    if found.len() > before + 1 {
        sort(found, before);
    }
}

fn sort(found: &mut Vec<Ticket>, before: usize) {
    found[before..].sort_unstable();
    let mut last = None;
    let mut place = 0;
    found.retain(|ticket| {
        place += 1;
        place <= before || last.replace(*ticket) != Some(*ticket)
    });
}
