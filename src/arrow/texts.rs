//! Distinct texts, numbered in the order in which they were added.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

/// The number of the null text.
pub const NULL: u32 = u32::MAX;

/// An interner of texts: they stand one after another in one buffer.
///
/// Bytes that are not UTF-8 are replaced by U+FFFD, as the columns that come of them must be valid.
#[derive(Default)]
pub struct Texts {
    text: String,
    ends: Vec<usize>,
    /// The first text of each hash.
    first: HashMap<u64, u32, RandomState>,
    /// The text before it of the same hash, for each text.
    before: Vec<u32>,
    hasher: RandomState,
}

impl Texts {
    /// Return the number of a text, which is added if it is new.
    pub fn number(&mut self, text: Option<&[u8]>) -> u32 {
        let Some(text) = text else {
            return NULL;
        };
        let hash = self.hasher.hash_one(text);
        let before = match self.first.get(&hash) {
            Some(&before) => {
                let mut at = before;
                while at != NULL {
                    if slice(&self.text, &self.ends, at).as_bytes() == text {
                        return at;
                    }
                    at = self.before.get(at as usize).copied().unwrap_or(NULL);
                }
                before
            }
            None => NULL,
        };
        // Invalid bytes are stored replaced, so they are looked for in that form.
        let Ok(valid) = std::str::from_utf8(text) else {
            return self.number(Some(String::from_utf8_lossy(text).as_bytes()));
        };
        let new = u32::try_from(self.ends.len()).unwrap_or(NULL - 1);
        self.first.insert(hash, new);
        self.text.push_str(valid);
        self.ends.push(self.text.len());
        self.before.push(before);
        new
    }

    /// Return a text by its number; `None` for null.
    pub fn get(&self, number: u32) -> Option<&str> {
        if number == NULL {
            return None;
        }
        Some(slice(&self.text, &self.ends, number))
    }

    /// Return the number of texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }
}

fn slice<'a>(text: &'a str, ends: &[usize], number: u32) -> &'a str {
    let at = number as usize;
    let start = at
        .checked_sub(1)
        .and_then(|at| ends.get(at))
        .copied()
        .unwrap_or(0);
    let end = ends.get(at).copied().unwrap_or(start);
    text.get(start..end).unwrap_or_default()
}

/// The number that was found last, as most rows repeat the text of the row before.
#[derive(Default)]
pub struct Last {
    number: Option<u32>,
}

impl Last {
    /// Return the number of a text, without a search if it is that of the call before.
    pub fn number(&mut self, texts: &mut Texts, text: Option<&[u8]>) -> u32 {
        if let Some(number) = self.number
            && texts.get(number).map(str::as_bytes) == text
        {
            return number;
        }
        let found = texts.number(text);
        self.number = Some(found);
        found
    }
}
