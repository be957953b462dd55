//! Conversions of the messages of a worker's session.

use std::time::Duration;

use queens_model::{
    Delta, Failure, HalvesSkill, Hello, Lease, LeaseId, LeasedSpan, MOST_DELTAS, MOST_THREADS, Notice,
    Report, Speed, ToCoordinator, ToWorker, WorkerId,
};
use queens_solver::{BoardSize, Count, Symmetry};

use super::check::{
    InvalidMessage, PROTOCOL, at_most, identity, in_range, method, new_name, one_line, spans,
};
use super::held::held;
use crate::checksum;
use crate::pb::{self, coordinator_message, worker_message};

/// The most spans in a lease.
const MOST_SPANS: usize = 8192;

impl From<ToCoordinator> for pb::WorkerMessage {
    fn from(message: ToCoordinator) -> Self {
        use worker_message::Message;
        let message = match message {
            ToCoordinator::Hello(hello) => Message::Hello((*hello).into()),
            ToCoordinator::Report(report) => Message::Report(report.into()),
            ToCoordinator::Failure(failure) => Message::Failure(failure.into()),
            ToCoordinator::Notice(text) => Message::Notice(pb::WorkerNotice { text: one_line(&text) }),
            ToCoordinator::Sensors(sensors) => Message::Sensors(sensors.into()),
            ToCoordinator::Goodbye => Message::Goodbye(pb::Goodbye {}),
        };
        Self { message: Some(message) }
    }
}

impl TryFrom<pb::WorkerMessage> for ToCoordinator {
    type Error = InvalidMessage;

    fn try_from(message: pb::WorkerMessage) -> Result<Self, InvalidMessage> {
        use worker_message::Message;
        Ok(match message.message.ok_or(InvalidMessage::Missing("message"))? {
            Message::Hello(hello) => Self::Hello(Box::new(hello.try_into()?)),
            Message::Report(report) => Self::Report(report.try_into()?),
            Message::Failure(failure) => Self::Failure(failure.try_into()?),
            Message::Notice(pb::WorkerNotice { text }) => Self::Notice(one_line(&text)),
            Message::Sensors(sensors) => Self::Sensors(sensors.into()),
            Message::Goodbye(pb::Goodbye {}) => Self::Goodbye,
            Message::Held(_) => return Err(InvalidMessage::Missing("the Hello before held leases")),
        })
    }
}

impl From<Hello> for pb::Hello {
    fn from(hello: Hello) -> Self {
        Self {
            protocol: PROTOCOL,
            decomposition: hello.decomposition,
            worker: hello.worker.0,
            name: hello.name.to_string(),
            build: hello.build.to_string(),
            kernel: hello.kernel.to_string(),
            threads: hello.n_threads,
            work_per_second: hello.speed.get(),
            held: Some(hello.held.into()),
            halves_decomposition: hello.halves.decomposition,
            halves_work_per_second: hello.halves.speed.get(),
            machine: hello.machine,
        }
    }
}

impl TryFrom<pb::Hello> for Hello {
    type Error = InvalidMessage;

    fn try_from(hello: pb::Hello) -> Result<Self, InvalidMessage> {
        if hello.protocol != PROTOCOL {
            return Err(InvalidMessage::Protocol { found: hello.protocol });
        }
        Ok(Self {
            worker: WorkerId(hello.worker),
            name: new_name("the worker's name", &hello.name)?,
            build: new_name("the worker's build", &hello.build)?,
            kernel: new_name("the worker's kernel", &hello.kernel)?,
            n_threads: in_range("the number of threads", hello.threads.into(), MOST_THREADS)?,
            speed: Speed::try_from(hello.work_per_second)?,
            decomposition: hello.decomposition,
            halves: HalvesSkill {
                decomposition: hello.halves_decomposition,
                speed: Speed::try_from(hello.halves_work_per_second)?,
            },
            machine: hello.machine,
            held: held(hello.held.unwrap_or_default())?,
        })
    }
}

impl From<Report> for pb::Report {
    fn from(report: Report) -> Self {
        Self {
            sequence: report.sequence,
            deltas: report.deltas.into_iter().map(pb::Delta::from).collect(),
            finished: report.finished.into_iter().map(|lease| lease.0).collect(),
        }
    }
}

impl TryFrom<pb::Report> for Report {
    type Error = InvalidMessage;

    fn try_from(report: pb::Report) -> Result<Self, InvalidMessage> {
        at_most("the number of deltas", report.deltas.len(), MOST_DELTAS)?;
        Ok(Self {
            sequence: report.sequence,
            deltas: report.deltas.into_iter().map(Delta::try_from).collect::<Result<_, _>>()?,
            finished: report.finished.into_iter().map(LeaseId).collect(),
        })
    }
}

impl From<Delta> for pb::Delta {
    fn from(delta: Delta) -> Self {
        let mut message = Self {
            job: delta.job.to_bytes().to_vec(),
            lease: delta.lease.0,
            span: Some(delta.span.into()),
            solutions: delta.count.solutions,
            work: delta.count.work,
            duration_us: u64::try_from(delta.duration.as_micros()).unwrap_or(u64::MAX),
            checksum: 0,
        };
        message.checksum = checksum::of_delta(&message);
        message
    }
}

impl TryFrom<pb::Delta> for Delta {
    type Error = InvalidMessage;

    fn try_from(delta: pb::Delta) -> Result<Self, InvalidMessage> {
        const MOST: u64 = i64::MAX as u64;
        if delta.checksum != checksum::of_delta(&delta) {
            return Err(InvalidMessage::Garbled("a delta"));
        }
        Ok(Self {
            job: identity(&delta.job)?,
            lease: LeaseId(delta.lease),
            span: delta.span.ok_or(InvalidMessage::Missing("a delta's span"))?.try_into()?,
            count: Count {
                solutions: in_range("the number of solutions", delta.solutions, MOST)?,
                work: in_range("the number of nodes", delta.work, MOST)?,
            },
            duration: Duration::from_micros(in_range("the duration", delta.duration_us, MOST)?),
        })
    }
}

impl From<Failure> for pb::Failure {
    fn from(failure: Failure) -> Self {
        Self {
            job: failure.job.to_bytes().to_vec(),
            lease: failure.lease.0,
            span: Some(failure.span.into()),
            reason: one_line(&failure.reason),
        }
    }
}

impl TryFrom<pb::Failure> for Failure {
    type Error = InvalidMessage;

    fn try_from(failure: pb::Failure) -> Result<Self, InvalidMessage> {
        Ok(Self {
            job: identity(&failure.job)?,
            lease: LeaseId(failure.lease),
            span: failure.span.ok_or(InvalidMessage::Missing("a failure's span"))?.try_into()?,
            reason: one_line(&failure.reason),
        })
    }
}

impl From<ToWorker> for pb::CoordinatorMessage {
    fn from(message: ToWorker) -> Self {
        use coordinator_message::Message;
        let message = match message {
            ToWorker::Lease(lease) => Message::Lease(lease.into()),
            ToWorker::Shorten { lease, spans } => Message::Shorten(pb::Shorten {
                lease: lease.0,
                spans: spans.into_iter().map(pb::Span::from).collect(),
            }),
            ToWorker::Cancel(lease) => Message::Cancel(pb::CancelLease { lease: lease.0 }),
            ToWorker::Drain => Message::Drain(pb::Drain {}),
            ToWorker::Notice(text) => {
                Message::Notice(pb::Notice { text: one_line(&text), ..pb::Notice::default() })
            }
            ToWorker::Acknowledge { sequence } => Message::Acknowledge(pb::Acknowledge { sequence }),
            ToWorker::ReportEvery(interval) => {
                let milliseconds = u32::try_from(interval.get().as_millis()).unwrap_or(u32::MAX);
                Message::ReportEvery(pb::ReportEvery { milliseconds })
            }
            ToWorker::Farewell => Message::Farewell(pb::Farewell {}),
        };
        Self { message: Some(message) }
    }
}

impl TryFrom<pb::CoordinatorMessage> for ToWorker {
    type Error = InvalidMessage;

    fn try_from(message: pb::CoordinatorMessage) -> Result<Self, InvalidMessage> {
        use coordinator_message::Message;
        Ok(match message.message.ok_or(InvalidMessage::Missing("message"))? {
            Message::Lease(lease) => Self::Lease(lease.try_into()?),
            Message::Shorten(shorten) => {
                Self::Shorten { lease: LeaseId(shorten.lease), spans: spans(shorten.spans)? }
            }
            Message::Cancel(cancel) => Self::Cancel(LeaseId(cancel.lease)),
            Message::Drain(pb::Drain {}) => Self::Drain,
            Message::Notice(pb::Notice { text, .. }) => Self::Notice(one_line(&text)),
            Message::Acknowledge(pb::Acknowledge { sequence }) => Self::Acknowledge { sequence },
            Message::ReportEvery(pb::ReportEvery { milliseconds }) => {
                Self::ReportEvery(Duration::from_millis(milliseconds.into()).try_into()?)
            }
            Message::Farewell(pb::Farewell {}) => Self::Farewell,
        })
    }
}

impl From<Lease> for pb::Lease {
    fn from(lease: Lease) -> Self {
        let span = |leased: LeasedSpan| pb::LeasedSpan {
            span: Some(leased.span.into()),
            image: leased.image.index().into(),
        };
        let mut message = Self {
            lease: lease.id.0,
            job: lease.job.to_bytes().to_vec(),
            n: lease.n.get().into(),
            spans: lease.spans.into_iter().map(span).collect(),
            checksum: 0,
            method: pb::Method::from(lease.method).into(),
        };
        message.checksum = checksum::of_lease(&message);
        message
    }
}

impl TryFrom<pb::Lease> for Lease {
    type Error = InvalidMessage;

    fn try_from(lease: pb::Lease) -> Result<Self, InvalidMessage> {
        if lease.checksum != checksum::of_lease(&lease) {
            return Err(InvalidMessage::Garbled("a lease"));
        }
        at_most("the number of leased spans", lease.spans.len(), MOST_SPANS)?;
        let span = |leased: pb::LeasedSpan| -> Result<LeasedSpan, InvalidMessage> {
            let index: u8 = in_range("the image", leased.image.into(), 7_u8)?;
            Ok(LeasedSpan {
                span: leased.span.ok_or(InvalidMessage::Missing("a leased span"))?.try_into()?,
                image: Symmetry::from_index(index).ok_or(InvalidMessage::Missing("an image"))?,
            })
        };
        Ok(Self {
            id: LeaseId(lease.lease),
            job: identity(&lease.job)?,
            n: BoardSize::try_from(lease.n)?,
            method: method(lease.method)?,
            spans: lease.spans.into_iter().map(span).collect::<Result<_, _>>()?,
        })
    }
}

impl From<Notice> for pb::Notice {
    fn from(notice: Notice) -> Self {
        let url = notice.url.map(|url| url.to_string()).unwrap_or_default();
        Self { text: one_line(&notice.text), url, is_reason_to_wait: notice.is_reason_to_wait }
    }
}

impl From<pb::Notice> for Notice {
    /// Drops a URL that can't be shown: the text is worth it without.
    fn from(notice: pb::Notice) -> Self {
        let pb::Notice { text, url, is_reason_to_wait } = notice;
        Self { text: one_line(&text), url: url.parse().ok(), is_reason_to_wait }
    }
}

#[cfg(test)]
mod tests {
    use queens_model::CardSensors;

    use super::*;

    #[test]
    fn sensors_arrive_without_values_that_no_card_can_have() {
        let arrives = |sensors: pb::CardSensors| {
            let message = pb::WorkerMessage { message: Some(worker_message::Message::Sensors(sensors)) };
            ToCoordinator::try_from(message)
        };
        for sensors in [CardSensors::new(Some(46), Some(72), Some(1980)), CardSensors::default()] {
            let sent = pb::WorkerMessage::from(ToCoordinator::Sensors(sensors));
            assert_eq!(ToCoordinator::try_from(sent), Ok(ToCoordinator::Sensors(sensors)));
        }
        let odd = pb::CardSensors { celsius: Some(u32::MAX), watts: Some(0), megahertz: Some(100_001) };
        let known = CardSensors::new(None, Some(0), None);
        assert_eq!(arrives(odd), Ok(ToCoordinator::Sensors(known)));
    }

    #[test]
    fn a_notice_is_cut_off_and_loses_a_url_that_is_none() {
        let wire = |text: String, url: &str| {
            Notice::from(pb::Notice { text, url: url.to_owned(), is_reason_to_wait: true })
        };
        let found = wire(format!("\u{1b}{}", "x".repeat(1 << 20)), "https://a/\u{7}");
        assert_eq!((found.text.chars().count(), found.url.clone()), (500, None));
        let notice = wire("a".to_owned(), "https://a/b");
        assert_eq!(notice.to_string(), "a (see https://a/b)");
        assert_eq!(Notice::from(pb::Notice::from(notice.clone())), notice);
    }
}
