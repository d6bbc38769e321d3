//! Programs on an index: after every step, lookups give what a list of all patterns gives.

use subtrie::grammar::{Dialect, covers, matches};
use subtrie::trie::{SubjectTrie, Subscription};

/// Maximum number of steps, so that a run stays short.
const STEPS: usize = 300;

/// Few tokens, so that patterns meet.
const TOKENS: [&str; 4] = ["a", "b", "*", "c"];

/// One subscription of the model.
struct Row {
    subscription: Subscription,
    pattern: String,
    number: usize,
}

/// Two bytes for each step: what is done, and the tokens of a pattern or subject.
pub fn index(data: &[u8]) {
    let mut trie = SubjectTrie::new(Dialect::Strict);
    let mut model: Vec<Row> = Vec::new();
    let mut removed: Vec<Subscription> = Vec::new();
    for (number, step) in data.chunks_exact(2).take(STEPS).enumerate() {
        let (how, shape) = (step[0], step[1]);
        match how & 7 {
            0..=3 => {
                let pattern = text(shape, how & 0x80 != 0);
                let made = if how & 0x40 == 0 {
                    trie.insert(&pattern, number)
                } else {
                    trie.insert_in_queue(&pattern, TOKENS[usize::from(how >> 4 & 1)], number)
                };
                let subscription = made.expect("a valid pattern");
                model.push(Row {
                    subscription,
                    pattern,
                    number,
                });
            }
            4 if !model.is_empty() => {
                let row = model.remove(usize::from(shape) % model.len());
                assert_eq!(trie.remove(row.subscription), Some(row.number));
                removed.push(row.subscription);
            }
            5 if !removed.is_empty() => {
                let gone = removed[usize::from(shape) % removed.len()];
                assert_eq!(trie.remove(gone), None);
                assert_eq!(trie.get(gone), None);
            }
            6 if how & 0xf8 == 0xf8 => {
                trie.clear();
                removed.extend(model.drain(..).map(|row| row.subscription));
            }
            _ => ask(&trie, &model, &text(shape, false).replace('*', "d")),
        }
    }
    ask(&trie, &model, "a.b.c");
    let all: Vec<usize> = trie.iter().map(|(_, &number)| number).collect();
    let wanted: Vec<usize> = model.iter().map(|row| row.number).collect();
    assert_eq!(all, wanted);
    for row in &model {
        assert_eq!(trie.get(row.subscription), Some(&row.number));
        assert_eq!(trie.pattern(row.subscription).as_ref(), Some(&row.pattern));
    }
}

fn text(shape: u8, tail: bool) -> String {
    let count = 1 + usize::from(shape >> 6);
    let mut tokens: Vec<&str> = (0..count)
        .map(|place| TOKENS[usize::from(shape >> (2 * (place % 3)) & 3)])
        .collect();
    if tail {
        tokens[count - 1] = ">";
    }
    tokens.join(".")
}

/// Compare the lookups of a subject with the list.
fn ask(trie: &SubjectTrie<usize>, model: &[Row], subject: &str) {
    let wanted: Vec<usize> = (model.iter())
        .filter(|row| matches(&row.pattern, subject))
        .map(|row| row.number)
        .collect();
    let mut found: Vec<usize> = trie.matches(subject).expect("a subject").copied().collect();
    found.sort_unstable();
    assert_eq!(found, wanted);
    assert_eq!(trie.count(subject), Ok(wanted.len()));
    assert_eq!(trie.has_interest(subject), Ok(!wanted.is_empty()));
    let selected = trie.select(subject).expect("a subject");
    assert!(selected.into_iter().all(|number| wanted.contains(number)));
    let mut inside = trie.covered_by(subject).expect("a pattern");
    inside.sort_unstable_by_key(|subscription| trie.get(*subscription).copied());
    let covered: Vec<Subscription> = (model.iter())
        .filter(|row| covers(subject, &row.pattern))
        .map(|row| row.subscription)
        .collect();
    assert_eq!(inside, covered);
}
