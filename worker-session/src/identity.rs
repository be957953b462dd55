//! Who a worker is.

use queens_model::{HalvesSkill, Held, Hello, Name, Speed, WorkerId};
use queens_solver::Method;

/// What a worker says of itself whenever it connects.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The run of the worker program.
    pub worker: WorkerId,
    /// The name people know it by.
    pub name: Name,
    /// Version of its program.
    pub build: Name,
    /// Name of the kernel it counts with.
    pub kernel: Name,
    /// How many leases it counts at a time.
    pub n_threads: u32,
    /// What one of its threads is expected to count by search.
    pub speed: Speed,
    /// How it counts by halves.
    pub halves: HalvesSkill,
    /// A number that workers on one machine have in common, and others hardly.
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
