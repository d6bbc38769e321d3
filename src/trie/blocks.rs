//! Where blocks of words stand: pages of blocks of one size, always dense.
//!
//! What is taken out leaves a hole that the last block of the same size moves into, so memory
//! follows the content down and never needs tidying up. Who points at the moved block is told.
//! An address is the number of a page, and the word in it: twelve bits.

use std::collections::BTreeMap;

/// Words in a page: 32 KiB. A larger block has a page of its own.
const PAGE: usize = 4096;

/// Pages that an address can name.
const MOST_PAGES: usize = 1 << 20;

/// All pages with blocks of one size, the last one not full.
#[derive(Clone, Default)]
struct Size {
    pages: Vec<u32>,
}

#[derive(Clone, Default)]
pub(super) struct Blocks {
    pages: Vec<Vec<u64>>,
    free: Vec<u32>,
    sizes: BTreeMap<usize, Size>,
}

/// How many blocks of so many words a page takes.
const fn per_page(words: usize) -> usize {
    if words > PAGE { 1 } else { PAGE / words }
}

impl Blocks {
    /// Is there room for blocks of so many words in all, whatever their sizes?
    pub fn has_room(&self, words: usize) -> bool {
        // At worst half of a page stays empty, and every size begins a page.
        let pages = (words / PAGE).saturating_mul(2).saturating_add(1024);
        self.pages.len().saturating_add(pages) < MOST_PAGES
    }

    /// The words from this address to the end of the page; none where there is no such block.
    #[inline]
    pub fn get(&self, address: u32) -> &[u64] {
        let page = self.pages.get(address as usize / PAGE);
        page.and_then(|page| page.get(address as usize % PAGE..))
            .unwrap_or_default()
    }

    pub fn get_mut(&mut self, address: u32) -> &mut [u64] {
        let page = self.pages.get_mut(address as usize / PAGE);
        page.and_then(|page| page.get_mut(address as usize % PAGE..))
            .unwrap_or_default()
    }

    /// Keeps a block and says where.
    pub fn put(&mut self, block: &[u64]) -> u32 {
        let words = block.len();
        let size = self.sizes.entry(words).or_default();
        let full = per_page(words) * words;
        let open = size
            .pages
            .last()
            .filter(|&&page| self.pages[page as usize].len() < full);
        let number = if let Some(&page) = open {
            page
        } else {
            let number = self.free.pop().unwrap_or_else(|| {
                self.pages.push(Vec::new());
                u32::try_from(self.pages.len() - 1).unwrap_or(u32::MAX)
            });
            size.pages.push(number);
            number
        };
        let page = &mut self.pages[number as usize];
        if page.len() == page.capacity() {
            // By halves, and never beyond what a page takes.
            let more = (page.len() / 2).clamp(words, full.max(words));
            let more = more.div_ceil(words) * words;
            page.reserve_exact(more.min(full - page.len()).max(words));
        }
        let at = page.len();
        page.extend_from_slice(block);
        let address = number as usize * PAGE + at;
        u32::try_from(address).unwrap_or(u32::MAX)
    }

    /// Takes out a block of so many words. If another one moved into its place: where that was.
    pub fn take(&mut self, address: u32, words: usize) -> Option<u32> {
        let size = self.sizes.get_mut(&words)?;
        let last = *size.pages.last()?;
        let page = &mut self.pages[last as usize];
        let at = page.len() - words;
        let tail = page.split_off(at);
        let from = u32::try_from(last as usize * PAGE + at).unwrap_or(u32::MAX);
        if page.is_empty() {
            *page = Vec::new();
            self.free.push(last);
            size.pages.pop();
            if size.pages.is_empty() {
                self.sizes.remove(&words);
            }
        } else if page.capacity() > 4 * page.len() {
            page.shrink_to(2 * page.len());
        }
        if self.free.len() == self.pages.len() {
            *self = Self::default();
        }
        if from == address {
            return None;
        }
        self.get_mut(address)
            .get_mut(..words)?
            .copy_from_slice(&tail);
        Some(from)
    }

    /// Bytes.
    pub fn memory(&self) -> usize {
        let pages: usize = self.pages.iter().map(Vec::capacity).sum();
        let lists: usize = self.sizes.values().map(|size| size.pages.capacity()).sum();
        pages * size_of::<u64>()
            + self.pages.capacity() * size_of::<Vec<u64>>()
            + (lists + self.free.capacity()) * size_of::<u32>()
            + self.sizes.len() * 64
    }
}

#[cfg(test)]
mod tests {
    use super::{Blocks, PAGE};

    #[test]
    fn blocks_stay_dense_and_everything_comes_back() {
        let mut blocks = Blocks::default();
        let mut held: Vec<(u32, Vec<u64>)> = Vec::new();
        for number in 0..20_000u64 {
            let words = 3 + (number % 7) as usize;
            let block = vec![number; words];
            held.push((blocks.put(&block), block));
        }
        let big = vec![7; PAGE * 2 + 5];
        held.push((blocks.put(&big), big));
        let mut step = 1;
        while !held.is_empty() {
            for (address, block) in held.iter().step_by(97) {
                assert_eq!(blocks.get(*address)[..block.len()], block[..]);
            }
            for _ in 0..500.min(held.len()) {
                step = step * 31 % 1_000_003;
                let (address, block) = held.swap_remove(step % held.len());
                if let Some(from) = blocks.take(address, block.len()) {
                    let moved = held.iter_mut().find(|(at, _)| *at == from).unwrap();
                    moved.0 = address;
                }
            }
            let words: usize = held.iter().map(|(_, block)| block.len()).sum();
            assert!(blocks.memory() < words * 8 * 5 / 4 + 500_000);
        }
        assert_eq!(blocks.memory(), 0);
    }
}
