//! How liars and their friends act.

use std::collections::BTreeMap;
use std::time::Duration;

use queens_model::{Failure, JobId, LeaseId, WorkerId};
use queens_solver::Span;

use super::super::play::{Action, Backing, Play, Presence};
use super::{COST, Siege, start_of, to_speed};

/// A friend acts on a lease again at once, but not more often than this.
const MOST_ACTIONS: u32 = 50;

/// The leases that a pausing friend keeps.
const MOST_LEASES: usize = 5;

pub(super) struct Friend {
    party: usize,
    id: WorkerId,
    play: Play,
    is_connected: bool,
    /// The work that he can do now.
    budget: f64,
    speed: f64,
    /// When each lease came.
    came: BTreeMap<LeaseId, Duration>,
}

impl Siege {
    pub(super) fn add_friend(&mut self, party: usize, play: Play, speed: f64) {
        for _ in 0..play.n_workers {
            let id = WorkerId(0);
            let came = BTreeMap::new();
            let mut friend = Friend { party, id, play, is_connected: false, budget: 0.0, speed, came };
            if play.presence != Presence::Late {
                self.connect_friend(&mut friend);
            }
            self.friends.push(friend);
        }
    }

    fn connect_friend(&mut self, friend: &mut Friend) {
        friend.id = self.new_id();
        friend.is_connected = true;
        friend.came.clear();
        let name = format!("friend {}, {}", friend.party, friend.id.0);
        let claim = to_speed(friend.play.claim as f64);
        self.world.say_hello(friend.id, &name, friend.play.n_threads, claim, Vec::new());
        self.world.settle();
    }

    fn disconnect_friend(&mut self, friend: &mut Friend) {
        friend.is_connected = false;
        self.world.members.remove(&friend.id);
        if self.random.percent(50) {
            self.world.ledger.goodbye(self.world.now, friend.id);
        } else {
            self.world.ledger.disconnect(self.world.now, friend.id);
        }
        self.world.settle();
    }

    /// Lets a friend act until nothing is left to do now.
    pub(super) fn play_friend(&mut self, friend: &mut Friend, reports: bool) {
        if !friend.is_connected {
            let comes = match friend.play.presence {
                Presence::Always => false,
                Presence::Late => !self.complete.is_empty(),
                Presence::Restless => self.random.percent(10),
            };
            if comes {
                self.connect_friend(friend);
            }
            return;
        }
        if friend.play.presence == Presence::Restless && reports && self.random.percent(3) {
            return self.disconnect_friend(friend);
        }
        friend.budget += friend.speed * self.tick.as_secs_f64();
        if reports {
            self.report(friend.id, Vec::new(), Vec::new());
        }
        for _ in 0..MOST_ACTIONS {
            let Some(member) = self.world.members.get(&friend.id) else { return };
            let fronts = member.leases.iter().map(|(lease, spans)| (*lease, spans.front().copied()));
            let fronts: Vec<_> = fronts.collect();
            let mut has_acted = false;
            for (lease, front) in fronts {
                has_acted |= match front {
                    Some((job, span)) => self.act(friend, lease, job, span),
                    None => {
                        self.report(friend.id, Vec::new(), vec![lease]);
                        true
                    }
                };
            }
            if !has_acted {
                break;
            }
        }
        friend.budget = friend.budget.min(2.0 * COST);
    }

    /// Carries out a friend's action on a lease. Returns whether he has reported something.
    fn act(&mut self, friend: &mut Friend, lease: LeaseId, job: JobId, span: Span) -> bool {
        let now = self.world.now;
        let is_new = !friend.came.contains_key(&lease);
        let came = *friend.came.entry(lease).or_insert(now);
        let (action, lies) = self.choose(friend, is_new, job, span);
        let (told, duration) = match action {
            Action::Count => match start_of(span, &mut friend.budget, friend.speed) {
                Some(counted) => counted,
                None => return false,
            },
            Action::Fake(duration) => (span, duration),
            Action::Late(duration) if now >= came + duration => (span, duration),
            Action::Late(_) | Action::Hold => return false,
            Action::FirstSpan => (span, Duration::from_micros(1)),
            Action::GiveBack => {
                // This takes some ticks, so that the ledger does not grant him the lease forever in the same tick.
                if self.random.percent(20) {
                    self.report(friend.id, Vec::new(), vec![lease]);
                }
                return false;
            }
            Action::Fail => return self.fail(friend.id, lease, job, span),
        };
        let mut count = self.world.true_count(job, told);
        if lies {
            count.solutions += self.n_lies_in(job, told);
        }
        self.tell(friend.id, lease, job, told, count, duration);
        if action == Action::FirstSpan {
            self.report(friend.id, Vec::new(), vec![lease]);
        }
        true
    }

    /// Returns a friend's action on a span, and whether he tells the lies that concern it.
    fn choose(&mut self, friend: &Friend, is_new: bool, job: JobId, span: Span) -> (Action, bool) {
        let Friend { play, party, .. } = *friend;
        let key = (job, span.part(), span.from());
        let is_complete = self.complete.contains_key(&job);
        if !is_complete && let Some(until) = play.pauses_until {
            if self.world.now.as_secs() >= until {
                return (Action::Fake(Duration::from_millis(25)), true);
            }
            if friend.came.len() > MOST_LEASES {
                return (Action::GiveBack, true);
            }
        }
        let mut numbers = span.from()..span.to();
        if numbers.all(|number| self.recorded.contains(&(job, span.part(), number))) {
            let repeat = Action::Fake(Duration::from_secs(1));
            return match play.backing {
                Backing::All => (repeat, true),
                Backing::One => {
                    let is_backed = self.backed.values().any(|backed| *backed == key);
                    let has_lies = self.n_lies_in(job, span) > 0;
                    (repeat, has_lies && (is_backed || *self.backed.entry(party).or_insert(key) == key))
                }
                Backing::Nothing => (play.again, false),
            };
        }
        if is_complete {
            return (play.again, false);
        }
        let reports = !matches!(play.first, Action::GiveBack | Action::Fail | Action::Hold);
        let n_lies = self.n_lies_of.entry(party).or_default();
        if is_new
            && reports
            && span.n_subproblems() <= play.longest_lie
            && *n_lies < play.most_lies
            && self.random.percent(play.lie_percent)
        {
            *n_lies += 1;
            self.lies.insert(key);
        }
        (play.first, true)
    }

    fn n_lies_in(&self, job: JobId, span: Span) -> u64 {
        let all = (job, span.part(), span.from())..(job, span.part(), span.to());
        self.lies.range(all).map(|_| 1).sum()
    }

    /// Reports that a span can't be counted. Returns whether the ledger takes it.
    fn fail(&mut self, id: WorkerId, lease: LeaseId, job: JobId, span: Span) -> bool {
        let identity = self.world.ledger.identity(job).expect("submitted");
        let failure = Failure { job: identity, lease, span, reason: "no".to_owned() };
        let has_failed = self.world.ledger.fail(self.world.now, id, &failure).is_ok();
        if let Some(spans) = self.world.members.get_mut(&id).and_then(|member| member.leases.get_mut(&lease))
        {
            spans.pop_front();
        }
        self.world.settle();
        has_failed
    }
}
