//! Time passes.

use std::time::Duration;

use queens_messages::WorkerId;

use crate::book::Book;
use crate::events::recounts::draw;
use crate::events::sessions::give_up_silent;
use crate::schedule::feed::feed;
use crate::schedule::overdue::take_back_overdue;
use crate::schedule::recall::preempt;
use crate::schedule::reporting::hurry_for_tails;
use crate::schedule::tails::share_tails;

/// Returns the workers that were given up.
pub(crate) fn tick(book: &mut Book, now: Duration) -> Vec<WorkerId> {
    book.advance(now);
    let silent = give_up_silent(book);
    book.forget_old();
    take_back_overdue(book);
    draw(book);
    feed(book);
    preempt(book);
    hurry_for_tails(book);
    share_tails(book);
    silent
}
