//! Rules with queue groups: a name that ends with a tail holds more than any rule of fixed length.

#![allow(clippy::unwrap_used)]

use subtrie_nats::permissions::{minimised, witness};

use crate::permission_universe::rules;

#[test]
fn the_queues_of_a_tail_are_compared_beyond_the_longest_name() {
    for (allow, kept) in [
        (&["foo q.*", "foo q.>"][..], &["foo q.>"][..]),
        (&["foo *", "foo >"], &["foo >"]),
        (&["foo a", "foo *", "foo *.*", "foo >"], &["foo >"]),
        (&["foo q.>", "foo q.a.>", "foo q.*.*"], &["foo q.>"]),
        (&["foo", "foo >"], &["foo"]),
    ] {
        assert_eq!(
            minimised(rules(allow, &[]), usize::MAX).unwrap().0,
            kept,
            "{allow:?}"
        );
    }
}

#[test]
fn a_queue_of_a_tail_is_compared_at_every_length() {
    for (left, right, queue) in [
        (&["foo q.>"], &["foo q.*"], Some("q.x.x")),
        (&["foo >"], &["foo *"], Some("x.x")),
        (&["foo q.>"], &["foo >"], None),
    ] {
        let found = witness(rules(left, &[]), rules(right, &[]), usize::MAX).unwrap();
        assert_eq!(
            found.and_then(|found| found.queue).as_deref(),
            queue,
            "{left:?}"
        );
    }
}
