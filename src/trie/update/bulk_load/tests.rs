use crate::grammar::Dialect;
use crate::trie::pattern::packed_pattern::unpack;
use crate::trie::pattern::parsed_pattern::ParsedPattern;
use crate::trie::raw::{Index, Scratch};

/// Patterns of several kinds, some of them twice, some of which no position divides.
fn patterns(count: usize, kind: usize) -> Vec<String> {
    let pattern = |n: usize| match kind {
        0 => format!("p.{}.{}.{n}", n % 9, n % 7),
        1 => format!("p.{}.*.{}", n % 9, n % 60),
        2 => "same.*".to_owned(),
        3 => [">", "*", "*.>", "*.*", "a.>", "a.*", "*.a"][n % 7].to_owned(),
        4 => (0..9)
            .map(|at| ["*", "a"][n >> at & 1])
            .collect::<Vec<_>>()
            .join("."),
        _ => format!("s{}.{}>", n % 31, "*.".repeat(n % 5)),
    };
    (0..count).map(pattern).collect()
}

fn empty() -> Index {
    Index::new(Dialect::Strict, Dialect::Strict.bounds())
}

/// Whether each pattern is in the leaf at which a lookup arrives.
fn is_whole(index: &Index) -> bool {
    let mut addresses = index.pattern_addresses();
    addresses.all(|address| {
        let text = unpack(index.patterns.get(address));
        let leaf = index.find_leaf(&ParsedPattern::new(text.as_bytes()));
        index.find_pattern(&leaf, text.as_bytes()) == Some(address)
    })
}

fn row<'a>(at: usize) -> (u64, Option<&'a str>, u64) {
    (
        3 * at as u64,
        at.is_multiple_of(4).then_some("q"),
        at as u64 % 5,
    )
}

fn ids(index: &Index, subject: &str) -> Vec<u64> {
    let (mut scratch, mut found) = (Scratch::default(), Vec::new());
    index.match_into(subject, &mut scratch, &mut found).unwrap();
    found.iter().map(|found| found.id).collect()
}

#[test]
fn a_loaded_index_is_like_one_that_was_filled_one_by_one() {
    for kind in 0..6 {
        for count in [64, 65, 300, 5000] {
            let patterns = patterns(count, kind);
            let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
            let (mut loaded, mut filled) = (empty(), empty());
            loaded.insert_all(&patterns, row);
            for (at, pattern) in patterns.iter().enumerate() {
                let (id, queue, turn) = row(at);
                filled.insert_reserved(id, pattern, queue, turn);
            }
            assert!(is_whole(&loaded));
            assert_eq!(loaded.pattern_count, filled.pattern_count);
            assert_eq!(loaded.to_string(), filled.to_string());
            assert_eq!(loaded.next_id(), filled.next_id());
            for pattern in patterns.iter().take(700) {
                let subject = pattern.replace('*', "x").replace('>', "y.z");
                assert_eq!(ids(&loaded, &subject), ids(&filled, &subject));
            }
            for found in filled.subscriptions() {
                let loaded_one = loaded.find(found.id).unwrap();
                assert_eq!(loaded.pattern(loaded_one), filled.pattern(found));
                assert_eq!(loaded.queue(loaded_one), filled.queue(found));
                assert_eq!(loaded.turn(loaded_one), filled.turn(found));
            }
            // What follows a load: changes of each kind.
            for (at, pattern) in patterns.iter().enumerate() {
                loaded.insert_reserved((3 * count + at) as u64, pattern, None, 0);
                assert!(loaded.remove(row(at).0).is_some());
            }
            assert!(is_whole(&loaded));
            assert_eq!(loaded.len(), count);
            assert_eq!(loaded.pattern_count, filled.pattern_count);
        }
    }
}

/// Each position tells one pattern from all others, so branches form a chain.
#[test]
fn a_chain_of_branches_is_given_up() {
    let token = |n: usize, at: usize| if n == at { "a" } else { "*" };
    let pattern = |n| {
        (0..300)
            .map(|at| token(n, at))
            .collect::<Vec<_>>()
            .join(".")
    };
    let patterns: Vec<String> = (0..300).map(pattern).collect();
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    let mut index = empty();
    index.prepare_bulk_load(patterns.iter().copied());
    assert!(index.load(&patterns, &row).is_err());
    index.clear();
    index.insert_all(&patterns, row);
    assert!(is_whole(&index));
    assert_eq!(index.pattern_count, 300);
}

#[test]
fn a_load_of_colliding_tokens_changes_the_hash() {
    let mut index = empty();
    let salt = u64::from_le_bytes(*b"abcdefgh");
    index.hasher.first = salt.wrapping_sub(0x9e37_79b9_7f4a_7c15);
    let patterns: Vec<String> = (0..3000).map(|n| format!("abcdefgh{n:08}")).collect();
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    index.insert_all(&patterns, row);
    assert!(is_whole(&index));
    assert_eq!(ids(&index, patterns[2999]), [3 * 2999]);
}
