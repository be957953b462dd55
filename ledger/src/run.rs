//! What one run of a coordinator draws at random.

use std::hash::Hasher;

use queens_model::JobId;
use siphasher::sip128::{Hasher128, SipHasher24};

/// A secret of one run, drawn at random at each start. All else that a run needs of chance follows from it, and tells
/// nothing of it.
#[derive(Clone, Copy, Debug)]
pub struct Run(u128);

impl Run {
    /// A run with this secret.
    #[must_use]
    pub const fn new(secret: u128) -> Self {
        Self(secret)
    }

    /// Where the lease tokens of this run begin.
    pub(crate) fn first_token(self) -> u64 {
        // Room is left below 2^63, which is what a column holds.
        let half = self.draw("lease tokens", 0) >> 66;
        u64::try_from(half).unwrap_or_default()
    }

    /// A new seed of a job.
    pub(crate) fn seed(self, job: JobId) -> u128 {
        self.draw("seed", job.0)
    }

    fn draw(self, what: &str, number: u64) -> u128 {
        let mut hasher = SipHasher24::new_with_key(&self.0.to_be_bytes());
        hasher.write(what.as_bytes());
        hasher.write_u64(number);
        hasher.finish128().as_u128()
    }
}
