//! Who hears a subject? Down the forks, by one probe each, to the patterns that may match.
//!
//! A fork leads to the child of the subject's tokens and to its rest branch. Every fork and every
//! pattern hangs in one place, so a walk looks at each at most once: its work is bounded by what is
//! in the index, however patterns and subject were chosen, and counted.

use super::Index;
use super::entry::{FORK, Fork, MANY, ONE, One};
use super::hash::{Hashing, rest_of};
use super::list::{address_of, ones_in};
use super::pattern::{ends_of, matches};
use super::ticket::{NONE, Ticket};
use super::tokens::Tokens;
use crate::error::Error;
use crate::grammar::{Bounds, Dialect};

/// Room for one lookup at a time, kept so that lookups allocate nothing.
#[derive(Default)]
pub struct Scratch {
    pub(super) tokens: Tokens,
    /// Keys of rest branches not yet followed.
    pub(super) waiting: Vec<u64>,
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
    /// Where the entry of a key is looked for, to be read ahead.
    fn near(&self, key: u64) -> Option<&u64>;
    /// The words from the beginning of a list on.
    fn list(&self, address: u32) -> &[u64];
    /// The words from the beginning of a pattern's block on.
    fn block(&self, address: u32) -> &[u64];
    /// No lookup looks at more entries and patterns than this.
    fn most_work(&self) -> usize;
    /// The id of a row, and the slot of the pattern's next one.
    fn row(&self, slot: u32) -> Option<(u64, u32)>;
    /// More subscriptions than this are not there.
    fn rows(&self) -> usize;
    fn grammar(&self) -> (Dialect, Bounds);
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
    fn near(&self, key: u64) -> Option<&u64> {
        self.table.near(key)
    }

    #[inline]
    fn list(&self, address: u32) -> &[u64] {
        self.lists.get(address)
    }

    #[inline]
    fn block(&self, address: u32) -> &[u64] {
        self.blocks.get(address)
    }

    fn most_work(&self) -> usize {
        // A fork asks for two keys, there or not.
        2 * self.table.len() + self.patterns + 16
    }

    fn row(&self, slot: u32) -> Option<(u64, u32)> {
        self.rows.get(slot).map(|row| (row.id, row.next))
    }

    fn rows(&self) -> usize {
        self.rows.len()
    }

    #[inline]
    fn grammar(&self) -> (Dialect, Bounds) {
        (self.dialect, self.bounds)
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
    let most = store.most_work();
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
            let sieve = tokens.sieve(subject, hashing);
            for &word in ones {
                let one = One(word);
                if sieve.passes(one) {
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
        *work += 1;
        if *work > most {
            break; // only the entries of a damaged image go round in circles
        }
    }
}

/// Takes a subject apart, or says why it is none.
#[inline]
pub(super) fn take_apart<S: Store>(
    store: &S,
    subject: &[u8],
    scratch: &mut Scratch,
) -> Result<(), Error> {
    let (dialect, bounds) = store.grammar();
    scratch.tokens.subject(subject, dialect, bounds)
}

/// Appends the subscriptions that match, in ascending id, to `found`.
#[inline]
pub(super) fn match_into<S: Store>(
    store: &S,
    subject: &[u8],
    scratch: &mut Scratch,
    found: &mut Vec<Ticket>,
) -> Result<(), Error> {
    take_apart(store, subject, scratch)?;
    let before = found.len();
    walk(store, subject, scratch, |block| {
        tickets_into(store, block, found);
        true
    });
    settle(found, before);
    Ok(())
}

/// Does any subscription match?
pub(super) fn has_interest<S: Store>(
    store: &S,
    subject: &str,
    scratch: &mut Scratch,
) -> Result<bool, Error> {
    take_apart(store, subject.as_bytes(), scratch)?;
    let mut any = false;
    walk(store, subject.as_bytes(), scratch, |_| {
        any = true;
        false
    });
    Ok(any)
}

/// How many subscriptions match.
pub(super) fn count<S: Store>(
    store: &S,
    subject: &str,
    scratch: &mut Scratch,
) -> Result<usize, Error> {
    let mut found = std::mem::take(&mut scratch.found);
    found.clear();
    let done = match_into(store, subject.as_bytes(), scratch, &mut found);
    let count = found.len();
    scratch.found = found;
    done.map(|()| count)
}

/// Appends the subscriptions of a pattern.
#[inline]
pub(super) fn tickets_into<S: Store>(store: &S, block: &[u64], found: &mut Vec<Ticket>) {
    let (first, last, id) = ends_of(block);
    found.push(Ticket { id, slot: first });
    if first != last {
        later_tickets_into(store, first, found);
    }
}

#[cold]
fn later_tickets_into<S: Store>(store: &S, first: u32, found: &mut Vec<Ticket>) {
    let mut slot = store.row(first).map_or(NONE, |(_, next)| next);
    // A damaged image may lead round in circles.
    for _ in 0..=store.rows().saturating_sub(found.len()) {
        let Some((id, next)) = store.row(slot) else {
            return;
        };
        found.push(Ticket { id, slot });
        slot = next;
    }
}

impl Index {
    /// Appends the subscriptions that match, in ascending id, to `found`.
    ///
    /// The subject is checked in the same pass. Cost: about four probes; nothing is allocated once
    /// `scratch` and `found` have grown.
    #[inline]
    pub fn match_into(
        &self,
        subject: &str,
        scratch: &mut Scratch,
        found: &mut Vec<Ticket>,
    ) -> Result<(), Error> {
        match_into(self, subject.as_bytes(), scratch, found)
    }

    /// How many subscriptions match.
    pub fn count(&self, subject: &str, scratch: &mut Scratch) -> Result<usize, Error> {
        count(self, subject, scratch)
    }

    /// Does any subscription match? Stops at the first.
    pub fn has_interest(&self, subject: &str, scratch: &mut Scratch) -> Result<bool, Error> {
        has_interest(self, subject, scratch)
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
