//! Decides which records were drawn for a recount.

use queens_solver::Span;
use siphasher::sip::SipHasher24;

use crate::header::Pass;

/// Returns whether a record was drawn for a recount.
///
/// The hash is SipHash-2-4 of the job, the part and the first subproblem as 8, 4 and 8 bytes. Its key is the 16 bytes
/// of the seed. All of them are little-endian. A record is drawn if hash / 2^64 is below the share. The coordinator has
/// its own code for this; this code follows the definition.
pub(crate) fn is_drawn(pass: &Pass, span: Span) -> bool {
    const MILLION: u128 = 1_000_000;
    let mut bytes = [0; 20];
    bytes[..8].copy_from_slice(&pass.job.to_le_bytes());
    bytes[8..12].copy_from_slice(&span.part().to_le_bytes());
    bytes[12..].copy_from_slice(&span.from().to_le_bytes());
    let hash = SipHasher24::new_with_key(&pass.seed.to_le_bytes()).hash(&bytes);
    (u128::from(hash) * MILLION) >> 64 < u128::from(pass.recount_ppm)
}

#[cfg(test)]
mod tests {
    use queens_model::JobIdentity;
    use queens_solver::Method;

    use super::*;

    /// Expects the draw of a coordinator.
    #[test]
    fn what_is_drawn_is_what_coordinators_draw() {
        let seed = 0x0123_4567_89ab_cdef;
        let (method, identity, recount_by) = (Method::Search, JobIdentity(1), None);
        let pass = Pass { method, decomposition: 2, job: 1, identity, recount_ppm: 1000, seed, recount_by };
        let is_drawn = |&first: &u64| is_drawn(&pass, Span::new(3, first, first + 1).expect("not empty"));
        let drawn: Vec<u64> = (0..10_000).filter(is_drawn).collect();
        assert_eq!(drawn, [98, 3323, 6435, 6953, 8341, 9102]);
    }
}
