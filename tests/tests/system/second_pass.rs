//! Boards that real processes count a second time.

use queens_solver::Method;
use queens_store::sqlite::audit;
use queens_tests::prelude::*;

const N: &str = "13";

/// One job is counted on other images from the start, one by the other method after it was done. Both are done when
/// their passes agree, although the coordinator is killed on the way.
#[test]
fn boards_are_counted_twice_before_they_are_done() {
    let Scenario { scratch: _scratch, data_dir, coordinator } = Scenario::start();
    let submit = |args: &[&str]| coordinator.submit_with(&[&[N, "--method", "search"], args].concat());
    let twice = submit(&["--second-pass"]);
    let once = submit(&[]);
    assert_eq!([twice.as_str(), once.as_str()], ["1", "3"]);
    let refused = coordinator.queens(["submit", N, "--method", "halves", "--second-pass"]);
    assert!(refused.stderr.contains("halves have no other images"), "{refused:?}");
    let workers = ["anna", "bert"].map(|name| coordinator.worker(name));
    _ = coordinator.done(&once);
    let more = coordinator.queens(["verify-more", &once, "--second-pass=halves"]);
    assert!(more.stdout.contains("job 3 is "), "{more:?}");
    let coordinator = coordinator.kill_and_restart();
    let pairs = [(&twice, "2", "search"), (&once, "4", "halves")];
    for (first, second, method) in pairs {
        let (first, second) = (coordinator.done(first), coordinator.done(second));
        assert_eq!([&first["solutions"], &second["solutions"]], [&Value::from(solutions(13)); 2]);
        assert_eq!((&first["second"], &second["second_of"]), (&second["job"], &first["job"]));
        assert_eq!((&second["method"], &first["provisional"]), (&method.into(), &false.into()));
        assert_ne!(first["work"], second["work"]);
    }
    let listed = coordinator.queens(["jobs"]).stdout;
    assert!(listed.contains(", second pass of 1 "), "{listed}");
    let shown = coordinator.queens(["status", "1"]).stdout;
    assert!(shown.contains("second pass   job 2"), "{shown}");
    // The first line says what the count rests on.
    for (job, agreement) in
        [("1", "both passes agree on each part"), ("2", "both passes agree"), ("4", "both methods agree")]
    {
        let shown = coordinator.queens(["status", job]).stdout;
        let proof = coordinator.status(job)["proof"].as_str().expect("a sentence").to_owned();
        assert!(shown.starts_with(&format!("{proof}\njob ")) && proof.contains(agreement), "{shown}");
    }
    drop(workers);
    coordinator.stop();
    let audits = audit(&data_dir).expect("consistent records");
    assert_eq!(audits.iter().filter(|audit| audit.is_complete()).count(), 4);
    let methods: Vec<Method> = audits.iter().map(|audit| audit.job.method).collect();
    assert_eq!(methods, [Method::Search, Method::Search, Method::Search, Method::Halves]);
}
