//! Measures the kernels on a board, on crosses and on parts of a large board: `cargo bench --bench kernels`.
//!
//! Every turn asserts its counts. Throughput is in nodes, which are the same for all kernels.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use queens_solver::{BoardSize, Count, Kernel, Method, SampledPart, Sampler, published};

/// The counted parts of one turn, and their expected count.
struct Task {
    name: &'static str,
    parts: Vec<SampledPart>,
    expected: Count,
}

impl Task {
    /// Takes the first `n_parts` parts of a board, with the portable kernel's count.
    fn new(name: &'static str, n: u8, n_parts: usize) -> Self {
        let n = BoardSize::new(n).expect("a board size");
        let sampler = Sampler::new(n, Method::Search);
        let parts: Vec<SampledPart> =
            (0..n_parts.min(sampler.n_samples())).map(|i| sampler.part(i)).collect();
        let task = Self { name, expected: count(&parts, Kernel::Portable), parts };
        if sampler.samples_are_parts() && task.parts.len() == sampler.n_samples() {
            let weighted: u128 = task
                .parts
                .iter()
                .map(|part| u128::from(part.weight) * u128::from(part.count(Kernel::Portable).solutions))
                .sum();
            assert_eq!(Some(weighted), published(n).map(|counts| counts.solutions), "{name}");
        }
        task
    }
}

fn count(parts: &[SampledPart], kernel: Kernel) -> Count {
    parts
        .iter()
        .map(|part| part.count(kernel))
        .try_fold(Count::default(), Count::checked_add)
        .expect("far below 2^64")
}

fn kernels(criterion: &mut Criterion) {
    let tasks = [
        Task::new("board of 14", 14, usize::MAX),
        Task::new("16 crosses of 18", 18, 16),
        Task::new("16 parts of 22", 22, 16),
    ];
    for task in tasks {
        let mut group = criterion.benchmark_group(task.name);
        group.sample_size(10).throughput(Throughput::Elements(task.expected.work));
        for kernel in Kernel::ALL.into_iter().filter(|kernel| kernel.is_available()) {
            group.bench_function(BenchmarkId::from_parameter(kernel), |bencher| {
                bencher.iter(|| {
                    assert_eq!(count(&task.parts, kernel), task.expected, "{}, {kernel}", task.name);
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, kernels);
criterion_main!(benches);
