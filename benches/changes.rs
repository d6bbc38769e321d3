//! The cost of a change. Criterion, on the workload files:
//! `cargo bench -p subtrie-benches --bench changes`.

use std::hint::black_box;
use std::path::Path;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use workload_files::{Workload, insert};

const SIZES: [usize; 2] = [1_000, 6_000];

fn changes(criterion: &mut Criterion) {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/workloads"));
    for size in SIZES {
        let workload = Workload::read(folder, size);
        let mut group = criterion.benchmark_group(format!("changes at {size}"));
        group.sample_size(20);
        group.throughput(Throughput::Elements(size as u64));
        group.bench_function("build", |bencher| {
            bencher.iter_batched(|| (), |()| workload.index(), BatchSize::LargeInput);
        });
        let mut index = workload.index();
        let added = workload.added();
        let mut next = added.iter().cycle();
        group.throughput(Throughput::Elements(1));
        group.bench_function("insert and remove", |bencher| {
            bencher.iter(|| {
                let id = next.next().map(|pattern| insert(&mut index, pattern));
                black_box(id.and_then(|id| index.remove(id)).is_some())
            });
        });
        group.finish();
    }
}

criterion_group!(benches, changes);
criterion_main!(benches);
