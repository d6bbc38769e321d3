//! A vector in pages: it grows and shrinks without moving its elements, so no push is slow.

/// Elements of a page. A larger page wastes more memory in the last one, a smaller one costs more
/// page headers. No record compares sizes.
const PAGE: usize = 1024;

/// A vector whose pages are full, except for the last.
#[derive(Clone)]
pub(crate) struct PagedVec<T> {
    pages: Vec<Vec<T>>,
}

impl<T> Default for PagedVec<T> {
    fn default() -> Self {
        Self { pages: Vec::new() }
    }
}

impl<T: Copy> PagedVec<T> {
    pub const fn len(&self) -> usize {
        match self.pages.as_slice() {
            [] => 0,
            [full @ .., last] => full.len() * PAGE + last.len(),
        }
    }

    #[inline]
    pub fn get(&self, at: usize) -> Option<&T> {
        self.pages.get(at / PAGE)?.get(at % PAGE)
    }

    pub fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.pages.get_mut(at / PAGE)?.get_mut(at % PAGE)
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.pages.iter().flatten()
    }

    pub fn push(&mut self, element: T) {
        let first = self.pages.is_empty();
        match self.pages.last_mut() {
            Some(page) if page.len() < PAGE => page.push(element),
            // The first page grows with its content; the others will be full.
            _ => {
                let mut page = Vec::with_capacity(if first { 4 } else { PAGE });
                page.push(element);
                self.pages.push(page);
            }
        }
    }

    /// Removes an element; the last one takes its place.
    pub fn swap_remove(&mut self, at: usize) -> Option<T> {
        let page = self.pages.last_mut()?;
        let last = page.pop()?;
        if page.is_empty() {
            self.pages.pop();
        } else if self.pages.len() == 1 {
            let page = &mut self.pages[0];
            if page.capacity() > 4 * page.len() {
                page.shrink_to(2 * page.len());
            }
        }
        match self.get_mut(at) {
            Some(place) => Some(std::mem::replace(place, last)),
            None => Some(last),
        }
    }

    /// Memory in bytes.
    pub fn memory(&self) -> usize {
        let elements: usize = self.pages.iter().map(Vec::capacity).sum();
        elements * size_of::<T>() + self.pages.capacity() * size_of::<Vec<T>>()
    }
}

#[cfg(test)]
mod tests {
    use super::PagedVec;

    #[test]
    fn a_paged_vector_behaves_as_a_vector() {
        let (mut paged, mut plain) = (PagedVec::default(), Vec::new());
        for number in 0..5000 {
            paged.push(number);
            plain.push(number);
        }
        let mut step = 7;
        while !plain.is_empty() {
            step = step * 31 % 100_003;
            let at = step % plain.len();
            assert_eq!(paged.swap_remove(at), Some(plain.swap_remove(at)));
            assert_eq!(paged.len(), plain.len());
            assert_eq!(paged.get(at), plain.get(at));
            if step % 50 == 0 {
                assert!(paged.iter().eq(&plain));
            }
        }
        assert_eq!((paged.len(), paged.get(0)), (0, None));
        assert_eq!(paged.swap_remove(0), None);
    }
}
