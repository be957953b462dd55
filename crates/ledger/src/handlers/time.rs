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
        self.advance(now);
        let silent = give_up_silent(self);
        self.leases.former.forget_old(self.now);
        self.workers.wake_rested(self.now);
        self.workers.update_usual_speeds();
        take_back_overdue(self);
        draw(self);
        draw_confirmers(self);
        judge(self);
        assign(self);
        preempt(self);
        hurry_for_tails(self);
        share_tails(self);
        self.paces.measure(self.now, &self.jobs, &self.workers);
        silent
    }
}
