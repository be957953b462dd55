//! Fuzzes the requests of operators and the answers to them.

use std::fmt::Debug;

use prost::Message;
use queens_model::{
    Contribution, CoordinatorStatus, Event, JobState, JobStatus, Submission, VerdictStatus, WorkerStatus,
};
use queens_proto::convert::{InvalidMessage, verify_more};
use queens_proto::pb;

use crate::outcome::Outcome;

/// Takes the first byte as the kind of a message, and the rest as the message.
pub(crate) fn run(input: &[u8]) -> Outcome {
    let Some((kind, message)) = input.split_first() else { return Outcome::Refused };
    let is_accepted = match kind % 8 {
        0 => is_passed_on::<_, Submission>(message, pb::SubmitRequest::from, |_| ()),
        1 => is_passed_on::<_, JobStatus>(message, pb::Job::from, forget_seed),
        2 => is_passed_on::<_, Event>(message, |event| pb::Event::from(&event), |_| ()),
        3 => is_passed_on::<_, VerdictStatus>(message, |verdict| pb::Verdict::from(&verdict), |_| ()),
        4 => is_passed_on::<_, Contribution>(message, |counted| pb::Contribution::from(&counted), |_| ()),
        5 => worker(message),
        6 => coordinator(message),
        _ => pb::VerifyMore::decode(message).is_ok_and(|asked| verify_more(&asked).is_ok()),
    };
    Outcome::of(is_accepted)
}

/// Checks that an accepted message stays the same when encoded and decoded again, except for omitted fields.
fn is_passed_on<M, T>(input: &[u8], tell: fn(T) -> M, forget: fn(&mut T)) -> bool
where
    M: Message + Default,
    T: TryFrom<M, Error = InvalidMessage> + Clone + Debug + PartialEq,
{
    let Ok(Ok(mut heard)) = M::decode(input).map(T::try_from) else { return false };
    forget(&mut heard);
    let bytes = tell(heard.clone()).encode_to_vec();
    let again = M::decode(&bytes[..]).expect("it was encoded");
    assert_eq!(T::try_from(again), Ok(heard));
    true
}

/// Clears the seed, which is sent only when the job is done.
fn forget_seed(job: &mut JobStatus) {
    if job.state != JobState::Done {
        job.terms.seed = 0;
    }
}

/// Checks a worker except for its speeds: the message carries their sum, which is not exact.
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

/// Checks the message about a coordinator, which is never refused.
fn coordinator(input: &[u8]) -> bool {
    let Ok(message) = pb::Coordinator::decode(input) else { return false };
    let first = CoordinatorStatus::from(message);
    let second = CoordinatorStatus::from(pb::Coordinator::from(first.clone()));
    assert_eq!(format!("{second:?}"), format!("{first:?}"));
    true
}
