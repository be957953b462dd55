//! Measures planning on one thread: `cargo bench -p queens-solver --bench plans`.
//!
//! Every turn asserts the number of subproblems.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use queens_solver::{BoardSize, Method, Plan};

/// The subproblems of a board's plan. At n = 20 each cross is one, so that all time goes to the rest of planning.
const SUBPROBLEMS: [(Method, u8, u64); 6] = [
    (Method::Search, 20, 6_078),
    (Method::Search, 26, 950_017_670),
    (Method::Search, 27, 15_661_691_958),
    (Method::Search, 28, 256_445_029_899),
    (Method::Halves, 20, 49_368),
    (Method::Halves, 28, 28_441_560_000),
];

fn plans(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("plan");
    group.sample_size(10);
    for (method, n, expected) in SUBPROBLEMS {
        let board = BoardSize::new(n).expect("a board size");
        group.bench_function(BenchmarkId::new(method.name(), n), |bencher| {
            bencher.iter(|| {
                let never = AtomicBool::new(false);
                let plan = Plan::new(board, method, NonZeroUsize::MIN, &never).expect("nobody stops it");
                let n_subproblems: u64 =
                    plan.parts().iter().map(|planned| planned.choice().n_subproblems).sum();
                assert_eq!(n_subproblems, expected, "n = {n}");
            });
        });
    }
    group.finish();
}

criterion_group!(benches, plans);
criterion_main!(benches);
