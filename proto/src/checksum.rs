//! Checksums of what a count rests on, so that it is used as it was sent or not at all.
//!
//! TCP's checksum lets one in 65,536 errors through, and what stands between two machines may compute a new one over
//! what it has garbled. Whatever else is garbled costs time, never a count.

use crc32fast::Hasher;

use crate::pb;

/// The CRC-32 (of zlib) over job, lease, cross, first and last subproblem, solutions, nodes and duration of a delta, in
/// this order, each as 8 bytes, the least significant first.
#[must_use]
pub fn of_delta(delta: &pb::Delta) -> u32 {
    let pb::Span { cross, from, to } = delta.span.unwrap_or_default();
    let fixed = [delta.job, delta.lease, cross.into(), from, to];
    crc([&fixed[..], &[delta.solutions, delta.nodes, delta.duration_us]].concat())
}

/// The same over lease, job and n of a lease, and over cross, first and last subproblem and image of each of its spans.
#[must_use]
pub fn of_lease(lease: &pb::Lease) -> u32 {
    let spans = lease.spans.iter().flat_map(|leased| {
        let pb::Span { cross, from, to } = leased.span.unwrap_or_default();
        [cross.into(), from, to, leased.image.into()]
    });
    crc([lease.lease, lease.job, lease.n.into()].into_iter().chain(spans))
}

fn crc(words: impl IntoIterator<Item = u64>) -> u32 {
    let mut hasher = Hasher::new();
    words.into_iter().for_each(|word| hasher.update(&word.to_le_bytes()));
    hasher.finalize()
}
