//! Certificates as editable text. Tree and signature are made here, from their definitions alone.

use std::io::{Read, Write};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

use ed25519_dalek::{Signer, SigningKey};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use queens_solver::{BoardSize, Count, Kernel, Method, Plan, published};
use sha2::{Digest, Sha256};

/// The parts of a certificate, each with its lines and its signing key.
#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) parts: Vec<Part>,
}

#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) lines: Vec<String>,
    pub(crate) key: SigningKey,
}

/// The counters, with the digests of their parties: the last two belong to the first party.
const COUNTERS: [(&str, u64); 6] =
    [("anna", 10), ("bert", 11), ("carl", 12), ("dora", 13), ("anna", 10), ("anton", 10)];

pub(crate) fn size(n: u8) -> BoardSize {
    BoardSize::new(n).expect("a board size")
}

pub(crate) fn key(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32])
}

pub(crate) fn plan(n: u8, method: Method) -> Plan {
    Plan::new(size(n), method, NonZeroUsize::MIN, &AtomicBool::new(false)).expect("nobody stops it")
}

/// Returns the plan of a second pass by search.
pub(crate) fn second(first: &Plan) -> Plan {
    Plan::second(first.n(), first.method(), NonZeroUsize::MIN, &AtomicBool::new(false))
        .expect("nobody stops it")
}

/// Returns the lines of a part that was counted by these plans. Only some parts of the first plan are counted.
///
/// For two plans by one method, all of the first pass was to be recounted, otherwise nothing.
pub(crate) fn part(plans: &[&Plan], crosses: Range<u32>, key: SigningKey) -> Part {
    let (n, n_crosses) = (plans[0].n(), plans[0].parts().len());
    let known = published(n).expect("published");
    let mut lines = vec![
        "part\t2".to_owned(),
        format!("board\t{n}"),
        format!("crosses\t{}\t{}\t{n_crosses}", crosses.start, crosses.end),
        "job\t1790000000000\t1790000100000".to_owned(),
    ];
    for (number, plan) in (1..).zip(plans) {
        let (method, version) = (plan.method(), plan.method().decomposition());
        let ppm = if is_all(plans, number) { 1_000_000 } else { 0 };
        let identity = identity(key.verifying_key().as_bytes()[0], number);
        lines.push(format!(
            "pass\t{number}\t{method}\t{version}\t{}\t{ppm}\t{:032x}\t{identity}\tany",
            number + 6,
            12345
        ));
    }
    lines.push(format!("symmetric\t{}\t{}", known.half_turn, known.quarter_turn));
    lines.push("made\t1790000200000\t0.1.0".to_owned());
    lines.push("signer\t".to_owned());
    for (number, (name, party)) in COUNTERS.iter().enumerate() {
        lines.push(format!("counter\t{number}\t{name}\t0.1.0\tavx2\t{party:016x}"));
    }
    for (number, plan) in (1..).zip(plans) {
        let all = 0..u32::try_from(plan.parts().len()).expect("few");
        let crosses = if plan.method() == plans[0].method() { crosses.clone() } else { all };
        let all_again = is_all(plans, number);
        let identity = identity(key.verifying_key().as_bytes()[0], number);
        for cross in crosses {
            lines.extend(cross_lines(number, plan, cross, all_again));
            let at = lines.iter().rposition(|line| line.starts_with("cross")).expect("a cross");
            lines[at] += &format!("\t{identity}");
        }
    }
    lines.extend((1..=plans.len()).map(|number| format!("total\t{number}\t0\t0\t0")));
    lines.push("tree\t0\t".to_owned());
    lines.push("signature\t".to_owned());
    let mut part = Part { lines, key };
    part.sum();
    part.seal();
    part
}

/// Returns the identity of the job by which a site has counted this pass.
fn identity(site: u8, pass: u8) -> String {
    format!("{:032x}", (u128::from(site) << 64) + u128::from(pass))
}

/// Returns whether all of a pass was to be recounted.
fn is_all(plans: &[&Plan], number: u8) -> bool {
    number == 1 && plans.get(1).is_some_and(|second| second.method() == plans[0].method())
}

/// Returns the lines of a plan part in up to three spans. In some parts, the first span has a recount or a dispute.
fn cross_lines(pass: u8, plan: &Plan, cross: u32, all_again: bool) -> Vec<String> {
    let planned = plan.part(cross).expect("a cross");
    let choice = planned.choice();
    let all = choice.n_subproblems;
    let (image, weight) = (choice.image.index(), planned.weight());
    let mut lines = vec![format!("cross\t{pass}\t{cross}\t{image}\t{all}\t{weight}\t0\t0")];
    let step = all.div_ceil(3).max(1);
    let mut from = 0;
    while from < all {
        let until = (from + step).min(all);
        let count = planned.subproblems().count(from..until, Kernel::Portable, &AtomicBool::new(false));
        let Count { solutions, work } = count.expect("nobody stops it");
        let span = format!("{pass}\t{cross}\t{from}\t{until}");
        lines.push(format!("record\t{span}\t{solutions}\t{work}\t1500\t{}", (pass - 1) * 2));
        if all_again || from == 0 && cross.is_multiple_of(2) {
            lines.push(format!("again\t{span}\t{solutions}\t{work}\t1700\t1\t1790000090000"));
        }
        if from == 0 && cross == 2 {
            let (wrong, odd) = (solutions + 2, work + 1);
            lines.push(format!("again\t{span}\t{wrong}\t{odd}\t1700\t3\t1790000090000"));
            lines.push(format!(
                "verdict\t{span}\t0\t1790000095000\t{solutions}\t{work}\t1\t{wrong}\t{odd}\t3"
            ));
        }
        from = until;
    }
    lines
}

impl Part {
    /// Returns the places of the lines of a kind.
    pub(crate) fn places(&self, kind: &str) -> Vec<usize> {
        let is_it = |line: &String| line.split('\t').next() == Some(kind);
        (0..self.lines.len()).filter(|&i| is_it(&self.lines[i])).collect()
    }

    /// Returns the line of a kind with this number, from 0; negative numbers count from the end.
    pub(crate) fn place(&self, kind: &str, number: isize) -> usize {
        let places = self.places(kind);
        let number = if number < 0 { places.len().strict_add_signed(number) } else { number.unsigned_abs() };
        places[number]
    }

    pub(crate) fn field(&self, line: usize, field: usize) -> &str {
        self.lines[line].split('\t').nth(field).expect("a field")
    }

    pub(crate) fn number(&self, line: usize, field: usize) -> i128 {
        self.field(line, field).parse().expect("a number")
    }

    pub(crate) fn set(&mut self, line: usize, field: usize, value: impl ToString) {
        let mut fields: Vec<String> = self.lines[line].split('\t').map(str::to_owned).collect();
        fields[field] = value.to_string();
        self.lines[line] = fields.join("\t");
    }

    pub(crate) fn add(&mut self, line: usize, field: usize, more: i128) {
        let value = self.number(line, field) + more;
        self.set(line, field, value);
    }

    /// Makes the sums of parts and passes again from the records, with the weights of the parts.
    pub(crate) fn sum(&mut self) {
        let records: Vec<usize> = self.places("record");
        let mut totals = [[0_i128; 3]; 2];
        for cross in self.places("cross") {
            let (pass, number) = (self.number(cross, 1), self.number(cross, 2));
            let mut sum = [0; 3];
            for &record in &records {
                if (self.number(record, 1), self.number(record, 2)) == (pass, number) {
                    sum[0] += 1;
                    sum[1] += self.number(record, 5);
                    sum[2] += self.number(record, 6);
                }
            }
            self.set(cross, 6, sum[1]);
            self.set(cross, 7, sum[2]);
            let weight = self.number(cross, 5);
            let total = &mut totals[usize::from(pass == 2)];
            for (total, more) in total.iter_mut().zip([sum[0], weight * sum[1], sum[2]]) {
                *total += more;
            }
        }
        for (line, total) in self.places("total").into_iter().zip(totals) {
            (2..).zip(total).for_each(|(field, value)| self.set(line, field, value));
        }
    }

    /// Removes the last field of all lines of a kind.
    pub(crate) fn cut_last(&mut self, kind: &str) {
        for line in self.places(kind) {
            let end = self.lines[line].rfind('\t').expect("fields");
            self.lines[line].truncate(end);
        }
    }

    /// Makes tree and signature again from the lines.
    pub(crate) fn seal(&mut self) {
        let signer = self.place("signer", 0);
        self.set(signer, 1, hex(self.key.verifying_key().as_bytes()));
        let (body, footer) = (signer + 1, self.place("total", 0));
        let leaves: Vec<[u8; 32]> = self.lines[body..footer].iter().map(|line| leaf(line)).collect();
        let tree = self.place("tree", 0);
        self.lines[tree] = format!("tree\t{}\t{}", leaves.len(), hex(&root(&leaves)));
        let signed = self.lines[..body].iter().chain(&self.lines[footer..=tree]);
        let message: String = signed.map(|line| format!("{line}\n")).collect();
        let signature = self.key.sign(message.as_bytes());
        self.lines[tree + 1] = format!("signature\t{}", hex(&signature.to_bytes()));
    }
}

impl Draft {
    /// Returns the file.
    pub(crate) fn pack(&self) -> Vec<u8> {
        let mut text = format!("queens certificate\t2\t{}\n", self.parts.len());
        for line in self.parts.iter().flat_map(|part| &part.lines) {
            text += line;
            text.push('\n');
        }
        pack(text.as_bytes())
    }
}

pub(crate) fn pack(text: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::default());
    out.write_all(text).expect("in memory");
    out.finish().expect("in memory")
}

pub(crate) fn unpack(file: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    GzDecoder::new(file).read_to_end(&mut text).expect("compressed");
    text
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn leaf(line: &str) -> [u8; 32] {
    Sha256::digest([&[0], line.as_bytes()].concat()).into()
}

fn root(leaves: &[[u8; 32]]) -> [u8; 32] {
    match leaves {
        [] => Sha256::digest([]).into(),
        [one] => *one,
        more => {
            let (left, right) = more.split_at(more.len().next_power_of_two() / 2);
            Sha256::digest([&[1][..], &root(left), &root(right)].concat()).into()
        }
    }
}
