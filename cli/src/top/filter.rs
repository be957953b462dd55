//! Filters the jobs and workers on the screen.

use queens_model::{JobStatus, WorkerStatus};

use crate::top::input::Input;

/// Words that must all match, in any case; an empty filter shows everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    /// The text as typed.
    pub(super) input: Input,
}

impl Filter {
    /// Returns the positions of the matching jobs. A word is a job's number or n, or part of its state, method or
    /// waiting reason. O(J).
    pub(super) fn jobs(&self, jobs: &[JobStatus]) -> Vec<usize> {
        self.places(jobs, |job, word| {
            let waits = job.waits_for.as_deref().unwrap_or_default();
            let dispute = if job.is_in_dispute() { "disputed" } else { "" };
            let whole = [job.id.to_string(), job.n.to_string()];
            whole.iter().any(|it| it == word)
                || [job.state.name(), job.method.name(), waits, dispute].iter().any(|it| is_in(word, it))
        })
    }

    /// Returns the positions of the matching workers. A word is part of a worker's name, state, kernel or program.
    /// O(W).
    pub(super) fn workers(&self, workers: &[WorkerStatus]) -> Vec<usize> {
        self.places(workers, |worker, word| {
            let lost = if worker.connected { "" } else { "lost" };
            [worker.name.as_str(), worker.state.name(), worker.kernel.as_str(), worker.build.as_str(), lost]
                .iter()
                .any(|it| is_in(word, it))
        })
    }

    fn places<T>(&self, all: &[T], has: impl Fn(&T, &str) -> bool) -> Vec<usize> {
        let words: Vec<String> = self.input.text().split_whitespace().map(str::to_lowercase).collect();
        let is_shown = |one: &T| words.iter().all(|word| has(one, word));
        (0..all.len()).filter(|at| is_shown(&all[*at])).collect()
    }
}

fn is_in(word: &str, text: &str) -> bool {
    text.to_lowercase().contains(word)
}

#[cfg(test)]
mod tests {
    use queens_model::{JobId, JobState};
    use queens_solver::{BoardSize, Method};

    use super::*;

    #[test]
    fn every_word_has_to_be_found() {
        let job = |id, n, method, state| {
            JobStatus::new(JobId(id), BoardSize::new(n).expect("a board size"), method, state)
        };
        let jobs = [
            job(1, 20, Method::Search, JobState::Done),
            job(2, 21, Method::Halves, JobState::Running),
            job(21, 8, Method::Search, JobState::Running),
        ];
        for (text, shown) in [
            ("", vec![0, 1, 2]),
            ("  ", vec![0, 1, 2]),
            ("RUN", vec![1, 2]),
            ("run search", vec![2]),
            ("21", vec![1, 2]),
            ("2", vec![1]),
            ("done halves", vec![]),
        ] {
            assert_eq!(Filter { input: Input::of(text) }.jobs(&jobs), shown, "{text:?}");
        }
    }
}
