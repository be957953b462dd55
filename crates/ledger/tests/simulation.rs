//! Plays random histories on a model of a disk, and on a model of a database that two coordinators share.

#[path = "simulation/mod.rs"]
mod simulation;

/// This many take some ten seconds without optimisation.
const HISTORIES: u64 = 300;

/// The same for two coordinators.
const HISTORIES_OF_TWO: u64 = 300;

#[test]
fn any_history_ends_with_the_right_count() {
    let test = "-p queens-ledger --test simulation -- any_history_ends";
    simulation::any_history_ends_with_the_right_count(test, HISTORIES, 1, None);
}

#[test]
fn any_history_of_two_coordinators_ends_with_the_right_count() {
    let test = "-p queens-ledger --test simulation -- two_coordinators";
    simulation::any_history_ends_with_the_right_count(test, HISTORIES_OF_TWO, 2, None);
}
