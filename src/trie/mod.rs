//! The subject index: which subscriptions match a subject.
//!
//! [`SubjectTrie`] is an adaptive hash trie. To its user it is a prefix trie of patterns. In memory
//! it branches on the token positions that discriminate best, so a lookup needs one probe of a hash
//! table for several tokens at once, and compares whole patterns with the subject only at the end.
//! `docs/index-design.md` explains it with diagrams.
//!
//! | module | what |
//! |---|---|
//! | `lookup` | single and interleaved lookups, batches, queue groups |
//! | `update` | insert, remove, leaf split, selection of positions |
//! | `prefix` | sorted patterns, overlap and cover queries, explanations |
//! | `pattern` | parsed and packed patterns |
//! | `storage` | hash table, leaf buckets, slab, subscriptions, queue names, round robin |
//! | `image` | the index as bytes |
//!
//! Answers equal a scan with [`crate::grammar::matches`], in ascending id, which is the order of
//! insertion. An error changes nothing. Removal returns memory. A lookup visits no node and no
//! pattern twice. No recursion follows the input, so no depth exhausts the stack.
// M-05, S0-080, S0-081, S0-128, S1-036 to S1-040, A17 to A19, A37, A39.

mod address;
mod display;
mod hash;
mod image;
mod index;
mod lookup;
mod lookup_target;
mod matches;
mod node;
mod pattern;
mod prefetch;
mod prefix;
pub mod raw;
mod storage;
mod subject_trie;
mod subscription;
mod update;
mod view;
mod words;

pub use display::Stats;
pub use matches::Matches;
pub use subject_trie::SubjectTrie;
pub use subscription::Subscription;
