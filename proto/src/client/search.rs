//! Searches for the leader: selects which coordinator to try next.
//!
//! Attempts come in rounds that try no coordinator twice; the caller pauses between rounds. The order is: the one that
//! a standby has named, the last leader, the others as listed. Those that did not answer in time come last, with a
//! shorter timeout. The reason: standbys name a frozen leader, or one behind a firewall that drops everything, until
//! they take its place. Waiting for it again and again would keep workers from the new leader.

use std::time::Duration;

use queens_model::plain;
use tonic::codegen::http::Uri;
use tracing::debug;

use crate::client::error::Problem;
use crate::client::route::Route;
use crate::client::route_list::Routes;

/// The most unlisted coordinators that are tried in a round because others named them.
const MOST_FOLLOWED: usize = 4;

/// The most coordinators that are remembered as silent.
const MOST_SILENT: usize = 32;

/// Timeouts of an attempt if there are several coordinators: in urgent cases; in urgent cases for one that was silent,
/// or whose connection was just lost; and after a long search, to spare coordinators that thousands of clients try at
/// once.
const PATIENCE: Duration = Duration::from_secs(3);
const PATIENCE_WITH_DOUBTFUL: Duration = Duration::from_millis(1500);
const PATIENCE_AT_LEISURE: Duration = Duration::from_secs(10);

/// The state of a search for the leader.
#[derive(Debug)]
pub struct Search {
    routes: Routes,
    /// The last leader, listed or not.
    leader: Option<Route>,
    /// The coordinator that was named and not tried since.
    named: Option<Route>,
    /// The coordinators that were tried in this round.
    tried: Vec<Uri>,
    /// The number of unlisted ones among them.
    n_followed: usize,
    /// The coordinators that did not answer in time at their last attempt.
    silent: Vec<Uri>,
}

/// The next attempt.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The coordinator to try.
    pub route: Route,
    /// The timeout for its answer; `None` if there is no other coordinator.
    pub patience: Option<Duration>,
}

impl Search {
    /// Creates a search without any knowledge.
    #[must_use]
    pub fn new(routes: Routes) -> Self {
        let (leader, named, n_followed) = (None, None, 0);
        Self { routes, leader, named, tried: Vec::new(), n_followed, silent: Vec::new() }
    }

    /// Returns the routes that are searched.
    #[must_use]
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Begins a round.
    pub fn begin(&mut self) {
        self.tried.clear();
        self.n_followed = 0;
    }

    /// Returns the next coordinator to try in this round; `None` if all were tried.
    pub fn next(&mut self, is_urgent: bool) -> Option<Attempt> {
        let named = self.named.iter().filter(|named| self.may_follow(named));
        let all = named.chain(&self.leader).chain(self.routes.listed());
        let left = all.filter(|route| !self.tried.contains(route.uri()));
        // Prefers the first that is not silent, or else the first.
        let route = left.min_by_key(|route| self.is_silent(route))?.clone();
        if is_at(self.named.as_ref(), &route) {
            self.named = None;
            self.n_followed += usize::from(!self.is_listed(&route));
        }
        self.tried.push(route.uri().clone());
        let is_doubtful = self.is_silent(&route) || is_at(self.leader.as_ref(), &route);
        let patience = match (is_urgent, is_doubtful) {
            (true, false) => PATIENCE,
            (true, true) => PATIENCE_WITH_DOUBTFUL,
            (false, _) => PATIENCE_AT_LEISURE,
        };
        let patience = self.routes.are_several().then_some(patience);
        Some(Attempt { route, patience })
    }

    /// Records that the coordinator leads.
    pub fn leads(&mut self, route: &Route) {
        self.silent.retain(|silent| silent != route.uri());
        self.leader = Some(route.clone());
    }

    /// Records that an attempt or a connection has failed. The coordinator is not tried again in this round.
    pub fn failed(&mut self, route: &Route, problem: &Problem) {
        let uri = route.uri();
        if !self.tried.contains(uri) {
            self.tried.push(uri.clone());
        }
        match problem {
            Problem::Silent => {
                if !self.is_silent(route) {
                    self.silent.push(uri.clone());
                }
                if self.silent.len() > MOST_SILENT {
                    self.silent.remove(0);
                }
            }
            // These problems don't tell whether it would answer.
            Problem::Connection(_) | Problem::Unconfirmed(_) => {}
            _ => self.silent.retain(|silent| silent != uri),
        }
        if let Problem::StandsBy { leader, .. } = problem {
            if is_at(self.leader.as_ref(), route) {
                self.leader = None;
            }
            self.hear(leader, route);
        }
    }

    /// Records the leader that a standby has named.
    fn hear(&mut self, leader: &str, by: &Route) {
        if leader.is_empty() {
            return;
        }
        match self.routes.named(leader, by) {
            Ok(named) if self.tried.contains(named.uri()) => {}
            Ok(named) => self.named = Some(named),
            Err(reason) => {
                let leader = plain::line(leader);
                debug!(coordinator = %by.uri(), %leader, %reason, "not looking where it says the leader is");
            }
        }
    }

    fn may_follow(&self, named: &Route) -> bool {
        self.n_followed < MOST_FOLLOWED || self.is_listed(named)
    }

    fn is_listed(&self, route: &Route) -> bool {
        self.routes.listed().iter().any(|listed| listed.uri() == route.uri())
    }

    fn is_silent(&self, route: &Route) -> bool {
        self.silent.contains(route.uri())
    }
}

fn is_at(one: Option<&Route>, other: &Route) -> bool {
    one.is_some_and(|one| one.uri() == other.uri())
}

#[cfg(test)]
mod tests;
