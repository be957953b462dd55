//! The coordinator's process among everything else: how it is fed, what it asks for, how it dies and comes back.

use std::time::Duration;

use queens_messages::JobId;

use super::coordinator::{Command, Coordinator, Request, Surroundings};
use super::event::Event;
use super::world::World;

/// How often it is looked whether there is something to look after.
const IDLE: Duration = Duration::from_secs(1);

impl World<'_> {
    /// Puts a command into the event loop's queue, which is often looked at before the next one comes.
    pub(crate) fn command(&mut self, command: Command) {
        let Some(coordinator) = &mut self.coordinator else { return };
        coordinator.push(command);
        if self.random.percent(70) {
            self.coordinate(Coordinator::run);
        } else {
            let (at, start) = (self.random.ms(1, 60), self.n_starts);
            self.after(at, Event::Wake { start });
        }
    }

    pub(crate) fn tick(&mut self) {
        let Some(coordinator) = &self.coordinator else { return };
        let next_tick = coordinator.next_tick();
        if next_tick.is_some_and(|next_tick| self.clock() >= next_tick) {
            self.coordinate(Coordinator::run);
        }
        let next_tick = self.coordinator.as_ref().and_then(Coordinator::next_tick);
        let wait = next_tick.map_or(IDLE, |next_tick| next_tick.saturating_sub(self.clock()));
        self.after(wait.clamp(Duration::from_millis(1), IDLE), Event::Tick { start: self.n_starts });
    }

    /// Lets the coordinator do something, and does what it asks for.
    pub(crate) fn coordinate(&mut self, act: impl FnOnce(&mut Coordinator, Duration, &mut Surroundings<'_>)) {
        let clock = self.clock();
        let Some(mut coordinator) = self.coordinator.take() else { return };
        let mut around = self.surroundings();
        act(&mut coordinator, clock, &mut around);
        let requests = around.requests;
        self.coordinator = Some(coordinator);
        requests.into_iter().for_each(|request| self.grant(request));
    }

    /// What the coordinator takes for the time since its start.
    fn clock(&self) -> Duration {
        (self.now - self.started + self.ahead).saturating_sub(self.behind)
    }

    fn surroundings(&mut self) -> Surroundings<'_> {
        Surroundings {
            puzzles: &self.puzzles,
            disk: &mut self.disk,
            witness: &mut self.witness,
            reporting: self.reporting,
            workers: &self.workers,
            requests: Vec::new(),
        }
    }

    fn grant(&mut self, request: Request) {
        let start = self.n_starts;
        match request {
            Request::Send { link, message } => {
                let latency = self.random.ms(0, 40);
                let lane = &mut self.links.get_mut(&link).expect("was made").down;
                if let Some(at) = lane.send(self.now, latency) {
                    self.after(at - self.now, Event::Down { link, message });
                }
            }
            Request::Close { link } => {
                // What is on its way from the worker still comes: it is refused, as its session is over.
                self.close_down(link, false);
            }
            Request::Plan(job) => {
                let at = self.random.ms(1, 2_000);
                self.after(at, Event::Planned { start, job });
            }
            Request::Retry => self.after(Duration::from_secs(1), Event::Retry { start }),
            Request::Die => self.kill_coordinator(),
        }
    }

    /// Ends the way to a worker, who notices it some time after the last message.
    pub(crate) fn close_down(&mut self, link: u64, at_once: bool) {
        let last = self.links.get_mut(&link).expect("was made").down.close(at_once);
        let at = last.saturating_sub(self.now) + self.random.ms(0, 500);
        self.after(at, Event::WorkerNotices { link });
    }

    pub(crate) fn kill_coordinator(&mut self) {
        if self.coordinator.take().is_none() {
            return;
        }
        self.note("the coordinator dies");
        self.n_starts += 1;
        for link in self.links.keys().copied().collect::<Vec<_>>() {
            self.links.get_mut(&link).expect("listed").up.close(true);
            let at_once = self.random.percent(50);
            self.close_down(link, at_once);
        }
        let at = self.random.ms(0, 8_000);
        self.after(at, Event::Restart);
    }

    pub(crate) fn start_coordinator(&mut self) {
        self.n_starts += 1;
        self.started = self.now;
        (self.ahead, self.behind) = (Duration::ZERO, Duration::ZERO);
        let mut around = self.surroundings();
        let mut coordinator = Coordinator::start(&mut around);
        let requests = around.requests;
        // The operator repeats what was not answered.
        for puzzle in &self.puzzles[self.disk.entries.len().min(self.n_submitted)..self.n_submitted] {
            coordinator.push(Command::Submit(puzzle.submission()));
        }
        if self.wants_cancel {
            coordinator.push(Command::Cancel(JobId(2)));
        }
        self.coordinator = Some(coordinator);
        requests.into_iter().for_each(|request| self.grant(request));
        self.repeat_operations();
        self.after(Duration::ZERO, Event::Wake { start: self.n_starts });
        self.after(Duration::ZERO, Event::Tick { start: self.n_starts });
    }
}
