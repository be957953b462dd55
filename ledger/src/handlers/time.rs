//! Handles the passing of time.

use std::time::Duration;

use queens_model::WorkerId;

use crate::handlers::recounts::draw;
use crate::handlers::sessions::give_up_silent;
use crate::schedule::assign::assign;
use crate::schedule::interval_notices::hurry_for_tails;
use crate::schedule::overdue::take_back_overdue;
use crate::schedule::recall::preempt;
use crate::schedule::tails::share_tails;
use crate::state::State;

/// Returns the workers that were given up.
pub(crate) fn tick(state: &mut State, now: Duration) -> Vec<WorkerId> {
    state.advance(now);
    let silent = give_up_silent(state);
    state.forget_old();
    take_back_overdue(state);
    draw(state);
    assign(state);
    preempt(state);
    hurry_for_tails(state);
    share_tails(state);
    silent
}
