//! Tests that forged certificates are refused, for the right reason. A forger has a key and signs the changes again,
//! unless the signature must reveal them.

mod draft;
mod garbage;
mod kinds;
mod reader;
#[expect(unreachable_pub, reason = "it belongs to the crate of the whole-system tests as well")]
#[expect(dead_code, reason = "these tests do not need all of it")]
#[path = "../../../../tests/src/skip.rs"]
mod skip;

use std::fs;
use std::num::NonZeroUsize;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use queens_certificate::{Agreement, Extent, Options, PublicKey, Refusal, Report, Sample, Stage, check};
use queens_solver::{Kernel, Method, parts_in_counting_order, published};

use crate::draft::{Draft, Part, key, part, plan, second};
use crate::kinds::{FORGERIES, Forgery, How, Of, Then, plan_len};
use crate::reader::ACCEPTED;

static TWO_METHODS: LazyLock<Draft> = LazyLock::new(|| {
    let (halves, search) = (plan(10, Method::Halves), plan(10, Method::Search));
    let n_halves = u32::try_from(halves.parts().len()).expect("few");
    Draft { parts: vec![part(&[&halves, &search], 0..n_halves, key(1))] }
});

static TWO_IMAGES: LazyLock<Draft> = LazyLock::new(|| {
    let first = plan(10, Method::Search);
    Draft { parts: vec![part(&[&first, &second(&first)], 0..plan_len(10), key(1))] }
});

static TWO_SITES: LazyLock<Draft> = LazyLock::new(|| {
    let search = plan(9, Method::Search);
    Draft { parts: vec![part(&[&search], 0..30, key(1)), part(&[&search], 30..plan_len(9), key(2))] }
});

fn draft(of: Of) -> Draft {
    match of {
        Of::Methods => TWO_METHODS.clone(),
        Of::Images => TWO_IMAGES.clone(),
        Of::Sites => TWO_SITES.clone(),
    }
}

/// Checks a file with a sample of everything; keys 1 and 2 may sign it.
fn checked(file: &[u8]) -> Result<Report, Refusal> {
    checked_telling(file, &|_| {})
}

fn checked_telling(file: &[u8], told: &(dyn Fn(Stage) + Sync)) -> Result<Report, Refusal> {
    check_unless(&AtomicBool::new(false), false, file, told)
}

/// Checks a file until stopped; if `long`, also boards that take long.
fn check_unless(
    stop: &AtomicBool,
    long: bool,
    file: &[u8],
    told: &(dyn Fn(Stage) + Sync),
) -> Result<Report, Refusal> {
    let keys = known_keys().map(|key| key.parse::<PublicKey>().expect("a key"));
    let sample = Some(Sample { extent: Extent::Share(1.0), seed: 1 });
    let n_threads = NonZeroUsize::MIN;
    check(file, &Options { keys: &keys, sample, long, kernel: Kernel::best(), n_threads, stop }, told)
}

/// The keys that may sign.
fn known_keys() -> [String; 2] {
    [1, 2].map(|number| draft::hex(key(number).verifying_key().as_bytes()))
}

fn forge(forgery: &Forgery) -> Vec<u8> {
    let mut draft = draft(forgery.of);
    match forgery.how {
        How::Part(change, then) => {
            let part = &mut draft.parts[0];
            change(part);
            if then == Then::Sum {
                part.sum();
            }
            if then != Then::Leave {
                part.seal();
            }
            draft.pack()
        }
        How::Parts(change) => {
            change(&mut draft);
            draft.pack()
        }
        How::File(change) => change(draft.pack()),
    }
}

#[test]
fn what_is_not_forged_holds() {
    let report = checked(&TWO_METHODS.pack()).expect("it holds");
    assert_eq!((report.solutions, report.fundamental), (724, Some(92)));
    assert_eq!(report.parts[0].agreement, Agreement::Whole);
    let [first, _] = &report.parts[0].passes[..] else { panic!("two passes") };
    assert!(first.n_again > first.n_confirmed && first.n_confirmed > 1 && first.n_verdicts == 1, "{first:?}");
    assert_eq!(report.parts[0].losers[0].name.as_str(), "dora");
    let sample = report.sample.expect("a sample");
    assert_eq!((sample.n_recounted, sample.noticed()), (sample.n_records, Some(0.0)));

    let report = checked(&TWO_IMAGES.pack()).expect("it holds");
    assert_eq!((report.solutions, report.fundamental), (724, Some(92)));
    assert_eq!(report.parts[0].agreement, Agreement::EachCross { n_by_one: 0 });

    let report = checked(&TWO_SITES.pack()).expect("it holds");
    assert_eq!((report.solutions, report.parts.len()), (352, 2));
    let one = Draft { parts: TWO_SITES.parts[..1].to_vec() };
    let report = checked(&one.pack()).expect("it holds");
    assert_eq!((report.crosses, report.fundamental), (0..30, None));
}

/// A named recounting party must agree on each drawn record. No other party confirms a record without it.
#[test]
fn a_party_that_alone_counts_again_has_confirmed_all_that_was_drawn() {
    let named = |party: &str| {
        let mut draft = TWO_IMAGES.clone();
        let pass = draft.parts[0].place("pass", 0);
        draft.parts[0].set(pass, 8, party);
        draft.parts[0].seal();
        draft
    };
    // Bert recounted the whole first pass, and the records of the second pass that were not drawn.
    let mut draft = named("000000000000000b");
    let report = checked(&draft.pack()).expect("it holds");
    let [first, second] = &report.parts[0].passes[..] else { panic!("two passes") };
    let by = report.parts[0].header.passes[0].recount_by.map(|party| party.to_string());
    assert_eq!((by.as_deref(), first.n_confirmed), (Some("000000000000000b"), first.total.n_records));
    let n_confirmed = second.n_confirmed;
    assert!(n_confirmed > 0);
    // For the second pass, confirmations by others then don't count.
    let pass = draft.parts[0].place("pass", 1);
    draft.parts[0].set(pass, 8, "000000000000000d");
    draft.parts[0].seal();
    let report = checked(&draft.pack()).expect("nothing of the second was drawn");
    assert_eq!(report.parts[0].passes[1].n_confirmed, 0);
    // Anna has counted the first pass: others confirm it.
    let report = checked(&named("000000000000000a").pack()).expect("it holds");
    assert_eq!(report.parts[0].passes[0].n_confirmed, report.parts[0].passes[0].total.n_records);
}

/// An unconfirmed record rests on one party, unless another party counted the same in the other pass.
#[test]
fn what_is_on_the_word_of_one_party_is_counted_across_passes() {
    let by_one = |draft: &Draft| -> Vec<(u64, u128, u64)> {
        let report = checked(&draft.pack()).expect("it holds");
        let passes = report.parts[0].passes.iter();
        passes
            .map(|pass| (pass.n_by_one, pass.work_by_one, pass.total.n_records - pass.n_confirmed))
            .collect()
    };
    // One pass: everything that no other party has confirmed.
    let search = plan(9, Method::Search);
    let one = Draft { parts: vec![part(&[&search], 0..plan_len(9), key(1))] };
    let alone = by_one(&one);
    assert!(alone[0].0 > 0 && alone[0].0 == alone[0].2 && alone[0].1 > 0, "{alone:?}");
    // Two passes by two parties, equal in the whole or in each part.
    for draft in [&*TWO_METHODS, &*TWO_IMAGES] {
        let alone = by_one(draft);
        assert!(alone.iter().all(|&(n, work, _)| (n, work) == (0, 0)), "{alone:?}");
        assert!(alone[1].2 > 0, "{alone:?}");
    }
    // Two methods have no parts in common: one record in the second pass ties a party to all its records in the first.
    let mut draft = TWO_METHODS.clone();
    let p = &mut draft.parts[0];
    let again = p.places("again");
    let is_alone = |p: &Part, l: usize| p.field(l, 1) == "2" && !again.contains(&(l + 1));
    let last = p.places("record").into_iter().rfind(|&l| is_alone(p, l)).expect("there is one");
    p.set(last, 8, 5);
    let work = u128::try_from(p.number(last, 6)).expect("not below 0");
    p.seal();
    let alone = by_one(&draft);
    assert!(alone[0].0 > 0 && alone[0].0 == alone[0].2, "all of the first pass is Anna's: {alone:?}");
    assert_eq!((alone[1].0, alone[1].1), (1, work));
    // For two passes by one method, it is about the same part.
    let mut draft = TWO_IMAGES.clone();
    let p = &mut draft.parts[0];
    let again: Vec<usize> = p.places("again").into_iter().filter(|&l| p.field(l, 1) == "1").collect();
    let pass = p.place("pass", 0);
    p.set(pass, 5, 0);
    again.iter().rev().for_each(|&l| _ = p.lines.remove(l));
    p.places("verdict").into_iter().rev().for_each(|l| {
        if p.field(l, 1) == "1" {
            _ = p.lines.remove(l);
        }
    });
    let is_last = |l: &usize| p.field(*l, 1) == "2" && p.number(*l, 2) % 2 == 1;
    let last = p.places("record").into_iter().rfind(is_last).expect("there is one");
    let cross = p.number(last, 2);
    p.set(last, 8, 4);
    p.seal();
    let of_cross =
        p.places("record").into_iter().filter(|&l| p.field(l, 1) == "1" && p.number(l, 2) == cross);
    let n_of_cross = of_cross.count() as u64;
    let alone = by_one(&draft);
    assert_eq!((alone[0].0, alone[1].0), (n_of_cross, 1));
}

/// The author of a file decides which board it is about.
#[test]
fn what_takes_core_hours_is_begun_only_if_asked_for() {
    for (n, is_long) in [(28, false), (30, true), (32, true)] {
        let mut draft = TWO_IMAGES.clone();
        let board = draft.parts[0].place("board", 0);
        draft.parts[0].set(board, 1, n);
        let n_crosses = parts_in_counting_order(draft::size(n), Method::Search).len();
        draft.parts[0].lines[2] = format!("crosses\t0\t{n_crosses}\t{n_crosses}");
        draft.parts[0].seal();
        let file = draft.pack();
        // A check that is cancelled in advance reports that after its start.
        let enough = AtomicBool::new(true);
        let unasked = check_unless(&enough, false, &file, &|_| {});
        assert_eq!(matches!(unasked, Err(Refusal::Long { .. })), is_long, "n = {n}: {unasked:?}");
        assert!(matches!(check_unless(&enough, true, &file, &|_| {}), Err(Refusal::Interrupted)), "n = {n}");
    }
}

/// Small boards have few parts or none, and their images may be alike.
#[test]
fn honest_certificates_of_small_boards_hold() {
    for n in 0..=10 {
        let (search, halves) = (plan(n, Method::Search), plan(n, Method::Halves));
        let twice = second(&search);
        for plans in [
            vec![&search],
            vec![&halves],
            vec![&search, &twice],
            vec![&halves, &search],
            vec![&search, &halves],
        ] {
            let n_crosses = u32::try_from(plans[0].parts().len()).expect("few");
            let draft = Draft { parts: vec![part(&plans, 0..n_crosses, key(1))] };
            let report = checked(&draft.pack()).unwrap_or_else(|refusal| panic!("n = {n}: {refusal}"));
            assert_eq!(Some(report.solutions), published(draft::size(n)).map(|known| known.solutions));
        }
    }
}

/// Planning takes minutes for large boards: errors in the header alone are found before.
#[test]
fn what_a_header_gives_away_is_refused_before_anything_is_planned() {
    let changes: [fn(&mut Part); 7] = [
        |part| part.set(1, 1, 32),
        |part| part.add(2, 3, 1),
        |part| part.set(4, 3, 99),
        |part| {
            let first = part.lines[4].replace("pass\t1", "pass\t2").replace("search", "halves");
            part.lines.insert(5, first.replace("1\tany", "2\tany"));
        },
        |part| part.lines[2] = format!("crosses\t0\t0\t{}", plan_len(9)),
        |part| part.add(5, 1, 8),
        |part| part.key = key(9),
    ];
    for (number, change) in (0..).zip(changes) {
        let mut draft = Draft { parts: TWO_SITES.parts[..1].to_vec() };
        change(&mut draft.parts[0]);
        draft.parts[0].seal();
        let is_planned = AtomicBool::new(false);
        let refused = checked_telling(&draft.pack(), &|stage| {
            is_planned.fetch_or(matches!(stage, Stage::Planning(_)), Ordering::Relaxed);
        });
        let refusal = refused.expect_err("refused").to_string();
        assert!(!is_planned.into_inner(), "change {number}: '{refusal}' is found late");
    }
}

/// A coordinator has no limit of differing counts before two agree.
#[test]
fn a_span_may_have_thousands_of_liars() {
    const N_LIARS: usize = 3000;
    let mut draft = TWO_METHODS.clone();
    let part = &mut draft.parts[0];
    let verdict = part.place("verdict", 0);
    let span: Vec<&str> = part.lines[verdict].split('\t').skip(1).take(4).collect();
    let (span, right) = (span.join("\t"), [part.number(verdict, 7), part.number(verdict, 8)]);
    let n_counters = part.places("counter").len();
    let (mut counters, mut again, mut verdicts) = (vec![], vec![], vec![]);
    for liar in 0..N_LIARS {
        let (counter, wrong) = (n_counters + liar, right[0] + 3 + i128::try_from(liar).expect("few"));
        counters.push(format!("counter\t{counter}\tliar {liar:04}\t0.1.0\tavx2\t{:016x}", 1000 + liar));
        again.push(format!("again\t{span}\t{wrong}\t{}\t1\t{counter}\t0", right[1]));
        verdicts.push(format!(
            "verdict\t{span}\t{}\t0\t{}\t{}\t1\t{wrong}\t{}\t{counter}",
            liar + 1,
            right[0],
            right[1],
            right[1]
        ));
    }
    let after = part.place("counter", -1) + 1;
    part.lines.splice(verdict + 1..verdict + 1, verdicts);
    part.lines.splice(verdict..verdict, again);
    part.lines.splice(after..after, counters);
    part.sum();
    part.seal();
    let report = checked(&draft.pack()).expect("it holds");
    assert_eq!(report.parts[0].passes[0].n_verdicts, 1 + N_LIARS as u64);
    assert_eq!(report.parts[0].losers.len(), 1 + N_LIARS);
}

/// The independent reader refuses what `queens check` refuses, except for what takes knowledge that it lacks.
///
/// Writes all refusals to `target/tmp/forgeries`.
#[test]
fn each_forgery_is_refused_for_the_right_reason_also_by_the_independent_reader() {
    let honest = [&*TWO_METHODS, &*TWO_IMAGES, &*TWO_SITES].map(Draft::pack);
    let files: Vec<Vec<u8>> = honest.into_iter().chain(FORGERIES.iter().map(forge)).collect();
    let (honest, forged) = files.split_at(3);
    let mut wrong = Vec::new();
    let mut refusals = String::new();
    for (forgery, file) in FORGERIES.iter().zip(forged) {
        match checked(file) {
            Ok(_) => wrong.push(format!("'{}' is accepted", forgery.name)),
            Err(refusal) => {
                let said = refusal.to_string();
                if !said.contains(forgery.expected) {
                    wrong.push(format!(
                        "'{}' is refused by '{said}', not '{}'",
                        forgery.name, forgery.expected
                    ));
                }
                refusals += &format!("{}: {said}\n", forgery.name);
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), FORGERIES.len(), wrong.join("\n"));
    fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/forgeries"), refusals).expect("written");

    let accepted: Vec<&str> = ACCEPTED.iter().flat_map(|(_, names)| *names).copied().collect();
    let unknown = accepted.iter().find(|name| !FORGERIES.iter().any(|forgery| forgery.name == **name));
    assert_eq!(unknown, None, "no such forgery");
    for (file, holds) in [(&honest[0], true), (&forged[0], false)] {
        reader::run(file, &known_keys()).into_iter().for_each(|accepts| assert_eq!(accepts, holds));
    }
    let Some(accepts) = reader::accepts(&files, &known_keys()) else { return };
    assert_eq!(accepts[..3], [true; 3], "the honest certificates hold");
    let wrong = FORGERIES.iter().zip(&accepts[3..]);
    let wrong = wrong.filter(|(forgery, accepts)| **accepts != accepted.contains(&forgery.name));
    assert_eq!(wrong.map(|(forgery, _)| forgery.name).collect::<Vec<_>>(), [""; 0]);
}
