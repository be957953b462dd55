//! Checks one part of a certificate: header, body, totals, tree and signature.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::atomic::Ordering;

use queens_solver::{Method, parts_in_counting_order, published};

use crate::counter_identity::Who;
use crate::entry::{Counter, Entry, MOST_COUNTERS};
use crate::header::{Footer, Header, Pass, TOTAL, message};
use crate::lines::Lines;
use crate::options::{Options, Stage};
use crate::pass_check::{Names, PassCheck};
use crate::plans::{Kind, Plans};
use crate::record_evidence::Unconfirmed;
use crate::refusal::Refusal;
use crate::report::{Agreement, LoserReport, PartReport, PassReport};
use crate::sample::Draw;
use crate::tree::Tree;

/// The number of records between two progress reports.
const TOLD_EVERY: u64 = 1 << 16;

/// Checks parts.
pub(crate) struct PartCheck<'a> {
    pub(crate) options: &'a Options<'a>,
    pub(crate) told: &'a (dyn Fn(Stage) + Sync),
}

impl PartCheck<'_> {
    /// Reads the rest of a part.
    pub(crate) fn read<R: Read>(
        &self,
        lines: &mut Lines<R>,
        header: Header,
        plans: &mut Plans<'_>,
        mut draw: Option<&mut Draw>,
    ) -> Result<PartReport, Refusal> {
        let kinds = self
            .plan(&header, plans)
            .map_err(|(what, refusal)| refusal.unwrap_or_else(|| Refusal::at(lines.place(), what)))?;
        let mut passes = Vec::new();
        for ((number, kind), said) in (1..).zip(&kinds).zip(&header.passes) {
            let Some(plan) = plans.get(*kind) else { continue };
            let n_parts = u32::try_from(plan.parts().len()).unwrap_or(u32::MAX);
            let crosses = if kind.method == kinds[0].method { header.crosses.clone() } else { 0..n_parts };
            passes.push(PassCheck::of(number, said, plan, crosses));
        }
        let mut tree = Tree::default();
        self.body(lines, &mut passes, &mut tree, |counted, pass| {
            draw.as_mut().map_or(Ok(()), |draw| draw.see(counted, kinds[usize::from(pass) - 1]))
        })?;
        let footer = Footer::read(lines, passes.len())?;
        let at = |what: String| Refusal::at(lines.place(), what);
        for ((number, pass), said) in (1..).zip(&passes).zip(&footer.totals) {
            if pass.total != *said {
                let found = pass.total;
                return Err(at(format!(
                    "pass {number} has {} records, {} solutions and {} nodes, its total says {}, {} and {}",
                    found.n_records, found.solutions, found.work, said.n_records, said.solutions, said.work
                )));
            }
        }
        let agreement = agreement(&header, &passes).map_err(at)?;
        if tree.finish() != (footer.n_leaves, footer.root) {
            return Err(at("the root of the tree is not that of these lines".to_owned()));
        }
        let signature = lines.line("signature", |fields| fields.hex("the signature"))?;
        let signer = header.signer;
        let at = |what: String| Refusal::at(lines.place(), what);
        if !signer.has_signed(&message(&header, &footer), &signature) {
            return Err(at(format!("{signer} has not signed this")));
        }
        let is_known = self.options.keys.contains(&signer);
        let losers = losers(&passes);
        let alone = on_one_word(agreement, &passes);
        let passes = passes.iter().zip(&kinds).zip(alone);
        let passes = passes.map(|((pass, kind), alone)| report(pass, *kind, alone)).collect();
        Ok(PartReport { header, is_known, passes, agreement, losers })
    }

    /// Makes the plans that a part needs. Wrong headers are refused first, because plans take long.
    fn plan(&self, header: &Header, plans: &mut Plans<'_>) -> Result<Vec<Kind>, (String, Option<Refusal>)> {
        let wrong = |what: String| (what, None);
        let kinds = kinds(header).map_err(wrong)?;
        if !self.options.keys.is_empty() && !self.options.keys.contains(&header.signer) {
            let signer = header.signer;
            return Err(wrong(format!(
                "it is signed by {signer}, which is none of the keys that may sign it"
            )));
        }
        for kind in &kinds {
            if plans.get(*kind).is_none() {
                (self.told)(Stage::Planning(header.n));
            }
            plans.make(*kind).map_err(|refusal| (String::new(), Some(refusal)))?;
        }
        Ok(kinds)
    }

    /// Reads the body: counters, then one pass after the other.
    fn body<R: Read>(
        &self,
        lines: &mut Lines<R>,
        passes: &mut [PassCheck<'_>],
        tree: &mut Tree,
        mut see: impl FnMut(&crate::entry::Counted, u8) -> Result<(), String>,
    ) -> Result<(), Refusal> {
        let mut names = Names::default();
        let (mut current, mut n_records) = (0, 0_u64);
        loop {
            if lines.next_is(TOTAL)? {
                break;
            }
            let line = lines.take()?;
            tree.push(line);
            let done = Entry::read(line).and_then(|entry| {
                let pass = match &entry {
                    Entry::Counter { .. } => 0,
                    Entry::Cross(cross) => cross.pass,
                    Entry::Record(counted) | Entry::Again { counted, .. } => counted.pass,
                    Entry::Verdict(verdict) => verdict.pass,
                };
                if let Entry::Counter { number, counter } = entry {
                    return if current > 0 {
                        Err("a counter stands behind the first cross".to_owned())
                    } else {
                        add_counter(&mut names, number, counter)
                    };
                }
                enter(passes, &mut current, pass)?;
                let check = &mut passes[usize::from(pass) - 1];
                match entry {
                    Entry::Counter { .. } => Ok(()),
                    Entry::Cross(cross) => check.cross(cross),
                    Entry::Record(counted) => {
                        n_records += 1;
                        check.record(&counted, &names).and_then(|()| see(&counted, pass))
                    }
                    Entry::Again { counted, .. } => check.again(&counted, &names),
                    Entry::Verdict(verdict) => check.verdict(&verdict, &names),
                }
            });
            done.map_err(|what| Refusal::at(lines.place(), what))?;
            if n_records.is_multiple_of(TOLD_EVERY) {
                (self.told)(Stage::Reading(n_records));
                if self.options.stop.load(Ordering::Relaxed) {
                    return Err(Refusal::Interrupted);
                }
            }
        }
        let n_passes = u8::try_from(passes.len()).unwrap_or(u8::MAX);
        enter(passes, &mut current, n_passes)
            .and_then(|()| passes.last_mut().map_or(Ok(()), PassCheck::end))
            .map_err(|what| Refusal::at(lines.place(), what))
    }
}

/// Returns the plans that a part needs, if they exist for its board.
fn kinds(header: &Header) -> Result<Vec<Kind>, String> {
    let mut kinds: Vec<Kind> = Vec::new();
    for Pass { method, decomposition, .. } in &header.passes {
        if *decomposition != method.decomposition() {
            let known = method.decomposition();
            return Err(format!(
                "it is cut by decomposition {decomposition} of {method}, this program knows {known}"
            ));
        }
        let is_second = kinds.first().is_some_and(|first| first.method == *method);
        if is_second && *method == Method::Halves {
            return Err("halves have no other images to count a second pass on".to_owned());
        }
        kinds.push(Kind { method: *method, is_second });
    }
    let (n, n_crosses) = (header.n, header.n_crosses);
    if let Some(Kind { method, .. }) = kinds.first() {
        let n_parts = parts_in_counting_order(n, *method).len();
        if usize::try_from(n_crosses) != Ok(n_parts) {
            return Err(format!("n = {n} has {n_parts} crosses by {method}, not {n_crosses}"));
        }
    }
    let is_whole = header.crosses == (0..n_crosses);
    if kinds.len() > 1 && kinds[0].method != kinds[1].method && !is_whole {
        return Err("passes by two methods can be compared for a whole board alone".to_owned());
    }
    if let Some(known) = published(n) {
        compare_symmetric(header, (known.half_turn, known.quarter_turn))?;
    }
    Ok(kinds)
}

/// Checks that a header has the symmetric placements of the board.
pub(crate) fn compare_symmetric(header: &Header, right: (u64, u64)) -> Result<(), String> {
    let Header { half_turn, quarter_turn, .. } = *header;
    if (half_turn, quarter_turn) == right {
        return Ok(());
    }
    Err(format!(
        "{half_turn} and {quarter_turn} placements are said to be unchanged by half and quarter turns: {} and {} are",
        right.0, right.1
    ))
}

/// Ends all passes before this one.
fn enter(passes: &mut [PassCheck<'_>], current: &mut u8, pass: u8) -> Result<(), String> {
    if pass == *current && pass > 0 {
        return Ok(());
    }
    if pass < *current || pass == 0 || usize::from(pass) > passes.len() {
        return Err(format!("a line of pass {pass} stands where it does not belong"));
    }
    while *current < pass {
        if let Some(before) = usize::from(*current).checked_sub(1) {
            passes[before].end()?;
        }
        *current += 1;
    }
    Ok(())
}

fn add_counter(names: &mut Names, number: u32, counter: Counter) -> Result<(), String> {
    if usize::try_from(number) != Ok(names.len()) {
        return Err(format!("counter {number} stands where counter {} belongs", names.len()));
    }
    if names.len() >= MOST_COUNTERS {
        return Err(format!("there are more than {MOST_COUNTERS} counters"));
    }
    names.push(Who { name: counter.worker, party: counter.party }, counter.kernel);
    Ok(())
}

/// Returns how the passes agree.
fn agreement(header: &Header, passes: &[PassCheck<'_>]) -> Result<Agreement, String> {
    let [first, second] = passes else { return Ok(Agreement::OnePass) };
    if header.passes[0].method != header.passes[1].method {
        let (a, b) = (first.total.solutions, second.total.solutions);
        return if a == b {
            Ok(Agreement::Whole)
        } else {
            Err(format!("the passes contradict each other: {a} and {b} solutions"))
        };
    }
    for ((cross, a), b) in (header.crosses.start..).zip(&first.sums).zip(&second.sums) {
        if a.0 != b.0 {
            return Err(format!(
                "the passes contradict each other: cross {cross} has {} and {} solutions",
                a.0, b.0
            ));
        }
    }
    // Two images of a part are different search trees. A few may have equal sizes, but not all.
    const TOO_MANY: usize = 8;
    let counted = first.sums.iter().filter(|(_, work)| *work > 0).count();
    if counted >= TOO_MANY && first.sums == second.sums {
        return Err("all crosses have the same nodes in both passes: one is a copy of the other".to_owned());
    }
    let both = first.counted_by.iter().zip(&second.counted_by);
    let by_one = both.filter(|(a, b)| a.keys().any(|name| b.contains_key(name))).count();
    Ok(Agreement::EachCross { n_by_one: u32::try_from(by_one).unwrap_or(u32::MAX) })
}

/// Returns the records of each pass that rest on one party. No other party has confirmed them, and that party has
/// unconfirmed records in the parts of the other pass to compare with. For two passes by one method, that is the same
/// part. For two methods, that is all parts, because only their totals are compared.
fn on_one_word(agreement: Agreement, passes: &[PassCheck<'_>]) -> Vec<Unconfirmed> {
    type OfEach = BTreeMap<Who, Unconfirmed>;
    let of_both = |one: &OfEach, other: &OfEach| -> Unconfirmed {
        one.iter().filter(|(name, _)| other.contains_key(*name)).map(|(_, it)| *it).sum()
    };
    let all = |pass: &PassCheck<'_>| pass.evidence().unconfirmed.values().copied().sum();
    match (agreement, passes) {
        (Agreement::EachCross { .. }, [first, second]) => {
            let both = || first.counted_by.iter().zip(&second.counted_by);
            vec![both().map(|(a, b)| of_both(a, b)).sum(), both().map(|(a, b)| of_both(b, a)).sum()]
        }
        (Agreement::Whole, [first, second]) => {
            let [first, second] = [first, second].map(|pass| &pass.evidence().unconfirmed);
            vec![of_both(first, second), of_both(second, first)]
        }
        _ => passes.iter().map(all).collect(),
    }
}

fn losers(passes: &[PassCheck<'_>]) -> Vec<LoserReport> {
    let all = passes.iter().flat_map(|pass| &pass.evidence().losers);
    let mut names: Vec<&Who> = all.collect();
    names.sort_unstable();
    names.dedup();
    let n_unconfirmed = |name: &Who| {
        let of_name = passes.iter().filter_map(|pass| pass.evidence().unconfirmed.get(name));
        of_name.map(|it| it.n_records).sum()
    };
    let n_with_one_other =
        |name: &Who| passes.iter().filter_map(|pass| pass.evidence().with_one_other.get(name)).sum();
    let loser = |name: &Who| LoserReport {
        name: name.name.clone(),
        n_unconfirmed: n_unconfirmed(name),
        n_with_one_other: n_with_one_other(name),
    };
    names.into_iter().map(loser).collect()
}

fn report(pass: &PassCheck<'_>, kind: Kind, alone: Unconfirmed) -> PassReport {
    let evidence = pass.evidence();
    PassReport {
        method: kind.method,
        total: pass.total,
        time_us: pass.time_us,
        kernels: pass.kernels.iter().cloned().collect(),
        n_again: evidence.n_again,
        n_confirmed: evidence.n_confirmed,
        confirmed_work: evidence.confirmed_work,
        n_by_one: alone.n_records,
        work_by_one: alone.work,
        n_verdicts: evidence.n_verdicts,
    }
}
