//! A size-class slab allocator (after Bonwick 1994): blocks of words, in pages of one block size.
//!
//! Blocks of one size are always dense by swap-remove: the last block of a size class moves into the
//! place of a removed one, so memory follows the content and no compaction is ever needed. The caller learns
//! of the move and updates whatever refers to the moved block.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use super::huge_words::HugeWords;
use super::to_u32;
use crate::trie::address::SlabAddress;

/// From so many pages on, 2 MB, those that become full go to the arena. Below it a huge page would
/// waste memory, and the caches translate the addresses of all pages.
const ARENA_FROM: usize = 64;

/// Pages that a 32-bit address can name, with 12 bits for the word within a page.
const MAX_PAGES: usize = 1 << 20;

/// A page and what it holds.
#[derive(Clone)]
enum Page {
    /// Alone: a page that is not full, or of a block larger than a page.
    Own(Vec<u64>),
    /// In the arena, with so many words.
    Placed { place: u32, words: usize },
}

impl Page {
    const fn len(&self) -> usize {
        match self {
            Self::Own(words) => words.len(),
            Self::Placed { words, .. } => *words,
        }
    }
}

/// The pages of one block size. Only the last one has room.
#[derive(Clone, Default)]
struct SizeClass {
    pages: Vec<u32>,
}

/// Blocks of words, found by addresses of type `A`.
#[derive(Clone)]
pub(crate) struct Slab<A> {
    pages: Vec<Page>,
    arena: PageArena,
    free_pages: Vec<u32>,
    size_classes: BTreeMap<usize, SizeClass>,
    /// Words of all blocks.
    words: usize,
    /// [`MAX_PAGES`], or fewer in tests.
    pub(crate) max_pages: usize,
    address: PhantomData<A>,
}

impl<A> Default for Slab<A> {
    fn default() -> Self {
        Self {
            pages: Vec::new(),
            arena: PageArena::default(),
            free_pages: Vec::new(),
            size_classes: BTreeMap::new(),
            words: 0,
            max_pages: MAX_PAGES,
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
    to_u32(page as usize * PAGE_WORDS + word)
}

impl<A: SlabAddress> Slab<A> {
    /// Whether blocks of `words` words in all fit, whatever their sizes.
    pub fn has_room(&self, words: usize) -> bool {
        // At worst half of each page stays empty, and every size class begins a page. The blocks of
        // an image have no pages, so their words have to fit as well.
        let pages = (words / PAGE_WORDS).saturating_mul(2).saturating_add(1024);
        let used = self.pages.len().max(self.words / PAGE_WORDS);
        used.saturating_add(pages) < self.max_pages
    }

    /// The words from this address on, at least to the end of the block; empty if there is no such
    /// block.
    #[inline]
    pub fn get(&self, address: A) -> &[u64] {
        let raw = address.raw() as usize;
        match self.pages.get(raw / PAGE_WORDS) {
            Some(Page::Own(words)) => words.get(raw % PAGE_WORDS..).unwrap_or_default(),
            Some(&Page::Placed { place, .. }) => self.arena.words_from(place, raw % PAGE_WORDS),
            None => &[],
        }
    }

    /// As [`Slab::get`], to be written to.
    pub fn get_mut(&mut self, address: A) -> &mut [u64] {
        let raw = address.raw() as usize;
        let page = match self.pages.get_mut(raw / PAGE_WORDS) {
            Some(Page::Own(words)) => words.as_mut_slice(),
            Some(&mut Page::Placed { place, .. }) => self.arena.page_mut(place),
            None => &mut [],
        };
        page.get_mut(raw % PAGE_WORDS..).unwrap_or_default()
    }

    /// Copies a block in and returns its address.
    pub fn insert(&mut self, block: &[u64]) -> A {
        let words = block.len();
        self.words += words;
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
                self.pages.push(Page::Own(Vec::new()));
                to_u32(self.pages.len() - 1)
            });
            class.pages.push(number);
            number
        };
        let at = self.pages[number as usize].len();
        self.append(number, block, full);
        A::from_raw(raw_address(number, at))
    }

    /// Appends a block to a page that has room for `full` words.
    fn append(&mut self, number: u32, block: &[u64], full: usize) {
        let many = self.pages.len() >= ARENA_FROM;
        let page = &mut self.pages[number as usize];
        match page {
            Page::Placed { place, words } => {
                let end = *words + block.len();
                if let Some(room) = self.arena.page_mut(*place).get_mut(*words..end) {
                    room.copy_from_slice(block);
                }
                *words = end;
            }
            Page::Own(words) => {
                if words.len() == words.capacity() {
                    // Grow by half, never beyond a full page.
                    let more = (words.len() / 2).clamp(block.len(), full.max(block.len()));
                    let more = more.div_ceil(block.len()) * block.len();
                    let more = more.min(full - words.len()).max(block.len());
                    if many && words.len() + more == full && full <= PAGE_WORDS {
                        let place = self.arena.insert(number, words);
                        let words = words.len();
                        *page = Page::Placed { place, words };
                        return self.append(number, block, full);
                    }
                    words.reserve_exact(more);
                }
                words.extend_from_slice(block);
            }
        }
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
        let last = *self.size_classes.get(&words)?.pages.last()?;
        let at = self.pages.get(last as usize)?.len().checked_sub(words)?;
        let block = self.cut(last, at);
        self.words -= words;
        let from = raw_address(last, at);
        if at == 0 {
            self.free_pages.push(last);
            let class = self.size_classes.get_mut(&words)?;
            class.pages.pop();
            if class.pages.is_empty() {
                self.size_classes.remove(&words);
            }
        }
        if self.free_pages.len() == self.pages.len() {
            *self = Self {
                max_pages: self.max_pages,
                ..Self::default()
            };
        }
        if from == address.raw() {
            return None;
        }
        self.get_mut(address)
            .get_mut(..words)?
            .copy_from_slice(&block);
        Some(A::from_raw(from))
    }

    /// Removes the words of a page from `at` on, and returns memory that is not needed any more.
    fn cut(&mut self, number: u32, at: usize) -> Vec<u64> {
        let page = &mut self.pages[number as usize];
        match page {
            Page::Own(words) => {
                let block = words.split_off(at);
                if at == 0 {
                    *words = Vec::new();
                } else if words.capacity() > 4 * at {
                    words.shrink_to(2 * at);
                }
                block
            }
            Page::Placed { place, words } => {
                let place = *place;
                let held = self.arena.page_mut(place);
                let block = held.get(at..*words).unwrap_or_default().to_vec();
                *words = at;
                if 4 * at < PAGE_WORDS {
                    *page = Page::Own(held.get(..at).unwrap_or_default().to_vec());
                    let moved = self.arena.remove(place);
                    if let Some(Page::Placed { place: to, .. }) =
                        moved.and_then(|owner| self.pages.get_mut(owner as usize))
                    {
                        *to = place;
                    }
                }
                block
            }
        }
    }

    /// Memory in bytes.
    pub fn memory(&self) -> usize {
        let capacity = |page: &Page| match page {
            Page::Own(words) => words.capacity(),
            Page::Placed { .. } => 0,
        };
        let words: usize = self.pages.iter().map(capacity).sum();
        let classes = self.size_classes.values();
        let numbers: usize = classes.map(|class| class.pages.capacity()).sum();
        words * size_of::<u64>()
            + self.arena.memory()
            + self.pages.capacity() * size_of::<Page>()
            + (numbers + self.free_pages.capacity()) * size_of::<u32>()
            + self.size_classes.len() * 64
    }
}

/// Words of a page: 32 KiB. A larger page wastes more memory in size classes with few blocks, a
/// smaller one limits how much an address can name. No record compares page sizes. A block larger
/// than a page has a page of its own.
const PAGE_WORDS: usize = 4096;

/// Pages of an array; one array fills a huge page.
const PAGES: usize = 64;

/// Full pages of a slab side by side, in arrays of a huge page each, found by their places.
///
/// Patterns are read in no order, so without huge pages almost every read of an index far larger than
/// the cache would also wait for the translation of its address. The pages are always dense: the last
/// one moves into the place of a removed one.
#[derive(Clone, Default)]
struct PageArena {
    arrays: Vec<HugeWords>,
    /// The numbers that the slab gave to the pages, by place.
    owners: Vec<u32>,
}

impl PageArena {
    /// The words from one on a page to the end of the array.
    #[inline]
    fn words_from(&self, place: u32, word: usize) -> &[u64] {
        let place = place as usize;
        let array = self.arrays.get(place / PAGES);
        array
            .and_then(|array| array.get(place % PAGES * PAGE_WORDS + word..))
            .unwrap_or_default()
    }

    /// The words of a page.
    fn page_mut(&mut self, place: u32) -> &mut [u64] {
        let place = place as usize;
        let start = place % PAGES * PAGE_WORDS;
        let array = self.arrays.get_mut(place / PAGES);
        array
            .and_then(|array| array.get_mut(start..start + PAGE_WORDS))
            .unwrap_or_default()
    }

    /// Adds a page that begins with these words, and returns its place.
    fn insert(&mut self, owner: u32, words: &[u64]) -> u32 {
        if self.owners.len() == self.arrays.len() * PAGES {
            self.arrays.push(HugeWords::zeroed(PAGES * PAGE_WORDS));
        }
        self.owners.push(owner);
        let place = to_u32(self.owners.len() - 1); // the slab has fewer pages
        if let Some(room) = self.page_mut(place).get_mut(..words.len()) {
            room.copy_from_slice(words);
        }
        place
    }

    /// Removes a page. If another one moved into its place, returns the owner of that one.
    fn remove(&mut self, place: u32) -> Option<u32> {
        let owner = self.owners.pop()?;
        let last = to_u32(self.owners.len());
        let moved = last != place;
        if moved {
            let words = self.page_mut(last).to_vec();
            self.page_mut(place).copy_from_slice(&words);
            *self.owners.get_mut(place as usize)? = owner;
        }
        // Half an array later than it could, so that changes back and forth allocate nothing.
        if self.owners.len() + PAGES / 2 <= self.arrays.len().saturating_sub(1) * PAGES
            || self.owners.is_empty()
        {
            self.arrays.pop();
        }
        moved.then_some(owner)
    }

    /// Memory in bytes.
    fn memory(&self) -> usize {
        let words: usize = self.arrays.iter().map(|array| array.len()).sum();
        words * size_of::<u64>()
            + self.arrays.capacity() * size_of::<HugeWords>()
            + self.owners.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::{PAGE_WORDS, Slab, SlabAddress};
    use std::collections::HashMap;

    impl SlabAddress for u32 {
        fn from_raw(raw: u32) -> Self {
            raw
        }

        fn raw(self) -> u32 {
            self
        }
    }

    /// Also of so many blocks that their pages fill several arrays of the arena.
    #[test]
    fn blocks_stay_dense_and_all_memory_is_returned() {
        for (count, waste) in [(20_000u32, 500_000), (200_000, 4_500_000)] {
            let mut slab = Slab::<u32>::default();
            let block = |number: u32| match number {
                7 => vec![7; PAGE_WORDS * 2 + 5],
                _ => vec![u64::from(number); 3 + (number % 7) as usize],
            };
            let mut addresses: Vec<u32> = (0..count).map(|n| slab.insert(&block(n))).collect();
            let mut numbers: HashMap<u32, u32> = addresses.iter().copied().zip(0..).collect();
            assert_eq!(slab.arena.memory() > 4_000_000, count > 100_000);
            // Those of one size first, whose pages are between the others.
            let (mut one_size, mut left): (Vec<u32>, Vec<u32>) =
                (0..count).partition(|number| number % 7 == 3);
            let mut step = 1;
            while !left.is_empty() {
                let gone = if one_size.is_empty() {
                    &mut left
                } else {
                    &mut one_size
                };
                for _ in 0..(count as usize / 40).min(gone.len()) {
                    step = step * 31 % 1_000_003;
                    let number = gone.swap_remove(step % gone.len());
                    let address = addresses[number as usize];
                    numbers.remove(&address);
                    if let Some(from) = slab.remove(address, block(number).len()) {
                        let moved = numbers.remove(&from).unwrap();
                        addresses[moved as usize] = address;
                        numbers.insert(address, moved);
                    }
                }
                let all = one_size.iter().chain(&left);
                for &number in all.clone().step_by(97) {
                    let held = block(number);
                    assert_eq!(slab.get(addresses[number as usize])[..held.len()], held);
                }
                let words: usize = all.map(|&number| block(number).len()).sum();
                assert!(slab.memory() < words * 8 * 5 / 4 + waste);
            }
            assert_eq!(slab.memory(), 0);
        }
    }
}
