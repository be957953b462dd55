//! Measures the time and memory to check a certificate of the size of Q(27)'s: 8 million records, without a sample. The
//! records are synthetic: everything is consistent except the counts themselves.
//!
//! `cargo bench -p queens-certificate --bench check`

#![expect(clippy::print_stdout, reason = "the figures are what this is for")]

use std::fs::{self, File};
use std::io::{BufWriter, Seek};
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use queens_certificate::{
    Counted, Counter, CrossSum, Entry, Header, Key, Options, PartyDigest, Pass, Total, Writer, check,
};
use queens_model::{JobIdentity, Name, Party};
use queens_solver::{BoardSize, Count, Kernel, Method, Plan, Span, SplitMix, published};

const N: u8 = 27;
const RECORDS: u64 = 8_000_000;
const COUNTERS: u32 = 2000;

fn main() {
    let n = BoardSize::new(N).expect("a board size");
    let n_threads = NonZeroUsize::new(2).expect("not 0");
    let plan = Plan::new(n, Method::Search, n_threads, &AtomicBool::new(false)).expect("nobody stops it");
    let mut file = tempfile::tempfile().expect("a temporary file");
    let began = Instant::now();
    let n_records = write(&plan, &mut file);
    let n_bytes = file.metadata().expect("there").len();
    println!("{n_records} records, {n_bytes} bytes, written in {:.1} s", began.elapsed().as_secs_f64());
    file.rewind().expect("a file");
    // The memory for writing it does not count.
    fs::write("/proc/self/clear_refs", "5").expect("Linux");
    let (began, stop) = (Instant::now(), AtomicBool::new(false));
    let options =
        Options { keys: &[], sample: None, long: false, kernel: Kernel::best(), n_threads, stop: &stop };
    let report = check(&file, &options, &|_| {}).expect("it holds");
    assert_eq!(report.solutions, published(n).expect("published").solutions);
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).expect("Linux");
    println!("checked in {:.1} s; {peak}", began.elapsed().as_secs_f64());
}

/// Writes a certificate of about this many records, and returns their exact number.
fn write(plan: &Plan, file: &mut File) -> u64 {
    let key = Key::random().expect("random");
    let known = published(plan.n()).expect("published");
    let n_crosses = u32::try_from(plan.parts().len()).expect("few");
    let name = |text: String| text.parse::<Name>().expect("a name");
    let pass = Pass {
        method: Method::Search,
        decomposition: 2,
        job: 1,
        identity: JobIdentity(1),
        recount_ppm: 0,
        seed: 1,
        recount_by: None,
    };
    let header = Header {
        n: plan.n(),
        crosses: 0..n_crosses,
        n_crosses,
        created_ms: 1,
        finished_ms: 2,
        passes: vec![pass],
        half_turn: known.half_turn,
        quarter_turn: known.quarter_turn,
        made_ms: 3,
        program: name("0.1.0".to_owned()),
        signer: key.public(),
    };
    let mut writer = Writer::begin(BufWriter::new(file), header).expect("written");
    for number in 0..COUNTERS {
        let (worker, build) = (name(format!("worker {number}")), name("0.1.0".to_owned()));
        let party = PartyDigest::of(Party::from_bytes(u128::from(number).to_be_bytes()), 1);
        let counter = Counter { worker, build, kernel: name("avx512".to_owned()), party };
        writer.entry(&Entry::Counter { number, counter }).expect("written");
    }
    let (mut random, mut total) = (SplitMix::new(1), Total::default());
    let n_subproblems: u64 = plan.parts().iter().map(|part| part.choice().n_subproblems).sum();
    let step = n_subproblems.div_ceil(RECORDS).max(1);
    let mean = u64::try_from(known.solutions / u128::from(RECORDS) / 8).expect("small");
    let mut left = known.solutions;
    for (number, planned) in (0..).zip(plan.parts()) {
        let choice = planned.choice();
        let mut spans: Vec<(Span, Count)> = Vec::new();
        let mut from = 0;
        while from < choice.n_subproblems {
            // Spans and counts of many sizes, as in real certificates.
            let until = (from + 1 + random.next() % (2 * step)).min(choice.n_subproblems);
            let count = Count { solutions: random.next() % (2 * mean), work: random.next() % (1 << 40) };
            spans.push((Span::new(number, from, until).expect("not empty"), count));
            from = until;
        }
        let weight = u128::from(planned.weight());
        // The last parts of each weight take the rest of the published count.
        let sum: u128 = spans.iter().map(|(_, count)| u128::from(count.solutions)).sum();
        let goes_over = weight * sum > left;
        let is_last = number + 64 > n_crosses;
        if let Some((_, count)) = spans.last_mut().filter(|_| is_last && !goes_over) {
            let more = u64::try_from((left - weight * sum) / weight).expect("small");
            count.solutions += more.min(u64::MAX >> 2);
        }
        if goes_over {
            spans.iter_mut().for_each(|(_, count)| count.solutions = 0);
        }
        let solutions = spans.iter().map(|(_, count)| u128::from(count.solutions)).sum();
        let work = spans.iter().map(|(_, count)| u128::from(count.work)).sum();
        left -= weight * solutions;
        let (image, n_subproblems, weight) = (choice.image.index(), choice.n_subproblems, planned.weight());
        let cross = CrossSum {
            pass: 1,
            number,
            image,
            n_subproblems,
            weight,
            solutions,
            work,
            identity: JobIdentity(1),
        };
        writer.entry(&Entry::Cross(cross)).expect("written");
        for (span, count) in spans {
            let duration_us = random.next() % 100_000_000;
            let counter = u32::try_from(random.next() % u64::from(COUNTERS)).expect("small");
            let counted = Counted { pass: 1, span, count, duration_us, counter };
            writer.entry(&Entry::Record(counted)).expect("written");
            total.n_records += 1;
        }
        total.solutions += u128::from(weight) * solutions;
        total.work += work;
    }
    assert_eq!(left, 0, "the sum is not the published count");
    writer.finish(vec![total], &key).expect("written").into_inner().expect("written");
    total.n_records
}
