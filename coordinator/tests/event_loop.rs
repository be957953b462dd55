//! Tests the event loop with a store that can't be written: it acknowledges nothing, loses nothing, and continues
//! later. Also tests that an idle event loop does little.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use queens_event_loop::{Handle, OpenSession, Snapshot, unthreaded};
use queens_ledger::Reporting;
use queens_ledger::store::draw::{Draw, Drawn, Recorded};
use queens_ledger::store::memory::MemoryStore;
use queens_ledger::store::{Store, StoreError, Stored, Write};
use queens_model::{
    Delta, HalvesSkill, Held, Hello, JobId, JobState, Lease, Name, Report, Speed, Submission, ToCoordinator,
    ToWorker, WorkerId,
};
use queens_solver::{BoardSize, Count, DECOMPOSITION_VERSION, Method, Span};
use queens_store::Archive;
use tokio::sync::{mpsc, watch};

/// A store that can be made to fail, and whose contents tests can read.
#[derive(Clone, Debug, Default)]
struct Disk {
    store: Arc<Mutex<MemoryStore>>,
    is_full: Arc<AtomicBool>,
    is_damaged: Arc<AtomicBool>,
    comparing_fails: Arc<AtomicBool>,
    /// Whether a comparison finds a damaged record, and whether an earlier state was restored then.
    job_is_damaged: Arc<AtomicBool>,
    is_put_back: Arc<AtomicBool>,
    /// Whether queries for records find the store unreachable, and how many there were.
    is_away: Arc<AtomicBool>,
    n_asked: Arc<AtomicU32>,
}

impl Disk {
    fn store(&self) -> MutexGuard<'_, MemoryStore> {
        self.store.lock().expect("nobody panics")
    }

    fn is_recorded(&self, span: Span) -> bool {
        self.store().records(JobId(1)).any(|record| record.span == span)
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.is_damaged.load(Ordering::SeqCst) {
            return Err(StoreError::Damaged {
                place: Path::new("jobs").into(),
                reason: "record of job 1".to_owned(),
            });
        }
        Ok(())
    }

    fn fill(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::SeqCst);
    }
}

impl Archive for Disk {}

impl Store for Disk {
    fn load(&mut self) -> Result<Stored, StoreError> {
        self.store().load()
    }

    fn commit(&mut self, writes: &[Write]) -> Result<(), StoreError> {
        if self.is_full.load(Ordering::SeqCst) {
            return Err(StoreError::Failed("the disk is full".to_owned()));
        }
        self.check()?;
        self.store().commit(writes)
    }

    fn find(&mut self, job: JobId, span: Span) -> Result<Option<Recorded>, StoreError> {
        self.n_asked.fetch_add(1, Ordering::SeqCst);
        if self.is_away.load(Ordering::SeqCst) {
            return Err(StoreError::Failed("it can't be reached".to_owned()));
        }
        if self.comparing_fails.load(Ordering::SeqCst) {
            self.is_damaged.store(true, Ordering::SeqCst);
        }
        if self.job_is_damaged.load(Ordering::SeqCst) {
            return Err(StoreError::DamagedJob {
                job,
                reason: "a record is not what was written".to_owned(),
            });
        }
        self.check()?;
        self.store().find(job, span)
    }

    fn confirm(&mut self) -> Result<(), StoreError> {
        match self.is_put_back.load(Ordering::SeqCst) && self.job_is_damaged.load(Ordering::SeqCst) {
            true => Err(StoreError::Fenced("an earlier state was put back".to_owned())),
            false => Ok(()),
        }
    }

    fn draw(&mut self, draw: &Draw) -> Result<Drawn, StoreError> {
        self.store().draw(draw)
    }
}

/// A worker's session, and its messages from the coordinator.
struct Worker {
    session: OpenSession,
    messages: mpsc::Receiver<ToWorker>,
}

impl Worker {
    async fn report(&self, report: Report) {
        self.session.pass(ToCoordinator::Report(report)).await.expect("not refused");
    }
}

/// Starts a coordinator with a job, and a worker with its first lease.
async fn coordinator_and_worker(disk: &Disk) -> (Handle, Worker, Lease) {
    let (handle, running) =
        unthreaded(Box::new(disk.clone()), NonZeroUsize::MIN, Reporting::default()).expect("an empty store");
    tokio::spawn(running);
    let n = BoardSize::new(12).expect("a board size");
    let job = handle.submit(Submission::new(n, Method::Search)).await.expect("it runs").expect("accepted");
    planned(&handle, job).await;
    let (worker, lease) = connect(&handle, 1, Vec::new()).await;
    (handle, worker, lease)
}

/// Waits until a job has its plan. A thread makes it in real time, while paused time would advance too fast.
async fn planned(handle: &Handle, job: JobId) {
    for _ in 0..60_000 {
        if handle.snapshot().job(job).is_some_and(|job| job.state != JobState::Planning) {
            return;
        }
        thread::sleep(Duration::from_millis(1));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("a plan within a minute");
}

/// Connects a worker.
async fn join(handle: &Handle, id: u64, held: Vec<Held>) -> Worker {
    let hello = Hello {
        worker: WorkerId(id),
        name: Name::of_any(&format!("worker {id}")),
        build: Name::of_any("0"),
        kernel: Name::of_any("none"),
        n_threads: 1,
        speed: 1.into(),
        decomposition: DECOMPOSITION_VERSION,
        halves: HalvesSkill { decomposition: 0, speed: Speed::ZERO },
        machine: 1,
        held,
    };
    let (session, messages) = handle.open(hello, None).await.expect("it runs").expect("not refused");
    Worker { session, messages }
}

/// Connects a worker and waits for its first lease.
async fn connect(handle: &Handle, id: u64, held: Vec<Held>) -> (Worker, Lease) {
    let mut worker = join(handle, id, held).await;
    let lease = loop {
        if let ToWorker::Lease(lease) = next(&mut worker).await {
            break lease;
        }
    };
    (worker, lease)
}

/// Waits for a snapshot that satisfies a condition. Panics after a timeout, so that a broken rule fails the test.
async fn once(
    snapshots: &mut watch::Receiver<Arc<Snapshot>>,
    is_so: impl FnMut(&Arc<Snapshot>) -> bool,
) -> Arc<Snapshot> {
    let told = tokio::time::timeout(Duration::from_secs(600), snapshots.wait_for(is_so)).await;
    told.expect("it is so within ten minutes").expect("it runs").clone()
}

/// Returns the next message to a worker.
async fn next(worker: &mut Worker) -> ToWorker {
    let told = tokio::time::timeout(Duration::from_secs(600), worker.messages.recv()).await;
    told.expect("it is told something within ten minutes").expect("the session goes on")
}

async fn acknowledged(worker: &mut Worker) {
    while !matches!(next(worker).await, ToWorker::Acknowledge { .. }) {}
}

fn report(lease: &Lease) -> (Span, Report) {
    let span = lease.spans[0].span;
    let count = Count { solutions: 0, work: 1 };
    let delta = Delta { job: lease.job, lease: lease.id, span, count, duration: Duration::from_millis(1) };
    (span, Report { sequence: 1, deltas: vec![delta], finished: Vec::new() })
}

/// Returns the pending messages without leases.
fn heard(worker: &mut Worker) -> Vec<ToWorker> {
    let messages = std::iter::from_fn(|| worker.messages.try_recv().ok());
    messages.filter(|message| !matches!(message, ToWorker::Lease(_))).collect()
}

#[tokio::test(start_paused = true)]
async fn nothing_is_acknowledged_before_it_is_durable() {
    let disk = Disk::default();
    let (handle, mut worker, lease) = coordinator_and_worker(&disk).await;
    let (span, report) = report(&lease);
    disk.fill(true);
    worker.report(report).await;
    let mut snapshots = handle.snapshots();
    once(&mut snapshots, |snapshot| snapshot.store_error.is_some()).await;
    // Much longer than the timeout of a silent worker.
    for _ in 0..60 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!((heard(&mut worker), disk.is_recorded(span)), (Vec::new(), false));
    }
    let error = snapshots.borrow().store_error.clone();
    assert!(error.is_some_and(|error| error.contains("the disk is full")));
    disk.fill(false);
    let acknowledged = loop {
        match next(&mut worker).await {
            ToWorker::Lease(_) => {}
            message => break message,
        }
    };
    assert_eq!(acknowledged, ToWorker::Acknowledge { sequence: 1 });
    assert!(disk.is_recorded(span));
    once(&mut snapshots, |snapshot| snapshot.store_error.is_none()).await;
    // The worker must not time out because of the coordinator's silence.
    assert!(snapshots.borrow().workers.iter().any(|worker| worker.connected));
}

/// Otherwise it would be displayed as waiting for "0 other plans" while nothing can be written.
#[tokio::test(start_paused = true)]
async fn a_job_whose_plan_is_begun_at_once_waits_for_none() {
    let (handle, running) = unthreaded(Box::new(Disk::default()), NonZeroUsize::MIN, Reporting::default())
        .expect("an empty store");
    tokio::spawn(running);
    let n = BoardSize::new(24).expect("a board size");
    let job = handle.submit(Submission::new(n, Method::Search)).await.expect("it runs").expect("accepted");
    let snapshot = handle.snapshot();
    assert_eq!(snapshot.job(job).expect("it is there").n_plans_before, None);
}

/// A client need not query a job to learn it.
#[tokio::test(start_paused = true)]
async fn a_coordinator_without_jobs_says_that_its_store_cannot_be_written() {
    let disk = Disk::default();
    let (handle, running) =
        unthreaded(Box::new(disk.clone()), NonZeroUsize::MIN, Reporting::default()).expect("an empty store");
    tokio::spawn(running);
    let before = handle.status();
    assert_eq!((before.store.as_str(), before.store_error, before.refuses), ("memory", None, Vec::new()));
    disk.fill(true);
    let (asking, n) = (handle.clone(), BoardSize::new(12).expect("a board size"));
    tokio::spawn(async move { asking.submit(Submission::new(n, Method::Search)).await });
    let mut snapshots = handle.snapshots();
    once(&mut snapshots, |snapshot| snapshot.store_error.is_some()).await;
    assert_eq!(snapshots.borrow().jobs, []);
    let status = handle.status();
    assert!(status.store_error.is_some_and(|error| error.contains("the disk is full")));
    assert!(status.refuses.len() == 1 && status.refuses[0].contains("reports"), "{:?}", status.refuses);
    disk.fill(false);
    once(&mut snapshots, |snapshot| !snapshot.jobs.is_empty()).await;
    assert_eq!((handle.status().store_error, handle.status().refuses), (None, Vec::new()));
}

/// Damage is not retried: the coordinator ends with the reason, and acknowledges nothing.
#[tokio::test(start_paused = true)]
async fn damage_ends_the_coordinator() {
    for was_full in [false, true] {
        let disk = Disk::default();
        let (handle, mut worker, lease) = coordinator_and_worker(&disk).await;
        let mut snapshots = handle.snapshots();
        disk.fill(was_full);
        disk.is_damaged.store(true, Ordering::SeqCst);
        worker.report(report(&lease).1).await;
        if was_full {
            once(&mut snapshots, |snapshot| snapshot.store_error.is_some()).await;
            disk.fill(false);
        }
        let damage = once(&mut snapshots, |snapshot| snapshot.damage.is_some()).await.damage.clone();
        let damage = damage.expect("it says so first");
        assert!(
            damage.starts_with("data directory 'jobs' is damaged: record of job 1: restore a backup"),
            "{damage}"
        );
        assert!(damage.contains("queens-coordinator recover jobs NEW_DIR"), "{damage}");
        let mut closed = handle.snapshots();
        while closed.changed().await.is_ok() {}
        assert!(handle.is_stopped());
        assert_eq!(heard(&mut worker), []);
    }
}

/// The same for a failed comparison with a record.
#[tokio::test(start_paused = true)]
async fn damage_that_is_found_by_comparing_ends_the_coordinator() {
    let disk = Disk::default();
    let handle = compare(&disk, &disk.comparing_fails).await;
    once(&mut handle.snapshots(), |snapshot| snapshot.damage.is_some()).await;
}

/// A job with damaged records is set aside; others continue.
#[tokio::test(start_paused = true)]
async fn a_job_whose_records_contradict_it_is_set_aside() {
    let disk = Disk::default();
    let handle = compare(&disk, &disk.job_is_damaged).await;
    let is_told = |snapshot: &Arc<Snapshot>| snapshot.jobs[0].state == JobState::Damaged;
    once(&mut handle.snapshots(), is_told).await;
    let failure = handle.snapshot().jobs[0].failure.clone();
    assert_eq!(failure.as_deref(), Some("a record is not what was written"));
    let n = BoardSize::new(11).expect("a board size");
    let other = handle.submit(Submission::new(n, Method::Search)).await.expect("it runs").expect("accepted");
    planned(&handle, other).await;
    let is_counted =
        |snapshot: &Arc<Snapshot>| snapshot.job(other).is_some_and(|job| job.state == JobState::Running);
    once(&mut handle.snapshots(), is_counted).await;
}

/// After a restore to an earlier state, the store contradicts the memory: no job is marked as damaged.
#[tokio::test(start_paused = true)]
async fn a_job_that_contradicts_an_earlier_state_is_not_set_aside() {
    let disk = Disk::default();
    disk.is_put_back.store(true, Ordering::SeqCst);
    let mut handle = compare(&disk, &disk.job_is_damaged).await;
    handle_ends(&mut handle).await;
    assert!(handle.snapshot().jobs.iter().all(|job| job.state != JobState::Damaged));
}

/// Waits until the coordinator has ended.
async fn handle_ends(handle: &mut Handle) {
    let mut snapshots = handle.snapshots();
    while snapshots.changed().await.is_ok() {}
}

/// Makes a coordinator compare a count with the stored record, and fail as `fails` says.
async fn compare(disk: &Disk, fails: &AtomicBool) -> Handle {
    let (handle, worker, lease) = coordinator_and_worker(disk).await;
    let (span, counted) = report(&lease);
    // The first worker times out, another counts the same span, and the first one returns.
    once(&mut handle.snapshots(), |snapshot| !snapshot.workers.is_empty()).await;
    worker.session.disconnect().await;
    once(&mut handle.snapshots(), |snapshot| snapshot.workers.is_empty()).await;
    let (mut second, again) = connect(&handle, 2, Vec::new()).await;
    assert_eq!(report(&again).0, span);
    second.report(report(&again).1).await;
    acknowledged(&mut second).await;
    fails.store(true, Ordering::SeqCst);
    let held = Held { lease: lease.id, job: lease.job, spans: vec![span] };
    let (worker, _) = connect(&handle, 1, vec![held]).await;
    worker.report(counted).await;
    // Keeps both connections open.
    tokio::spawn(async move {
        let _workers = (worker, second);
        std::future::pending::<()>().await;
    });
    handle
}

/// An unreachable store may delay each query: it is asked only once, and no caller waits for all the answers.
#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_is_not_asked_again_and_again() {
    async fn another(worker: &mut Worker) -> Lease {
        loop {
            if let ToWorker::Lease(lease) = next(worker).await {
                return lease;
            }
        }
    }
    let both = |leases: &[Lease; 2]| {
        let deltas = leases.iter().flat_map(|lease| report(lease).1.deltas).collect();
        Report { sequence: 1, deltas, finished: Vec::new() }
    };
    let disk = Disk::default();
    let (handle, mut worker, lease) = coordinator_and_worker(&disk).await;
    let leases = [lease, another(&mut worker).await];
    once(&mut handle.snapshots(), |snapshot| !snapshot.workers.is_empty()).await;
    worker.session.disconnect().await;
    once(&mut handle.snapshots(), |snapshot| snapshot.workers.is_empty()).await;
    let (mut second, lease) = connect(&handle, 2, Vec::new()).await;
    let again = [lease, another(&mut second).await];
    assert_eq!(again.each_ref().map(|lease| &lease.spans), leases.each_ref().map(|lease| &lease.spans));
    second.report(both(&again)).await;
    acknowledged(&mut second).await;
    disk.is_away.store(true, Ordering::SeqCst);
    let held = leases.each_ref().map(|lease| Held {
        lease: lease.id,
        job: lease.job,
        spans: lease.spans.iter().map(|leased| leased.span).collect(),
    });
    let (mut worker, _) = connect(&handle, 1, held.into()).await;
    worker.report(both(&leases)).await;
    acknowledged(&mut worker).await;
    // The coordinator still works.
    handle.submit(Submission::new(leases[0].n, Method::Search)).await.expect("it runs").expect("accepted");
    assert_eq!(disk.n_asked.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn signs_of_life_of_idle_workers_are_not_published_one_by_one() {
    let (handle, running) = unthreaded(Box::new(Disk::default()), NonZeroUsize::MIN, Reporting::default())
        .expect("an empty store");
    tokio::spawn(running);
    let worker = join(&handle, 1, Vec::new()).await;
    let mut snapshots = handle.snapshots();
    once(&mut snapshots, |snapshot| snapshot.workers.len() == 1).await;
    let mut n_snapshots = 0;
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        worker.report(Report::default()).await;
        n_snapshots += u32::from(snapshots.has_changed().expect("it runs"));
        snapshots.mark_unchanged();
    }
    // One per second, so that people see how long ago each worker was heard.
    assert!((4..=7).contains(&n_snapshots), "{n_snapshots} in 5 s");
}
