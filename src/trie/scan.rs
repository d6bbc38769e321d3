//! A subject's tokens, found, checked and hashed in one go.
//!
//! Most subjects are plain: printable ASCII without a wildcard sign. Whether one is, is a sum over
//! all its bytes that needs no branch; its dots are found eight bytes at a time. Anything else is
//! left to [`crate::grammar::check`], which names the first broken rule.

use super::Index;
use super::ticket::Ticket;
use crate::error::Error;
use crate::grammar::{Form, check};

/// A token of the subject at hand.
#[derive(Clone, Copy)]
pub(super) struct Token {
    pub start: usize,
    pub end: usize,
    pub hash: u64,
}

/// Room for one lookup at a time, kept so that lookups allocate nothing.
#[derive(Default)]
pub struct Scratch {
    pub(super) tokens: Vec<Token>,
    /// Forks not yet followed: node and depth.
    pub(super) forks: Vec<(u32, usize)>,
    /// Queue members, by number of their queue.
    pub(super) members: Vec<(u32, Ticket)>,
}

impl Index {
    /// Checks a subject and splits it into `tokens`.
    pub(super) fn scan(&self, subject: &str, tokens: &mut Vec<Token>) -> Result<(), Error> {
        let bytes = subject.as_bytes();
        tokens.clear();
        let fits = bytes.len() <= self.bounds.max_length && is_plain(bytes);
        if !fits || !self.split(bytes, tokens) || tokens.len() > self.bounds.max_tokens {
            check(subject, Form::Subject, self.dialect, self.bounds)?;
            tokens.clear();
            self.split(bytes, tokens);
        }
        Ok(())
    }

    /// Splits at the dots; false if a token is empty.
    fn split(&self, bytes: &[u8], tokens: &mut Vec<Token>) -> bool {
        let mut start = 0;
        let mut full = true;
        let mut token = |start: usize, end: usize| {
            full &= start < end;
            let hash = self.nodes.hash(&bytes[start..end]);
            tokens.push(Token { start, end, hash });
        };
        let (words, rest) = bytes.as_chunks::<8>();
        for (index, word) in words.iter().enumerate() {
            let mut dots = dots(u64::from_le_bytes(*word));
            while dots != 0 {
                let end = index * 8 + dots.trailing_zeros() as usize / 8;
                token(start, end);
                start = end + 1;
                dots &= dots - 1;
            }
        }
        let done = bytes.len() - rest.len();
        for (offset, &byte) in rest.iter().enumerate() {
            if byte == b'.' {
                token(start, done + offset);
                start = done + offset + 1;
            }
        }
        token(start, bytes.len());
        full
    }
}

/// The high bit of every byte that is a dot.
const fn dots(word: u64) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let zeros = word ^ 0x2e2e_2e2e_2e2e_2e2e;
    !(((zeros & LOW) + LOW) | zeros | LOW)
}

/// Printable ASCII without `*` and `>`: legal in every dialect, whatever the tokens.
fn is_plain(bytes: &[u8]) -> bool {
    let odd = |byte: u8| !(0x21..=0x7e).contains(&byte) || byte == b'*' || byte == b'>';
    // No early end: the whole text is one run of vector instructions.
    bytes
        .iter()
        .fold(0, |seen, &byte| seen | u8::from(odd(byte)))
        == 0
}
