//! Carries out the schemes of friends.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use queens_model::{Held, JobId, LeaseId};
use queens_solver::Span;

use super::siege::{Friend, Siege, to_speed};

impl Siege {
    /// Restarts the coordinator once, when all first passes are recorded, if that is part of the scheme.
    pub(super) fn restart_if_recorded(&mut self) {
        let Some(delay) = self.scheme.restart else { return };
        if self.has_restarted || self.complete.len() < self.first_passes().count() {
            return;
        }
        self.has_restarted = true;
        self.world.now = Duration::ZERO;
        self.world.restart();
        for honest in &mut self.honest {
            honest.away_until = Some(self.world.now + delay);
            (honest.budget, honest.current) = (0.0, None);
        }
        let mut friends = std::mem::take(&mut self.friends);
        friends.iter_mut().for_each(|friend| self.reconnect(friend));
        self.friends = friends;
    }

    fn reconnect(&mut self, friend: &mut Friend) {
        friend.id = self.new_id();
        friend.is_connected = true;
        friend.came.clear();
        let second = self.world.jobs().iter().copied().find(|job| self.world.is_second_pass(*job));
        let adopted = second.filter(|_| self.scheme.adopts && friend.party == 1).map(|second| {
            let parts: BTreeSet<u32> = self.lies.iter().map(|(_, part, _)| *part).collect();
            let all = |part| self.world.plan.parts()[part as usize].choice().n_subproblems;
            let whole = |part| Span::new(part, 0, all(part)).expect("not empty");
            (second, parts.into_iter().map(|part| (LeaseId(3 + u64::from(part)), whole(part))).collect())
        });
        let (job, spans): (JobId, Vec<(LeaseId, Span)>) = adopted.unwrap_or((JobId(0), Vec::new()));
        let identity = self.world.ledger.identity(job);
        let held =
            spans.iter().filter_map(|&(lease, span)| Some(Held { lease, job: identity?, spans: vec![span] }));
        let held = held.collect();
        let name = format!("friend {}, {}", friend.party, friend.id.0);
        self.world.say_hello(
            friend.id,
            &name,
            friend.play.n_threads,
            to_speed(friend.play.claim as f64),
            held,
        );
        for (lease, span) in spans {
            let leases = self.world.members.get_mut(&friend.id).map(|member| &mut member.leases);
            leases.expect("connected").insert(lease, VecDeque::from([(job, span)]));
        }
        self.world.settle();
    }

    /// Whether all honest parties have records in a part, and the friend has none. The first and last part are for him.
    pub(super) fn is_avoided(&self, job: JobId, part: u32) -> bool {
        let is_inner = part > 0 && (part as usize) < self.world.plan.parts().len() - 1;
        let records = self.world.store.records(job).filter(|record| record.span.part() == part);
        let names: BTreeSet<&str> = records.map(|record| record.source.name.as_str()).collect();
        let has_friend = names.iter().any(|name| name.starts_with("friend 1"));
        is_inner && !has_friend && self.honest.iter().all(|honest| names.contains(&*honest.name))
    }

    /// Keeps a friend away while inner parts of the first pass are counted. Returns whether he is away.
    pub(super) fn dodge(&mut self, friend: &mut Friend) -> bool {
        let first = self.world.jobs()[0];
        let last = u32::try_from(self.world.plan.parts().len() - 1).expect("few");
        let is_at_end = self.complete.contains_key(&first)
            || self.world.store.records(first).any(|record| record.span.part() == last);
        if !friend.is_connected {
            if is_at_end {
                self.connect_friend(friend);
            }
            return true;
        }
        let leases = self.world.members.get(&friend.id).into_iter().flat_map(|member| member.leases.values());
        let is_inner = leases.flatten().any(|(job, span)| *job == first && (1..last).contains(&span.part()));
        if is_inner && !is_at_end {
            self.disconnect_friend(friend);
        }
        is_inner && !is_at_end
    }

    /// Lets a friend report a span of a lease that has ended with this duration. Then he gives leases back until all is
    /// recorded, and holds recounts. Returns whether he has reported something.
    pub(super) fn claim_to_be_slow(
        &mut self,
        friend: &Friend,
        lease: LeaseId,
        job: JobId,
        span: Span,
        duration: Duration,
    ) -> bool {
        if !self.slow.insert(friend.id) {
            if !self.complete.contains_key(&job) && self.random.percent(20) {
                self.report(friend.id, Vec::new(), vec![lease]);
            }
            return false;
        }
        let name = self.world.members[&friend.id].name.clone();
        let claim = to_speed(friend.play.claim as f64);
        self.world.say_hello(friend.id, &name, friend.play.n_threads, claim, Vec::new());
        self.world.settle();
        let told = span.split_at(span.from() + 1).0.expect("not empty");
        let count = self.world.true_count(job, told);
        self.tell(friend.id, lease, job, told, count, duration);
        true
    }
}
