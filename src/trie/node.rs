//! Tagged nodes of eight bytes: empty, a leaf of one pattern, a leaf of several, or a branch.
//!
//! The words are the same in memory and in an image, so no number in them is trusted by a reader.
//!
//! ```text
//! leaf entry  63 ──── 32 │ 31 30 │ 29 ───── 10 │ 9           │ 8   │ 7 ── 2 │ 1 0
//!             pattern    │       │ fingerprint │ last literal │ '>' │ tokens │ 01
//! leaf of n   63 ──── 32 │ 31 ───────────────────────────────────────── 2    │ 1 0
//!             leaf       │ entries                                           │ 10
//! branch      63 ─ 48 │ 47 ─ 40 │ 39 ─ 32 │ 31 ─────── 8 │ 6 ─ 4 │ 3    │ 2   │ 1 0
//!                     │ longest │ shortest│ 4 positions  │ count │ rest │ far │ 11
//! far branch  63 ──────────── 32 │ 31 ──────────────── 7 │ 6 ─ 4 │ 3    │ 2   │ 1 0
//!             position           │                       │ 1     │ rest │ 1   │ 11
//! ```

use crate::trie::address::{BlockAddr, LeafAddr};

/// The tag: two bits tell the four kinds of node apart.
const TAG_MASK: u64 = 0b11;
const TAG_LEAF_1: u64 = 1;
const TAG_LEAF_N: u64 = 2;
const TAG_BRANCH: u64 = 3;

/// The high half of a leaf node is an address: 32 bits, as the slab gives them.
const ADDRESS_SHIFT: u32 = 32;
const LOW_HALF: u64 = 0xffff_ffff;

/// The positions from here on are far: a branch has one of them or up to four below. 63 codes fit in
/// six bits beside [`LENGTH_CODE`]. Microbus subjects have about eleven tokens.
pub(crate) const FIRST_FAR_POSITION: usize = 63;

/// Positions of a branch. Four codes of six bits fit between the flags and the length range; more
/// would add hashes to each lookup, of which most branches need two or three.
pub(crate) const MAX_POSITIONS: usize = 4;

/// The code that stands for the number of tokens instead of a position.
pub(crate) const LENGTH_CODE: u64 = 63;

/// A node as it stands in the hash table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Node(pub u64);

/// A node by its kind.
pub(crate) enum Kind {
    Empty,
    Leaf1(LeafEntry),
    LeafN(LeafN),
    Branch(Branch),
}

impl Node {
    /// Nothing: no pattern is at or below a key without an entry.
    pub const EMPTY: Self = Self(0);

    #[inline]
    pub const fn kind(self) -> Kind {
        match self.0 & TAG_MASK {
            TAG_BRANCH => Kind::Branch(Branch(self.0)),
            TAG_LEAF_N => Kind::LeafN(LeafN(self.0)),
            TAG_LEAF_1 => Kind::Leaf1(LeafEntry(self.0)),
            _ => Kind::Empty,
        }
    }

    /// The branch that this node is, if it is one.
    #[inline]
    pub const fn branch(self) -> Option<Branch> {
        if self.0 & TAG_MASK == TAG_BRANCH {
            Some(Branch(self.0))
        } else {
            None
        }
    }
}

/// A token position at which a branch discriminates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    Token(usize),
    /// The number of tokens.
    Length,
}

/// Fields of a leaf entry. The count of tokens saturates: six bits hold all lengths that occur, and
/// patterns of 63 or more are compared in full.
const COUNT_SHIFT: u32 = 2;
const COUNT_MASK: u64 = 63;
const MAX_COUNT: usize = 63;
const TAIL_SHIFT: u32 = 8;
const LAST_LITERAL_SHIFT: u32 = 9;
const FINGERPRINT_SHIFT: u32 = 10;

/// One pattern in a leaf: the address of its packed form, and what rules out most subjects.
///
/// As a node by itself it is a leaf of one pattern.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct LeafEntry(pub u64);

impl LeafEntry {
    /// `fingerprint` is that of the last token if it is literal and no `>` follows it.
    pub fn new(pattern: BlockAddr, tokens: usize, tail: bool, fingerprint: Option<u64>) -> Self {
        let count = (tokens as u64).min(COUNT_MASK);
        let last = fingerprint.map_or(0, |fingerprint| {
            1 << LAST_LITERAL_SHIFT | fingerprint << FINGERPRINT_SHIFT
        });
        let tail = u64::from(tail) << TAIL_SHIFT;
        Self(TAG_LEAF_1 | count << COUNT_SHIFT | tail | last).with_pattern(pattern)
    }

    /// This entry as a leaf of one pattern.
    pub const fn node(self) -> Node {
        Node(self.0)
    }

    /// Whether this word is a leaf entry, and not another node.
    #[inline]
    pub const fn is_leaf(self) -> bool {
        self.0 & TAG_MASK == TAG_LEAF_1
    }

    /// The address of the packed pattern.
    #[inline]
    pub const fn pattern(self) -> BlockAddr {
        BlockAddr((self.0 >> ADDRESS_SHIFT) as u32)
    }

    pub const fn with_pattern(self, pattern: BlockAddr) -> Self {
        Self(self.0 & LOW_HALF | (pattern.0 as u64) << ADDRESS_SHIFT)
    }
}

/// A prefilter for the entries of a leaf: length and last token of the subject.
#[derive(Clone, Copy, Default)]
pub(crate) struct Prefilter {
    /// The low half of an entry whose pattern has this length and ends in this token.
    same_end: u32,
    /// The low half of an entry whose pattern has this length and ends in `*`.
    same_length: u32,
    /// The low halves of entries that end in `>` after fewer tokens: this many fours from
    /// [`LEAST_TAIL`] on.
    tails: u32,
}

/// The low half of an entry that ends in `>` after no token. Those after more are above it in steps of
/// four, and those with a literal at the end above all of them, as that bit is higher.
#[allow(clippy::cast_possible_truncation)] // nine bits
const LEAST_TAIL: u32 = (TAG_LEAF_1 | 1 << TAIL_SHIFT) as u32;

impl Prefilter {
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // the low half
    pub fn new(tokens: usize, fingerprint: u64) -> Self {
        let low = |fingerprint| LeafEntry::new(BlockAddr(0), tokens, false, fingerprint).0 as u32;
        Self {
            same_end: low(Some(fingerprint)),
            same_length: low(None),
            tails: (tokens.min(MAX_COUNT + 1) as u32) << COUNT_SHIFT,
        }
    }

    /// Whether the pattern may match; false for nearly all that do not.
    #[inline]
    #[allow(clippy::needless_bitwise_bool)] // without a branch, as none can be predicted
    #[allow(clippy::cast_possible_truncation)] // the low half
    pub const fn passes(self, entry: LeafEntry) -> bool {
        let low = entry.0 as u32;
        (low == self.same_end)
            | (low == self.same_length)
            | (low.wrapping_sub(LEAST_TAIL) < self.tails)
    }
}

/// The count of a leaf: 30 bits between the tag and the address.
const ENTRIES_SHIFT: u32 = 2;
const ENTRIES_MASK: u64 = 0x3fff_ffff;

/// A leaf of several patterns: how many, and the address of the bucket.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct LeafN(u64);

impl LeafN {
    pub const fn new(count: usize, address: LeafAddr) -> Self {
        Self(TAG_LEAF_N | (count as u64) << ENTRIES_SHIFT).with_address(address)
    }

    pub const fn node(self) -> Node {
        Node(self.0)
    }

    /// The number of patterns in the leaf.
    #[inline]
    pub const fn count(self) -> usize {
        (self.0 >> ENTRIES_SHIFT & ENTRIES_MASK) as usize
    }

    #[inline]
    pub const fn address(self) -> LeafAddr {
        LeafAddr((self.0 >> ADDRESS_SHIFT) as u32)
    }

    pub const fn with_address(self, address: LeafAddr) -> Self {
        Self(self.0 & LOW_HALF | (address.0 as u64) << ADDRESS_SHIFT)
    }
}

/// Fields of a branch. Six bits hold a position code; a byte each holds the shortest and the
/// longest subject of the rest child, where [`LONGEST`] means that many tokens or more.
const FAR_SHIFT: u32 = 2;
const REST_SHIFT: u32 = 3;
const POSITION_COUNT_SHIFT: u32 = 4;
const POSITION_COUNT_MASK: u64 = 7;
const CODES_SHIFT: u32 = 8;
pub(crate) const CODE_BITS: u32 = 6;
pub(crate) const CODE_MASK: u64 = 63;
/// The codes of [`MAX_POSITIONS`] positions.
const ALL_CODES: u64 = 0xff_ffff;
const FAR_POSITION_SHIFT: u32 = 32;
const SHORTEST_SHIFT: u32 = 32;
const LONGEST_SHIFT: u32 = 40;
const BYTE: u64 = 255;
const LONGEST: usize = 255;

/// A branch: up to four positions, or one far position; and whether it has a rest child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Branch(u64);

impl Branch {
    /// A branch without a rest child, on up to four near positions or a single far one.
    pub fn on(positions: &[Position]) -> Self {
        if let [Position::Token(far)] = positions
            && *far >= FIRST_FAR_POSITION
        {
            let flags = TAG_BRANCH | 1 << FAR_SHIFT | 1 << POSITION_COUNT_SHIFT;
            return Self(flags | (*far as u64) << FAR_POSITION_SHIFT);
        }
        let mut word = TAG_BRANCH | (positions.len() as u64) << POSITION_COUNT_SHIFT;
        let mut shift = CODES_SHIFT;
        for position in positions {
            let code = match position {
                Position::Token(at) => *at as u64,
                Position::Length => LENGTH_CODE,
            };
            word |= code << shift;
            shift += CODE_BITS;
        }
        Self(word)
    }

    pub const fn node(self) -> Node {
        Node(self.0)
    }

    /// The codes of up to [`MAX_POSITIONS`] near positions, the first one lowest, and how many there
    /// are. Of a branch on a far position, none.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // up to 7
    pub const fn codes(self) -> (u64, usize) {
        let near = (self.0 >> FAR_SHIFT & 1) ^ 1;
        let count = self.0 >> POSITION_COUNT_SHIFT & POSITION_COUNT_MASK;
        (self.0 >> CODES_SHIFT, (count * near) as usize)
    }

    /// The far position, if the branch is on one.
    pub const fn far_position(self) -> Option<usize> {
        if self.is_far() {
            Some((self.0 >> FAR_POSITION_SHIFT) as usize)
        } else {
            None
        }
    }

    #[inline]
    pub const fn is_far(self) -> bool {
        self.0 >> FAR_SHIFT & 1 == 1
    }

    /// The positions, in the order in which their hashes are added.
    #[inline]
    pub const fn positions(self) -> Positions {
        if self.is_far() {
            return Positions {
                left: 1,
                codes: 0,
                far: (self.0 >> FAR_POSITION_SHIFT) as usize,
            };
        }
        Positions {
            left: (self.0 >> POSITION_COUNT_SHIFT & POSITION_COUNT_MASK) as usize,
            codes: self.0 >> CODES_SHIFT & ALL_CODES,
            far: 0,
        }
    }

    #[inline]
    const fn has_rest(self) -> bool {
        self.0 >> REST_SHIFT & 1 == 1
    }

    /// Whether a pattern below the rest child can match a subject of `tokens` tokens.
    #[inline]
    pub const fn rest_fits(self, tokens: usize) -> bool {
        if !self.has_rest() || self.is_far() {
            return self.has_rest();
        }
        let tokens = if tokens < LONGEST { tokens } else { LONGEST } as u64;
        tokens >= self.0 >> SHORTEST_SHIFT & BYTE && tokens <= self.0 >> LONGEST_SHIFT & BYTE
    }

    /// The same branch with a pattern of `tokens` tokens (and `>` if `tail`) below its rest child.
    pub fn with_rest(self, tokens: usize, tail: bool) -> Self {
        if self.is_far() {
            return Self(self.0 | 1 << REST_SHIFT);
        }
        let shortest = (tokens + usize::from(tail)).min(LONGEST) as u64;
        let longest = if tail { LONGEST as u64 } else { shortest };
        let (low, high) = if self.has_rest() {
            (
                shortest.min(self.0 >> SHORTEST_SHIFT & BYTE),
                longest.max(self.0 >> LONGEST_SHIFT & BYTE),
            )
        } else {
            (shortest, longest)
        };
        let positions = self.0 & LOW_HALF;
        Self(positions | 1 << REST_SHIFT | low << SHORTEST_SHIFT | high << LONGEST_SHIFT)
    }

    /// The same branch with the patterns below the rest child of another one on the same positions.
    pub fn with_rest_of(self, other: Self) -> Self {
        if !other.has_rest() {
            return self;
        }
        if !self.has_rest() || self.is_far() {
            return other;
        }
        let range = |branch: Self, shift: u32| branch.0 >> shift & BYTE;
        let low = range(self, SHORTEST_SHIFT).min(range(other, SHORTEST_SHIFT));
        let high = range(self, LONGEST_SHIFT).max(range(other, LONGEST_SHIFT));
        Self(self.0 & LOW_HALF | low << SHORTEST_SHIFT | high << LONGEST_SHIFT)
    }
}

/// The positions of a branch.
pub(crate) struct Positions {
    left: usize,
    codes: u64,
    /// The only position if it is far, else 0.
    far: usize,
}

impl Iterator for Positions {
    type Item = Position;

    #[inline]
    #[allow(clippy::cast_possible_truncation)] // below 64
    fn next(&mut self) -> Option<Position> {
        self.left = self.left.checked_sub(1)?;
        let code = self.codes & CODE_MASK;
        self.codes >>= CODE_BITS;
        Some(match code {
            LENGTH_CODE => Position::Length,
            at => Position::Token(at as usize | self.far),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{BlockAddr, Branch, LeafEntry, Position, Prefilter};

    #[test]
    fn a_branch_holds_its_positions_and_the_length_range_of_its_rest_child() {
        let positions = [Position::Token(4), Position::Length, Position::Token(62)];
        let branch = Branch::on(&positions);
        assert_eq!(branch.positions().collect::<Vec<_>>(), positions);
        assert!(!branch.rest_fits(3));
        let branch = branch.with_rest(5, false).with_rest(3, false);
        let fits: Vec<usize> = (0..300)
            .filter(|&tokens| branch.rest_fits(tokens))
            .collect();
        assert_eq!(fits, [3, 4, 5]);
        let open = branch.with_rest(6, true);
        assert!(open.rest_fits(2000) && !open.rest_fits(2));
        assert_eq!(open.positions().collect::<Vec<_>>(), positions);
        assert_eq!(branch.with_rest_of(Branch::on(&positions)), branch);
        assert_eq!(Branch::on(&positions).with_rest_of(branch), branch);
        let later = Branch::on(&positions).with_rest(6, true);
        assert_eq!(branch.with_rest_of(later), open);
        assert!(Branch::on(&positions).with_rest(400, false).rest_fits(400));
        let far = Branch::on(&[Position::Token(1000)]);
        assert_eq!(far.positions().collect::<Vec<_>>(), [Position::Token(1000)]);
        assert!(far.with_rest(2, false).rest_fits(9) && !far.rest_fits(9));
    }

    #[test]
    fn the_prefilter_passes_what_may_match() {
        let exact = LeafEntry::new(BlockAddr(7), 3, false, Some(0xf_ffff));
        assert_eq!(exact.pattern(), BlockAddr(7));
        assert!(Prefilter::new(3, 0xf_ffff).passes(exact));
        assert!(!Prefilter::new(3, 0xf_fffe).passes(exact));
        assert!(!Prefilter::new(4, 0xf_ffff).passes(exact));
        let tail = LeafEntry::new(BlockAddr(7), 3, true, None);
        let passes = |tokens, entry| Prefilter::new(tokens, 5).passes(entry);
        assert!(passes(4, tail) && passes(900, tail) && !passes(3, tail));
        let long = LeafEntry::new(BlockAddr(7), 900, false, None);
        assert!(passes(900, long) && passes(64, long) && !passes(62, long));
        for count in 0..70 {
            let [star, tail] =
                [false, true].map(|tail| LeafEntry::new(BlockAddr(7), count, tail, None));
            let literal = LeafEntry::new(BlockAddr(7), count, false, Some(0));
            for tokens in 1..70 {
                // From 63 on the count does not tell them apart.
                let [fewer, same] = [tokens > count, tokens.min(63) == count.min(63)];
                let saturated = count >= 63 && tokens >= 64;
                assert_eq!(passes(tokens, star), same, "{count} {tokens}");
                assert_eq!(passes(tokens, tail), fewer || saturated, "{count} {tokens}");
                let ends_so = Prefilter::new(tokens, 0).passes(literal);
                assert!(
                    ends_so == same && !passes(tokens, literal),
                    "{count} {tokens}"
                );
            }
        }
        assert_eq!(long.with_pattern(BlockAddr(9)).pattern(), BlockAddr(9));
    }
}
