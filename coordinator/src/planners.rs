//! Threads that make plans, so that planning a large n keeps nobody waiting.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use queens_proto::JobId;
use queens_solver::{BoardSize, Plan};
use tokio::sync::mpsc;
use tracing::error;

use crate::coordinator::Command;

/// The plans that are being made.
pub(crate) struct Planners {
    n_threads: NonZeroUsize,
    commands: mpsc::WeakSender<Command>,
    stops: HashMap<JobId, Arc<AtomicBool>>,
}

impl Planners {
    pub(crate) fn new(n_threads: NonZeroUsize, commands: mpsc::WeakSender<Command>) -> Self {
        Self { n_threads, commands, stops: HashMap::new() }
    }

    /// Makes a plan on a thread of its own, which sends it as a command when it is done.
    pub(crate) fn start(&mut self, job: JobId, n: BoardSize) {
        let stop = Arc::new(AtomicBool::new(false));
        self.stops.insert(job, stop.clone());
        let (n_threads, commands) = (self.n_threads, self.commands.clone());
        let make = move || {
            if let Some(plan) = Plan::new(n, n_threads, &stop)
                && let Some(commands) = commands.upgrade()
            {
                // An error means that the coordinator has stopped: it plans again when it is started again.
                _ = commands.blocking_send(Command::Planned { job, plan });
            }
        };
        if let Err(error) = thread::Builder::new().name(format!("plan-{job}")).spawn(make) {
            error!(%job, %error, "failed to start a thread that makes the plan");
        }
    }

    /// Stops making a plan, if it is being made.
    pub(crate) fn stop(&mut self, job: JobId) {
        if let Some(stop) = self.stops.remove(&job) {
            stop.store(true, Ordering::Relaxed);
        }
    }

    /// Stops making any plans.
    pub(crate) fn stop_all(&mut self) {
        for stop in self.stops.values() {
            stop.store(true, Ordering::Relaxed);
        }
    }
}
