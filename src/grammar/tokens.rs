//! The tokens of a text, one after another.

use super::scan::dots_at;

/// Iterate over the tokens of a validated text.
///
/// # Examples
///
/// ```
/// use subtrie::grammar::tokens;
///
/// assert_eq!(tokens("orders.eu").collect::<Vec<_>>(), ["orders", "eu"]);
/// ```
pub fn tokens(text: &str) -> impl Iterator<Item = &str> {
    Tokens::new(text)
}

/// The tokens of a text, one after another.
struct Tokens<'a> {
    text: &'a str,
    start: usize,
    /// The 64 bytes whose dots are left.
    base: usize,
    dots: u64,
    ended: bool,
}

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            start: 0,
            base: 0,
            dots: if text.is_empty() {
                0
            } else {
                dots_at(text.as_bytes(), 0)
            },
            ended: false,
        }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    #[inline]
    fn next(&mut self) -> Option<&'a str> {
        if self.ended {
            return None;
        }
        while self.dots == 0 {
            self.base += 64;
            if self.base >= self.text.len() {
                self.ended = true;
                return self.text.get(self.start..);
            }
            self.dots = dots_at(self.text.as_bytes(), self.base);
        }
        let end = self.base + self.dots.trailing_zeros() as usize;
        self.dots &= self.dots - 1;
        let token = self.text.get(self.start..end);
        self.start = end + 1;
        token
    }
}
