//! What has to be known of a lease to know the load of its worker and of its job.

use std::time::Duration;

use queens_solver::Method;

/// What a lease adds to the load of its worker and of its job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// How it is counted: work of different methods can't be compared.
    pub(crate) method: Method,
    /// The estimated work that is not reported.
    pub(crate) work: u128,
    /// When its last report came, or else when it was granted or, if it had to wait, begun.
    pub(crate) heard: Duration,
    /// Whether its worker was told to give back all that it has not begun.
    pub(crate) recalled: bool,
    /// Whether its tail may go to somebody else.
    pub(crate) can_be_cut: bool,
}

/// How fast one lease is counted, in estimated nodes a second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeasePace {
    /// By what is known of its worker.
    pub(crate) speed: f64,
    /// At which its worker may count it without keeping others waiting, if that is known: it follows from what others were
    /// measured at, never from what its worker says.
    pub(crate) slowest: Option<f64>,
}
