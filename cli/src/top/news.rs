//! What happens, found out by comparing what the coordinator says with what it said before.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use queens_proto::{JobState, WorkerId, WorkerStatus};

use super::{State, by_id};

/// Events that are kept.
const KEPT: usize = 200;

/// Single workers that are named when many come or go at once.
const NAMED: usize = 5;

/// What has happened since the start, newest first.
#[derive(Debug, Default)]
pub(super) struct News(VecDeque<(Instant, String)>);

impl News {
    pub(super) fn add(&mut self, what: String) {
        self.0.push_front((Instant::now(), what));
        self.0.truncate(KEPT);
    }

    pub(super) fn newest_first(&self) -> impl Iterator<Item = (Instant, &str)> {
        self.0.iter().map(|(at, what)| (*at, what.as_str()))
    }

    /// Adds what is different now. Of what was there when it was first looked at, nothing is said.
    pub(super) fn compare(&mut self, before: Option<&State>, now: &State) {
        let Some(before) = before else { return };
        self.compare_jobs(before, now);
        self.compare_workers(before, now);
        let store_error = |state: &State| state.jobs.iter().find_map(|job| job.store_error.clone());
        match (store_error(before), store_error(now)) {
            (None, Some(error)) => self.add(format!("nothing is recorded at present: {error}")),
            (Some(_), None) => self.add("reports are recorded again".to_owned()),
            _ => {}
        }
    }

    fn compare_jobs(&mut self, before: &State, now: &State) {
        let before = by_id(&before.jobs);
        for job in &now.jobs {
            let state = job.state.name();
            let Some(old) = before.get(&job.id) else {
                self.add(format!("job {} submitted (n = {})", job.id, job.n));
                continue;
            };
            if old.state != job.state {
                self.add(match job.state {
                    JobState::Done => format!("job {} is done: {} solutions", job.id, job.progress.solutions),
                    _ => format!("job {} is {state}, was {}", job.id, old.state.name()),
                });
            }
            if old.priority != job.priority {
                self.add(format!("job {} has priority {}, had {}", job.id, job.priority, old.priority));
            }
            if old.n_disputed < job.n_disputed {
                self.add(format!("job {}: a second count contradicts a recorded one", job.id));
            }
            if old.n_failed < job.n_failed {
                let reason = job.failure.as_deref().unwrap_or("no reason known");
                self.add(format!("job {}: {} spans failed; {reason}", job.id, job.n_failed));
            }
        }
    }

    fn compare_workers(&mut self, before: &State, now: &State) {
        let by_id = |state: &State| -> BTreeMap<WorkerId, WorkerStatus> {
            state.workers.iter().map(|worker| (worker.id, worker.clone())).collect()
        };
        let (before, now) = (by_id(before), by_id(now));
        let name = |worker: &WorkerStatus| worker.name.clone();
        let joined = now.values().filter(|worker| !before.contains_key(&worker.id)).map(name).collect();
        self.add_workers(joined, "joined");
        let left = before.values().filter(|worker| !now.contains_key(&worker.id)).map(name).collect();
        self.add_workers(left, "left");
        let pairs = || now.values().filter_map(|worker| Some((before.get(&worker.id)?, worker)));
        let lost = pairs().filter(|(old, worker)| old.connected && !worker.connected);
        self.add_workers(lost.map(|(_, worker)| name(worker)).collect(), "lost its connection");
        let back = pairs().filter(|(old, worker)| !old.connected && worker.connected);
        self.add_workers(back.map(|(_, worker)| name(worker)).collect(), "connected again");
        let mut changed: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (_, worker) in pairs().filter(|(old, worker)| old.state != worker.state) {
            changed.entry(worker.state.name()).or_default().push(name(worker));
        }
        for (state, names) in changed {
            self.add_workers(names, &format!("is {state}"));
        }
    }

    fn add_workers(&mut self, names: Vec<String>, what: &str) {
        if names.len() > NAMED {
            self.add(format!("{} workers: each {what}", names.len()));
        } else {
            names.into_iter().for_each(|name| self.add(format!("worker {name} {what}")));
        }
    }
}
