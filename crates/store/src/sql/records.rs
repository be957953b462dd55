//! Reads records beside the coordinator, in read-only transactions.

use std::fmt::Debug;
use std::io::Write;
use std::path::PathBuf;

use queens_certificate::Key;
use queens_ledger::store::{StoreError, Verdict};
use queens_model::{Contribution, JobId, Name, Party, PartyTotals, VerdictStatus};

use super::contributions::contributions;
use super::database::Views;
use super::digest::Board;
use super::draw::Reader;
use super::export::export;
use super::party_totals::party_totals;
use super::read::{self, JobColumns};
use crate::archive::Records;
use crate::certificate::ExportError;

/// Read access to the records of a database.
#[derive(Debug)]
pub(crate) struct SqlRecords<V> {
    /// Opens the database.
    pub views: V,
    /// The directory with the key that signs certificates.
    pub key: PathBuf,
}

impl<V: Views> Records for SqlRecords<V> {
    fn contributions(&self, job: JobId, part: Option<u32>) -> Result<Vec<Contribution>, StoreError> {
        let read = self.views.view().and_then(|view| contributions(&*view, job, part));
        read.map_err(|fault| fault.of(self.views.place()))
    }

    fn party_totals(&self, job: JobId) -> Result<Vec<(Party, PartyTotals)>, StoreError> {
        let read = self.views.view().and_then(|view| party_totals(&*view, job));
        read.map_err(|fault| fault.of(self.views.place()))
    }

    fn verdicts(&self, job: JobId, offset: usize, most: usize) -> Result<Vec<VerdictStatus>, StoreError> {
        let read = self.views.view().and_then(|view| {
            let Some(JobColumns { row, .. }) = read::one_job(&*view, job)? else {
                return Ok(Vec::new());
            };
            Reader::new(&*view, job, Board::of(&row)).all_verdicts(offset, most)
        });
        let verdicts = read.map_err(|fault| fault.of(self.views.place()))?;
        Ok(verdicts.into_iter().map(verdict_status).collect())
    }

    fn export(&self, job: JobId, program: &Name, out: &mut dyn Write) -> Result<(), ExportError> {
        export(&self.views, &Key::of_directory(&self.key)?, job, program, out).map(drop)
    }
}

fn verdict_status(verdict: Verdict) -> VerdictStatus {
    let Verdict { span, number, at_ms, count, source, lost, lost_source } = verdict;
    let (worker, kernel) = (source.name.clone(), source.kernel.clone());
    let (lost_worker, lost_kernel) = (lost_source.name.clone(), lost_source.kernel.clone());
    VerdictStatus { span, number, at_ms, count, worker, kernel, lost, lost_worker, lost_kernel }
}
