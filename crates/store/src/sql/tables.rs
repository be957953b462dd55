//! Loads and stores the ledger's data in the tables of a database.

use queens_ledger::store::draw::{Draw, Drawn, Recorded};
use queens_ledger::store::{Stored, Write};
use queens_model::JobId;
use queens_solver::Span;

use super::database::Database;
use super::digest::{BLOCKED_WORKER, JOB};
use super::draw::{Before, Reader};
use super::fault::Fault;
use super::read;
use super::write::{self, WriteCache};

/// The tables of a store, with caches. A new value has empty caches and the same results.
#[derive(Debug, Default)]
pub struct Tables {
    known: WriteCache,
    before: Before,
}

impl Tables {
    /// Loads the data that a coordinator continues with. A contradictory job is set aside with the reason.
    pub fn load(database: &dyn Database) -> Result<Stored, Fault> {
        let blocked = read::blocked(database).map_err(|fault| fault.at(&BLOCKED_WORKER))?;
        let jobs = read::jobs_and_damage(database).map_err(|fault| fault.at(&JOB))?;
        Ok(Stored { blocked, jobs })
    }

    /// Makes writes part of the open transaction. After a rollback, the caches must be dropped.
    pub fn write(&mut self, database: &dyn Database, writes: &[Write]) -> Result<(), Fault> {
        writes.iter().try_for_each(|write| write::apply(database, &mut self.known, write))
    }

    /// Returns the record of exactly this span, if there is one.
    pub fn find(
        &mut self,
        database: &dyn Database,
        job: JobId,
        span: Span,
    ) -> Result<Option<Recorded>, Fault> {
        let found = write::board(database, &mut self.known, job)
            .and_then(|board| Reader::new(database, job, board).find(span));
        found.map_err(|fault| fault.of_job(job, format_args!("record of job {job}, {span}")))
    }

    /// Reads the records that a draw asks for.
    pub fn draw(&mut self, database: &dyn Database, draw: &Draw) -> Result<Drawn, Fault> {
        let drawn = write::board(database, &mut self.known, draw.job)
            .and_then(|board| Reader::new(database, draw.job, board).draw(draw, &mut self.before));
        drawn.map_err(|fault| fault.of_job(draw.job, format_args!("records of job {}", draw.job)))
    }
}
