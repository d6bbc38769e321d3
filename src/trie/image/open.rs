//! Opening an image: the header is parsed, and with `verify` the checksum of the content compared.

use super::layout::{
    ABSENT, FLAGS, HEADER, MAGIC, RECORD, SERVER, STRONG, TABLE, VERSION, checksum, word,
};
use super::{Image, ImageHeader};
use crate::error::{Error, ErrorKind};
use crate::grammar::Dialect;
use crate::trie::hash::TokenHasher;
use crate::trie::node::Node;

impl ImageHeader {
    /// Parses the header of an image of `length` bytes.
    ///
    /// With `verify` the checksum of the whole image is compared; without, only the header is read.
    ///
    /// # Errors
    ///
    /// `image-magic`, `image-version`, `image-header`, `image-length` or `image-checksum`.
    pub fn parse(words: &[u64], length: usize, verify: bool) -> Result<Self, Error> {
        if words.first() != Some(&MAGIC) {
            return Err(Error::new(ErrorKind::ImageMagic));
        }
        let Some((header, content)) = words.split_first_chunk::<HEADER>() else {
            return Err(Error::new(ErrorKind::ImageLength));
        };
        if header[word::VERSION] != VERSION {
            return Err(Error::new(ErrorKind::ImageVersion));
        }
        if header[word::HEADER_CHECKSUM] != checksum(&header[..word::HEADER_CHECKSUM]) {
            return Err(Error::new(ErrorKind::ImageHeader));
        }
        let mut at = HEADER as u64;
        let mut ends = [0; 5];
        let mut counts = [0; 5];
        for (place, section_end) in ends.iter_mut().enumerate() {
            let [start, count] = [0, 1].map(|part| header[word::SECTIONS + 2 * place + part]);
            let end = start
                .checked_add(count)
                .ok_or(Error::new(ErrorKind::ImageHeader))?;
            if start != at {
                return Err(Error::new(ErrorKind::ImageHeader));
            }
            counts[place] = count;
            *section_end = usize::try_from(end).map_err(|_| Error::new(ErrorKind::ImageLength))?;
            at = end;
        }
        if at.checked_mul(8) != Some(length as u64) || words.len() * 8 != length {
            return Err(Error::new(ErrorKind::ImageLength));
        }
        if verify && header[word::CONTENT_CHECKSUM] != checksum(content) {
            return Err(Error::new(ErrorKind::ImageChecksum));
        }
        let flags = header[word::FLAGS];
        let [_, leaf_words, pattern_words, record_words, _] = counts;
        let bounds = [word::MAX_TOKENS, word::MAX_LENGTH].map(|at| header[at]);
        if bounds.contains(&0)
            || flags & !FLAGS != 0
            // Addresses and slots have 32 bits.
            || [leaf_words, pattern_words, header[word::SUBSCRIPTIONS]]
                .iter()
                .any(|&count| count >= u64::from(u32::MAX))
            || record_words % RECORD as u64 != 0
            || header[word::SUBSCRIPTIONS] != record_words / RECORD as u64
        {
            return Err(Error::new(ErrorKind::ImageHeader));
        }
        let number =
            |at: usize| usize::try_from(header[at]).map_err(|_| Error::new(ErrorKind::ImageHeader));
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
            subscriptions: number(word::SUBSCRIPTIONS)?,
            pattern_count: number(word::PATTERNS)?,
            homes: header[word::HOMES] & 0xffff_ffff,
            has_table: flags & TABLE != 0,
            ends,
        })
    }
}

impl<'a> Image<'a> {
    /// Opens an image of `length` bytes, as [`ImageHeader::parse`].
    ///
    /// # Errors
    ///
    /// As for [`ImageHeader::parse`].
    pub fn open(words: &'a [u64], length: usize, verify: bool) -> Result<Self, Error> {
        let header = ImageHeader::parse(words, length, verify)?;
        Ok(Self::with_header(words, &header))
    }

    /// The image of these words, whose header was parsed before.
    #[must_use]
    pub fn with_header(words: &'a [u64], header: &ImageHeader) -> Self {
        let [table, leaves, patterns, records, names] = header.ends;
        let section = |start: usize, end: usize| words.get(start..end).unwrap_or_default();
        Self {
            header: *header,
            table: section(HEADER, table),
            leaves: section(table, leaves),
            patterns: section(leaves, patterns),
            records: section(patterns, records),
            queue_names: section(records, names),
        }
    }
}
