//! Conversions of a worker's status.

use std::time::Duration;

use queens_model::{
    CardSensors, InHand, JobId, MethodSpeeds, Name, Speed, WorkerId, WorkerState, WorkerStatus,
};
use queens_solver::Span;

use super::check::{InvalidMessage, method, millis, some_line};
use crate::pb;

impl From<WorkerState> for pb::WorkerState {
    fn from(state: WorkerState) -> Self {
        match state {
            WorkerState::Ready => Self::Ready,
            WorkerState::Draining => Self::Draining,
            WorkerState::Blocked => Self::Blocked,
            WorkerState::Stuck => Self::Stuck,
            WorkerState::Failing => Self::Failing,
        }
    }
}

fn worker_state(state: i32) -> Result<WorkerState, InvalidMessage> {
    let known = WorkerState::ALL.into_iter().find(|known| pb::WorkerState::from(*known) as i32 == state);
    known.ok_or(InvalidMessage::Missing("a worker's state"))
}

/// Converts the total speed and that by halves.
fn speeds(sum: f64, halves: f64) -> Result<MethodSpeeds, InvalidMessage> {
    let (sum, halves) = (Speed::try_from(sum)?, Speed::try_from(halves)?);
    // The sum is not exact.
    let search = Speed::try_from((sum.get() - halves.get()).max(0.0))?;
    Ok(MethodSpeeds { search, halves })
}

impl From<CardSensors> for pb::CardSensors {
    fn from(sensors: CardSensors) -> Self {
        Self { celsius: sensors.celsius(), watts: sensors.watts(), megahertz: sensors.megahertz() }
    }
}

impl From<pb::CardSensors> for CardSensors {
    fn from(pb::CardSensors { celsius, watts, megahertz }: pb::CardSensors) -> Self {
        Self::new(celsius, watts, megahertz)
    }
}

impl From<WorkerStatus> for pb::Worker {
    fn from(worker: WorkerStatus) -> Self {
        let counting = worker.counting;
        Self {
            worker: worker.id.0,
            name: worker.name.to_string(),
            build: worker.build.to_string(),
            kernel: worker.kernel.to_string(),
            threads: worker.n_threads,
            connected: worker.connected,
            silent_ms: millis(worker.silent),
            work_per_second: worker.speed.map(|speeds| speeds.sum().get()),
            leases: worker.n_leases,
            recorded: worker.n_recorded,
            state: pb::WorkerState::from(worker.state).into(),
            failure: worker.failure.unwrap_or_default(),
            job: counting.map_or(0, |counting| counting.job.0),
            span: counting.map(|counting| pb::Span::from(counting.span)),
            methods: worker.methods.into_iter().map(|method| pb::Method::from(method).into()).collect(),
            counting_by: counting.map_or(0, |counting| pb::Method::from(counting.method).into()),
            halves_units_per_second: worker.speed.map_or(0.0, |speeds| speeds.halves.get()),
            sensors: (!worker.sensors.is_unknown()).then(|| worker.sensors.into()),
        }
    }
}

impl TryFrom<pb::Worker> for WorkerStatus {
    type Error = InvalidMessage;

    fn try_from(worker: pb::Worker) -> Result<Self, InvalidMessage> {
        let in_hand = |span| -> Result<InHand, InvalidMessage> {
            let (job, method) = (JobId(worker.job), method(worker.counting_by)?);
            Ok(InHand { job, method, span: Span::try_from(span)? })
        };
        Ok(Self {
            id: WorkerId(worker.worker),
            // One invalid name must not prevent the list of all others.
            name: Name::of_any(&worker.name),
            build: Name::of_any(&worker.build),
            kernel: Name::of_any(&worker.kernel),
            // Methods that only a newer program knows are left out.
            methods: worker.methods.into_iter().filter_map(|found| method(found).ok()).collect(),
            n_threads: worker.threads,
            connected: worker.connected,
            silent: Duration::from_millis(worker.silent_ms),
            speed: worker
                .work_per_second
                .map(|sum| speeds(sum, worker.halves_units_per_second))
                .transpose()?,
            n_leases: worker.leases,
            n_recorded: worker.recorded,
            state: worker_state(worker.state)?,
            failure: some_line(&worker.failure),
            counting: worker.span.map(in_hand).transpose()?,
            sensors: worker.sensors.map(CardSensors::from).unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use queens_solver::Method;

    use super::*;

    #[test]
    fn what_is_told_of_a_worker_arrives_with_its_speeds_and_the_method_in_hand() {
        let of = |search: f64, halves: f64, method| WorkerStatus {
            id: WorkerId(7),
            name: Name::of_any("anna"),
            build: Name::of_any("0"),
            kernel: Name::of_any("none"),
            methods: Method::ALL.to_vec(),
            n_threads: 2,
            connected: true,
            silent: Duration::from_millis(20),
            speed: Some(MethodSpeeds {
                search: Speed::try_from(search).expect("a speed"),
                halves: Speed::try_from(halves).expect("a speed"),
            }),
            n_leases: 2,
            n_recorded: 3,
            state: WorkerState::Ready,
            failure: None,
            counting: Some(InHand { job: JobId(3), method, span: Span::new(1, 2, 5).expect("not empty") }),
            sensors: CardSensors::new(Some(46), None, Some(1980)),
        };
        for sent in [
            of(8.5e8, 0.0, Method::Search),
            of(0.0, 1.1e9 / 3.0, Method::Halves),
            of(8.5e8, 4.5e8, Method::Search),
        ] {
            assert_eq!(WorkerStatus::try_from(pb::Worker::from(sent.clone())), Ok(sent));
        }
        let mut odd = pb::Worker::from(of(8.5e8, 0.0, Method::Search));
        odd.counting_by = 0;
        assert_eq!(WorkerStatus::try_from(odd), Err(InvalidMessage::Missing("the method")));
        for (sum, halves) in [(1.0, f64::NAN), (1.0, -1.0), (f64::INFINITY, 0.0)] {
            let mut odd = pb::Worker::from(of(1.0, 0.0, Method::Search));
            (odd.work_per_second, odd.halves_units_per_second) = (Some(sum), halves);
            assert!(WorkerStatus::try_from(odd).is_err(), "{sum} {halves}");
        }
        // One worker's sensors must not prevent the list of all others.
        let mut odd = pb::Worker::from(of(8.5e8, 0.0, Method::Search));
        odd.sensors = Some(pb::CardSensors { celsius: Some(1001), watts: Some(72), megahertz: None });
        let read = WorkerStatus::try_from(odd).map(|worker| worker.sensors);
        assert_eq!(read, Ok(CardSensors::new(None, Some(72), None)));
        let unknown = WorkerStatus { sensors: CardSensors::default(), ..of(8.5e8, 0.0, Method::Search) };
        assert_eq!(pb::Worker::from(unknown).sensors, None);
    }
}
