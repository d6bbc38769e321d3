//! A size-class slab allocator (after Bonwick 1994): blocks of words, in pages of one block size.
//!
//! Blocks of one size are always dense: the last block of a size class moves into the place of a
//! removed one, so memory follows the content and no compaction is ever needed. The caller learns
//! of the move and updates whatever refers to the moved block.

use std::collections::BTreeMap;
use std::marker::PhantomData;

/// Words of a page: 32 KiB. A larger page wastes more memory in size classes with few blocks, a
/// smaller one limits how much an address can name. No record compares page sizes. A block larger
/// than a page has a page of its own.
const PAGE_WORDS: usize = 4096;

/// Pages that a 32-bit address can name, with 12 bits for the word within a page.
const MAX_PAGES: usize = 1 << 20;

/// An address in a slab: the number of a page, and in the lowest 12 bits the word within it.
pub(crate) trait Address: Copy {
    /// Wraps the number that the slab gave.
    fn from_raw(raw: u32) -> Self;
    /// The number that the slab gave.
    fn raw(self) -> u32;
}

/// The pages of one block size. Only the last one has room.
#[derive(Clone, Default)]
struct SizeClass {
    pages: Vec<u32>,
}

/// Blocks of words, found by addresses of type `A`.
#[derive(Clone)]
pub(crate) struct Slab<A> {
    pages: Vec<Vec<u64>>,
    free_pages: Vec<u32>,
    size_classes: BTreeMap<usize, SizeClass>,
    address: PhantomData<A>,
}

impl<A> Default for Slab<A> {
    fn default() -> Self {
        Self {
            pages: Vec::new(),
            free_pages: Vec::new(),
            size_classes: BTreeMap::new(),
            address: PhantomData,
        }
    }
}

/// The number of blocks of `words` words in a page.
const fn blocks_per_page(words: usize) -> usize {
    if words > PAGE_WORDS {
        1
    } else {
        PAGE_WORDS / words
    }
}

/// The address of a word, from the number of its page.
fn raw_address(page: u32, word: usize) -> u32 {
    u32::try_from(page as usize * PAGE_WORDS + word).unwrap_or(u32::MAX)
}

impl<A: Address> Slab<A> {
    /// Whether blocks of `words` words in all fit, whatever their sizes.
    pub fn has_room(&self, words: usize) -> bool {
        // At worst half of each page stays empty, and every size class begins a page.
        let pages = (words / PAGE_WORDS).saturating_mul(2).saturating_add(1024);
        self.pages.len().saturating_add(pages) < MAX_PAGES
    }

    /// The words from this address to the end of its page; empty if there is no such block.
    #[inline]
    pub fn get(&self, address: A) -> &[u64] {
        let raw = address.raw() as usize;
        let page = self.pages.get(raw / PAGE_WORDS);
        page.and_then(|page| page.get(raw % PAGE_WORDS..))
            .unwrap_or_default()
    }

    /// As [`Slab::get`], to be written to.
    pub fn get_mut(&mut self, address: A) -> &mut [u64] {
        let raw = address.raw() as usize;
        let page = self.pages.get_mut(raw / PAGE_WORDS);
        page.and_then(|page| page.get_mut(raw % PAGE_WORDS..))
            .unwrap_or_default()
    }

    /// Copies a block in and returns its address.
    pub fn insert(&mut self, block: &[u64]) -> A {
        let words = block.len();
        let class = self.size_classes.entry(words).or_default();
        let full = blocks_per_page(words) * words;
        let open = class
            .pages
            .last()
            .filter(|&&page| self.pages[page as usize].len() < full);
        let number = if let Some(&page) = open {
            page
        } else {
            let number = self.free_pages.pop().unwrap_or_else(|| {
                self.pages.push(Vec::new());
                u32::try_from(self.pages.len() - 1).unwrap_or(u32::MAX)
            });
            class.pages.push(number);
            number
        };
        let page = &mut self.pages[number as usize];
        if page.len() == page.capacity() {
            // Grow by half, never beyond a full page.
            let more = (page.len() / 2).clamp(words, full.max(words));
            let more = more.div_ceil(words) * words;
            page.reserve_exact(more.min(full - page.len()).max(words));
        }
        let at = page.len();
        page.extend_from_slice(block);
        A::from_raw(raw_address(number, at))
    }

    /// The address of the last block of `words` words: the one that a removal moves.
    pub fn last(&self, words: usize) -> Option<A> {
        let page = *self.size_classes.get(&words)?.pages.last()?;
        let at = self.pages.get(page as usize)?.len().checked_sub(words)?;
        Some(A::from_raw(raw_address(page, at)))
    }

    /// Removes a block of `words` words. If another block moved into its place, returns the
    /// address that the other one had.
    pub fn remove(&mut self, address: A, words: usize) -> Option<A> {
        let class = self.size_classes.get_mut(&words)?;
        let last = *class.pages.last()?;
        let page = &mut self.pages[last as usize];
        let at = page.len() - words;
        let block = page.split_off(at);
        let from = raw_address(last, at);
        if page.is_empty() {
            *page = Vec::new();
            self.free_pages.push(last);
            class.pages.pop();
            if class.pages.is_empty() {
                self.size_classes.remove(&words);
            }
        } else if page.capacity() > 4 * page.len() {
            page.shrink_to(2 * page.len());
        }
        if self.free_pages.len() == self.pages.len() {
            *self = Self::default();
        }
        if from == address.raw() {
            return None;
        }
        self.get_mut(address)
            .get_mut(..words)?
            .copy_from_slice(&block);
        Some(A::from_raw(from))
    }

    /// Memory in bytes.
    pub fn memory(&self) -> usize {
        let words: usize = self.pages.iter().map(Vec::capacity).sum();
        let classes = self.size_classes.values();
        let numbers: usize = classes.map(|class| class.pages.capacity()).sum();
        words * size_of::<u64>()
            + self.pages.capacity() * size_of::<Vec<u64>>()
            + (numbers + self.free_pages.capacity()) * size_of::<u32>()
            + self.size_classes.len() * 64
    }
}

#[cfg(test)]
mod tests {
    use super::{Address, PAGE_WORDS, Slab};

    impl Address for u32 {
        fn from_raw(raw: u32) -> Self {
            raw
        }

        fn raw(self) -> u32 {
            self
        }
    }

    #[test]
    fn blocks_stay_dense_and_all_memory_is_returned() {
        let mut slab = Slab::<u32>::default();
        let mut held: Vec<(u32, Vec<u64>)> = Vec::new();
        for number in 0..20_000u64 {
            let words = 3 + (number % 7) as usize;
            let block = vec![number; words];
            held.push((slab.insert(&block), block));
        }
        let big = vec![7; PAGE_WORDS * 2 + 5];
        held.push((slab.insert(&big), big));
        let mut step = 1;
        while !held.is_empty() {
            for (address, block) in held.iter().step_by(97) {
                assert_eq!(slab.get(*address)[..block.len()], block[..]);
            }
            for _ in 0..500.min(held.len()) {
                step = step * 31 % 1_000_003;
                let (address, block) = held.swap_remove(step % held.len());
                if let Some(from) = slab.remove(address, block.len()) {
                    let moved = held.iter_mut().find(|(at, _)| *at == from).unwrap();
                    moved.0 = address;
                }
            }
            let words: usize = held.iter().map(|(_, block)| block.len()).sum();
            assert!(slab.memory() < words * 8 * 5 / 4 + 500_000);
        }
        assert_eq!(slab.memory(), 0);
    }
}
