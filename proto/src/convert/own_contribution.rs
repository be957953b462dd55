//! Converts what a worker may know of its own party.

use std::time::Duration;

use queens_model::{Fraction, OwnContribution, OwnJob, PartyTotals, Place, TimeLeft};
use queens_solver::BoardSize;

use super::check::{InvalidMessage, decimal, method};
use crate::pb;

impl From<OwnContribution> for pb::OwnContribution {
    fn from(own: OwnContribution) -> Self {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Self {
            at_ms: own.at_ms,
            records: own.totals.n_records,
            record_time_us: micros(own.totals.record_time),
            recounts: own.totals.n_recounts,
            recount_time_us: micros(own.totals.recount_time),
            confirmed: own.totals.n_confirmed,
            solutions: own.totals.solutions.to_string(),
            share: own.share.get(),
            rank: own.place.map_or(0, |place| place.rank),
            people: own.place.map_or(0, |place| place.n_people),
            since_ms: own.place.map_or(0, |place| place.since_ms),
            job: own.job.map(|job| pb::OwnJob {
                n: job.n.get().into(),
                method: pb::Method::from(job.method).into(),
                fraction: job.fraction.get(),
                seconds_left: job.seconds_left,
            }),
        }
    }
}

impl TryFrom<pb::OwnContribution> for OwnContribution {
    type Error = InvalidMessage;

    fn try_from(own: pb::OwnContribution) -> Result<Self, InvalidMessage> {
        let place = Place { rank: own.rank, n_people: own.people, since_ms: own.since_ms };
        Ok(Self {
            at_ms: own.at_ms,
            totals: PartyTotals {
                n_records: own.records,
                solutions: decimal("the number of solutions", &own.solutions)?,
                record_time: Duration::from_micros(own.record_time_us),
                n_confirmed: own.confirmed,
                n_recounts: own.recounts,
                recount_time: Duration::from_micros(own.recount_time_us),
                ..PartyTotals::default()
            },
            share: Fraction::try_from(own.share)?,
            place: Some(place).filter(|place| place.rank > 0),
            job: own.job.map(OwnJob::try_from).transpose()?,
        })
    }
}

impl TryFrom<pb::OwnJob> for OwnJob {
    type Error = InvalidMessage;

    fn try_from(job: pb::OwnJob) -> Result<Self, InvalidMessage> {
        let left = job.seconds_left.map(|seconds| TimeLeft::new(seconds, seconds, seconds)).transpose()?;
        Ok(Self {
            n: BoardSize::try_from(job.n)?,
            method: method(job.method)?,
            fraction: Fraction::try_from(job.fraction)?,
            seconds_left: left.map(TimeLeft::expected),
        })
    }
}

#[cfg(test)]
mod tests {
    use queens_solver::Method;

    use super::*;

    fn own() -> OwnContribution {
        OwnContribution {
            at_ms: 7,
            totals: PartyTotals {
                n_records: 1,
                solutions: u128::MAX,
                record_time: Duration::from_micros(2),
                n_confirmed: 3,
                n_recounts: 4,
                recount_time: Duration::from_micros(5),
                ..PartyTotals::default()
            },
            share: Fraction::try_from(0.25).expect("a share"),
            place: Some(Place { rank: 3, n_people: 120, since_ms: 6 }),
            job: Some(OwnJob {
                n: BoardSize::new(27).expect("a board size"),
                method: Method::Halves,
                fraction: Fraction::try_from(0.5).expect("a share"),
                seconds_left: Some(1e9),
            }),
        }
    }

    #[test]
    fn nothing_is_lost_on_the_way() {
        let bare = OwnContribution { place: None, job: None, ..own() };
        for own in [own(), bare] {
            assert_eq!(OwnContribution::try_from(pb::OwnContribution::from(own)), Ok(own));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let check = |change: &dyn Fn(&mut pb::OwnContribution)| {
            let mut message = pb::OwnContribution::from(own());
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
