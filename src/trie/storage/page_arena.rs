//! Full pages of a slab side by side, in arrays of a huge page each.
//!
//! Patterns are read in no order, so without huge pages almost every read of an index far larger than
//! the cache would also wait for the translation of its address. The pages are always dense: the last
//! one moves into the place of a removed one.

use super::huge_words::HugeWords;
use super::to_u32;

/// Words of a page: 32 KiB. A larger page wastes more memory in size classes with few blocks, a
/// smaller one limits how much an address can name. No record compares page sizes. A block larger
/// than a page has a page of its own.
pub(super) const PAGE_WORDS: usize = 4096;

/// Pages of an array; one array fills a huge page.
const PAGES: usize = 64;

/// Pages of [`PAGE_WORDS`] words, found by their places.
#[derive(Clone, Default)]
pub(super) struct PageArena {
    arrays: Vec<HugeWords>,
    /// The numbers that the slab gave to the pages, by place.
    owners: Vec<u32>,
}

impl PageArena {
    /// The words from one on a page to the end of the array.
    #[inline]
    pub fn words_from(&self, place: u32, word: usize) -> &[u64] {
        let place = place as usize;
        let array = self.arrays.get(place / PAGES);
        array
            .and_then(|array| array.get(place % PAGES * PAGE_WORDS + word..))
            .unwrap_or_default()
    }

    /// The words of a page.
    pub fn page_mut(&mut self, place: u32) -> &mut [u64] {
        let place = place as usize;
        let start = place % PAGES * PAGE_WORDS;
        let array = self.arrays.get_mut(place / PAGES);
        array
            .and_then(|array| array.get_mut(start..start + PAGE_WORDS))
            .unwrap_or_default()
    }

    /// Adds a page that begins with these words, and returns its place.
    pub fn insert(&mut self, owner: u32, words: &[u64]) -> u32 {
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
    pub fn remove(&mut self, place: u32) -> Option<u32> {
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
    pub fn memory(&self) -> usize {
        let words: usize = self.arrays.iter().map(|array| array.len()).sum();
        words * size_of::<u64>()
            + self.arrays.capacity() * size_of::<HugeWords>()
            + self.owners.capacity() * size_of::<u32>()
    }
}
