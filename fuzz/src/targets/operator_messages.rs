//! What operators ask of a coordinator, and what they are told.

use std::fmt::Debug;

use prost::Message;
use queens_messages::{
    Contribution, CoordinatorStatus, Event, JobStatus, Submission, VerdictStatus, WorkerStatus,
};
use queens_proto::convert::{InvalidMessage, verify_more};
use queens_proto::pb;

use crate::outcome::Outcome;

/// Takes the first byte for the kind of a message, and the rest for the message.
pub(crate) fn run(input: &[u8]) -> Outcome {
    let Some((kind, message)) = input.split_first() else { return Outcome::Refused };
    let is_accepted = match kind % 8 {
        0 => settles::<pb::SubmitRequest, Submission>(message, pb::SubmitRequest::from),
        1 => settles::<pb::Job, JobStatus>(message, pb::Job::from),
        2 => settles::<pb::Event, Event>(message, |event| pb::Event::from(&event)),
        3 => settles::<pb::Verdict, VerdictStatus>(message, |verdict| pb::Verdict::from(&verdict)),
        4 => settles::<pb::Contribution, Contribution>(message, |of| pb::Contribution::from(&of)),
        5 => worker(message),
        6 => coordinator(message),
        _ => pb::VerifyMoreRequest::decode(message).is_ok_and(|asked| verify_more(&asked).is_ok()),
    };
    Outcome::of(is_accepted)
}

/// What is accepted is the same when it is told and accepted again; what is not told at all is gone after the first
/// time.
fn settles<M, T>(input: &[u8], tell: fn(T) -> M) -> bool
where
    M: Message + Default,
    T: TryFrom<M, Error = InvalidMessage> + Clone + Debug + PartialEq,
{
    let Ok(first) = M::decode(input) else { return false };
    let Ok(first) = T::try_from(first) else { return false };
    let pass_on = |heard: T| {
        let bytes = tell(heard).encode_to_vec();
        T::try_from(M::decode(&bytes[..]).expect("it was encoded")).expect("it was accepted before")
    };
    let second = pass_on(first);
    assert_eq!(pass_on(second.clone()), second);
    true
}

/// The same but for speeds: what is told is their sum, which is not exact.
fn worker(input: &[u8]) -> bool {
    let Ok(Ok(first)) = pb::Worker::decode(input).map(WorkerStatus::try_from) else { return false };
    let mut second = WorkerStatus::try_from(pb::Worker::from(first.clone())).expect("it was accepted before");
    if let (Some(told), Some(heard)) = (first.speed, &mut second.speed) {
        assert_eq!(told.halves, heard.halves);
        let (told, heard_sum) = (told.sum().get(), heard.sum().get());
        assert!((told - heard_sum).abs() <= told * 1e-12, "{told} and {heard_sum}");
    }
    second.speed = first.speed;
    assert_eq!(second, first);
    true
}

/// Nothing of it is refused.
fn coordinator(input: &[u8]) -> bool {
    let Ok(message) = pb::Coordinator::decode(input) else { return false };
    let first = CoordinatorStatus::from(message);
    let second = CoordinatorStatus::from(pb::Coordinator::from(first.clone()));
    assert_eq!(format!("{second:?}"), format!("{first:?}"));
    true
}
