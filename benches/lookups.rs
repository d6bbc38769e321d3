//! The cost of a lookup. Criterion, on the workload files:
//! `cargo bench -p subtrie-benches --bench lookups`.

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use subtrie::raw::Scratch;
use workload_files::{ORDERS, Workload};

/// The bench `core` measures larger sizes; `make bench-peers` records its rows.
const SIZES: [usize; 2] = [1_000, 6_000];

fn lookups(criterion: &mut Criterion) {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/workloads"));
    for size in SIZES {
        let workload = Workload::read(folder, size);
        let index = workload.index();
        let mut group = criterion.benchmark_group(format!("1,000 lookups in {size}"));
        group.throughput(Throughput::Elements(1_000));
        for (number, order) in ORDERS.iter().enumerate() {
            let subjects = workload.subjects(number);
            let mut portions = subjects.chunks_exact(1_000).cycle();
            let (mut scratch, mut found) = (Scratch::default(), Vec::new());
            group.bench_function(*order, |bencher| {
                bencher.iter(|| {
                    for subject in portions.next().unwrap_or_default() {
                        found.clear();
                        let _ = index.match_into(subject, &mut scratch, &mut found);
                        black_box(&found);
                    }
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, lookups);
criterion_main!(benches);
