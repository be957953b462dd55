//! Lets time pass.

use std::time::Duration;

use queens_model::WorkerId;

use crate::handlers::recounts::{draw, judge};
use crate::handlers::sessions::give_up_silent;
use crate::ledger::Ledger;
use crate::schedule::assign::assign;
use crate::schedule::confirmers::draw_confirmers;
use crate::schedule::interval_notices::hurry_for_tails;
use crate::schedule::overdue::take_back_overdue;
use crate::schedule::recall::preempt;
use crate::schedule::tails::share_tails;

impl Ledger {
    /// Lets time pass: gives up silent workers, moves tails of running leases to idle threads, and threads to more
    /// urgent jobs. Returns the workers that were given up, whose sessions are useless now.
    pub fn tick(&mut self, now: Duration) -> Vec<WorkerId> {
        let state = &mut self.state;
        state.advance(now);
        let silent = give_up_silent(state);
        state.leases.former.forget_old(state.now());
        state.workers.wake_rested(state.now());
        state.workers.update_usual_speeds();
        take_back_overdue(state);
        draw(state);
        draw_confirmers(state);
        judge(state);
        assign(state);
        preempt(state);
        hurry_for_tails(state);
        share_tails(state);
        self.paces.measure(&self.state);
        silent
    }
}
