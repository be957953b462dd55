//! Simulates clusters with graphics cards, and prints how much of their time is idle.
//!
//! ```console
//! $ cargo bench -p queens-ledger --bench cards
//! $ cargo bench -p queens-ledger --bench cards -- 22 24 26
//! ```

#![expect(clippy::print_stdout, reason = "it prints a table")]

#[path = "../tests/cards/mod.rs"]
mod cards;

use std::env;

use self::cards::cluster::Cluster;
use self::cards::outcome::{Outcome, Steps, Threads, share};
use self::cards::{CLUSTERS, core_seconds, plan};

/// The number of histories of each cluster.
const N_SEEDS: u64 = 3;

fn main() {
    let sizes: Vec<u8> = env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![22, 24] } else { sizes };
    println!(
        "idle: shares of all, of cards' and of processors' threads, weighted by speed; steps: messages and"
    );
    println!(
        "ticks of the coordinator, and microseconds for each in the first and the last quarter of the job"
    );
    for n in sizes {
        let plan = plan(n);
        let n_subproblems: u64 = plan.parts().iter().map(|part| part.choice().n_subproblems).sum();
        println!("\nn = {n}: {:.2e} units, {n_subproblems} subproblems", plan.work() as f64);
        for (name, teams) in &CLUSTERS {
            println!("{name}");
            for seed in 1..=N_SEEDS {
                print(&Cluster::new(&plan, core_seconds(n), teams, seed).run());
            }
        }
    }
}

fn print(outcome: &Outcome) {
    let Outcome { seconds, ideal_seconds, cards, processors, tail_seconds, quarters, .. } = outcome;
    let percent = |part: f64| format!("{:.2}", 100.0 * part);
    let of = |threads: &Threads| percent(threads.idle_share(*seconds));
    let [begun, .., last] = quarters;
    let n_steps: u64 = quarters.iter().map(|steps| steps.n_messages + steps.n_ticks).sum();
    println!(
        "  {seconds:.2} s, ideal {ideal_seconds:.2}; idle {} % ({}, {}), tail {tail_seconds:.2} s; calls {} % of cards, \
         repeated {} %; {} leases, at most {} a second, {} subproblems and {} spans; {n_steps} steps, {:.1} and {:.1} µs",
        percent(outcome.idle_share()),
        of(cards),
        of(processors),
        percent(share(cards.calls, cards.speed * seconds)),
        percent(share(outcome.repeated_work, (cards.speed + processors.speed) * seconds)),
        outcome.n_leases,
        outcome.most_leases_a_second,
        outcome.most_subproblems_of_a_lease,
        outcome.most_spans_of_a_lease,
        microseconds(begun),
        microseconds(last),
    );
}

/// Returns the mean real time of a step.
fn microseconds(steps: &Steps) -> f64 {
    steps.took.as_secs_f64() * 1e6 / (steps.n_messages + steps.n_ticks).max(1) as f64
}
