//! Tests of the messages of a worker's session, and of their times.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use queens_model::{HalvesSkill, JobIdentity, Lease, LeasedSpan, Name, Report, Speed, WorkerId};
use queens_solver::{BoardSize, Count, Method, Span, Symmetry};

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const LEASE: LeaseId = LeaseId(7);

fn session() -> WorkerSession {
    WorkerSession::new(Hello {
        worker: WorkerId(1),
        name: Name::of_any("one"),
        build: Name::of_any("test"),
        kernel: Name::of_any("test"),
        n_threads: 1,
        speed: 1.into(),
        halves: HalvesSkill { decomposition: 0, speed: Speed::ZERO },
        decomposition: Method::Search.decomposition(),
        machine: 1,
        held: Vec::new(),
    })
}

fn span(from: u64, to: u64) -> Span {
    Span::new(0, from, to).expect("not empty")
}

fn lease(spans: &[Span]) -> ToWorker {
    let spans = spans.iter().map(|&span| LeasedSpan { span, image: Symmetry::IDENTITY }).collect();
    let n = BoardSize::new(8).expect("a board size");
    ToWorker::Lease(Lease { id: LEASE, job: JobIdentity(1), n, method: Method::Search, spans })
}

/// Counts the next chunk of the current lease.
fn count(queue: &mut LeaseQueue) {
    assert!(queue.begin(LEASE).is_some());
    queue.finish(LEASE, Count { solutions: 1, work: 1 }, SECOND);
}

fn connected() -> (WorkerSession, LeaseQueue) {
    let (mut session, queue) = (session(), LeaseQueue::default());
    session.connect(Duration::ZERO, &queue);
    (session, queue)
}

/// Returns a connected session with a lease in hand, and what stops it.
fn counting(span: Span) -> (WorkerSession, LeaseQueue, Arc<AtomicBool>) {
    let (mut session, mut queue) = connected();
    session.hear(Duration::ZERO, lease(&[span]), &mut queue);
    let stop = queue.next_lease().expect("was heard").stop;
    (session, queue, stop)
}

#[track_caller]
fn report(message: &ToCoordinator) -> &Report {
    let ToCoordinator::Report(report) = message else { panic!("{message:?}") };
    report
}

/// Returns the spans in a Hello, each once.
#[track_caller]
fn named(messages: &[ToCoordinator]) -> Vec<Span> {
    let ToCoordinator::Hello(hello) = &messages[0] else { panic!("{messages:?}") };
    hello.held.iter().flat_map(|held| held.spans.clone()).collect()
}

#[test]
fn what_is_not_acknowledged_is_said_again_in_the_next_session() {
    let (mut session, mut queue) = (session(), LeaseQueue::default());
    assert_eq!(named(&session.connect(SECOND, &queue)), []);
    assert_eq!(session.step(SECOND, &mut queue).messages, []);
    session.hear(SECOND, lease(&[span(0, 9)]), &mut queue);
    queue.next_lease().expect("was heard");
    count(&mut queue);
    assert_eq!(session.step(SECOND * 3 / 2, &mut queue).messages, [], "before its time");
    let first = session.step(SECOND * 2, &mut queue).messages;
    assert_eq!((report(&first[0]).sequence, report(&first[0]).deltas[0].span), (1, span(0, 1)));
    count(&mut queue);
    let again = session.connect(Duration::ZERO, &queue);
    assert_eq!(named(&again), [span(0, 1), span(1, 2), span(2, 9)]);
    assert_eq!(again[1..], first);
    let second = session.step(SECOND, &mut queue).messages;
    assert_eq!((report(&second[0]).sequence, report(&second[0]).deltas[0].span), (2, span(1, 2)));
    session.hear(SECOND, ToWorker::Acknowledge { sequence: 1 }, &mut queue);
    let again = session.connect(Duration::ZERO, &queue);
    assert_eq!((named(&again), &again[1..]), (vec![span(1, 2), span(2, 9)], &second[..]));
}

#[test]
fn an_idle_worker_says_now_and_then_that_it_lives_and_a_busy_one_each_second() {
    let (mut session, mut queue) = connected();
    let said = |session: &mut WorkerSession, queue: &mut LeaseQueue| {
        let says = |second: &u32| !session.step(SECOND * *second, queue).messages.is_empty();
        (0..12).filter(says).collect::<Vec<u32>>()
    };
    assert_eq!(said(&mut session, &mut queue), [5, 10]);
    session.connect(Duration::ZERO, &queue);
    session.hear(Duration::ZERO, lease(&[span(0, 9)]), &mut queue);
    assert_eq!(said(&mut session, &mut queue), (1..12).collect::<Vec<u32>>());
}

#[test]
fn a_lease_that_has_ended_is_reported_at_once_and_what_failed_before_it() {
    let (mut session, mut queue) = connected();
    session.hear(Duration::ZERO, lease(&[span(0, 9)]), &mut queue);
    assert_eq!(session.step(Duration::ZERO, &mut queue).next, AfterStep::Wait { until: SECOND });
    queue.next_lease().expect("was heard");
    count(&mut queue);
    queue.fail(LEASE, "no".to_owned());
    (0..99).for_each(|_| queue.tell("hot".to_owned()));
    queue.end(LEASE);
    let mut messages = session.step(SECOND / 10, &mut queue).messages;
    let notices = messages.extract_if(.., |message| *message == ToCoordinator::Notice("hot".to_owned()));
    assert_eq!(notices.count(), 8);
    assert!(matches!(&messages[0], ToCoordinator::Failure(failure) if failure.span == span(1, 9)));
    let report = report(&messages[1]);
    assert_eq!((report.deltas.len(), &report.finished[..], messages.len()), (1, &[LEASE][..], 2));
}

#[test]
fn long_reports_are_cut_and_the_last_ends_the_lease() {
    let (mut session, mut queue) = connected();
    // The spans don't touch, so that each becomes a delta.
    let n_deltas = u64::try_from(MOST_DELTAS).expect("fits") + 1;
    let spans: Vec<Span> = (0..n_deltas).map(|i| span(2 * i, 2 * i + 1)).collect();
    session.hear(Duration::ZERO, lease(&spans), &mut queue);
    queue.next_lease().expect("was heard");
    spans.iter().for_each(|_| count(&mut queue));
    queue.end(LEASE);
    let messages = session.step(Duration::ZERO, &mut queue).messages;
    let sizes: Vec<(usize, usize)> =
        messages.iter().map(report).map(|report| (report.deltas.len(), report.finished.len())).collect();
    assert_eq!(sizes, [(MOST_DELTAS, 0), (1, 1)]);
}

#[test]
fn a_worker_that_nobody_answers_reports_no_more_and_connects_again() {
    let (mut session, mut queue, _) = counting(span(0, u64::MAX));
    let mut n_deltas = 0;
    for second in 1..=60 {
        count(&mut queue);
        let step = session.step(SECOND * second, &mut queue);
        assert_eq!(step.next, AfterStep::Wait { until: SECOND * (second + 1) });
        n_deltas += report(&step.messages[0]).deltas.len();
    }
    assert_eq!(n_deltas, 16, "reports that wait to be acknowledged");
    let step = session.step(SECOND * 61, &mut queue);
    assert_eq!((step.next, step.remark), (AfterStep::Reconnect, Some(Remark::Stuck)));
    // Any message counts as an answer.
    session.hear(SECOND * 61, ToWorker::Notice("well".to_owned()), &mut queue);
    assert_eq!(session.step(SECOND * 62, &mut queue).next, AfterStep::Wait { until: SECOND * 63 });
}

#[test]
fn a_worker_that_is_sent_home_counts_what_is_in_hand_and_leaves_when_that_is_acknowledged() {
    let (mut session, mut queue, _) = counting(span(0, 9));
    assert!(queue.begin(LEASE).is_some());
    assert_eq!(session.hear(Duration::ZERO, ToWorker::Drain, &mut queue), Some(Remark::Drained));
    session.hear(Duration::ZERO, lease(&[span(20, 29)]), &mut queue);
    assert_eq!(session.step(Duration::ZERO, &mut queue).next, AfterStep::Wait { until: SECOND });
    queue.finish(LEASE, Count::default(), SECOND);
    assert!(queue.begin(LEASE).is_none());
    queue.end(LEASE);
    assert!(!session.is_leaving());
    let step = session.step(SECOND / 2, &mut queue);
    assert_eq!(report(&step.messages[0]).finished, [LEASE]);
    assert_eq!((step.messages.len(), step.next), (1, AfterStep::Wait { until: SECOND }));
    session.hear(SECOND, ToWorker::Acknowledge { sequence: 1 }, &mut queue);
    let step = session.step(SECOND, &mut queue);
    assert_eq!(
        (step.messages, step.next),
        (vec![ToCoordinator::Goodbye], AfterStep::Wait { until: SECOND * 11 })
    );
    assert!(!session.is_answered());
    session.hear(SECOND * 2, ToWorker::Farewell, &mut queue);
    let step = session.step(SECOND * 2, &mut queue);
    assert_eq!((step.messages, step.next), (vec![], AfterStep::Left));
    assert!(session.is_answered());
}

#[test]
fn a_worker_whose_goodbye_nobody_answers_leaves_and_knows_it() {
    let (mut session, mut queue) = connected();
    // A worker that stays ignores it.
    session.hear(Duration::ZERO, ToWorker::Farewell, &mut queue);
    assert!(!session.is_leaving());
    session.leave(Duration::ZERO, &mut queue);
    let step = session.step(Duration::ZERO, &mut queue);
    assert_eq!(
        (step.messages, step.next),
        (vec![ToCoordinator::Goodbye], AfterStep::Wait { until: SECOND * 10 })
    );
    let step = session.step(SECOND * 9, &mut queue);
    assert_eq!((step.messages, step.next), (vec![], AfterStep::Wait { until: SECOND * 10 }));
    let step = session.step(SECOND * 10, &mut queue);
    assert_eq!((step.messages, step.next), (vec![], AfterStep::Left));
    assert!(!session.is_answered());
}

#[test]
fn whoever_is_sent_home_by_a_coordinator_that_records_nothing_stays_and_says_it_to_the_next() {
    let (mut session, mut queue, _) = counting(span(0, 9));
    count(&mut queue);
    session.hear(Duration::ZERO, ToWorker::Drain, &mut queue);
    assert!(queue.begin(LEASE).is_none());
    queue.end(LEASE);
    let said = session.step(SECOND, &mut queue).messages;
    assert_eq!(report(&said[0]).deltas.len(), 1);
    for second in 2..61 {
        let next = session.step(SECOND * second, &mut queue).next;
        assert!(matches!(next, AfterStep::Wait { .. }), "after {second} s: {next:?}");
        assert!(session.has_counted(&queue) && !session.is_leaving());
    }
    assert_eq!(session.step(SECOND * 61, &mut queue).next, AfterStep::Reconnect);
    assert_eq!(session.connect(SECOND * 62, &queue)[1..], said);
    session.hear(SECOND * 62, ToWorker::Acknowledge { sequence: 1 }, &mut queue);
    assert_eq!(session.step(SECOND * 62, &mut queue).messages, [ToCoordinator::Goodbye]);
}

#[test]
fn a_worker_whose_number_is_taken_says_all_again_under_another() {
    let (mut session, mut queue, _) = counting(span(0, 9));
    count(&mut queue);
    let first = session.step(SECOND, &mut queue).messages;
    count(&mut queue);
    session.renumber(WorkerId(2));
    let again = session.connect(SECOND * 2, &queue);
    let ToCoordinator::Hello(hello) = &again[0] else { panic!("{again:?}") };
    assert_eq!((hello.worker, hello.name.to_string()), (WorkerId(2), "one".to_owned()));
    assert_eq!((named(&again), &again[1..]), (vec![span(0, 1), span(1, 2), span(2, 9)], &first[..]));
}

#[test]
fn a_worker_that_is_told_to_leave_waits_for_its_coordinator_but_not_for_ever() {
    let (mut session, mut queue, stop) = counting(span(0, 9));
    count(&mut queue);
    session.leave(Duration::ZERO, &mut queue);
    assert!(stop.load(Ordering::Relaxed) && queue.begin(LEASE).is_none());
    assert_eq!(report(&session.step(Duration::ZERO, &mut queue).messages[0]).deltas.len(), 1);
    queue.end(LEASE);
    assert_eq!(report(&session.step(SECOND / 2, &mut queue).messages[0]).finished, [LEASE]);
    let step = session.step(SECOND, &mut queue);
    assert_eq!(
        (step.remark, step.next),
        (Some(Remark::WaitsToLeave), AfterStep::Wait { until: SECOND * 11 })
    );
    assert_eq!(session.step(SECOND * 5, &mut queue).next, AfterStep::Wait { until: SECOND * 11 });
    let step = session.step(SECOND * 11, &mut queue);
    assert_eq!(step.remark, Some(Remark::LeavesUnacknowledged { n_reports: 2 }));
    assert_eq!((step.messages, step.next), (vec![], AfterStep::Left));
}

#[test]
fn a_worker_reports_as_often_as_it_is_told_until_the_session_ends() {
    let (mut session, mut queue, _) = counting(span(0, u64::MAX));
    let mut said = |session: &mut WorkerSession, seconds: std::ops::Range<u32>| {
        let says = |second: &u32| {
            count(&mut queue);
            let step = session.step(SECOND * *second, &mut queue);
            let messages = step.messages;
            messages.iter().for_each(|message| {
                let sequence = report(message).sequence;
                session.hear(SECOND * *second, ToWorker::Acknowledge { sequence }, &mut queue);
            });
            !messages.is_empty()
        };
        seconds.filter(says).collect::<Vec<u32>>()
    };
    let every = |seconds: u32| ToWorker::ReportEvery((SECOND * seconds).try_into().expect("an interval"));
    assert_eq!(said(&mut session, 0..4), [0, 1, 2, 3]);
    session.hear(SECOND * 3, every(30), &mut LeaseQueue::default());
    let slow = said(&mut session, 4..100);
    assert!(slow[0] <= 33 && slow.windows(2).all(|pair| pair[1] - pair[0] == 30), "{slow:?}");
    session.hear(SECOND * 99, every(2), &mut LeaseQueue::default());
    let quick = said(&mut session, 100..110);
    assert!(quick[0] <= 102 && quick.windows(2).all(|pair| pair[1] - pair[0] == 2), "{quick:?}");
    session.hear(SECOND * 109, every(3600), &mut LeaseQueue::default());
    session.connect(Duration::ZERO, &LeaseQueue::default());
    assert_eq!(said(&mut session, 0..4), [0, 1, 2, 3], "another coordinator may know nothing of it");
}

#[test]
fn what_has_ended_waits_for_no_interval_and_what_goes_on_does() {
    let (mut session, mut queue) = connected();
    session.step(Duration::ZERO, &mut queue);
    session.hear(Duration::ZERO, ToWorker::ReportEvery((SECOND * 60).try_into().expect("one")), &mut queue);
    session.hear(Duration::ZERO, lease(&[span(0, 9)]), &mut queue);
    let ToWorker::Lease(other) = lease(&[span(20, 29)]) else { panic!("it is one") };
    session.hear(Duration::ZERO, ToWorker::Lease(Lease { id: LeaseId(8), ..other }), &mut queue);
    queue.next_lease().expect("was heard");
    queue.next_lease().expect("was heard");
    count(&mut queue);
    assert!(queue.begin(LeaseId(8)).is_some());
    queue.finish(LeaseId(8), Count::default(), SECOND);
    assert_eq!(session.step(SECOND, &mut queue).messages, []);
    queue.end(LEASE);
    let messages = session.step(SECOND, &mut queue).messages;
    let said = report(&messages[0]);
    assert_eq!((said.deltas.len(), said.deltas[0].lease, &said.finished[..]), (1, LEASE, &[LEASE][..]));
    assert_eq!(messages.len(), 1);
    // The counts of the other lease are still to be reported.
    session.leave(SECOND, &mut queue);
    assert_eq!(report(&session.step(SECOND, &mut queue).messages[0]).deltas[0].lease, LeaseId(8));
}

#[test]
fn however_seldom_it_reports_a_worker_is_heard_of_in_each_interval() {
    for busy in [false, true] {
        let (mut session, mut queue) = (session(), LeaseQueue::default());
        session.connect(Duration::ZERO, &queue);
        session.hear(
            Duration::ZERO,
            ToWorker::ReportEvery((SECOND * 30).try_into().expect("one")),
            &mut queue,
        );
        if busy {
            session.hear(Duration::ZERO, lease(&[span(0, 9)]), &mut queue);
        }
        let says = |second: &u32| !session.step(SECOND * *second, &mut queue).messages.is_empty();
        let said: Vec<u32> = (0..200).filter(says).collect();
        assert!(said.windows(2).all(|pair| pair[1] - pair[0] <= 30), "{said:?}");
        assert!((6..=8).contains(&said.len()), "{said:?}");
    }
}

#[test]
fn a_worker_that_reports_seldom_gives_up_a_stuck_connection_as_soon_as_any() {
    let (mut session, mut queue, _) = counting(span(0, u64::MAX));
    count(&mut queue);
    assert_eq!(session.step(Duration::ZERO, &mut queue).messages.len(), 1);
    session.hear(Duration::ZERO, ToWorker::ReportEvery((SECOND * 3600).try_into().expect("one")), &mut queue);
    let waits = session.step(SECOND, &mut queue).next;
    assert_eq!(waits, AfterStep::Wait { until: SECOND * 60 });
    assert_eq!(session.step(SECOND * 60, &mut queue).next, AfterStep::Reconnect);
}

#[test]
fn a_paused_worker_gives_all_back_and_says_goodbye_and_counts_in_a_session_after_that() {
    let (mut session, mut queue, stop) = counting(span(0, 9));
    count(&mut queue);
    session.pause(&mut queue);
    assert!(stop.load(Ordering::Relaxed), "the current chunk is dropped");
    assert!(queue.begin(LEASE).is_none() && session.is_paused() && !session.is_leaving());
    queue.end(LEASE);
    let said = session.step(SECOND / 10, &mut queue).messages;
    assert_eq!((report(&said[0]).deltas.len(), &report(&said[0]).finished[..]), (1, &[LEASE][..]));
    // A lease that was granted meanwhile is not counted.
    session.hear(SECOND, lease(&[span(9, 12)]), &mut queue);
    assert!(queue.next_lease().is_none());
    // It stays until its counts are recorded, however long that takes.
    let alive = session.step(SECOND * 30, &mut queue);
    assert!(report(&alive.messages[0]).is_empty() && alive.messages.len() == 1, "{alive:?}");
    session.hear(SECOND * 31, ToWorker::Acknowledge { sequence: 1 }, &mut queue);
    assert_eq!(session.step(SECOND * 31, &mut queue).messages, [ToCoordinator::Goodbye]);
    session.hear(SECOND * 31, ToWorker::Farewell, &mut queue);
    assert_eq!(session.step(SECOND * 31, &mut queue).next, AfterStep::Left);
    assert!(session.is_paused(), "it left for a while only");
    session.resume();
    assert_eq!(named(&session.connect(Duration::ZERO, &queue)), []);
    session.hear(SECOND, lease(&[span(9, 12)]), &mut queue);
    queue.next_lease().expect("was heard");
    count(&mut queue);
    assert_eq!(report(&session.step(SECOND * 2, &mut queue).messages[0]).deltas[0].span, span(9, 10));
}

#[test]
fn what_a_paused_worker_counted_before_it_lost_its_coordinator_is_offered_later() {
    let (mut session, mut queue, _) = counting(span(0, 9));
    count(&mut queue);
    let first = session.step(SECOND * 2, &mut queue).messages;
    count(&mut queue);
    // The link breaks, and then the worker is paused.
    session.pause(&mut queue);
    queue.end(LEASE);
    assert!(session.has_counted(&queue));
    let again = session.connect(Duration::ZERO, &queue);
    assert_eq!((named(&again), &again[1..]), (vec![span(0, 1), span(1, 2)], &first[..]));
    let second = session.step(Duration::ZERO, &mut queue).messages;
    assert_eq!(
        (report(&second[0]).deltas[0].span, &report(&second[0]).finished[..]),
        (span(1, 2), &[LEASE][..])
    );
    session.hear(SECOND, ToWorker::Acknowledge { sequence: 2 }, &mut queue);
    assert_eq!(session.step(SECOND, &mut queue).messages, [ToCoordinator::Goodbye]);
    assert!(!session.has_counted(&queue));
}

#[test]
fn a_worker_that_is_drained_while_it_is_paused_leaves_for_good() {
    let (mut session, mut queue) = connected();
    session.pause(&mut queue);
    session.hear(Duration::ZERO, ToWorker::Drain, &mut queue);
    assert!(!session.is_paused() && session.begins_nothing());
    session.resume();
    assert_eq!(session.step(Duration::ZERO, &mut queue).messages, [ToCoordinator::Goodbye]);
    assert!(!session.is_paused() && session.is_leaving());
}
