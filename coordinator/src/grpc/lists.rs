//! Pages of the lists of jobs and workers, and the latest events.

use std::sync::Arc;

use queens_event_loop::Snapshot;
use queens_model::{Event, JobId, Name, WorkerId};
use queens_proto::page::{MOST_BYTES, WorkersPage, fill};
use queens_proto::pb;

/// Maximal events by workers in an answer, and maximal other events.
const MOST_EVENTS: usize = 250;

/// Returns the page of all jobs, in the order of submission, that begins after this job or with the first.
pub(super) fn jobs(snapshot: &Snapshot, after: Option<JobId>) -> pb::ListResponse {
    let first = after.map_or(0, |after| snapshot.jobs.partition_point(|job| job.id <= after));
    let jobs = snapshot.jobs[first..].iter().map(|job| pb::Job::from(job.clone()));
    let (jobs, more) = fill(&mut { MOST_BYTES }, jobs);
    let next_page = jobs.last().filter(|_| more).map(|job| job.job.to_string()).unwrap_or_default();
    pb::ListResponse { jobs, next_page }
}

/// Returns a page of all workers, followed by all blocked names.
pub(super) fn workers(snapshot: &Snapshot, page: WorkersPage) -> pb::ListWorkersResponse {
    let mut room = MOST_BYTES;
    let (mut workers, mut after_name) = (Vec::new(), None);
    match page {
        WorkersPage::AfterBlocked(name) => after_name = Some(name),
        WorkersPage::AfterWorker(after) => {
            workers.extend(snapshot.workers.iter().filter(|worker| worker.id > after));
        }
        WorkersPage::First => workers.extend(snapshot.workers.iter()),
    }
    workers.sort_unstable_by_key(|worker| worker.id);
    let (workers, more) = fill(&mut room, workers.into_iter().map(|worker| pb::Worker::from(worker.clone())));
    if let Some(last) = workers.last().filter(|_| more) {
        let next_page = WorkersPage::AfterWorker(WorkerId(last.worker)).to_string();
        return pb::ListWorkersResponse { workers, blocked: Vec::new(), next_page };
    }
    let is_after = |name: &&Name| after_name.as_ref().is_none_or(|after| *name > after);
    let mut names: Vec<&Name> = snapshot.blocked.iter().filter(is_after).collect();
    names.sort_unstable();
    let (blocked, more) = fill(&mut room, names.iter().map(ToString::to_string));
    // The workers may have left no space for blocked names in this page.
    let last = blocked.len().checked_sub(1).map(|last| names[last].clone()).or(after_name);
    let next_page = match last {
        Some(last) if more => WorkersPage::AfterBlocked(last),
        _ => WorkersPage::First,
    };
    pb::ListWorkersResponse { workers, blocked, next_page: next_page.to_string() }
}

/// Returns the newest events by workers and the newest others, which is enough for clients that poll.
pub(super) fn events(snapshot: &Snapshot) -> pb::ListEventsResponse {
    let (mut n_by_workers, mut n_others) = (0, 0);
    let is_new = |event: &&Arc<Event>| {
        let n = if event.kind.is_by_workers() { &mut n_by_workers } else { &mut n_others };
        *n += 1;
        *n <= MOST_EVENTS
    };
    let events = snapshot.events.iter().rev().filter(is_new).map(|event| pb::Event::from(&**event));
    let mut events: Vec<pb::Event> = events.collect();
    events.reverse();
    pb::ListEventsResponse { events }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use queens_model::{CardSensors, EventKind, MethodSpeeds, WorkerState, WorkerStatus};
    use queens_solver::Method;

    use super::*;

    fn worker(id: u64) -> WorkerStatus {
        WorkerStatus {
            id: WorkerId(id),
            name: Name::of_any(&"w".repeat(100)),
            build: Name::of_any("0"),
            kernel: Name::of_any("none"),
            methods: vec![Method::Search],
            n_threads: 1,
            connected: true,
            silent: Duration::ZERO,
            speed: Some(MethodSpeeds { search: 1.into(), halves: 1.into() }),
            n_leases: 0,
            n_recorded: 0,
            state: WorkerState::Ready,
            failure: Some("f".repeat(500)),
            counting: None,
            sensors: CardSensors::default(),
        }
    }

    #[test]
    fn all_workers_and_blocked_names_are_on_some_page_once() {
        // The snapshot's workers are not sorted.
        let all: Vec<u64> = (0..20_000_u64).map(|i| (i * 7919) % 20_000).collect();
        let snapshot = Snapshot {
            workers: Arc::new(all.iter().copied().map(worker).collect()),
            blocked: (0..50_000).map(|i| Name::of_any(&format!("{i:0100}"))).collect(),
            ..Snapshot::default()
        };
        let (mut page, mut n_pages) = (WorkersPage::First, 0);
        let (mut listed, mut blocked) = (Vec::new(), Vec::new());
        loop {
            let answer = workers(&snapshot, page);
            n_pages += 1;
            assert!(length(&answer) <= MOST_BYTES + 1024);
            listed.extend(answer.workers.iter().map(|worker| worker.worker));
            blocked.extend(answer.blocked);
            if answer.next_page.is_empty() {
                break;
            }
            page = answer.next_page.parse().expect("a page");
        }
        assert_eq!(listed, (0..20_000).collect::<Vec<_>>());
        assert!(blocked.iter().eq(snapshot.blocked.iter().map(Name::as_str)));
        assert!(n_pages > 4, "{n_pages}");
    }

    #[test]
    fn of_all_events_the_newest_of_both_kinds_are_told() {
        let event = |number| {
            let kind = if number <= 300 { EventKind::Job } else { EventKind::Worker };
            Arc::new(Event { number, at_ms: 0, kind, job: None, text: String::new() })
        };
        let snapshot = Snapshot { events: (1..=2000).map(event).collect(), ..Snapshot::default() };
        let told = events(&snapshot).events.into_iter().map(|event| event.number);
        assert!(told.eq((51..=300).chain(1751..=2000)));
    }

    fn length(answer: &pb::ListWorkersResponse) -> usize {
        let workers: usize =
            answer.workers.iter().map(|worker| worker.name.len() + worker.failure.len()).sum();
        workers + answer.blocked.iter().map(String::len).sum::<usize>()
    }
}
