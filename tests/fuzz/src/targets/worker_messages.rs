//! Fuzzes the messages of workers to a coordinator.

use prost::Message;
use queens_model::{Name, ToCoordinator, plain};
use queens_proto::checksum;
use queens_proto::pb::{self, worker_message};

use crate::outcome::Outcome;

/// Parses the input as a message, and again with correct checksums.
pub(crate) fn run(input: &[u8]) -> Outcome {
    let Ok(message) = pb::WorkerMessage::decode(input) else { return Outcome::Refused };
    let mut sealed = message.clone();
    if let Some(worker_message::Message::Report(report)) = &mut sealed.message {
        report.deltas.iter_mut().for_each(|delta| delta.checksum = checksum::of_delta(delta));
    }
    hear(message).or(hear(sealed))
}

/// Decodes a message, which must stay the same when it is encoded and decoded again.
fn hear(message: pb::WorkerMessage) -> Outcome {
    let Ok(heard) = ToCoordinator::try_from(message) else { return Outcome::Refused };
    check(&heard);
    let bytes = pb::WorkerMessage::from(heard.clone()).encode_to_vec();
    let again = pb::WorkerMessage::decode(&bytes[..]).expect("it was encoded");
    assert_eq!(ToCoordinator::try_from(again), Ok(heard));
    Outcome::Accepted
}

/// Checks properties that nobody behind the conversion checks again.
fn check(heard: &ToCoordinator) {
    match heard {
        ToCoordinator::Hello(hello) => {
            let is_name = |name: &Name| name.as_str().parse() == Ok(name.clone());
            assert!([&hello.name, &hello.build, &hello.kernel].into_iter().all(is_name), "{hello:?}");
        }
        ToCoordinator::Notice(text) => assert_eq!(plain::line(text), *text),
        ToCoordinator::Failure(failure) => assert_eq!(plain::line(&failure.reason), failure.reason),
        ToCoordinator::Report(report) => {
            let fits = |count: u64| i64::try_from(count).is_ok();
            let count_fits =
                |delta: &queens_model::Delta| fits(delta.count.solutions) && fits(delta.count.work);
            assert!(report.deltas.iter().all(count_fits), "{report:?}");
        }
        ToCoordinator::Sensors(_) | ToCoordinator::Goodbye => {}
    }
}
