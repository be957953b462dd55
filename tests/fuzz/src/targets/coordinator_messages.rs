//! Fuzzes the messages of a coordinator to workers, and a worker's reactions.

use std::time::Duration;

use prost::Message;
use queens_model::{HalvesSkill, Hello, Name, Speed, ToCoordinator, ToWorker, WorkerId, plain};
use queens_proto::checksum;
use queens_proto::pb::{self, coordinator_message};
use queens_solver::Count;
use queens_worker_session::{AfterStep, LeaseQueue, WorkerSession};

use crate::outcome::Outcome;

/// The number of leases that a worker begins after each message, and of chunks of each.
const LEASES_BEGUN: usize = 2;
const CHUNKS_COUNTED: u64 = 8;

/// Splits the input into messages, each behind its length as one byte or, from 128 on, two. A worker hears each as it
/// is, and with a correct checksum.
pub(crate) fn run(mut input: &[u8]) -> Outcome {
    let mut worker = FedWorker::new();
    let mut outcome = Outcome::Refused;
    while !input.is_empty() {
        let Ok(message) = pb::CoordinatorMessage::decode_length_delimited(&mut input) else { break };
        let mut sealed = message.clone();
        if let Some(coordinator_message::Message::Lease(lease)) = &mut sealed.message {
            lease.checksum = checksum::of_lease(lease);
        }
        for message in [message, sealed] {
            if let Some(heard) = hear(message) {
                outcome = Outcome::Accepted;
                worker.hear(heard);
            }
        }
    }
    worker.leave();
    outcome
}

/// Decodes a message, which must stay the same when it is encoded and decoded again.
fn hear(message: pb::CoordinatorMessage) -> Option<ToWorker> {
    let heard = ToWorker::try_from(message).ok()?;
    if let ToWorker::Notice(text) = &heard {
        assert_eq!(plain::line(text), *text);
    }
    let bytes = pb::CoordinatorMessage::from(heard.clone()).encode_to_vec();
    let again = pb::CoordinatorMessage::decode(&bytes[..]).expect("it was encoded");
    assert_eq!(ToWorker::try_from(again), Ok(heard.clone()));
    Some(heard)
}

/// A worker that counts at once; its clock advances by a second per message.
struct FedWorker {
    session: WorkerSession,
    desk: LeaseQueue,
    now: Duration,
}

impl FedWorker {
    fn new() -> Self {
        let name = || Name::of_any("one");
        let mut session = WorkerSession::new(Hello {
            worker: WorkerId(1),
            name: name(),
            build: name(),
            kernel: name(),
            n_threads: 1,
            speed: 1.into(),
            halves: HalvesSkill { decomposition: 0, speed: Speed::ZERO },
            decomposition: 0,
            machine: 1,
            held: Vec::new(),
        });
        let desk = LeaseQueue::default();
        session.connect(Duration::ZERO, &desk);
        Self { session, desk, now: Duration::ZERO }
    }

    fn hear(&mut self, message: ToWorker) {
        self.session.hear(self.now, message, &mut self.desk);
        for _ in 0..LEASES_BEGUN {
            let Some(lease) = self.desk.next_lease() else { break };
            for number in 0..CHUNKS_COUNTED {
                let Some(chunk) = self.desk.begin(lease.id) else { break };
                assert!(chunk.span.n_subproblems() > 0);
                let count = Count { solutions: 1 << 40, work: number };
                self.desk.finish(lease.id, count, Duration::from_millis(10));
            }
            self.desk.end(lease.id);
        }
        self.now += Duration::from_secs(1);
        self.step();
        // The message that opens another session must be valid as well.
        let said = self.session.connect(self.now, &self.desk);
        self.say(said);
    }

    /// Leaves, without an answer if need be.
    fn leave(mut self) {
        self.session.leave(self.now, &mut self.desk);
        for _ in 0..30 {
            self.now += Duration::from_secs(1);
            if matches!(self.step(), AfterStep::Left) {
                return;
            }
        }
        panic!("it does not leave");
    }

    fn step(&mut self) -> AfterStep {
        let step = self.session.step(self.now, &mut self.desk);
        self.say(step.messages);
        step.next
    }

    /// Checks that the worker sends valid messages, whatever a coordinator sends.
    fn say(&self, messages: Vec<ToCoordinator>) {
        for message in messages {
            let heard = ToCoordinator::try_from(pb::WorkerMessage::from(message.clone()));
            assert_eq!(heard, Ok(message));
        }
    }
}
