//! Distinct texts, numbered in the order in which they were added.

use std::borrow::Cow;
use std::hash::BuildHasher;

use arrow_schema::ArrowError;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// The number of the null text.
pub const NULL: u32 = u32::MAX;

/// An interner of texts: they stand one after another in one buffer.
///
/// Bytes that are not UTF-8 are replaced by U+FFFD, as the columns that come of them must be valid.
pub struct Texts {
    text: String,
    ends: Vec<usize>,
    table: HashTable<TextSlot>,
    hasher: RandomState,
    /// The largest number of texts.
    limit: u32,
}

/// The number of a text and a half of its hash, so that neither a search nor a larger table reads
/// other texts.
struct TextSlot {
    hash: u32,
    number: u32,
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            text: String::new(),
            ends: Vec::new(),
            table: HashTable::new(),
            hasher: RandomState::default(),
            limit: NULL,
        }
    }
}

impl Texts {
    /// Return the number of a text, which is added if it is new.
    ///
    /// # Errors
    ///
    /// `ArrowError` if the text is new and there is no number left: no two texts share one.
    pub fn number(&mut self, text: Option<&[u8]>) -> Result<u32, ArrowError> {
        self.number_of(text.map(valid).as_deref())
    }

    /// Return the number of a text that is known to be valid, which is added if it is new.
    ///
    /// # Errors
    ///
    /// As `number`.
    pub fn number_of(&mut self, text: Option<&str>) -> Result<u32, ArrowError> {
        let Some(text) = text else {
            return Ok(NULL);
        };
        let hash = (self.hasher.hash_one(text) >> 32) as u32;
        let (texts, ends) = (&self.text, &self.ends);
        let equal = |slot: &TextSlot| slot.hash == hash && slice(texts, ends, slot.number) == text;
        match self
            .table
            .entry(spread(hash), equal, |slot| spread(slot.hash))
        {
            Entry::Occupied(known) => Ok(known.get().number),
            Entry::Vacant(place) => {
                let next = u32::try_from(self.ends.len()).ok();
                let number = next.filter(|&next| next < self.limit).ok_or_else(|| {
                    let message = format!("at most {} distinct texts have numbers", self.limit);
                    ArrowError::InvalidArgumentError(message)
                })?;
                place.insert(TextSlot { hash, number });
                self.text.push_str(text);
                self.ends.push(self.text.len());
                Ok(number)
            }
        }
    }

    /// Return a text by its number; `None` for null.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<&str> {
        if number == NULL {
            return None;
        }
        Some(slice(&self.text, &self.ends, number))
    }

    /// Return the number of texts.
    #[must_use]
    pub fn count(&self) -> usize {
        self.ends.len()
    }
}

/// Return bytes as text, with U+FFFD in place of those that are not UTF-8.
pub fn valid(bytes: &[u8]) -> Cow<'_, str> {
    // Most texts are valid, and `from_utf8_lossy` finds that out byte by byte.
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// The hash by which the table is ordered, which uses its highest bits too.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
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

/// The number found last: most rows repeat the text of the row before.
#[derive(Default)]
pub struct Last {
    number: Option<u32>,
}

impl Last {
    /// Return the number of a text, without a search if it is that of the call before.
    ///
    /// # Errors
    ///
    /// As `Texts::number`.
    pub fn number(&mut self, texts: &mut Texts, text: Option<&[u8]>) -> Result<u32, ArrowError> {
        if let Some(number) = self.number
            && texts.get(number).map(str::as_bytes) == text
        {
            return Ok(number);
        }
        let found = texts.number(text)?;
        self.number = Some(found);
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_a_number_left_is_refused() {
        let mut texts = Texts {
            limit: 2,
            ..Texts::default()
        };
        let mut last = Last::default();
        for (text, number) in [("a", 0), ("b", 1), ("a", 0)] {
            assert_eq!(
                last.number(&mut texts, Some(text.as_bytes())).ok(),
                Some(number)
            );
        }
        let refused = texts.number(Some(b"c")).map_err(|error| error.to_string());
        let reason = "Invalid argument error: at most 2 distinct texts have numbers";
        assert_eq!(refused, Err(reason.to_owned()));
        assert_eq!((texts.number(Some(b"b")).ok(), texts.count()), (Some(1), 2));
        assert_eq!(texts.number(None).ok(), Some(NULL));
    }
}
