//! How the coordinator itself stands.

use queens_ledger::{MOST_OPEN_JOBS, TooManyJobs};
use queens_messages::{CoordinatorStatus, JobState, Name};

use crate::pulse::Pulse;
use crate::snapshot::Snapshot;

/// The status of a coordinator with this snapshot, this kind of store and this pulse.
pub(crate) fn of_coordinator(snapshot: &Snapshot, store: &str, pulse: &Pulse) -> CoordinatorStatus {
    CoordinatorStatus {
        version: Name::of_any(queens_process::VERSION),
        uptime: pulse.uptime(),
        store: Name::of_any(store),
        store_error: snapshot.store_error.clone(),
        refuses: refuses(snapshot),
        slowest_step: pulse.slowest(),
    }
}

fn refuses(snapshot: &Snapshot) -> Vec<String> {
    let mut refuses = Vec::new();
    if snapshot.damage.is_some() {
        refuses.push("everything: what is stored is damaged".to_owned());
    } else if snapshot.store_error.is_some() {
        refuses.push("reports and decisions of operators: they can't be recorded at present".to_owned());
    }
    let is_open = |state| !matches!(state, JobState::Done | JobState::Cancelled);
    if snapshot.jobs.iter().filter(|job| is_open(job.state)).count() >= MOST_OPEN_JOBS {
        refuses.push(format!("new jobs: {TooManyJobs}"));
    }
    refuses
}

#[cfg(test)]
mod tests {
    use queens_messages::{JobId, JobStatus};
    use queens_solver::BoardSize;

    use super::*;

    #[test]
    fn what_is_refused_is_told() {
        let of = |snapshot: &Snapshot| of_coordinator(snapshot, "memory", &Pulse::new()).refuses;
        assert_eq!(of(&Snapshot::default()), [""; 0]);
        let n = BoardSize::new(8).expect("a board size");
        let job = |id: usize, state| JobStatus::new(JobId(id as u64), n, state);
        let mut jobs: Vec<_> = (1..=MOST_OPEN_JOBS).map(|id| job(id, JobState::Queued)).collect();
        let store_error = Some("the disk is full".to_owned());
        let full = of(&Snapshot { jobs: jobs.clone(), store_error, ..Snapshot::default() });
        assert!(full[0].starts_with("reports") && full[1].contains("10000 jobs"), "{full:?}");
        jobs[7].state = JobState::Done;
        assert_eq!(of(&Snapshot { jobs, ..Snapshot::default() }), [""; 0]);
    }
}
