//! What making a plan takes on one thread: `cargo bench -p queens-solver --bench plans`.
//!
//! Every turn asserts how many subproblems there are.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use queens_solver::{BoardSize, Method, Plan};

/// The subproblems of a board's plan. At n = 20 each cross is one, so that all time goes to the rest of planning.
const SUBPROBLEMS: [(u8, u64); 4] =
    [(20, 6_078), (26, 950_017_670), (27, 15_661_691_958), (28, 256_445_029_899)];

fn plans(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("plan");
    group.sample_size(10);
    for (n, expected) in SUBPROBLEMS {
        let board = BoardSize::new(n).expect("a board size");
        group.bench_function(BenchmarkId::from_parameter(n), |bencher| {
            bencher.iter(|| {
                let never = AtomicBool::new(false);
                let plan =
                    Plan::new(board, Method::Search, NonZeroUsize::MIN, &never).expect("nobody stops it");
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
