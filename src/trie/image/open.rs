//! Opening an image: the header is parsed, and with `verify` the checksum of the content compared.

use std::ops::Range;

use super::Image;
use super::layout::{
    ABSENT, FLAGS, HEADER, MAGIC, RECORD, SERVER, STRONG, TABLE, VERSION, checksum, word,
};
use crate::error::Error;
use crate::grammar::Dialect;
use crate::trie::hash::TokenHasher;
use crate::trie::node::Node;
use crate::trie::prefix::sorted_patterns::SortedPatterns;

impl<'a> Image<'a> {
    /// Opens an image of `length` bytes.
    ///
    /// With `verify` the checksum of the whole image is compared; without, only the header is read.
    ///
    /// # Errors
    ///
    /// `image-magic`, `image-version`, `image-header`, `image-length` or `image-checksum`.
    pub fn open(words: &'a [u64], length: usize, verify: bool) -> Result<Self, Error> {
        if words.first() != Some(&MAGIC) {
            return Err(Error::new("image-magic"));
        }
        let Some((header, content)) = words.split_first_chunk::<HEADER>() else {
            return Err(Error::new("image-length"));
        };
        if header[word::VERSION] != VERSION {
            return Err(Error::new("image-version"));
        }
        if header[word::HEADER_CHECKSUM] != checksum(&header[..word::HEADER_CHECKSUM]) {
            return Err(Error::new("image-header"));
        }
        let mut at = HEADER as u64;
        let mut sections = [Range { start: 0, end: 0 }, 0..0, 0..0, 0..0, 0..0];
        for (place, section) in sections.iter_mut().enumerate() {
            let [start, count] = [0, 1].map(|part| header[word::SECTIONS + 2 * place + part]);
            let end = start.checked_add(count).ok_or(Error::new("image-header"))?;
            if start != at {
                return Err(Error::new("image-header"));
            }
            *section = usize::try_from(start).unwrap_or(usize::MAX)
                ..usize::try_from(end).unwrap_or(usize::MAX);
            at = end;
        }
        if at.checked_mul(8) != Some(length as u64) || words.len() * 8 != length {
            return Err(Error::new("image-length"));
        }
        if verify && header[word::CONTENT_CHECKSUM] != checksum(content) {
            return Err(Error::new("image-checksum"));
        }
        let [table, leaves, patterns, records, queue_names] =
            sections.map(|section| words.get(section).unwrap_or_default());
        let flags = header[word::FLAGS];
        let subscriptions = usize::try_from(header[word::SUBSCRIPTIONS]).unwrap_or(usize::MAX);
        let bounds = [word::MAX_TOKENS, word::MAX_LENGTH].map(|at| header[at]);
        if bounds.contains(&0)
            || flags & !FLAGS != 0
            || records.len() % RECORD != 0
            || subscriptions != records.len() / RECORD
        {
            return Err(Error::new("image-header"));
        }
        let absent = |number: u64| (number != ABSENT).then_some(number);
        let dialect = if flags & SERVER == 0 {
            Dialect::Strict
        } else {
            Dialect::Server
        };
        Ok(Self {
            hasher: TokenHasher {
                first: header[word::HASH_KEY],
                second: header[word::HASH_KEY + 1],
                strong: flags & STRONG != 0,
            },
            root: Node(header[word::ROOT]),
            dialect,
            given: (
                absent(header[word::MAX_TOKENS]),
                absent(header[word::MAX_LENGTH]),
            ),
            next_id: header[word::NEXT_ID],
            subscriptions,
            pattern_count: usize::try_from(header[word::PATTERNS]).unwrap_or(usize::MAX),
            homes: header[word::HOMES] & 0xffff_ffff,
            has_table: flags & TABLE != 0,
            table,
            leaves,
            patterns,
            records,
            queue_names,
            sorted: SortedPatterns::default(),
        })
    }
}
