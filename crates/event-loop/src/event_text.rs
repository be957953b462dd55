//! Writes the texts of events: for the program's log, and for the list of events that users see.

use std::collections::BTreeMap;
use std::time::Duration;

use queens_ledger::store::{SecondCount, Source, Verdict};
use queens_ledger::{JobChange, LedgerEvent, Verification, WorkerChange};
use queens_model::{EventKind, Failure, JobId, JobState, JobStatus, Submission};
use tracing::{debug, error, info, warn};

use crate::event_budget::LeftOut;
use crate::event_log::EventLog;

/// Reports events of the ledger. Drops those above a party's limit.
pub(crate) fn log_events(notes: &[LedgerEvent], event_log: &mut EventLog) {
    for note in notes {
        if event_log.budgets.allow(note) {
            log_event(note, event_log);
        }
    }
    for left_out in event_log.budgets.end_periods() {
        say_left_out(&left_out, event_log);
    }
}

fn log_event(note: &LedgerEvent, event_log: &mut EventLog) {
    match note {
        LedgerEvent::Submitted { job, asked: Submission { n, method, priority, part_range, .. } } => {
            let part = part_range.map(|parts| format!(", parts {parts},")).unwrap_or_default();
            info!(%job, %n, %method, %priority, part, "job submitted");
            about(
                *job,
                format!("submitted for n = {n}{part} by {method} with priority {priority}"),
                event_log,
            );
        }
        LedgerEvent::Damaged { job, reason } => {
            error!(%job, reason, "the stored data of a job are inconsistent: it is set aside");
            damaged(*job, reason, event_log);
        }
        LedgerEvent::Planned { job, method, n_parts, work } => {
            info!(%job, %method, parts = n_parts, %work, "job planned");
            about(*job, format!("planned: {n_parts} parts"), event_log);
        }
        LedgerEvent::JobChanged { job, change } => {
            // The end of a job is logged when its last state is known.
            let Some(text) = change_text(change) else { return };
            info!(%job, "job {text}");
            about(*job, text, event_log);
        }
        LedgerEvent::WorkersChanged { name, change, n_workers } => {
            let what = match change {
                WorkerChange::Drain => "drained",
                WorkerChange::Block => "blocked",
                WorkerChange::Unblock => "unblocked",
            };
            info!(%name, workers = n_workers, "workers {what}");
            event_log.add(EventKind::Job, None, format!("all workers named {name} were {what}"));
        }
        LedgerEvent::Joined { worker, source } => {
            info!(%worker, name = %source.name, kernel = %source.kernel, "worker connected");
            event_log.add(EventKind::Worker, None, format!("{} joined", source.name));
        }
        LedgerEvent::Left { worker, source } => {
            info!(%worker, "worker left");
            event_log.add(EventKind::Worker, None, format!("{} left", source.name));
        }
        LedgerEvent::ConnectionLost { worker, source } => {
            warn!(%worker, "connection to worker lost");
            event_log.add(EventKind::Worker, None, format!("{} lost its connection", source.name));
        }
        // The loss that follows reports it.
        LedgerEvent::Silent { .. } => {}
        LedgerEvent::Lost { source, is_there, n_leases } => lost(source, *is_there, n_leases, event_log),
        LedgerEvent::Failed { worker, source, job, failure } => {
            let Failure { span, reason, .. } = failure;
            warn!(%worker, %job, %span, reason, "worker failed to count");
            let text = format!("{} failed on {span}: {reason}", source.name);
            event_log.add(EventKind::Lease, Some(*job), text);
        }
        LedgerEvent::Noticed { worker, source, text } => {
            warn!(%worker, text, "a worker has a notice");
            event_log.add(EventKind::Worker, None, format!("{}: {text}", source.name));
        }
        LedgerEvent::Disputed { job, second, recorded } => {
            let SecondCount { span, count, source, .. } = second;
            let (worker, before, by) = (&source.name, recorded.count(), recorded.name());
            error!(%job, %span, %worker, ?count, recorded = ?before, %by, "a count contradicts the record");
            let text = format!(
                "{worker} counted {} solutions of {span} with a work of {}, and {} with {} are recorded of {by}: one \
                 of the two is wrong, and others are going to count it",
                count.solutions, count.work, before.solutions, before.work
            );
            event_log.add(EventKind::Failure, Some(*job), text);
        }
        // One line per name is enough: all its records may follow.
        LedgerEvent::Decided { job, verdict, is_blocked: false } => {
            debug!(%job, span = %verdict.span, loser = %verdict.lost_source.name, "a count has lost a dispute");
        }
        LedgerEvent::Decided { job, verdict, is_blocked: true } => {
            let Verdict { span, count, source, lost, lost_source, .. } = verdict;
            let (loser, by) = (&lost_source.name, &source.name);
            error!(%job, %span, %loser, ?lost, ?count, %by, "a count has lost a dispute, and its name is blocked");
            let text = format!(
                "{loser} counted {} solutions of {span} with a work of {}, and {by} and another {} with {}: that is \
                 what counts. It is blocked, and what it recorded is counted again",
                lost.solutions, lost.work, count.solutions, count.work
            );
            event_log.add(EventKind::Failure, Some(*job), text);
        }
        LedgerEvent::StoodStill(late) => {
            info!(seconds = late.as_secs_f64(), "this process was suspended; no worker is given up for that");
        }
    }
}

/// Words a change of a job, but not its end, which is logged when the last state of the job is known.
fn change_text(change: &JobChange) -> Option<String> {
    Some(match change {
        JobChange::Pause => "paused".to_owned(),
        JobChange::Resume => "resumed".to_owned(),
        JobChange::Priority(priority) => format!("has priority {priority} now"),
        JobChange::Verify(Verification { recount, recount_by, second_pass }) => {
            let again = recount.map(|share| format!("{share} of its work"));
            let twice = second_pass.map(|method| format!("all of it by {method}"));
            let what: Vec<String> = again.into_iter().chain(twice).collect();
            let by = recount_by.map(|arbiter| format!(" by {arbiter} alone")).unwrap_or_default();
            let what = if what.is_empty() { String::new() } else { format!(": {}", what.join(" and ")) };
            format!("to be counted again{by}{what}")
        }
        JobChange::EndVerification => "verification ended".to_owned(),
        JobChange::Cancel => return None,
    })
}

/// Reports how many events were left out.
fn say_left_out(left_out: &LeftOut, event_log: &mut EventLog) {
    let LeftOut { n_events, most_of } = left_out;
    warn!(n_events, %most_of, "workers caused too many events: the others were left out");
    let text = format!(
        "workers caused {n_events} more events, which were left out; most were of {most_of} or its party"
    );
    event_log.add(EventKind::Worker, None, text);
}

/// Reports a damaged job. At a start, the program that starts the coordinator logs it.
pub(crate) fn damaged(job: JobId, reason: &str, event_log: &mut EventLog) {
    event_log.add(EventKind::Failure, Some(job), format!("is damaged and set aside: {reason}"));
}

/// Reports a finished or cancelled job.
pub(crate) fn over(job: &JobStatus, event_log: &mut EventLog) {
    let (id, n, state, solutions) = (job.id, job.n, job.state.name(), job.progress.solutions);
    info!(job = %id, %n, state, %solutions, "job over");
    let counted = if job.state == JobState::Done { "" } else { " so far" };
    let part = job.part().map(|part| format!(", {part},")).unwrap_or_default();
    about(id, format!("n = {n}{part} is {state}: {solutions} solutions{counted}"), event_log);
}

/// Reports a job whose number of solutions contradicts that of symmetric ones.
pub(crate) fn contradicted(job: JobId, event_log: &mut EventLog) {
    error!(%job, "the number of solutions contradicts that of symmetric ones");
    let text = "its number of solutions contradicts that of symmetric ones: one of the two is wrong";
    event_log.add(EventKind::Failure, Some(job), text.to_owned());
}

/// Reports a slow step of the event loop, during which all others waited.
pub(crate) fn was_slow(took: Duration, left_out: u64, event_log: &mut EventLog) {
    let seconds = took.as_secs_f64();
    info!(seconds, left_out, "a step of the event loop was slow");
    let text = format!("busy for {seconds:.2} s with one step: all other requests waited");
    event_log.add(EventKind::Store, None, text);
}

/// Reports that a worker has lost its leases by a timeout.
fn lost(source: &Source, is_there: bool, n_leases: &BTreeMap<JobId, usize>, event_log: &mut EventLog) {
    let name = &source.name;
    let why = if is_there { "exceeded the deadline of its leases" } else { "no longer responds" };
    let leases = n_leases.values().sum::<usize>();
    if is_there {
        warn!(%name, leases, "worker exceeded the deadline of its leases: they are free");
    } else {
        warn!(%name, leases, "nothing was heard of the worker, its leases are free");
        event_log.add(EventKind::Worker, None, format!("{name} was given up: it {why}"));
    }
    for (&job, n_leases) in n_leases {
        let leases = if *n_leases == 1 { "lease is" } else { "leases are" };
        let text = format!("{name} {why}: {n_leases} {leases} free for others");
        event_log.add(EventKind::Lease, Some(job), text);
    }
}

fn about(job: JobId, text: String, event_log: &mut EventLog) {
    event_log.add(EventKind::Job, Some(job), text);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use queens_model::{Name, Party, WorkerId};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_notices_is_cut_and_displaces_nothing() {
        let mut event_log = EventLog::default();
        damaged(JobId(1), "its parts overlap", &mut event_log);
        let name = Name::of_any("mallory");
        let (party, build, kernel) = (Party::of_name(&name), name.clone(), name.clone());
        let source = Arc::new(Source { name, build, kernel, party });
        let notice = LedgerEvent::Noticed { worker: WorkerId(1), source, text: "x".repeat(480) };
        for _ in 0..450 {
            log_events(&vec![notice.clone(); 100], &mut event_log);
        }
        let n_events = event_log.events().len();
        assert_eq!(n_events, 101);
        tokio::time::advance(Duration::from_mins(10)).await;
        log_events(&[], &mut event_log);
        let events = event_log.events();
        assert_eq!(events[0].text, "is damaged and set aside: its parts overlap");
        assert_eq!(
            events[n_events].text,
            "workers caused 44900 more events, which were left out; most were of mallory or its party"
        );
    }
}
