//! Moves the lead from one coordinator to another, and delays that an old leader notices.

use std::time::Duration;

use super::event::Event;
use super::lead::{RENEWED, RETRY};
use super::sight::Sight;
use super::world::World;

impl World<'_> {
    /// Returns the host whose coordinator leads, if there is one. A coordinator whose store went back leads no more,
    /// though the next leader may have the same epoch.
    pub(crate) fn leader(&self) -> Option<usize> {
        let leads = |host: &super::host::Host| {
            host.coordinator.is_some() && !host.has_gone_back && self.disk.lead.is_of(host.epoch)
        };
        self.hosts.iter().position(leads)
    }

    /// Returns the host on which the process of this number runs.
    pub(crate) fn host_of(&self, start: u64) -> Option<usize> {
        self.hosts.iter().position(|host| host.start == start)
    }

    /// Returns any host with a coordinator, whether or not it leads.
    pub(crate) fn any_coordinator(&mut self) -> Option<usize> {
        let hosts = (0..).zip(&self.hosts).filter(|(_, host)| host.coordinator.is_some());
        let hosts: Vec<usize> = hosts.map(|(host, _)| host).collect();
        // With a single one nothing is drawn, so that histories on a directory stay the same.
        if hosts.len() > 1 { self.random.pick(&hosts) } else { hosts.first().copied() }
    }

    /// Lets a process try to take the lead.
    pub(crate) fn campaign(&mut self, host: usize) {
        let start = self.hosts[host].start;
        let is_cut_off = self.hosts[host].is_cut_off(self.now);
        let Some(epoch) = (!is_cut_off).then(|| self.disk.lead.take(self.now)).flatten() else {
            let at = RETRY + self.random.ms(0, 1_000);
            return self.after(at, Event::Campaign { start });
        };
        self.note(format_args!("host {host} takes the lead"));
        let sights = &mut self.tally.sights;
        if epoch > 1 {
            sights.see(Sight::Takeover);
        }
        for other in self.hosts.iter_mut().filter(|other| other.coordinator.is_some()) {
            if other.past.is_none() {
                other.past = Some(self.disk.contents.clone());
                sights.see(Sight::TakeoverFromTheLiving);
            }
        }
        self.hosts[host].epoch = epoch;
        self.after(RENEWED, Event::Renew { start });
        // The durable state is read some time later, and much later if the process is stopped in between.
        let at = self.random.ms(0, 300);
        self.after(at, Event::Lead { start });
        if self.random.percent(8) {
            let duration = self.any_standstill();
            self.freeze(host, duration, false);
        }
    }

    /// Starts the coordinator of a process that has taken the lead.
    pub(crate) fn lead(&mut self, host: usize) {
        let here = &mut self.hosts[host];
        if here.is_cut_off(self.now) {
            let (at, start) = (here.cut_off_until - self.now, here.start);
            return self.after(at, Event::Lead { start });
        }
        if !self.disk.lead.is_of(here.epoch) {
            here.past = Some(self.disk.contents.clone());
            self.tally.sights.see(Sight::LedTooLate);
        }
        self.start_coordinator(host);
    }

    /// Renews the lead, on a thread of its own, which notices if another has taken it.
    pub(crate) fn renew(&mut self, host: usize) {
        let here = &self.hosts[host];
        let (start, epoch) = (here.start, here.epoch);
        if here.is_cut_off(self.now) || self.disk.lead.renew(self.now, epoch).is_ok() {
            return self.after(RENEWED, Event::Renew { start });
        }
        if here.coordinator.is_some() {
            self.tally.sights.see(Sight::LossNoticed);
            self.kill_coordinator(host);
        } else {
            self.after(RENEWED, Event::Renew { start });
        }
    }

    /// Stops a process for a while, in the middle of a step or not. It keeps its memory.
    pub(crate) fn freeze(&mut self, host: usize, duration: Duration, is_in_a_step: bool) {
        let here = &mut self.hosts[host];
        // Events that wait for the end of a standstill come in their order then, so that there is one end.
        if !here.is_frozen(self.now) {
            here.frozen_until = self.now + duration;
            here.is_in_a_step = is_in_a_step;
            self.note(format_args!("host {host} stands still for {duration:?}"));
            self.after(duration, Event::Thaw { host });
        }
    }

    pub(crate) fn thaw(&mut self, host: usize) {
        let here = &self.hosts[host];
        if here.frozen_until == self.now && here.is_superseded() {
            self.tally.sights.see(Sight::OldLeaderResumed);
            if here.is_in_a_step {
                self.tally.sights.see(Sight::OldLeaderResumedInAStep);
            }
        }
    }

    /// Returns how long a process is stopped: rarely so briefly that it still leads afterwards.
    pub(crate) fn any_standstill(&mut self) -> Duration {
        self.random.ms(1_000, 30_000)
    }
}
