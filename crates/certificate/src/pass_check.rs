//! Checks the body of one pass: each subproblem is counted once, and the sums are right.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use queens_model::Name;
use queens_solver::{Count, Plan, Span};
use siphasher::sip::SipHasher24;

use crate::counter_identity::Who;
use crate::entry::{Counted, CrossSum, Verdict};
use crate::header::{Pass, Total};
use crate::record_evidence::{RecordEvidence, Rule, Unconfirmed};

/// The workers with their kernels, by the numbers of their counters.
#[derive(Debug, Default)]
pub(crate) struct Names(Vec<(Who, Name)>);

impl Names {
    pub(crate) fn push(&mut self, name: Who, kernel: Name) {
        self.0.push((name, kernel));
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(&self, counter: u32) -> Result<&Who, String> {
        Ok(&self.named(counter)?.0)
    }

    fn named(&self, counter: u32) -> Result<&(Who, Name), String> {
        let named = usize::try_from(counter).ok().and_then(|counter| self.0.get(counter));
        named.ok_or_else(|| format!("there is no counter {counter}"))
    }
}

/// A pass that is being read.
pub(crate) struct PassCheck<'a> {
    number: u8,
    said: &'a Pass,
    plan: &'a Plan,
    crosses: Range<u32>,
    /// The open part, with the sums of its records so far.
    open: Option<(CrossSum, Sum)>,
    /// The recounts and verdicts of the last record.
    evidence: RecordEvidence,
    next: u32,
    pub(crate) total: Total,
    /// The microseconds of all records.
    pub(crate) time_us: u128,
    /// The kernels of all records.
    pub(crate) kernels: BTreeSet<Name>,
    /// The solutions and nodes of each part, unweighted, from the first of `crosses` on.
    pub(crate) sums: Vec<(u128, u128)>,
    /// For each of them, the workers with unconfirmed records.
    pub(crate) counted_by: Vec<BTreeMap<Who, Unconfirmed>>,
}

/// The sums of a part's records.
#[derive(Debug, Default)]
struct Sum {
    until: u64,
    solutions: u128,
    work: u128,
    /// The workers with unconfirmed records.
    names: BTreeMap<Who, Unconfirmed>,
}

impl<'a> PassCheck<'a> {
    /// Creates the check of the pass with this number, over these parts of a plan.
    pub(crate) fn of(number: u8, said: &'a Pass, plan: &'a Plan, crosses: Range<u32>) -> Self {
        let next = crosses.start;
        Self {
            number,
            said,
            plan,
            crosses,
            open: None,
            evidence: RecordEvidence::default(),
            next,
            total: Total::default(),
            time_us: 0,
            kernels: BTreeSet::new(),
            sums: Vec::new(),
            counted_by: Vec::new(),
        }
    }

    /// Begins a part.
    pub(crate) fn cross(&mut self, found: CrossSum) -> Result<(), String> {
        self.close(Some(found.number))?;
        let Some(planned) = self.plan.part(found.number).filter(|_| self.crosses.contains(&found.number))
        else {
            let Range { start, end } = self.crosses;
            return Err(format!("cross {} is none of the crosses {start}..{end}", found.number));
        };
        let (choice, cross) = (planned.choice(), found.number);
        let n_subproblems = choice.n_subproblems;
        if found.image != choice.image.index() {
            let image = choice.image.index();
            return Err(format!("cross {cross} is on image {}, by its plan it is on {image}", found.image));
        }
        if found.n_subproblems != n_subproblems {
            let found = found.n_subproblems;
            return Err(format!("cross {cross} has {found} subproblems, by its plan {n_subproblems}"));
        }
        if found.weight != planned.weight() {
            let weight = planned.weight();
            return Err(format!("cross {cross} has weight {}, and must have {weight}", found.weight));
        }
        is_of_job(&found, self.said)?;
        self.open = Some((found, Sum::default()));
        Ok(())
    }

    /// Adds a record of the open part.
    pub(crate) fn record(&mut self, found: &Counted, names: &Names) -> Result<(), String> {
        self.close_record()?;
        let Counted { span, count: Count { solutions, work }, duration_us, counter, .. } = *found;
        let open = self.open.as_mut().filter(|(cross, _)| cross.number == span.part());
        let Some((cross, sum)) = open else {
            return Err(format!("{span} stands where cross {} has not begun, or is over", span.part()));
        };
        if span.from() < sum.until {
            return Err(format!("{span} overlaps the record before it, which ends at {}", sum.until));
        }
        if span.from() > sum.until {
            return Err(missing(cross.number, sum.until..span.from()));
        }
        if span.to() > cross.n_subproblems {
            return Err(format!("{span} goes past the {} subproblems of its part", cross.n_subproblems));
        }
        let (name, kernel) = names.named(counter)?;
        if !self.kernels.contains(kernel) {
            self.kernels.insert(kernel.clone());
        }
        self.time_us += u128::from(duration_us);
        // A sum of fewer than 2^64 numbers below 2^63.
        sum.until = span.to();
        sum.solutions += u128::from(solutions);
        sum.work += u128::from(work);
        self.total.n_records += 1;
        let rule = Rule { is_drawn: is_drawn(self.said, span), recount_by: self.said.recount_by };
        self.evidence.open(*found, name.clone(), rule);
        Ok(())
    }

    /// Adds a recount of the last record.
    pub(crate) fn again(&mut self, found: &Counted, names: &Names) -> Result<(), String> {
        let name = names.get(found.counter)?;
        self.evidence.again(found, name)
    }

    /// Adds a verdict about the last record.
    pub(crate) fn verdict(&mut self, found: &Verdict, names: &Names) -> Result<(), String> {
        let (winner, loser) = (names.get(found.counter)?, names.get(found.loser)?);
        self.evidence.verdict(found, winner, loser)
    }

    /// Returns all recounts and verdicts so far.
    pub(crate) fn evidence(&self) -> &RecordEvidence {
        &self.evidence
    }

    /// Ends the pass.
    pub(crate) fn end(&mut self) -> Result<(), String> {
        self.close(None)
    }

    /// Ends the last record.
    fn close_record(&mut self) -> Result<(), String> {
        let alone = self.evidence.close()?;
        if let (Some((name, work)), Some((_, sum))) = (alone, &mut self.open) {
            sum.names.entry(name).or_default().add(work);
        }
        Ok(())
    }

    /// Ends the open part; `next` is the one that follows.
    fn close(&mut self, next: Option<u32>) -> Result<(), String> {
        self.close_record()?;
        if let Some((cross, sum)) = self.open.take() {
            let CrossSum { number, n_subproblems, weight, solutions, work, .. } = cross;
            if sum.until != n_subproblems {
                return Err(missing(number, sum.until..n_subproblems));
            }
            for (what, found, claimed) in [("solutions", sum.solutions, solutions), ("nodes", sum.work, work)]
            {
                if found != claimed {
                    return Err(format!(
                        "the records of cross {number} have {found} {what}, it says {claimed}"
                    ));
                }
            }
            let overflow = || "the sums are over 2^128".to_owned();
            let weighted = u128::from(weight).checked_mul(solutions).ok_or_else(overflow)?;
            self.total.solutions = self.total.solutions.checked_add(weighted).ok_or_else(overflow)?;
            self.total.work = self.total.work.checked_add(work).ok_or_else(overflow)?;
            self.sums.push((solutions, work));
            self.counted_by.push(sum.names);
            self.next = number + 1;
        }
        let (expected, found) = (self.next, next.unwrap_or(self.crosses.end));
        if found > expected {
            return Err(format!("crosses {expected}..{found} of pass {} are missing", self.number));
        }
        if found < expected && next.is_some() {
            return Err(format!("cross {found} comes again, or out of order: {expected} comes next"));
        }
        Ok(())
    }
}

/// Checks that a part belongs to the job of its pass.
fn is_of_job(found: &CrossSum, said: &Pass) -> Result<(), String> {
    let cross = found.number;
    let (one, other) = (found.identity, said.identity);
    if one == other {
        return Ok(());
    }
    Err(format!("cross {cross} is of job {one}, its pass is of job {other}"))
}

fn missing(cross: u32, Range { start, end }: Range<u64>) -> String {
    format!("subproblems {start}..{end} of cross {cross} are missing")
}

/// Returns whether a record was drawn for a recount.
///
/// The hash is SipHash-2-4 of the job, the part and the first subproblem as 8, 4 and 8 bytes. Its key is the 16 bytes
/// of the seed. All of them are little-endian. A record is drawn if hash / 2^64 is below the share. The coordinator has
/// its own code for this; this code follows the definition.
fn is_drawn(pass: &Pass, span: Span) -> bool {
    const MILLION: u128 = 1_000_000;
    let mut bytes = [0; 20];
    bytes[..8].copy_from_slice(&pass.job.to_le_bytes());
    bytes[8..12].copy_from_slice(&span.part().to_le_bytes());
    bytes[12..].copy_from_slice(&span.from().to_le_bytes());
    let hash = SipHasher24::new_with_key(&pass.seed.to_le_bytes()).hash(&bytes);
    (u128::from(hash) * MILLION) >> 64 < u128::from(pass.recount_ppm)
}

#[cfg(test)]
mod tests {
    use queens_model::JobIdentity;
    use queens_solver::Method;

    use super::*;

    /// Expects the draw of a coordinator.
    #[test]
    fn what_is_drawn_is_what_coordinators_draw() {
        let seed = 0x0123_4567_89ab_cdef;
        let (method, identity, recount_by) = (Method::Search, JobIdentity(1), None);
        let pass = Pass { method, decomposition: 2, job: 1, identity, recount_ppm: 1000, seed, recount_by };
        let is_drawn = |&first: &u64| is_drawn(&pass, Span::new(3, first, first + 1).expect("not empty"));
        let drawn: Vec<u64> = (0..10_000).filter(is_drawn).collect();
        assert_eq!(drawn, [98, 3323, 6435, 6953, 8341, 9102]);
    }
}
