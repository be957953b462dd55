//! Draws a sample of a certificate's records, and recounts it.

use std::collections::BinaryHeap;
use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use queens_solver::{Count, Kernel, Span, parallel};
use siphasher::sip::SipHasher13;

use crate::entry::Counted;
use crate::plans::{Kind, Plans};
use crate::refusal::Refusal;
use crate::report::SampleReport;

/// The extent of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extent {
    /// All records that can be started in this time.
    Time(Duration),
    /// This share of all records, from 0 to 1. A share above 0 has at least one record.
    Share(f64),
}

/// The sample to recount.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The extent.
    pub extent: Extent,
    /// The seed that selects the records. The author of the file could not know it.
    pub seed: u64,
}

/// Returns an unpredictable seed for a sample.
///
/// # Errors
/// If the system has no random numbers.
pub fn random_seed() -> io::Result<u64> {
    let mut seed = [0; 8];
    getrandom::fill(&mut seed).map_err(io::Error::other)?;
    Ok(u64::from_le_bytes(seed))
}

/// The maximum number of records for a sample with a time limit.
const MOST_TIMED: usize = 1 << 18;

/// The maximum number of records for a share: some hundred megabytes of memory.
const MOST_SHARED: usize = 1 << 22;

/// Draws records while they are read.
pub(crate) struct Draw {
    sample: Sample,
    drawn: BinaryHeap<Drawn>,
    /// The record with the smallest hash among those that were not drawn.
    next: Option<Drawn>,
    n_records: u64,
    work: u128,
}

/// A drawn record. The smallest hashes are drawn first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Drawn {
    hash: u64,
    pass: u8,
    kind: Kind,
    span: Span,
    solutions: u64,
    work: u64,
}

impl Draw {
    pub(crate) fn of(sample: Sample) -> Self {
        Self { sample, drawn: BinaryHeap::new(), next: None, n_records: 0, work: 0 }
    }

    /// Considers a record of a pass with this plan.
    pub(crate) fn see(&mut self, counted: &Counted, kind: Kind) -> Result<(), String> {
        self.n_records += 1;
        self.work += u128::from(counted.count.work);
        let Counted { pass, span, count: Count { solutions, work }, .. } = *counted;
        let mut bytes = [0; 13];
        bytes[0] = pass;
        bytes[1..5].copy_from_slice(&span.part().to_le_bytes());
        bytes[5..].copy_from_slice(&span.from().to_le_bytes());
        let hash = SipHasher13::new_with_keys(self.sample.seed, 0).hash(&bytes);
        let drawn = Drawn { hash, pass, kind, span, solutions, work };
        match self.sample.extent {
            Extent::Time(_) if self.drawn.len() < MOST_TIMED => self.drawn.push(drawn),
            Extent::Time(_) => {
                if let Some(mut last) = self.drawn.peek_mut().filter(|last| drawn < **last) {
                    *last = drawn;
                }
            }
            Extent::Share(share) if hash as f64 <= share * u64::MAX as f64 && share > 0.0 => {
                if self.drawn.len() >= MOST_SHARED {
                    return Err(format!(
                        "a share of {share} has more than {MOST_SHARED} records: ask for less"
                    ));
                }
                self.drawn.push(drawn);
            }
            Extent::Share(_) => self.next = Some(self.next.map_or(drawn, |next| next.min(drawn))),
        }
        Ok(())
    }

    /// Recounts the drawn records and compares.
    pub(crate) fn recount(
        self,
        plans: &Plans<'_>,
        (kernel, n_threads): (Kernel, NonZeroUsize),
        stop: &AtomicBool,
        told: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<SampleReport, Refusal> {
        let began = Instant::now();
        let is_some = self.sample.extent != Extent::Share(0.0);
        let mut drawn = self.drawn.into_sorted_vec();
        if drawn.is_empty() && is_some {
            drawn.extend(self.next);
        }
        let is_wrong = AtomicBool::new(false);
        let n_done = AtomicU64::new(0);
        let is_time = || match self.sample.extent {
            Extent::Time(time) => began.elapsed() < time,
            Extent::Share(_) => true,
        };
        let go_on = |_| is_time() && !stop.load(Ordering::Relaxed) && !is_wrong.load(Ordering::Relaxed);
        let counted =
            parallel(n_threads, drawn.len(), go_on, |i| match recount(&drawn[i], plans, kernel, stop) {
                Ok(true) => {
                    told(n_done.fetch_add(1, Ordering::Relaxed) + 1, drawn.len() as u64);
                    Ok(u128::from(drawn[i].work))
                }
                Ok(false) => Ok(0),
                Err(refusal) => {
                    is_wrong.store(true, Ordering::Relaxed);
                    Err(refusal)
                }
            });
        let counted = counted.map_err(|error| Refusal::Io(io::Error::other(error.to_string())))?;
        let work = counted.into_iter().sum::<Result<u128, Refusal>>()?;
        if stop.load(Ordering::Relaxed) {
            return Err(Refusal::Interrupted);
        }
        Ok(SampleReport {
            seed: self.sample.seed,
            n_records: self.n_records,
            n_recounted: n_done.into_inner(),
            work,
            all_work: self.work,
            elapsed: began.elapsed(),
        })
    }
}

/// Recounts a record; returns `false` if that was stopped. A wrong record is an error.
fn recount(drawn: &Drawn, plans: &Plans<'_>, kernel: Kernel, stop: &AtomicBool) -> Result<bool, Refusal> {
    let Drawn { pass, kind, span, solutions, work, .. } = *drawn;
    let place = format!("pass {pass}, {span}");
    let planned = plans.get(kind).and_then(|plan| plan.part(span.part()));
    let Some(planned) = planned else { return Err(Refusal::at(place, "it is in no plan")) };
    let Some(found) = planned.subproblems().count(span.from()..span.to(), kernel, stop) else {
        return Ok(false);
    };
    if found == (Count { solutions, work }) {
        return Ok(true);
    }
    let Count { solutions: right, work: right_work } = found;
    Err(Refusal::at(
        place,
        format!(
            "counted again it has {right} solutions and {right_work} nodes, the certificate says {solutions} and {work}"
        ),
    ))
}
