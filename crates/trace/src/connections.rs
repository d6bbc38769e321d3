//! The connections of a log: their names, and a number for each name.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::prefix::Line;

/// The number of connections whose subscriptions, and of those whose logins, are kept; and the number
/// of names that are kept without need. Four times what a server permits at once by default.
pub const CONNECTIONS: usize = 262_144;

/// The numbers of connections by their names.
#[derive(Default)]
pub struct Connections {
    by_name: HashMap<Box<str>, u32, RandomState>,
    /// The number of the next new name.
    pub next: u32,
    /// The number of names at the latest call of `retain`.
    retained: usize,
}

impl Connections {
    /// Return the number of a name, if it is known.
    pub fn get(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// Whether so many names are known that those without use are to be removed before another one
    /// is added. The cost of that is constant for each name.
    pub fn is_full(&self) -> bool {
        self.by_name.len() >= self.retained * 2 + CONNECTIONS
    }

    /// Remove the names whose numbers are not in a list in ascending order.
    pub fn retain(&mut self, used: &[u32]) {
        self.by_name.retain(|_, id| used.binary_search(id).is_ok());
        self.retained = self.by_name.len();
    }

    /// Add a name with a new number.
    pub fn add(&mut self, name: &str) -> u32 {
        let id = self.next;
        self.next = id.wrapping_add(1);
        self.insert(name, id);
        id
    }

    /// Add a name of a saved state.
    pub fn insert(&mut self, name: &str, id: u32) {
        self.by_name.insert(name.into(), id);
    }

    /// Iterate over names and numbers, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.by_name.iter().map(|(name, &id)| (&**name, id))
    }
}

/// Return the connections of the first quarter by the position in which each began.
pub fn oldest(mut since: Vec<(u64, u32)>) -> impl Iterator<Item = u32> {
    let count = since.len() / 4;
    since.sort_unstable();
    since.truncate(count + 1);
    since.into_iter().map(|(_, conn)| conn)
}

/// The digits of a process id, or `-`.
pub fn pid_name(pid: Option<&[u8]>) -> &str {
    pid.and_then(|pid| std::str::from_utf8(pid).ok())
        .unwrap_or("-")
}

/// The name of a connection: process id, kind and number, without leading zeros.
pub fn conn_name(found: &Line<'_>) -> Box<str> {
    let kind = match found.kind {
        b'c' => "client",
        b'w' => "websocket",
        b'm' => "mqtt",
        b'r' => "route",
        b'g' => "gateway",
        _ => "leaf",
    };
    let plain = |digits: &[u8]| {
        let text = std::str::from_utf8(digits)
            .unwrap_or_default()
            .trim_start_matches('0');
        if text.is_empty() {
            "0".to_owned()
        } else {
            text.to_owned()
        }
    };
    let pid = found.pid.map_or_else(|| "-".to_owned(), plain);
    format!("{pid}/{kind}:{}", plain(found.number)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_a_quarter_and_one_more() {
        for (count, expected) in [(0, 0), (1, 1), (3, 1), (4, 2), (8, 3)] {
            let since = (0..count).map(|number| (u64::from(100 - number), number));
            let found: Vec<u32> = oldest(since.collect()).collect();
            let last: Vec<u32> = (0..count).rev().take(expected).collect();
            assert_eq!(found, last, "{count}");
        }
    }

    #[test]
    fn names_are_removed_again_when_there_are_twice_as_many() {
        let mut known = Connections::default();
        for number in 0..CONNECTIONS + 9 {
            assert_eq!(known.is_full(), number >= CONNECTIONS);
            known.add(&number.to_string());
        }
        known.retain(&[0, 1, 2, 3]);
        for number in 4..CONNECTIONS + 8 {
            assert!(!known.is_full(), "{number}");
            known.add(&format!("n{number}"));
        }
        assert!(known.is_full());
    }
}
