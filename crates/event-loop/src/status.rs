//! Computes the coordinator's own status.

use queens_ledger::{MOST_OPEN_JOBS, MOST_THREADS_IN_ALL, TooManyJobs};
use queens_model::{CoordinatorStatus, JobState, Name};

use crate::loop_monitor::LoopMonitor;
use crate::snapshot::Snapshot;

/// Returns the status of a coordinator from its snapshot, its kind of store and its loop monitor.
pub(crate) fn of_coordinator(
    snapshot: &Snapshot,
    store: &str,
    loop_monitor: &LoopMonitor,
) -> CoordinatorStatus {
    CoordinatorStatus {
        version: Name::of_any(queens_platform::VERSION),
        uptime: loop_monitor.uptime(),
        store: Name::of_any(store),
        store_error: snapshot.store_error.clone(),
        refuses: refuses(snapshot),
        slowest_step: loop_monitor.slowest(),
    }
}

fn refuses(snapshot: &Snapshot) -> Vec<String> {
    let mut refuses = Vec::new();
    if snapshot.damage.is_some() {
        refuses.push("everything: the store is damaged".to_owned());
    } else if snapshot.store_error.is_some() {
        refuses.push("reports and decisions of operators: they can't be recorded at present".to_owned());
    }
    let is_open = |state| !matches!(state, JobState::Done | JobState::Cancelled | JobState::Damaged);
    if snapshot.jobs.iter().filter(|job| is_open(job.state)).count() >= MOST_OPEN_JOBS {
        refuses.push(format!("new jobs: {TooManyJobs}"));
    }
    let n_threads: u64 = snapshot.workers.iter().map(|worker| u64::from(worker.n_threads)).sum();
    if n_threads >= MOST_THREADS_IN_ALL {
        refuses
            .push(format!("more workers: those that are here have {n_threads} threads, the most it serves"));
    }
    refuses
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use queens_model::{CardSensors, JobId, JobStatus, WorkerId, WorkerState, WorkerStatus};
    use queens_solver::{BoardSize, Method};

    use super::*;

    fn worker(id: u64, n_threads: u32) -> WorkerStatus {
        WorkerStatus {
            id: WorkerId(id),
            name: Name::of_any("w"),
            build: Name::of_any("0"),
            kernel: Name::of_any("none"),
            methods: vec![Method::Search],
            n_threads,
            connected: true,
            silent: Duration::ZERO,
            speed: None,
            n_leases: 0,
            n_recorded: 0,
            state: WorkerState::Ready,
            failure: None,
            counting: None,
            sensors: CardSensors::default(),
        }
    }

    #[test]
    fn what_is_refused_is_told() {
        let of = |snapshot: &Snapshot| of_coordinator(snapshot, "memory", &LoopMonitor::new()).refuses;
        assert_eq!(of(&Snapshot::default()), [""; 0]);
        let n = BoardSize::new(8).expect("a board size");
        let job = |id: usize, state| JobStatus::new(JobId(id as u64), n, Method::Search, state);
        let mut jobs: Vec<_> = (1..=MOST_OPEN_JOBS).map(|id| job(id, JobState::Queued)).collect();
        let store_error = Some("the disk is full".to_owned());
        let full = of(&Snapshot { jobs: jobs.clone(), store_error, ..Snapshot::default() });
        assert!(full[0].starts_with("reports") && full[1].contains("10000 jobs"), "{full:?}");
        jobs[7].state = JobState::Done;
        assert_eq!(of(&Snapshot { jobs, ..Snapshot::default() }), [""; 0]);
        let mut workers: Vec<_> = (0..125).map(|id| worker(id, 4000)).collect();
        let crowded = of(&Snapshot { workers: workers.clone().into(), ..Snapshot::default() });
        assert!(crowded[0].starts_with("more workers") && crowded[0].contains("500000"), "{crowded:?}");
        workers.pop();
        assert_eq!(of(&Snapshot { workers: workers.into(), ..Snapshot::default() }), [""; 0]);
    }
}
