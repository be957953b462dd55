//! Checks what a coordinator tells a worker of its own party.

use std::time::Duration;

use queens_model::{Fraction, OwnContribution, OwnJob, TimeLeft};
use queens_solver::BoardSize;

use super::check::{InvalidMessage, decimal, method};
use crate::pb;

impl TryFrom<pb::OwnContribution> for OwnContribution {
    type Error = InvalidMessage;

    fn try_from(own: pb::OwnContribution) -> Result<Self, InvalidMessage> {
        let time_us = own.record_time_us.saturating_add(own.recount_time_us);
        let is_ranked = own.rank > 0;
        Ok(Self {
            at_ms: own.at_ms,
            core_hours: Duration::from_micros(time_us).as_secs_f64() / 3600.0,
            records: own.records,
            confirmed: own.confirmed,
            recounts: own.recounts,
            solutions: decimal("the number of solutions", &own.solutions)?.to_string(),
            share: Fraction::try_from(own.share)?.get(),
            rank: is_ranked.then_some(own.rank),
            people: is_ranked.then_some(own.people),
            since_ms: is_ranked.then_some(own.since_ms),
            job: own.job.map(OwnJob::try_from).transpose()?,
        })
    }
}

impl TryFrom<pb::OwnJob> for OwnJob {
    type Error = InvalidMessage;

    fn try_from(job: pb::OwnJob) -> Result<Self, InvalidMessage> {
        let left = job.seconds_left.map(|seconds| TimeLeft::new(seconds, seconds, seconds)).transpose()?;
        Ok(Self {
            n: BoardSize::try_from(job.n)?.get(),
            method: method(job.method)?.name().to_owned(),
            fraction: Fraction::try_from(job.fraction)?.get(),
            seconds_left: left.map(TimeLeft::expected),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> pb::OwnContribution {
        pb::OwnContribution {
            at_ms: 7,
            records: 1,
            record_time_us: 3_600_000_000,
            recounts: 4,
            recount_time_us: 1_800_000_000,
            confirmed: 3,
            solutions: u128::MAX.to_string(),
            share: 0.25,
            rank: 3,
            people: 120,
            since_ms: 6,
            job: Some(pb::OwnJob {
                n: 27,
                method: pb::Method::Halves.into(),
                fraction: 0.5,
                seconds_left: Some(1e9),
            }),
        }
    }

    #[test]
    fn nothing_is_lost_on_the_way() {
        let own = OwnContribution::try_from(message()).expect("it is right");
        assert_eq!((own.at_ms, own.core_hours, own.records, own.confirmed), (7, 1.5, 1, 3));
        assert_eq!((own.recounts, own.solutions, own.share), (4, u128::MAX.to_string(), 0.25));
        assert_eq!((own.rank, own.people, own.since_ms), (Some(3), Some(120), Some(6)));
        let job = OwnJob { n: 27, method: "halves".to_owned(), fraction: 0.5, seconds_left: Some(1e9) };
        assert_eq!(own.job, Some(job));
        let bare = pb::OwnContribution { rank: 0, job: None, ..message() };
        let bare = OwnContribution::try_from(bare).expect("it is right");
        assert_eq!((bare.rank, bare.people, bare.since_ms, bare.job), (None, None, None, None));
    }

    #[test]
    fn nonsense_is_refused() {
        let check = |change: &dyn Fn(&mut pb::OwnContribution)| {
            let mut message = message();
            change(&mut message);
            assert!(OwnContribution::try_from(message).is_err());
        };
        check(&|it| it.solutions = "-1".to_owned());
        check(&|it| it.share = f64::NAN);
        let job = |change: fn(&mut pb::OwnJob)| check(&|it| it.job.iter_mut().for_each(change));
        job(|job| job.n = 99);
        job(|job| job.method = 0);
        job(|job| job.fraction = 1.5);
        job(|job| job.seconds_left = Some(f64::INFINITY));
    }
}
