//! Checksums of deltas and leases, so that a garbled message can never change a count.
//!
//! TCP's checksum misses one in 65,536 errors, and a device between two machines may compute a new one over garbled
//! data. Other garbled fields cost time, never a count.

use crc32fast::Hasher;

use crate::pb;

/// Computes the CRC-32 (of zlib) of a delta: the bytes of the job's identity, then lease, part, first and last
/// subproblem, solutions, nodes and duration, in this order, each as 8 bytes, the least significant first.
#[must_use]
pub fn of_delta(delta: &pb::Delta) -> u32 {
    let pb::Span { part, from, to } = delta.span.unwrap_or_default();
    crc(&delta.job, [delta.lease, part.into(), from, to, delta.solutions, delta.work, delta.duration_us])
}

/// Computes the same of a lease: job, lease, n and method, then part, first and last subproblem and image of each
/// span.
#[must_use]
pub fn of_lease(lease: &pb::Lease) -> u32 {
    let spans = lease.spans.iter().flat_map(|leased| {
        let pb::Span { part, from, to } = leased.span.unwrap_or_default();
        [part.into(), from, to, leased.image.into()]
    });
    let method = lease.method.cast_unsigned();
    crc(&lease.job, [lease.lease, lease.n.into(), method.into()].into_iter().chain(spans))
}

fn crc(job: &[u8], words: impl IntoIterator<Item = u64>) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(job);
    words.into_iter().for_each(|word| hasher.update(&word.to_le_bytes()));
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prost::Message;
    use queens_solver::{BoardSize, Count, Method, Span, Symmetry};

    use super::*;
    use queens_model::{Delta, JobIdentity, Lease, LeaseId, LeasedSpan, Report, ToCoordinator, ToWorker};

    /// The message with each of its bits changed in turn.
    fn garbled(message: &impl Message) -> impl Iterator<Item = Vec<u8>> {
        let bytes = message.encode_to_vec();
        (0..bytes.len() * 8).map(move |bit| {
            let mut garbled = bytes.clone();
            garbled[bit / 8] ^= 1 << (bit % 8);
            garbled
        })
    }

    #[test]
    fn a_garbled_delta_is_not_counted() {
        let delta = Delta {
            job: JobIdentity(1),
            lease: LeaseId(7 << 32),
            span: Span::new(300, 1000, 2000).expect("not empty"),
            count: Count { solutions: 12_345, work: 67_890_123 },
            duration: Duration::from_micros(98_765),
        };
        let report = Report { sequence: 3, deltas: vec![delta], finished: vec![LeaseId(7 << 32)] };
        let message = pb::WorkerMessage::from(ToCoordinator::Report(report));
        for bytes in garbled(&message) {
            let message = pb::WorkerMessage::decode(&bytes[..]).ok().map(ToCoordinator::try_from);
            if let Some(Ok(ToCoordinator::Report(report))) = message {
                assert!(report.deltas.iter().all(|reported| *reported == delta), "{report:?}");
            }
        }
    }

    #[test]
    fn a_garbled_lease_is_not_counted() {
        for method in Method::ALL {
            let leased = |image| LeasedSpan { span: Span::new(300, 1000, 2000).expect("not empty"), image };
            let lease = Lease {
                id: LeaseId(7 << 32),
                job: JobIdentity(1),
                n: BoardSize::new(27).expect("a board size"),
                method,
                spans: Symmetry::UP_TO_MIRROR.map(leased).to_vec(),
            };
            let message = pb::CoordinatorMessage::from(ToWorker::Lease(lease.clone()));
            for bytes in garbled(&message) {
                let message = pb::CoordinatorMessage::decode(&bytes[..]).ok().map(ToWorker::try_from);
                if let Some(Ok(ToWorker::Lease(heard))) = message {
                    assert_eq!(heard, lease);
                }
            }
        }
    }

    #[test]
    fn the_checksum_of_a_lease_is_that_of_its_definition() {
        let span = pb::Span { part: 1, from: 2, to: 3 };
        let spans = vec![pb::LeasedSpan { span: Some(span), image: 1 }];
        let lease = pb::Lease { lease: 7, job: vec![1; 16], n: 9, spans, checksum: 0, method: 1 };
        // zlib computes this of sixteen bytes of 1, and of 7, 9, 1, 1, 2, 3 and 1.
        assert_eq!(of_lease(&lease), 0x0a2d_55e3);
    }
}
