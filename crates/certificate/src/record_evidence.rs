//! Checks the recounts and verdicts of records.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Sum;

use queens_solver::Count;

use crate::counter_identity::{PartyDigest, Who};
use crate::entry::{Counted, MOST_COUNTERS, Verdict};

/// The maximum number of verdicts on one span: all counters but one may have lost.
const MOST_VERDICTS: usize = MOST_COUNTERS;

/// Statistics of recounts and verdicts, with the open record.
#[derive(Debug, Default)]
pub(crate) struct RecordEvidence {
    open: Option<Record>,
    /// The number of recounts.
    pub(crate) n_again: u64,
    /// The number of verdicts.
    pub(crate) n_verdicts: u64,
    /// Records that a second party has confirmed. If the pass names a party for that, it must be one of the two.
    pub(crate) n_confirmed: u64,
    /// The nodes of the confirmed records.
    pub(crate) confirmed_work: u128,
    /// The workers that have lost a dispute.
    pub(crate) losers: BTreeSet<Who>,
    /// The unconfirmed records of each worker.
    pub(crate) unconfirmed: BTreeMap<Who, Unconfirmed>,
    /// The records that each party and one other agree on, and nobody else has counted.
    pub(crate) with_one_other: BTreeMap<Who, u64>,
}

/// Statistics of unconfirmed records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unconfirmed {
    pub(crate) n_records: u64,
    pub(crate) work: u128,
}

impl Unconfirmed {
    pub(crate) fn add(&mut self, work: u64) {
        self.n_records += 1;
        self.work += u128::from(work);
    }
}

impl Sum for Unconfirmed {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, it| Self {
            n_records: sum.n_records + it.n_records,
            work: sum.work + it.work,
        })
    }
}

/// The requirements on a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// Whether it was drawn for a recount.
    pub(crate) is_drawn: bool,
    /// The party that must be one of two that agree, if the pass names one.
    pub(crate) recount_by: Option<PartyDigest>,
}

/// The open record, whose recounts and verdicts are being read.
#[derive(Debug)]
struct Record {
    counted: Counted,
    name: Who,
    rule: Rule,
    again: Vec<(Who, Count)>,
    verdicts: Vec<Decided>,
    /// The verdicts as an index: a span may have as many as there are parties.
    decided: BTreeSet<(Who, Numbers, Numbers)>,
    /// The verdicts whose rejected count has not won since: by that count, its counters and the agreed counts.
    standing: BTreeMap<Numbers, BTreeSet<(Who, Numbers)>>,
}

#[derive(Debug)]
struct Decided {
    agreed: Numbers,
    lost: Numbers,
    loser: Who,
}

/// The solutions and nodes of a count.
type Numbers = (u64, u64);

fn numbers(Count { solutions, work }: Count) -> Numbers {
    (solutions, work)
}

impl RecordEvidence {
    /// Opens a record by this worker. If it was drawn, another party must have confirmed it.
    pub(crate) fn open(&mut self, counted: Counted, name: Who, rule: Rule) {
        let (again, verdicts) = (Vec::new(), Vec::new());
        let (decided, standing) = (BTreeSet::new(), BTreeMap::new());
        self.open = Some(Record { counted, name, rule, again, verdicts, decided, standing });
    }

    /// Adds a recount of it.
    pub(crate) fn again(&mut self, found: &Counted, name: &Who) -> Result<(), String> {
        let Some(record) = self.open.as_mut().filter(|record| record.is_of(found.pass, found.span)) else {
            return Err(format!("another count of {} does not follow its record", found.span));
        };
        if !record.verdicts.is_empty() {
            return Err(format!("another count of {} stands behind a verdict", found.span));
        }
        if *name == record.name {
            let as_who =
                if name.name == record.name.name { String::new() } else { format!(" as {}", record.name) };
            return Err(format!("{} was counted again by {name}, who had counted it{as_who}", found.span));
        }
        if record.again.last().is_some_and(|(last, _)| last >= name) {
            let span = found.span;
            return Err(format!("{span} was counted again by {name} twice, or parties are not in order"));
        }
        record.again.push((name.clone(), found.count));
        self.n_again += 1;
        Ok(())
    }

    /// Adds a verdict about it.
    pub(crate) fn verdict(&mut self, found: &Verdict, winner: &Who, loser: &Who) -> Result<(), String> {
        let Verdict { span, number, agreed, lost, .. } = *found;
        let Some(record) = self.open.as_mut().filter(|record| record.is_of(found.pass, span)) else {
            return Err(format!("a verdict about {span} does not follow its record"));
        };
        if record.verdicts.len() >= MOST_VERDICTS {
            return Err(format!("there are more than {MOST_VERDICTS} verdicts about {span}"));
        }
        if usize::try_from(number) != Ok(record.verdicts.len()) {
            let expected = record.verdicts.len();
            return Err(format!("verdict {number} about {span} stands where verdict {expected} belongs"));
        }
        if winner == loser {
            return Err(format!("by verdict {number} about {span}, {winner} wins against itself"));
        }
        if agreed == lost {
            return Err(format!("by verdict {number} about {span}, a count loses against an equal one"));
        }
        let (agreed, lost) = (numbers(agreed), numbers(lost));
        // A rejected count may lose again if it has won in between.
        record.standing.remove(&agreed);
        if !record.standing.entry(lost).or_default().insert((loser.clone(), agreed)) {
            return Err(format!("verdict {number} about {span} says what an earlier one says"));
        }
        record.decided.insert((loser.clone(), lost, agreed));
        record.verdicts.push(Decided { agreed, lost, loser: loser.clone() });
        self.n_verdicts += 1;
        Ok(())
    }

    /// Closes the record. Returns its worker and its nodes if no other party has confirmed it.
    pub(crate) fn close(&mut self) -> Result<Option<(Who, u64)>, String> {
        let Some(record) = self.open.take() else { return Ok(None) };
        let (span, count) = (record.counted.span, record.counted.count);
        for (name, other) in &record.again {
            if *other != count && !record.has_lost(name, numbers(*other)) {
                return Err(format!(
                    "{name} counted {} solutions and {} nodes of {span}, the record has {} and {}, and no verdict \
                     says who is right",
                    other.solutions, other.work, count.solutions, count.work
                ));
            }
        }
        let is_confirmed = record.again.iter().any(|(_, other)| *other == count);
        // An agreed count may have lost later: the last verdict against each count decides.
        let last: BTreeMap<Numbers, usize> =
            (0..).zip(&record.verdicts).map(|(i, it)| (it.lost, i)).collect();
        for (i, verdict) in (0..).zip(record.verdicts) {
            let stands = verdict.agreed == numbers(count);
            if !stands && last.get(&verdict.agreed).is_none_or(|&later| later <= i) {
                return Err(format!("verdict {i} about {span} is for another count than that of the record"));
            }
            if !is_confirmed {
                return Err(format!("verdict {i} about {span} is for a count that one party alone has"));
            }
            self.losers.insert(verdict.loser);
        }
        let agreeing = record.again.iter().filter(|(_, other)| *other == count).map(|(name, _)| name);
        let agreeing: BTreeSet<&Who> = agreeing.chain([&record.name]).collect();
        if agreeing.len() == 2 {
            for party in agreeing {
                *self.with_one_other.entry(party.clone()).or_default() += 1;
            }
        }
        let is_by_whom_it_should = record.rule.recount_by.is_none_or(|by| {
            let agreeing = record.again.iter().filter(|(_, other)| *other == count).map(|(name, _)| name);
            agreeing.chain([&record.name]).any(|name| name.party == by)
        });
        if is_confirmed && is_by_whom_it_should {
            self.n_confirmed += 1;
            self.confirmed_work += u128::from(count.work);
            return Ok(None);
        }
        if let Some(by) = record.rule.recount_by.filter(|_| is_confirmed) {
            let what = format!(
                "{span} was drawn to be counted again, and party {by} was named for that and has not confirmed it"
            );
            return if record.rule.is_drawn { Err(what) } else { Ok(None) };
        }
        if record.rule.is_drawn {
            return Err(format!(
                "{span} was drawn to be counted again, and no second party has confirmed it"
            ));
        }
        self.unconfirmed.entry(record.name.clone()).or_default().add(count.work);
        Ok(Some((record.name, count.work)))
    }
}

impl Record {
    fn is_of(&self, pass: u8, span: queens_solver::Span) -> bool {
        self.counted.pass == pass && self.counted.span == span
    }

    /// Returns whether a verdict rejects this count by this party.
    fn has_lost(&self, name: &Who, count: Numbers) -> bool {
        let from = (name.clone(), count, (0, 0));
        let mut decided = self.decided.range(from..);
        decided.next().is_some_and(|(loser, lost, _)| loser == name && *lost == count)
    }
}
