//! The identity that a worker sends in its Hello.

use queens_model::{HalvesSkill, Held, Hello, Name, Speed, WorkerId};
use queens_solver::Method;

/// A worker's description of itself, sent on each connection.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The run of the worker program.
    pub worker: WorkerId,
    /// The name shown to people.
    pub name: Name,
    /// The version of its program.
    pub build: Name,
    /// The name of its kernel.
    pub kernel: Name,
    /// How many leases it counts at a time.
    pub n_threads: u32,
    /// The expected speed of one thread by search.
    pub speed: Speed,
    /// Its capabilities for the halves.
    pub halves: HalvesSkill,
    /// A number that workers on one machine share; others almost certainly differ.
    pub machine: u64,
}

impl Identity {
    pub(crate) fn hello(&self, held: Vec<Held>) -> Hello {
        Hello {
            worker: self.worker,
            name: self.name.clone(),
            build: self.build.clone(),
            kernel: self.kernel.clone(),
            n_threads: self.n_threads,
            speed: self.speed,
            decomposition: Method::Search.decomposition(),
            halves: self.halves,
            machine: self.machine,
            held,
        }
    }
}
