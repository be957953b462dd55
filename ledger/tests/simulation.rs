//! Random histories on a model of a disk.

#[path = "simulation/mod.rs"]
mod simulation;

/// As many as take some ten seconds without optimisation.
const HISTORIES: u64 = 600;

#[test]
fn any_history_ends_with_the_right_count() {
    simulation::any_history_ends_with_the_right_count("queens-ledger", HISTORIES, None);
}
