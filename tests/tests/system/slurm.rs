//! Workers on a real Slurm by deploy/slurm/workers.sbatch: a node dies, their time ends, urgent work preempts them, and
//! one is cancelled. The number is right, and workers with notice have reported everything.
//!
//! With the environment variable `QUEENS_FAULTS` set to `full`, the board is larger, and Slurm itself ends the workers'
//! time.

mod engine;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use queens_store::sqlite::audit;
use queens_tests::directory::entries;
use queens_tests::prelude::*;

use self::engine::Slurm;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/slurm/workers.sbatch");

/// Longer than Slurm takes to notice anything.
const LONG: Duration = Duration::from_secs(900);

/// Workers on Slurm with an unfinished job.
struct Scene {
    // Dropped, and so killed, before their directory.
    slurm: Slurm,
    coordinator: Coordinator,
    scratch: TempDir,
    job: String,
    /// The array's tasks, by its number and theirs.
    tasks: Vec<String>,
    /// The names of all workers so far.
    known: BTreeSet<String>,
    /// The events, and the time until all counted again.
    story: Vec<String>,
}

impl Scene {
    fn new(n: u8) -> Self {
        let Scenario { scratch, coordinator, .. } = Scenario::start();
        let slurm = Slurm::start(scratch.path());
        let job = coordinator.submit(n);
        let mut tasks =
            vec!["--parsable", "--array=1-2", "--cpus-per-task=2", SCRIPT, "--kernel", "portable"];
        let url = coordinator.url();
        tasks.extend(["--coordinator", &url]);
        let array = slurm.ask("sbatch", &tasks).trim().to_owned();
        let tasks = [1, 2].map(|task| format!("{array}_{task}")).to_vec();
        Self { slurm, coordinator, scratch, job, tasks, known: BTreeSet::new(), story: vec![] }
    }

    /// Waits until there are as many new workers as tasks and each has reported something, and returns them.
    #[track_caller]
    fn wait_for_new_workers(&mut self, what: &str) -> Vec<Value> {
        let began = Instant::now();
        let come = wait_at_most(LONG, what, || {
            assert!(began.elapsed() < LONG - Duration::from_secs(5), "{what}: {}", self.slurm.logs());
            let mut workers = self.coordinator.workers();
            workers
                .retain(|worker| !self.known.contains(id(worker)) && worker["recorded"].as_u64() > Some(0));
            (workers.len() == self.tasks.len()).then_some(workers)
        });
        self.story.push(format!("{what}: {:.1} s", began.elapsed().as_secs_f64()));
        assert_eq!(self.coordinator.status(&self.job)["state"], "running", "too late for a fault");
        self.known.extend(come.iter().map(|worker| id(worker).to_owned()));
        come
    }

    /// Returns the workers' logs.
    fn logs(&self) -> String {
        let paths = entries(self.scratch.path()).into_iter();
        let paths = paths.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
        let of_tasks =
            |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("queens-"));
        paths.filter(|path| of_tasks(path)).map(|path| fs::read_to_string(path).expect("a log")).collect()
    }

    /// Returns how many workers have logged their exit, which follows their last report.
    fn n_left(&self) -> usize {
        self.logs().matches("\"message\":\"left; everything it counted is recorded\"").count()
    }
}

fn id(worker: &Value) -> &str {
    worker["worker"].as_str().expect("a worker has a number")
}

#[test]
fn what_slurm_kills_preempts_and_requeues_counts_on() {
    if !Slurm::is_installed() {
        return skipped("workers on Slurm, without slurm-wlm and munge");
    }
    if !Slurm::can_be_started() {
        return skipped_without_root("workers on Slurm, without the right to make namespaces");
    }
    let full = is_full("QUEENS_FAULTS");
    let n = if full { 19 } else { 18 };
    let mut scene = Scene::new(n);

    let first = scene.wait_for_new_workers("tasks placed");
    let mut names: Vec<_> = first.iter().map(|worker| worker["name"].as_str().expect("a name")).collect();
    names.sort_unstable();
    assert_eq!(names, ["n1-1", "n1-2"]);
    assert!(first.iter().all(|worker| worker["threads"] == 2), "{first:?}");

    // Both were on that node, so nothing is counted until Slurm has noticed and moved them.
    scene.slurm.kill_node("n1");
    let moved = scene.wait_for_new_workers("node killed");
    assert!(
        moved.iter().all(|worker| worker["name"].as_str().expect("a name").starts_with("n2-")),
        "{moved:?}"
    );
    scene.slurm.start_node("n1");
    scene.slurm.wait_for_node("n1");

    // Sends the whole array Slurm's signal at a task's time limit.
    let array = scene.tasks[0].split('_').next().expect("an array").to_owned();
    scene.slurm.ask("scancel", &["--signal=USR1", "--batch", &array]);
    scene.wait_for_new_workers("told that the time is up");
    assert_eq!(scene.n_left(), 2, "{}", scene.logs());

    for node in engine::NODES {
        let wide =
            ["-p", "urgent", "-N1", "-n1", "-c4", "-w", node, "--output=/dev/null", "--wrap", "sleep 1"];
        scene.slurm.ask("sbatch", &wide);
    }
    scene.wait_for_new_workers("preempted");
    assert_eq!(scene.n_left(), 4, "{}", scene.logs());

    if full {
        // Each has run longer than that, whenever it began.
        for task in &scene.tasks {
            scene.slurm.ask("scontrol", &["update", &format!("JobId={task}"), "TimeLimit=1"]);
        }
        scene.wait_for_new_workers("time limit");
        assert!(scene.n_left() >= 6, "{}", scene.logs());
    }

    let n_left = scene.n_left();
    scene.slurm.ask("scancel", &[&scene.tasks[0]]);
    wait_for("the cancelled worker to leave", || scene.n_left() > n_left);
    _ = scene.coordinator.done(&scene.job);
    for lost in ["is lost", "not acknowledged", "at once by a second signal"] {
        assert!(!scene.logs().contains(lost), "{}", scene.logs());
    }

    let Scene { slurm, coordinator, scratch, story, .. } = scene;
    let solutions = solutions(n);
    coordinator.stop();
    let jobs = audit(&scratch.join("data")).expect("consistent records");
    assert!(jobs[0].is_complete() && jobs[0].total.to_string() == solutions, "{jobs:?}");
    say(&format!("Q({n}) = {solutions} on Slurm; until all counted again: {}", story.join(", ")));
    drop(slurm);
}
