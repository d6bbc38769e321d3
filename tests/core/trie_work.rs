//! The work of a lookup is bounded for every order in which rows are loaded.
//!
//! Work is counted, not timed: nodes read and patterns compared. Rows that come in a regular order,
//! such as six slots a route, must not hide from the selection of positions that slots differ.

#![allow(
    clippy::unwrap_used,
    clippy::format_push_string,
    clippy::assigning_clones
)]

use subtrie::grammar::Dialect;
use subtrie::raw::{Index, Scratch};

/// `SplitMix64`, so that the rows are the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ mixed >> 31) % bound as u64).unwrap()
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn shuffle(&mut self, rows: &mut [String]) {
        for at in (1..rows.len()).rev() {
            rows.swap(at, self.below(at + 1));
        }
    }

    fn slots(&mut self) -> [String; 6] {
        let id = format!("id-{:08x}", self.below(1 << 32));
        let other = format!("id-{:08x}", self.below(1 << 32));
        ["_", &id, &other, "loc-eu", "loc-eu-west", "loc-eu-west-1"].map(str::to_owned)
    }
}

/// The style in which services name their routes.
#[derive(Clone, Copy, Debug)]
enum Routes {
    /// One resource a route, some with an argument or an open end.
    Resources,
    /// Four or five methods on each of a few resources.
    Methods,
    /// Any method.
    Functions,
    /// Paths of random words, a quarter of them arguments.
    Words,
    /// As the files of the benchmarks: few nouns, numbered ends.
    Nouns,
}

use Routes::{Functions, Methods, Nouns, Resources, Words};

impl Routes {
    /// The port, the method and the path of a route.
    fn route(self, random: &mut Random, number: usize) -> (&'static str, &'static str, String) {
        match self {
            Resources => {
                let end = match number {
                    _ if number.is_multiple_of(4) => ".*",
                    _ if number % 17 == 3 => ".>",
                    _ => "",
                };
                let method = ["GET", "POST", "PUT", "DELETE"][number % 4];
                ("443", method, format!("api.v1.res{number}{end}"))
            }
            Methods => {
                let method = ["GET", "POST", "GET", "PUT", "DELETE"][number % 5];
                let end = if number % 5 > 1 { ".*" } else { "" };
                ("443", method, format!("res{}{end}", number / 5))
            }
            Functions => ("443", "*", format!("endpoint-{number}")),
            Words => {
                let mut path = format!("w{number}");
                for _ in 0..random.below(5) {
                    path += &match random.below(4) {
                        0 => ".*".to_owned(),
                        _ => format!(".w{}", random.below(12)),
                    };
                }
                ("443", random.one(&["GET", "POST", "*"]), path)
            }
            Nouns => {
                let nouns = [
                    "orders", "items", "users", "carts", "prices", "stock", "events", "labels",
                ];
                let mut path = format!("v1.{}", random.one(&nouns));
                for place in 0..random.below(3) {
                    path += &match (place, random.below(4)) {
                        (0, 0) => ".*".to_owned(),
                        _ => format!(".p{}", random.below(40)),
                    };
                }
                path += &format!(".r{number}");
                if random.below(100) < 6 {
                    path += ".>";
                }
                let port = random.one(&["443", "443", "443", "443", "417", "888", "*"]);
                let methods = ["GET", "POST", "PUT", "DELETE", "PATCH", "GET", "PUT", "*"];
                (port, random.one(&methods), path)
            }
        }
    }
}

/// The rows of a fleet, service by service: each route at six slots.
fn fleet(routes: Routes, services: usize, count: usize) -> Vec<String> {
    let mut random = Random(services as u64);
    let mut rows = Vec::new();
    for service in 0..services {
        let slots = random.slots();
        for number in 0..count {
            let (port, method, path) = routes.route(&mut random, number);
            rows.extend(slots.iter().map(|slot| {
                format!("prod.safe.{port}.*.service{service}_example.{slot}.{method}.{path}")
            }));
        }
    }
    rows
}

/// The orders in which people load rows.
fn orders(listed: &[String]) -> Vec<(&'static str, Vec<String>)> {
    let mut sorted = listed.to_vec();
    sorted.sort();
    let mut by_slot = listed.to_vec();
    by_slot.sort_by_key(|row| row.split('.').nth(5).map(str::to_owned));
    let mut shuffled = listed.to_vec();
    Random(1).shuffle(&mut shuffled);
    vec![
        ("by service", listed.to_vec()),
        ("sorted", sorted),
        ("by slot", by_slot),
        ("shuffled", shuffled),
        ("reversed", listed.iter().rev().cloned().collect()),
    ]
}

/// A subject that a row matches; one in ten ends in another token.
fn subject(random: &mut Random, rows: &[String]) -> String {
    let row = &rows[random.below(rows.len())];
    let mut tokens: Vec<String> = row
        .split('.')
        .enumerate()
        .map(|(place, token)| match (token, place) {
            ("*", 2) => "443".to_owned(),
            ("*", 6) => "GET".to_owned(),
            ("*" | ">", _) => format!("x{}", random.below(1000)),
            _ => token.to_owned(),
        })
        .collect();
    if random.below(10) == 0 {
        *tokens.last_mut().unwrap() = "elsewhere".to_owned();
    }
    tokens.join(".")
}

/// The way in which rows are loaded: in one change, after a look at them, or one by one.
#[derive(Clone, Copy, Debug)]
enum Load {
    AtOnce,
    Prepared,
    OneByOne,
}

/// The average work of a lookup.
fn work(rows: &[String], load: Load) -> f64 {
    let mut index = Index::new(Dialect::Strict, Dialect::Strict.bounds());
    let patterns: Vec<&str> = rows.iter().map(String::as_str).collect();
    match load {
        Load::AtOnce => index.insert_all(&patterns, |at| (at as u64, None, 0)),
        Load::Prepared => index.prepare_bulk_load(patterns.iter().copied()),
        Load::OneByOne => {}
    }
    for row in &patterns[index.len()..] {
        index.insert(row, None).unwrap();
    }
    let (mut random, mut scratch, mut found) = (Random(7), Scratch::default(), Vec::new());
    let mut total = 0;
    for _ in 0..5_000 {
        found.clear();
        let subject = subject(&mut random, rows);
        index
            .match_into(&subject, &mut scratch, &mut found)
            .unwrap();
        total += scratch.work();
    }
    f64::from(u32::try_from(total).unwrap()) / 5_000.0
}

// requirement: M-14
#[test]
fn a_lookup_examines_few_entries_in_any_order_of_rows() {
    for (services, count, bound) in [(50, 20, 4.0), (500, 20, 5.0)] {
        for routes in [Resources, Methods, Functions, Words, Nouns] {
            let listed = fleet(routes, services, count);
            for (order, rows) in orders(&listed) {
                for load in [Load::AtOnce, Load::Prepared, Load::OneByOne] {
                    let work = work(&rows, load);
                    let size = rows.len();
                    assert!(work <= bound, "{routes:?} {order} {load:?} {size}: {work}");
                }
            }
        }
    }
}

/// One order at the size of a large deployment; the others have the same nodes.
// requirement: M-14
#[test]
fn a_lookup_in_many_subscriptions_examines_few_entries() {
    let rows = fleet(Nouns, 2_000, 50);
    let work = work(&rows, Load::OneByOne);
    assert!(rows.len() == 600_000 && work <= 5.0, "{work}");
}
