//! The load that one lease puts on its worker and its job.

use std::time::Duration;

use queens_solver::Method;

/// The load that a lease adds to its worker and its job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// The counting method: work of different methods can't be compared.
    pub(crate) method: Method,
    /// The estimated work that is not reported.
    pub(crate) work: u128,
    /// When it was last reported on; before the first report, when it was granted or, if it had to wait, begun.
    pub(crate) heard: Duration,
    /// Whether its worker was told to return everything that it has not begun.
    pub(crate) recalled: bool,
    /// Whether its tail may go to another worker.
    pub(crate) can_be_cut: bool,
}

/// The speed at which one lease is counted, in estimated work units a second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeasePace {
    /// The estimated speed of its worker.
    pub(crate) speed: f64,
    /// The speed below which its worker keeps others waiting, if known. It follows from measurements of others, never
    /// from the worker's own claims.
    pub(crate) slowest: Option<f64>,
}
