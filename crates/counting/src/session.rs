//! One session with a coordinator: exchanges the messages of a [`WorkerSession`] at its times.

use std::collections::VecDeque;

use queens_model::{CardSensors, ToCoordinator, ToWorker};
use queens_worker_session::{AfterStep, Remark, WorkerSession};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tracing::{debug, info, warn};

use crate::leave_requests::LeaveRequests;
use crate::sensor_monitor::LastSensors;
use crate::shared_queue::SharedQueue;

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The worker has left, as requested.
    Left(Departure),
    /// The worker has left for a while, as requested; it can start another session. All its counts are recorded.
    Paused,
    /// The link broke; the worker can start another session.
    LinkLost,
}

/// The outcome of a worker's departure, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Departure {
    /// The coordinator has answered the goodbye: all counts are recorded.
    Recorded,
    /// All counts are recorded, but the goodbye got no answer.
    Unanswered,
    /// Some counts may not be recorded.
    Unreported,
}

/// The most messages that wait for the coordinator.
pub(crate) const TO_COORDINATOR: usize = 16;

/// The most messages that wait for the worker: two leases for each thread of a very large machine.
pub(crate) const TO_WORKER: usize = 8192;

/// A worker's ends of the channels between it and its coordinator. The link breaks when the other ends are dropped.
type Link = (mpsc::Sender<ToCoordinator>, mpsc::Receiver<ToWorker>);

/// Runs a session until the link breaks or the worker has left.
pub(crate) async fn run(
    session: &mut WorkerSession,
    queue: &SharedQueue,
    sensors: &LastSensors,
    mut link: Link,
    requests: &LeaveRequests,
) -> End {
    let is_linked = converse(session, queue, sensors, &mut link, requests).await.is_some();
    if session.is_paused() && session.is_leaving() {
        End::Paused
    } else if session.is_answered() {
        End::Left(Departure::Recorded)
    } else if !is_linked && !session.is_leaving() {
        End::LinkLost
    } else if queue.at(|queue| session.has_something(queue)) {
        End::Left(Departure::Unreported)
    } else {
        End::Left(Departure::Unanswered)
    }
}

/// Exchanges messages until the worker has left; `None` if the link breaks first, or is stuck.
async fn converse(
    session: &mut WorkerSession,
    queue: &SharedQueue,
    sensors: &LastSensors,
    (sender, receiver): &mut Link,
    LeaveRequests { drain, pause }: &LeaveRequests,
) -> Option<()> {
    let began = Instant::now();
    let mut unsent = VecDeque::from(queue.at(|queue| session.connect(began.elapsed(), queue)));
    let mut sent_sensors = CardSensors::default();
    loop {
        let step = queue.at(|queue| session.step(began.elapsed(), queue));
        step.remark.into_iter().for_each(tell);
        for message in step.messages {
            // Heartbeats do not queue up, so that the queue has a bound.
            if unsent.is_empty() || !is_heartbeat(&message) {
                unsent.push_back(message);
            }
        }
        // Sensors do not queue up either. They need no time of their own: a session wakes for each report or heartbeat.
        let measured = sensors.get();
        if measured != sent_sensors && unsent.is_empty() && !session.is_leaving() {
            unsent.push_back(ToCoordinator::Sensors(measured));
            sent_sensors = measured;
        }
        let until = match step.next {
            AfterStep::Wait { until } => began + until,
            AfterStep::Left => {
                unsent.into_iter().try_for_each(|message| sender.try_send(message)).unwrap_or(());
                return Some(());
            }
            AfterStep::Reconnect => return None,
        };
        // A coordinator whose store is full reads nothing for a long time. So the worker does not wait for capacity
        // alone.
        tokio::select! {
            capacity = sender.reserve(), if !unsent.is_empty() => {
                let capacity = capacity.ok()?;
                if let Some(message) = unsent.pop_front() {
                    capacity.send(message);
                }
            }
            () = drain.cancelled(), if !session.is_leaving() => {
                queue.at(|queue| session.leave(began.elapsed(), queue));
            }
            () = pause.set(), if !session.begins_nothing() => {
                queue.at(|queue| session.pause(queue));
            }
            message = receiver.recv() => hear(session, queue, began, message?),
            () = queue.lease_ended() => {}
            () = sleep_until(until) => {}
        }
    }
}

fn is_heartbeat(message: &ToCoordinator) -> bool {
    matches!(message, ToCoordinator::Report(report) if report.is_empty())
}

fn hear(session: &mut WorkerSession, queue: &SharedQueue, began: Instant, message: ToWorker) {
    debug!(?message, "heard");
    let is_lease = matches!(message, ToWorker::Lease(_));
    let remark = queue.at(|queue| session.hear(began.elapsed(), message, queue));
    if is_lease {
        queue.wake_thread();
    }
    remark.into_iter().for_each(tell);
}

fn tell(remark: Remark) {
    match remark {
        Remark::Notice(text) => warn!("the coordinator says: {text}"),
        Remark::Drained => {
            info!("drained by the coordinator: leaving after the current chunks");
        }
        Remark::Stuck => warn!("no answer to the last reports, trying another connection"),
        Remark::WaitsToLeave => {
            warn!("waiting for the last reports to be acknowledged; another signal ends this at once");
        }
        Remark::LeavesUnacknowledged { n_reports } => {
            warn!(n_reports, "leaving although the last reports are not acknowledged");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use queens_model::{CardSensors, HalvesSkill, Hello, Name, WorkerId};
    use queens_worker_session::ChunkAim;
    use tokio::time::{sleep, timeout, timeout_at};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::sensor_monitor::tests::at;

    fn session() -> WorkerSession {
        let name = || Name::of_any("test");
        let (worker, n_threads, machine) = (WorkerId(1), 1, 1);
        let speed = 1.into();
        let halves = HalvesSkill { decomposition: 0, speed };
        let (build, kernel) = (name(), name());
        WorkerSession::new(Hello {
            worker,
            name: name(),
            build,
            kernel,
            n_threads,
            speed,
            decomposition: 0,
            halves,
            machine,
            held: Vec::new(),
        })
    }

    fn link() -> (Link, mpsc::Receiver<ToCoordinator>, mpsc::Sender<ToWorker>) {
        let (sender, from_worker) = mpsc::channel(TO_COORDINATOR);
        let (to_worker, receiver) = mpsc::channel(TO_WORKER);
        ((sender, receiver), from_worker, to_worker)
    }

    /// A coordinator whose store is full reads nothing, so that the link is full after some heartbeats.
    #[tokio::test(start_paused = true)]
    async fn a_worker_leaves_although_nobody_reads_what_it_sends() {
        let (worker, _from_worker, _to_worker) = link();
        let (queue, drain) = (SharedQueue::new(ChunkAim::PROCESSOR), CancellationToken::new());
        let (mut session, sensors) = (session(), LastSensors::default());
        let requests = LeaveRequests::without_pauses(drain.clone());
        let drained = async {
            sleep(Duration::from_secs(600)).await;
            drain.cancel();
        };
        let both = async { tokio::join!(run(&mut session, &queue, &sensors, worker, &requests), drained).0 };
        let end = timeout(Duration::from_secs(660), both).await.expect("it does not wait for ever");
        assert_eq!(end, End::Left(Departure::Unanswered));
    }

    /// Returns the sensors among the messages of these seconds of a session.
    async fn heard(from_worker: &mut mpsc::Receiver<ToCoordinator>, seconds: u64) -> Vec<CardSensors> {
        let mut heard = Vec::new();
        let until = Instant::now() + Duration::from_secs(seconds);
        while let Ok(message) = timeout_at(until, from_worker.recv()).await {
            match message.expect("the session goes on") {
                ToCoordinator::Sensors(sensors) => heard.push(sensors),
                ToCoordinator::Hello(_) | ToCoordinator::Report(_) => {}
                other => panic!("{other:?}"),
            }
        }
        heard
    }

    #[tokio::test(start_paused = true)]
    async fn sensors_are_sent_once_after_each_change_and_do_not_queue_up() {
        let (worker, mut from_worker, _to_worker) = link();
        let (queue, sensors) = (SharedQueue::new(ChunkAim::CARD), LastSensors::default());
        let requests = LeaveRequests::without_pauses(CancellationToken::new());
        let last = sensors.clone();
        let session = async { run(&mut session(), &queue, &sensors, worker, &requests).await };
        let coordinator = async {
            assert_eq!(heard(&mut from_worker, 20).await, [], "a processor has none");
            for celsius in [46, 47] {
                last.measure(at(celsius));
                assert_eq!(heard(&mut from_worker, 20).await, [at(celsius)]);
            }
            last.measure(CardSensors::default());
            assert_eq!(heard(&mut from_worker, 20).await, [CardSensors::default()]);
            // Nobody reads for a while.
            for celsius in 0..100 {
                last.measure(at(celsius));
                sleep(Duration::from_secs(1)).await;
            }
            let late = heard(&mut from_worker, 20).await;
            assert!(late.len() < 25 && late.last() == Some(&at(99)), "{late:?}");
        };
        tokio::select! {
            end = session => panic!("{end:?}"),
            () = coordinator => {}
        }
    }
}
