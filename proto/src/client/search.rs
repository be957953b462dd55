//! Which coordinator to try next, until the one is found that leads.
//!
//! Attempts come in rounds, in which nobody is tried twice; between rounds, whoever searches pauses. Whom a coordinator
//! that stands by has named comes next, then whoever led last, then the others as they are listed. Those that did not
//! answer in time come last, and get less time: a leader that is frozen, or behind a firewall that drops everything, is
//! named for a while by those that are about to take its place, and waiting for it again and again would keep workers
//! from them.

use std::time::Duration;

use queens_model::plain;
use tonic::codegen::http::Uri;
use tracing::debug;

use crate::client::error::Problem;
use crate::client::route::Route;
use crate::client::routes::Routes;

/// How many coordinators that are not listed are tried in a round because others named them.
const MOST_FOLLOWED: usize = 4;

/// How many are remembered for not having answered.
const MOST_SILENT: usize = 32;

/// How long an attempt may take where there are other coordinators: while things are urgent; the same of one that has
/// not answered before, or that has just been lost; and when nobody has been found for a while, for coordinators to
/// which thousands come at once.
const PATIENCE: Duration = Duration::from_secs(3);
const PATIENCE_WITH_DOUBTFUL: Duration = Duration::from_millis(1500);
const PATIENCE_AT_LEISURE: Duration = Duration::from_secs(10);

/// What a search knows of coordinators.
#[derive(Debug)]
pub struct Search {
    routes: Routes,
    /// Who led last, listed or not.
    leader: Option<Route>,
    /// Who was named, and not tried since.
    named: Option<Route>,
    /// Who was tried in this round.
    tried: Vec<Uri>,
    /// How many of them are not listed and were named.
    n_followed: usize,
    /// Who did not answer in time when it was tried last.
    silent: Vec<Uri>,
}

/// An attempt to be made.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// With which coordinator.
    pub route: Route,
    /// How long it may take until it answers; `None` if there is nobody else to go to.
    pub patience: Option<Duration>,
}

impl Search {
    /// One that knows nothing yet.
    #[must_use]
    pub fn new(routes: Routes) -> Self {
        let (leader, named, n_followed) = (None, None, 0);
        Self { routes, leader, named, tried: Vec::new(), n_followed, silent: Vec::new() }
    }

    /// What is searched.
    #[must_use]
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Begins a round.
    pub fn begin(&mut self) {
        self.tried.clear();
        self.n_followed = 0;
    }

    /// Whom to try next in this round; `None` if all were tried.
    pub fn next(&mut self, is_urgent: bool) -> Option<Attempt> {
        let named = self.named.iter().filter(|named| self.may_follow(named));
        let all = named.chain(&self.leader).chain(self.routes.listed());
        let left = all.filter(|route| !self.tried.contains(route.uri()));
        // The first of those that are silent, or of those that are not.
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

    /// The coordinator leads.
    pub fn leads(&mut self, route: &Route) {
        self.silent.retain(|silent| silent != route.uri());
        self.leader = Some(route.clone());
    }

    /// An attempt has failed, or what it had led to is over. In this round it is not tried again.
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
            // Whether it would answer is not known.
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

    /// A coordinator that stands by has said who leads.
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
