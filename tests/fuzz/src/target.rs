//! The list of fuzz targets, and the limits of each input.

use std::time::Duration;

use crate::cost;
use crate::outcome::Outcome;
use crate::targets::{
    certificates, coordinator_messages, databases, operator_messages, requests, texts, worker_messages,
};

/// The most memory that any input may take: this many bytes, and this many times its length.
const MOST_BYTES: usize = 16 << 20;
const TIMES_LENGTH: usize = 512;

/// The most processor time that any input may take, even on a slow processor and in an unoptimised program.
const MOST_TIME: Duration = Duration::from_secs(5);

/// Code that reads bytes from outside.
#[derive(Debug)]
pub struct Target {
    /// Its name, and its directory of inputs in `corpus`.
    pub name: &'static str,
    /// The length of the longest generated input.
    pub longest: usize,
    run: fn(&[u8]) -> Outcome,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "worker_messages", longest: 4096, run: worker_messages::run },
    Target { name: "coordinator_messages", longest: 4096, run: coordinator_messages::run },
    Target { name: "operator_messages", longest: 4096, run: operator_messages::run },
    Target { name: "texts", longest: 1024, run: texts::run },
    Target { name: "certificates", longest: 16 << 10, run: certificates::run },
    Target { name: "requests", longest: 2048, run: requests::run },
    Target { name: "databases", longest: 512, run: databases::run },
];

impl Target {
    /// Runs it on an input.
    ///
    /// # Panics
    /// Panics if it misbehaves.
    pub fn feed(&self, input: &[u8]) -> Outcome {
        let (outcome, cost) = cost::of(|| (self.run)(input));
        let most = MOST_BYTES + TIMES_LENGTH * input.len();
        assert!(cost.n_bytes <= most, "{} bytes take {} bytes of memory", input.len(), cost.n_bytes);
        assert!(cost.time <= MOST_TIME, "{} bytes take {:?}", input.len(), cost.time);
        outcome
    }
}
