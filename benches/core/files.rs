//! The workload files, and an index of their patterns.

use std::fs;
use std::path::Path;

use subtrie::grammar::Dialect;
use subtrie::raw::Index;

/// The orders of subjects.
pub const ORDERS: [&str; 3] = ["hot", "zipf", "uniform"];

/// The files that `benches/workload.py` wrote for one size. Each text is one allocation.
pub struct Workload {
    pub size: usize,
    patterns: String,
    added: String,
    orders: [String; 3],
}

impl Workload {
    /// Reads the files; exits with advice if one is missing.
    pub fn read(folder: &Path, size: usize) -> Self {
        let text = |name: &str| {
            let path = folder.join(size.to_string()).join(format!("{name}.txt"));
            fs::read_to_string(&path).unwrap_or_else(|error| {
                eprintln!(
                    "{}: {error}; write it with benches/workload.py",
                    path.display()
                );
                std::process::exit(1)
            })
        };
        Self {
            size,
            patterns: text("patterns"),
            added: text("added"),
            orders: ORDERS.map(text),
        }
    }

    pub fn patterns(&self) -> Vec<&str> {
        self.patterns.lines().collect()
    }

    pub fn added(&self) -> Vec<&str> {
        self.added.lines().collect()
    }

    /// The subjects of one of `ORDERS`.
    pub fn subjects(&self, order: usize) -> Vec<&str> {
        self.orders[order].lines().collect()
    }

    /// An index of the patterns: the id of a subscription is the number of its line.
    pub fn index(&self) -> Index {
        let mut index = empty();
        for pattern in self.patterns.lines() {
            insert(&mut index, pattern);
        }
        index
    }
}

pub fn empty() -> Index {
    Index::new(Dialect::Strict, Dialect::Strict.bounds())
}

/// Inserts a pattern of the files and returns its id.
pub fn insert(index: &mut Index, pattern: &str) -> u64 {
    match index.insert(pattern, None) {
        Ok(added) => added.id,
        Err(error) => {
            eprintln!("{pattern}: {error:?}");
            std::process::exit(1)
        }
    }
}
