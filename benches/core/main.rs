//! Measures the index of this crate on the workload files, one JSON row a line.
//!
//! `cargo bench --bench core -- --sizes 1000,6000 [--parts lookups,memory,changes,grow,readers]`.
//! The rows have the same form as those of the other programs under `benches/peers/`; the page
//! `benches/README.md` says what each field means and how it is measured.

mod answers;
mod changes;
mod clock;
mod files;
mod heap;
mod images;
mod lookups;
mod readers;
mod serve;

use std::env;
use std::path::PathBuf;

use files::Workload;

const WHO: &str = "subtrie core";

fn main() {
    let mut sizes = String::from("1000,6000");
    let mut parts = String::from("lookups,memory,changes,grow,readers");
    let mut folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/workloads"));
    let mut given = env::args().skip(1);
    while let Some(option) = given.next() {
        let into = match option.as_str() {
            "--sizes" => &mut sizes,
            "--parts" => &mut parts,
            "--folder" => {
                folder = given.next().map_or(folder, PathBuf::from);
                continue;
            }
            "--serve" => {
                serve::answer(&folder);
                return;
            }
            _ => continue, // cargo adds --bench
        };
        *into = given.next().unwrap_or_default();
    }
    let wants = |part: &str| parts.split(',').any(|one| one == part);
    let sizes: Vec<usize> = sizes
        .split(',')
        .filter_map(|one| one.parse().ok())
        .collect();
    for &size in &sizes {
        let workload = Workload::read(&folder, size);
        if wants("memory") {
            changes::memory(&workload);
        }
        if wants("lookups") {
            lookups::measure(&workload);
        }
        if wants("changes") {
            changes::build(&workload);
            changes::churn(&workload);
        }
        if wants("image") {
            images::measure(&workload);
        }
        if wants("grow") && Some(&size) == sizes.iter().max() {
            changes::grow(&workload);
        }
        if wants("readers") && size == 6_000 {
            readers::measure(&workload);
        }
    }
}
