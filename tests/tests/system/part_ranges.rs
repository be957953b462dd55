//! Parts of boards, counted by real processes.

use queens_solver::{BoardSize, Method, parts_in_counting_order, published};
use queens_store::sqlite::audit;
use queens_tests::prelude::*;

/// Two jobs share a board; together they have all of its solutions, and neither counts as the whole.
#[test]
fn two_parts_of_a_board_add_up_to_it() {
    let Scenario { scratch: _scratch, data_dir, coordinator } = Scenario::start();
    let n = BoardSize::new(12).expect("a board size");
    let n_parts = parts_in_counting_order(n, Method::Search).len();
    let (first, second) = (format!("0..{}", n_parts / 3), format!("{}..{n_parts}", n_parts / 3));
    let submit = |parts: &str| coordinator.submit_with(&["12", "--method", "search", "--parts", parts]);
    let jobs = [submit(&first), submit(&second)];
    let refused = coordinator.queens(["submit", "12", "--method", "search", "--parts", "7..100000"]);
    assert!(refused.stderr.contains("there are no 7..100000"), "{refused:?}");
    let coordinator = coordinator.kill_and_restart();
    let _worker = coordinator.worker("anna");
    let done = jobs.map(|job| coordinator.done(&job));
    let solutions = done.iter().map(|job| number(&job["solutions"]));
    assert_eq!(solutions.sum::<u128>(), published(n).expect("published").solutions);
    for (job, parts) in done.iter().zip([&first, &second]) {
        let found = (&job["part_range"], &job["agrees"], &job["published"], &job["fundamental"]);
        let null = &Value::Null;
        assert_eq!(found, (&parts.as_str().into(), null, null, null));
        let shown = coordinator.queens(["status", job["job"].as_str().expect("text")]).stdout;
        assert!(shown.contains(&format!("parts {parts} of {n_parts}")), "{shown}");
        assert!(!shown.contains("published"), "{shown}");
    }
    coordinator.stop();
    let audits = audit(&data_dir).expect("consistent records");
    assert!(audits.iter().all(|audit| audit.is_complete()), "{audits:?}");
    assert_eq!(
        audits.iter().map(|audit| audit.total).sum::<u128>(),
        published(n).expect("published").solutions
    );
}
