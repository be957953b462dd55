//! Calls to the leading coordinator, with failover to another.

use std::time::Duration;

use parking_lot::Mutex;
use tonic::{Response, Status};

use crate::client::connection::Connection;
use crate::client::error::{ClientError, Problem};
use crate::client::route::Route;
use crate::client::route_list::Routes;
use crate::client::search::{Attempt, Search};
use crate::pb;
use crate::pb::jobs_client::JobsClient;

/// The gRPC client of one coordinator.
pub(super) type Jobs = JobsClient<Connection>;

/// Calls to the leading coordinator.
#[derive(Debug)]
pub(super) struct Calls {
    search: tokio::sync::Mutex<Search>,
    are_several: bool,
    /// The last known leader.
    found: Mutex<Found>,
}

#[derive(Clone, Debug)]
struct Found {
    jobs: Jobs,
    route: Route,
    /// Whether no other coordinator is known.
    is_only_one: bool,
    /// Whether another may lead now.
    is_lost: bool,
}

/// Whether a call may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Changes nothing, and may be sent to one coordinator after another.
    Question,
    /// Changes something, and is sent to another coordinator only if the first has certainly not executed it.
    Change,
}

/// The coordinators that one call has tried in vain, with the reasons.
#[derive(Debug, Default)]
struct Failures(Vec<(Route, Problem)>);

impl Calls {
    /// Finds the leader among these coordinators. A single coordinator is not asked until the first call.
    pub(super) async fn connect(routes: Routes) -> Result<Self, ClientError> {
        let are_several = routes.are_several();
        let mut search = Search::new(routes);
        let found = find(&mut search, &mut Failures::default()).await?;
        Ok(Self { search: search.into(), are_several, found: found.into() })
    }

    pub(super) fn are_several(&self) -> bool {
        self.are_several
    }

    /// Returns the URL of the last known leader.
    pub(super) fn coordinator(&self) -> String {
        self.found.lock().route.uri().to_string()
    }

    /// Handles a broken stream: if the coordinator may be gone, the next call looks for another.
    pub(super) async fn broke_off(&self, ClientError { coordinator, problem }: &ClientError) {
        let found = self.found.lock().clone();
        let is_of_it = !found.is_lost && found.route.uri().to_string() == *coordinator;
        if is_of_it && found.may_be_left(problem) {
            self.leave(&found.route, problem, &mut Failures::default()).await;
        }
    }

    /// Makes a call to the leader. `patience` is the timeout for each coordinator, if there is one.
    pub(super) async fn call<Q: Clone, T, F: Future<Output = Result<Response<T>, Status>>>(
        &self,
        kind: Kind,
        patience: Option<Duration>,
        request: Q,
        call: impl Fn(Jobs, Q) -> F,
    ) -> Result<T, ClientError> {
        let mut failures = Failures::default();
        loop {
            let leader = self.leader(&mut failures).await?;
            let answer = call(leader.jobs.clone(), request.clone());
            let answer = match patience {
                Some(patience) => tokio::time::timeout(patience, answer).await,
                None => Ok(answer.await),
            };
            let problem = match (answer, kind) {
                (Ok(Ok(response)), _) => return Ok(response.into_inner()),
                (Ok(Err(status)), Kind::Question) => Problem::from(status),
                (Ok(Err(status)), Kind::Change) => Problem::of_change(status),
                (Err(_), Kind::Question) => Problem::Silent,
                (Err(_), Kind::Change) => Problem::Silent.unconfirmed(),
            };
            if leader.may_be_left(&problem) {
                self.leave(&leader.route, &problem, &mut failures).await;
                // Other connection problems of a change are unconfirmed.
                let is_undone = matches!(problem, Problem::StandsBy { .. } | Problem::Connection(_));
                if kind == Kind::Question || is_undone {
                    continue;
                }
            }
            return Err(ClientError { coordinator: leader.route.uri().to_string(), problem });
        }
    }

    async fn leave(&self, route: &Route, problem: &Problem, failures: &mut Failures) {
        let mut search = self.search.lock().await;
        if failures.0.is_empty() {
            search.begin();
        }
        search.failed(route, problem);
        failures.0.push((route.clone(), problem.clone()));
        let mut found = self.found.lock();
        found.is_lost |= found.route.uri() == route.uri();
    }

    /// Returns the last known leader, or searches for one.
    async fn leader(&self, failures: &mut Failures) -> Result<Found, ClientError> {
        let mut search = self.search.lock().await;
        let found = self.found.lock().clone();
        if !found.is_lost {
            return Ok(found);
        }
        if failures.0.is_empty() {
            search.begin();
        }
        let found = find(&mut search, failures).await?;
        *self.found.lock() = found.clone();
        Ok(found)
    }
}

impl Found {
    /// Returns whether another coordinator may lead, after a call has failed with this problem.
    fn may_be_left(&self, problem: &Problem) -> bool {
        let stands_by = matches!(problem, Problem::StandsBy { .. });
        stands_by || !self.is_only_one && !problem.is_final()
    }
}

/// Continues a round of attempts until the leader is found.
async fn find(search: &mut Search, failures: &mut Failures) -> Result<Found, ClientError> {
    while let Some(Attempt { route, patience }) = search.next(true) {
        let opened = match patience {
            Some(patience) => tokio::time::timeout(patience, open_and_ask(&route)).await,
            None => Ok(open(&route).await),
        };
        match opened.unwrap_or(Err(Problem::Silent)) {
            Ok(jobs) => {
                search.leads(&route);
                let is_only_one = search.routes().listed().iter().all(|listed| listed.uri() == route.uri());
                return Ok(Found { jobs, route, is_only_one, is_lost: false });
            }
            Err(problem) => {
                search.failed(&route, &problem);
                failures.0.push((route, problem));
            }
        }
    }
    Err(failures.error())
}

async fn open(route: &Route) -> Result<Jobs, Problem> {
    Ok(JobsClient::new(route.open().await?))
}

/// Connects and checks that the coordinator answers and is no standby. So no change is sent to a frozen coordinator,
/// which would leave its outcome unknown.
async fn open_and_ask(route: &Route) -> Result<Jobs, Problem> {
    let jobs = open(route).await?;
    let answer = jobs.clone().get_coordinator(pb::GetCoordinatorRequest {}).await;
    match answer.map_err(Problem::from) {
        // A refused caller learns the reason from its own call.
        Ok(_) | Err(Problem::Refused(_)) => Ok(jobs),
        Err(problem) => Err(problem),
    }
}

impl Failures {
    /// Combines all failures into one error.
    fn error(&self) -> ClientError {
        if let [(route, problem)] = &self.0[..] {
            return ClientError { coordinator: route.uri().to_string(), problem: problem.clone() };
        }
        let uris: Vec<String> = self.0.iter().map(|(route, _)| route.uri().to_string()).collect();
        let reasons: Vec<String> =
            self.0.iter().map(|(route, problem)| format!("{}: {problem}", route.uri())).collect();
        ClientError { coordinator: uris.join(", "), problem: Problem::NoneLeads(reasons.join("; ")) }
    }
}
