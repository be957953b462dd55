//! All that is fed.

use std::time::Duration;

use crate::cost;
use crate::outcome::Outcome;
use crate::targets::{
    certificates, coordinator_messages, databases, operator_messages, requests, texts, worker_messages,
};

/// The most memory that any input may take, and so many times its length besides.
const MOST_BYTES: usize = 16 << 20;
const TIMES_LENGTH: usize = 512;

/// The longest that any input may take of a processor, also of a slow one and of a program that is not optimised.
const MOST_TIME: Duration = Duration::from_secs(5);

/// Something that reads bytes from outside.
#[derive(Debug)]
pub struct Target {
    /// What it is called, and the directory of its inputs in `corpus`.
    pub name: &'static str,
    /// The longest input that is made for it.
    pub longest: usize,
    run: fn(&[u8]) -> Outcome,
}

/// All of them.
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
    /// Feeds it.
    ///
    /// # Panics
    /// If something is wrong with what it does.
    pub fn feed(&self, input: &[u8]) -> Outcome {
        let (outcome, cost) = cost::of(|| (self.run)(input));
        let most = MOST_BYTES + TIMES_LENGTH * input.len();
        assert!(cost.n_bytes <= most, "{} bytes take {} bytes of memory", input.len(), cost.n_bytes);
        assert!(cost.time <= MOST_TIME, "{} bytes take {:?}", input.len(), cost.time);
        outcome
    }
}
