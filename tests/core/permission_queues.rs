//! Rules with queue groups: a name that ends with a tail holds more than any rule of fixed length.

#![allow(clippy::unwrap_used)]

use subtrie::permissions::{RuleSet, minimised};

#[test]
fn the_queues_of_a_tail_are_compared_beyond_the_longest_name() {
    for (allow, kept) in [
        (&["foo q.*", "foo q.>"][..], &["foo q.>"][..]),
        (&["foo *", "foo >"], &["foo >"]),
        (&["foo a", "foo *", "foo *.*", "foo >"], &["foo >"]),
        (&["foo q.>", "foo q.a.>", "foo q.*.*"], &["foo q.>"]),
        (&["foo", "foo >"], &["foo"]),
    ] {
        let set = RuleSet {
            allow,
            deny: &[],
            max_tokens: usize::MAX,
        };
        assert_eq!(minimised(set).unwrap().0, kept, "{allow:?}");
    }
}
