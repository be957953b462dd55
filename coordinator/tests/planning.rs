//! Tests many jobs that wait for their plans: few threads, small boards first, none lost, and a limit.

use std::fs;
use std::num::NonZeroUsize;
use std::thread;
use std::time::{Duration, Instant};

use queens_event_loop::{Coordinator, Handle};
use queens_ledger::store::memory::MemoryStore;
use queens_ledger::{JobChange, Reporting, SubmissionRefusal};
use queens_model::{JobId, JobState, JobStatus, Submission};
use queens_solver::{BoardSize, Method};
use tokio::sync::Mutex;

/// Threads for one plan.
const N_THREADS: usize = 2;

/// One test at a time: they count the threads of this process.
static TURN: Mutex<()> = Mutex::const_new(());

fn start() -> Coordinator {
    let n_threads = NonZeroUsize::new(N_THREADS).expect("some");
    Coordinator::start(Box::new(MemoryStore::default()), n_threads, Reporting::default())
        .expect("an empty store")
}

async fn submit(handle: &Handle, n: u8) -> Result<JobId, SubmissionRefusal> {
    let n = BoardSize::new(n).expect("a board size");
    handle.submit(Submission::new(n, Method::Search)).await.expect("it runs")
}

/// Submits jobs concurrently.
async fn submit_many(handle: &Handle, n: u8, n_jobs: usize) -> Vec<Result<JobId, SubmissionRefusal>> {
    let one = || {
        let handle = handle.clone();
        tokio::spawn(async move { submit(&handle, n).await })
    };
    let submitting: Vec<_> = (0..n_jobs).map(|_| one()).collect();
    let mut jobs = Vec::new();
    for job in submitting {
        jobs.push(job.await.expect("nobody panics"));
    }
    jobs
}

/// Waits until a job satisfies a condition.
async fn wait_for(handle: &Handle, job: JobId, is_so: impl Fn(&JobStatus) -> bool) {
    let mut snapshots = handle.snapshots();
    let snapshot = snapshots.wait_for(|snapshot| snapshot.job(job).is_some_and(&is_so));
    tokio::time::timeout(Duration::from_secs(60), snapshot).await.expect("in time").expect("it runs");
}

/// Returns how many threads of this process make plans.
fn n_planning() -> usize {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux").flatten();
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with("plan-")).count()
}

#[tokio::test]
async fn plans_are_made_by_few_threads_and_small_boards_do_not_wait_for_large_ones() {
    let _turn = TURN.lock().await;
    let coordinator = start();
    let handle = coordinator.handle();
    let large: Vec<JobId> =
        submit_many(&handle, 32, 200).await.into_iter().map(|job| job.expect("taken")).collect();
    let [medium, second, small] =
        [submit(&handle, 31).await, submit(&handle, 30).await, submit(&handle, 16).await]
            .map(|job| job.expect("taken"));
    wait_for(&handle, small, |job| job.state == JobState::Queued).await;
    // Threads of the small board's plan may still be ending.
    let deadline = Instant::now() + Duration::from_secs(30);
    while !(1..=N_THREADS + 1).contains(&n_planning()) {
        assert!(Instant::now() < deadline, "{} threads for one plan", n_planning());
        thread::yield_now();
    }
    let before = |job| {
        let status = handle.snapshot().job(job).cloned().expect("a job");
        assert_eq!(status.state, JobState::Planning);
        status.n_plans_before
    };
    assert_eq!([large[0], large[199], medium, second].map(before), [None, None, Some(2), Some(1)]);
    // A plan is abandoned when no job waits for it, in any order of cancellation, and the next one begins.
    for &job in &large {
        handle.change_job(job, JobChange::Cancel).await.expect("it runs").expect("a job");
    }
    wait_for(&handle, second, |job| job.n_plans_before.is_none()).await;
    assert_eq!(before(medium), Some(1));
    handle.change_job(second, JobChange::Cancel).await.expect("it runs").expect("a job");
    wait_for(&handle, medium, |job| job.n_plans_before.is_none()).await;
    // An abandoned plan is made when a job needs it again.
    let again = submit(&handle, 30).await.expect("taken");
    assert_eq!(before(again), Some(1));
    handle.change_job(medium, JobChange::Cancel).await.expect("it runs").expect("a job");
    wait_for(&handle, again, |job| job.n_plans_before.is_none()).await;
    handle.change_job(again, JobChange::Cancel).await.expect("it runs").expect("a job");
    let deadline = Instant::now() + Duration::from_secs(30);
    while n_planning() > 0 {
        assert!(Instant::now() < deadline, "{} threads make plans that nobody wants", n_planning());
        thread::yield_now();
    }
    coordinator.stop();
}

#[tokio::test]
async fn how_far_a_plan_is_is_told_while_it_is_made() {
    let _turn = TURN.lock().await;
    let coordinator = start();
    let handle = coordinator.handle();
    let job = submit(&handle, 30).await.expect("taken");
    let second = submit(&handle, 31).await.expect("taken");
    let mut last = 0.0;
    for _ in 0..3 {
        let above = last;
        wait_for(&handle, job, |job| job.plan_fraction.is_some_and(|share| share.get() > above)).await;
        let snapshot = handle.snapshot();
        let status = snapshot.job(job).expect("a job");
        last = status.plan_fraction.expect("it is being made").get();
        assert!(above < last && last < 1.0, "{last} after {above}");
        assert_eq!((status.fraction(), status.time_left), (0.0, None), "nothing is counted");
        assert_eq!(snapshot.job(second).expect("a job").plan_fraction, None, "it is not begun");
    }
    handle.change_job(job, JobChange::Cancel).await.expect("it runs").expect("a job");
    wait_for(&handle, job, |job| job.plan_fraction.is_none()).await;
    wait_for(&handle, second, |job| job.plan_fraction.is_some()).await;
    handle.change_job(second, JobChange::Cancel).await.expect("it runs").expect("a job");
    coordinator.stop();
}

#[tokio::test]
async fn there_is_an_end_to_the_jobs_that_are_taken() {
    const MOST: usize = 10_000;
    let _turn = TURN.lock().await;
    let coordinator = start();
    let handle = coordinator.handle();
    let jobs = submit_many(&handle, 32, MOST + 3).await;
    assert_eq!(jobs.iter().filter(|job| job.is_err()).count(), 3);
    assert_eq!(handle.snapshot().jobs.len(), MOST);
    let refusal = submit(&handle, 1).await.expect_err("one too many");
    assert!(refusal.to_string().contains("there are 10000 jobs"), "{refusal}");
    let first = jobs.into_iter().flatten().next().expect("a job");
    handle.change_job(first, JobChange::Cancel).await.expect("it runs").expect("a job");
    let taken = submit(&handle, 1).await.expect("there is room");
    wait_for(&handle, taken, |job| job.state == JobState::Queued).await;
    coordinator.stop();
}
