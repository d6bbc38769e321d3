//! Sixteen lookups side by side, for an index that has outgrown the cache.
//!
//! A lookup there spends its time waiting for memory: for an entry, a list, a pattern's block. Here
//! every lookup goes one step, asks for what its next step reads, and lets the others go theirs.

use super::Ticket;
use super::entry::{FORK, Fork, MANY, ONE, One};
use super::hash::rest_of;
use super::list::{address_of, ones_in};
use super::pattern::matches;
use super::reached::{Reached, Room};
use super::walk::{Scratch, Store, settle, take_apart, tickets_into};

/// Lookups side by side. More would crowd each other out of the nearest cache.
const LANES: usize = 16;

/// From so many bytes on it pays: an index below that is in the cache anyway.
pub(super) const WORTH_IT: usize = 4 << 20;

/// What a lookup does next.
#[derive(Clone, Copy, Default)]
enum Step {
    /// Looks for the entry of a key.
    Find(u64),
    /// Sieves the list of an entry.
    Sieve(u64),
    /// Compares the patterns that got through.
    Compare,
    #[default]
    Done,
}

#[derive(Default)]
struct Lane {
    scratch: Scratch,
    step: Step,
    /// Addresses of blocks to compare.
    blocks: Vec<u32>,
    found: Vec<Ticket>,
    valid: bool,
}

/// The lookups at work.
#[derive(Default)]
pub struct Lanes(Vec<Lane>);

/// Looks up texts, sixteen at a time, and appends what they reach.
pub(super) fn reach<'t, S: Store>(
    store: &S,
    texts: impl Iterator<Item = Option<&'t [u8]>>,
    lanes: &mut Lanes,
    room: &mut Room,
    reached: &mut Reached,
) {
    let mut texts = texts;
    let mut group: [Option<&[u8]>; LANES] = [None; LANES];
    loop {
        let mut count = 0;
        for (place, text) in group.iter_mut().zip(&mut texts) {
            *place = text;
            count += 1;
        }
        if count < LANES {
            // Too few for side by side.
            for text in &group[..count] {
                reached.look_up(store, *text, room);
            }
            return;
        }
        side_by_side(store, &group, lanes, reached);
    }
}

fn side_by_side<S: Store>(
    store: &S,
    texts: &[Option<&[u8]>; LANES],
    Lanes(lanes): &mut Lanes,
    reached: &mut Reached,
) {
    lanes.resize_with(LANES, Lane::default);
    for (lane, text) in lanes.iter_mut().zip(texts) {
        lane.begin(store, *text);
    }
    let mut busy = true;
    while busy {
        busy = false;
        for (lane, text) in lanes.iter_mut().zip(texts) {
            busy |= lane.go(store, text.unwrap_or_default());
        }
    }
    for lane in lanes {
        settle(&mut lane.found, 0);
        reached.push(lane.valid, &lane.found);
    }
}

impl Lane {
    fn begin<S: Store>(&mut self, store: &S, text: Option<&[u8]>) {
        self.found.clear();
        self.blocks.clear();
        self.scratch.waiting.clear();
        self.scratch.work = 0;
        self.step = Step::Done;
        self.valid = text.is_some_and(|text| take_apart(store, text, &mut self.scratch).is_ok());
        if self.valid {
            let text = text.unwrap_or_default();
            self.enter(store, text, store.hashing().root(), store.root());
        }
    }

    /// Goes one step; false when there is none left.
    #[inline]
    fn go<S: Store>(&mut self, store: &S, text: &[u8]) -> bool {
        match self.step {
            Step::Done => return false,
            Step::Find(key) => {
                self.scratch.work += 1;
                self.enter(store, text, key, store.find(key));
            }
            Step::Sieve(entry) => {
                let ones = ones_in(store.list(address_of(entry)), entry);
                self.scratch.work += ones.len();
                let sieve = self.scratch.tokens.sieve(text, store.hashing());
                for &word in ones {
                    let one = One(word);
                    if sieve.passes(one) {
                        self.ask_for(store, one.block());
                    }
                }
                self.compare_or_rest(store);
            }
            Step::Compare => {
                for &address in &self.blocks {
                    let block = store.block(address);
                    if matches(block, text, &self.scratch.tokens) {
                        tickets_into(store, block, &mut self.found);
                    }
                }
                self.blocks.clear();
                self.next_rest(store);
            }
        }
        true
    }

    /// Decides from an entry what to do next.
    #[inline]
    fn enter<S: Store>(&mut self, store: &S, text: &[u8], key: u64, entry: u64) {
        let Scratch {
            tokens, waiting, ..
        } = &mut self.scratch;
        match entry & 3 {
            FORK => {
                let fork = Fork(entry);
                if fork.rest_fits(tokens.count()) {
                    waiting.push(rest_of(key));
                }
                match tokens.child(text, store.hashing(), fork, key) {
                    Some(child) => self.find(store, child),
                    None => self.next_rest(store),
                }
            }
            MANY => {
                ahead(store.list(address_of(entry)).first());
                self.step = Step::Sieve(entry);
            }
            ONE => {
                let one = One(entry);
                if one.fits(tokens.count()) {
                    self.ask_for(store, one.block());
                }
                self.compare_or_rest(store);
            }
            _ => self.next_rest(store),
        }
    }

    #[inline]
    fn ask_for<S: Store>(&mut self, store: &S, address: u32) {
        let block = store.block(address);
        ahead(block.first());
        ahead(block.get(8));
        self.blocks.push(address);
    }

    #[inline]
    fn compare_or_rest<S: Store>(&mut self, store: &S) {
        if self.blocks.is_empty() {
            self.next_rest(store);
        } else {
            self.step = Step::Compare;
        }
    }

    #[inline]
    fn next_rest<S: Store>(&mut self, store: &S) {
        // Only the entries of a damaged image go round in circles.
        let going = self.scratch.work <= store.most_work();
        match self.scratch.waiting.pop() {
            Some(key) if going => self.find(store, key),
            _ => self.step = Step::Done,
        }
    }

    #[inline]
    fn find<S: Store>(&mut self, store: &S, key: u64) {
        if self.scratch.work > store.most_work() {
            self.step = Step::Done;
            return;
        }
        ahead(store.near(key));
        self.step = Step::Find(key);
    }
}

/// Asks for a word that will be read soon.
#[inline]
#[allow(unsafe_code)]
fn ahead(word: Option<&u64>) {
    #[cfg(target_arch = "x86_64")]
    if let Some(word) = word {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint reads nothing, and the address is that of a reference.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(word).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = word;
}

#[cfg(test)]
mod tests {
    use super::{Lanes, Room, reach};
    use crate::grammar::Dialect;
    use crate::trie::{Bench, Image, Index, Reached, Reading, words};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn side_by_side_they_find_what_they_find_alone(
            patterns in prop::collection::vec("[ab*]{1}(\\.[ab*]){0,4}(\\.>)?|>", 0..60),
            texts in prop::collection::vec(prop::option::weighted(0.9, "[ab]{1}(\\.[abx]){0,5}|a b|"), 0..70),
        ) {
            let mut index = Index::new(Dialect::Strict, Dialect::Strict.bounds());
            for pattern in &patterns {
                index.insert(pattern, None).unwrap();
            }
            let texts: Vec<Option<&[u8]>> = texts.iter().map(|text| text.as_deref().map(str::as_bytes)).collect();
            let alone = {
                let mut reached = Reached::default();
                Reading::Live(&index).reach(texts.iter().copied(), &mut Bench::default(), &mut reached);
                (reached.ids, reached.ends, reached.valid)
            };
            let (mut lanes, mut room) = <(Lanes, Room)>::default();
            let mut reached = Reached::default();
            reach(&index, texts.iter().copied(), &mut lanes, &mut room, &mut reached);
            prop_assert_eq!(&(reached.ids, reached.ends, reached.valid), &alone);
            let bytes = index.to_image((None, None));
            let words = words(&bytes);
            let image = Image::open(&words, bytes.len(), true).unwrap();
            let mut reached = Reached::default();
            reach(&image, texts.iter().copied(), &mut lanes, &mut room, &mut reached);
            prop_assert_eq!(&(reached.ids, reached.ends, reached.valid), &alone);
        }
    }
}
