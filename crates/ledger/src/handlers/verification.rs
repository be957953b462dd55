//! Handles operators' requests for more verification, or for its end.

use std::time::Duration;

use queens_model::JobId;

use crate::event::Verification;
use crate::handlers::jobs::{cancel_second, finish_if_complete};
use crate::handlers::operators::JobRefusal;
use crate::handlers::recounts;
use crate::handlers::submissions::{MOST_OPEN_JOBS, TooManyJobs, add_second, check_second};
use crate::jobs::job::Job;
use crate::ledger::Ledger;
use crate::schedule::assign::assign;
use crate::store::Phase;

impl Ledger {
    /// Has more of a job verified. A job that was done is open again until then; `created_ms` is the time in
    /// milliseconds since 1970.
    ///
    /// # Errors
    /// If there is no such job, or it is cancelled, or can't be verified like this.
    pub fn verify_more(
        &mut self,
        now: Duration,
        id: JobId,
        more: Verification,
        created_ms: u64,
    ) -> Result<(), JobRefusal> {
        self.advance(now);
        let job = self.jobs.get(id).ok_or(JobRefusal::Unknown(id))?;
        let terms = job.entry().terms;
        if matches!(job.phase(), Phase::Cancelled | Phase::Damaged) {
            return Err(JobRefusal::over(job));
        }
        if let Some(first) = terms.second_of {
            return Err(JobRefusal::IsSecond { job: id, first });
        }
        if let Some(method) = more.second_pass {
            check_second(job.method(), method, terms.part_range)?;
            // A damaged second pass never ends, so another one replaces it.
            if let Some(second) = job.second().filter(|&second| !self.jobs.is_damaged(second)) {
                return Err(JobRefusal::HasSecond { job: id, second });
            }
            if self.jobs.n_open() + usize::from(!job.is_open()) >= MOST_OPEN_JOBS {
                return Err(TooManyJobs.into());
            }
        }
        if more.recount_by.is_some() && more.recount_by != terms.recount_by {
            for pass in self.jobs.passes(id) {
                self.change_job(pass, |job| job.set_recount_by(more.recount_by));
                self.effects.change_entry(pass);
                recounts::look_again(self, pass);
                recounts::search_anew(self, pass);
            }
        }
        if let Some(share) = more.recount.filter(|share| *share > terms.recount) {
            self.change_job(id, |job| job.set_recount(share));
            recounts::look_again(self, id);
        }
        if let Some(method) = more.second_pass {
            if self.jobs.get(id).is_some_and(|job| job.phase() == Phase::Done) {
                self.change_job(id, Job::reopen);
            }
            add_second(self, id, method, created_ms);
        }
        self.effects.change_entry(id);
        // The request may need no new work.
        finish_if_complete(self, id);
        assign(self);
        Ok(())
    }

    /// Ends the verification of a job, which is done then as soon as nothing of it is in doubt. The largest share of
    /// recounts that is complete stays: at least the one with which the job was done before. A second pass that is not
    /// complete is cancelled. Has no effect on a job that is done.
    ///
    /// # Errors
    /// If there is no such job, or it is cancelled, damaged, or a second pass.
    pub fn end_verification(&mut self, now: Duration, id: JobId) -> Result<(), JobRefusal> {
        self.advance(now);
        let job = self.jobs.get(id).ok_or(JobRefusal::Unknown(id))?;
        if matches!(job.phase(), Phase::Cancelled | Phase::Damaged) {
            return Err(JobRefusal::over(job));
        }
        if let Some(first) = job.entry().terms.second_of {
            return Err(JobRefusal::IsSecond { job: id, first });
        }
        let second = job.second().and_then(|second| self.jobs.get(second));
        if let Some(second) = second.filter(|second| !second.is_complete()).map(Job::id) {
            cancel_second(self, id, second);
        }
        for pass in self.jobs.passes(id) {
            recounts::withdraw(self, pass);
        }
        finish_if_complete(self, id);
        assign(self);
        Ok(())
    }
}
