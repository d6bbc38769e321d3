//! Rules with queue groups: a name that ends with a tail holds more than any rule of fixed length.

#![allow(clippy::unwrap_used)]

use subtrie::permissions::{RuleSet, minimised, witness};

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

#[test]
fn a_queue_of_a_tail_is_compared_at_every_length() {
    let set = |allow| RuleSet {
        allow,
        deny: &[],
        max_tokens: usize::MAX,
    };
    for (left, right, queue) in [
        (&["foo q.>"], &["foo q.*"], Some("q.x.x")),
        (&["foo >"], &["foo *"], Some("x.x")),
        (&["foo q.>"], &["foo >"], None),
    ] {
        let found = witness(set(left), set(right)).unwrap();
        assert_eq!(
            found.and_then(|found| found.queue).as_deref(),
            queue,
            "{left:?}"
        );
    }
}
