//! The forgeries, and the expected refusal of each.

use crate::draft::{Draft, Part, key, pack, part, plan, unpack};
use queens_solver::Method;

/// The certificate that is forged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// A board counted by halves and then by search, with recounts and a dispute.
    Methods,
    /// A board counted twice by search.
    Images,
    /// A board in two parts, counted by two sites.
    Sites,
}

/// The forger's action after the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Nothing: tree and signature stay as they were.
    Leave,
    /// Makes tree and signature again, with the same key.
    Sign,
    /// Also makes the sums of parts and passes again.
    Sum,
}

/// A forgery.
pub(crate) struct Forgery {
    pub(crate) name: &'static str,
    pub(crate) of: Of,
    pub(crate) how: How,
    /// Words of the expected refusal.
    pub(crate) expected: &'static str,
}

pub(crate) enum How {
    Part(fn(&mut Part), Then),
    Parts(fn(&mut Draft)),
    File(fn(Vec<u8>) -> Vec<u8>),
}

const fn forged(
    name: &'static str,
    of: Of,
    then: Then,
    expected: &'static str,
    how: fn(&mut Part),
) -> Forgery {
    Forgery { name, of, how: How::Part(how, then), expected }
}

const fn file(name: &'static str, expected: &'static str, how: fn(Vec<u8>) -> Vec<u8>) -> Forgery {
    Forgery { name, of: Methods, how: How::File(how), expected }
}

const fn merged(name: &'static str, expected: &'static str, how: fn(&mut Draft)) -> Forgery {
    Forgery { name, of: Of::Sites, how: How::Parts(how), expected }
}

/// Replaces a line by none, one or several.
fn replace(part: &mut Part, line: usize, by: &[String]) {
    part.lines.splice(line..=line, by.iter().cloned());
}

fn double(part: &mut Part, line: usize) {
    let twice = vec![part.lines[line].clone(); 2];
    replace(part, line, &twice);
}

/// Returns the first two records of a part.
fn neighbours(part: &Part) -> (usize, usize) {
    let records = part.places("record");
    let pair = records.windows(2).find(|pair| {
        part.number(pair[0], 3) == 0 && part.number(pair[1], 3) > 0 && part.number(pair[1], 5) > 1
    });
    let pair = pair.expect("there are such");
    (pair[0], pair[1])
}

/// Finds two parts of a pass with equal weight and different solutions, by their records.
fn alike(part: &Part, pass: i128) -> (usize, usize) {
    let crosses: Vec<usize> =
        part.places("cross").into_iter().filter(|&at| part.number(at, 1) == pass).collect();
    let is_odd =
        |&&at: &&usize| part.number(at, 2) % 2 == 1 && part.number(at, 5) == 8 && part.number(at, 6) > 1;
    let one = *crosses.iter().find(is_odd).expect("there are such");
    let other = crosses.iter().filter(is_odd).find(|&&at| part.number(at, 6) != part.number(one, 6));
    (one + 1, *other.expect("there are such") + 1)
}

/// Returns the lines of a record and its recounts, which a forger makes agree.
fn with_again(part: &Part, record: usize) -> std::ops::Range<usize> {
    let others = part.lines[record + 1..].iter().take_while(|line| line.starts_with("again"));
    record..record + 1 + others.count()
}

fn amend(part: &mut Part, record: usize, field: usize, more: i128) {
    with_again(part, record).for_each(|line| part.add(line, field, more));
}

fn exchange(part: &mut Part, (one, other): (usize, usize), fields: &[usize]) {
    for &field in fields {
        let (a, b) = (part.field(one, field).to_owned(), part.field(other, field).to_owned());
        with_again(part, one).for_each(|line| part.set(line, field, &b));
        with_again(part, other).for_each(|line| part.set(line, field, &a));
    }
}

fn shift(part: &mut Part, (to, from): (usize, usize), field: usize) {
    amend(part, to, field, 2);
    amend(part, from, field, -2);
}

/// Returns the lines of a pass.
fn of_pass(part: &Part, pass: i128) -> std::ops::Range<usize> {
    let crosses: Vec<usize> =
        part.places("cross").into_iter().filter(|&at| part.number(at, 1) == pass).collect();
    let end = part
        .places("cross")
        .into_iter()
        .find(|at| Some(at) > crosses.last())
        .unwrap_or(part.place("total", 0));
    crosses[0]..end
}

use Of::{Images, Methods};
use Then::{Leave, Sign, Sum};

#[rustfmt::skip]
pub(crate) const FORGERIES: &[Forgery] = &[
    // Only tree and signature protect these.
    forged("a worker's name", Methods, Leave, "root of the tree is not that", |p| { let l = p.place("counter", 1); p.set(l, 2, "boris"); }),
    forged("a worker's kernel", Methods, Leave, "root of the tree is not that", |p| { let l = p.place("counter", 1); p.set(l, 4, "avx512"); }),
    forged("a duration", Methods, Leave, "root of the tree is not that", |p| { let l = p.place("record", 1); p.add(l, 7, 1); }),
    forged("who counted a record", Methods, Leave, "root of the tree is not that", |p| { let l = p.place("record", 1); p.set(l, 8, 2); }),
    forged("when a record was counted again", Methods, Leave, "root of the tree is not that", |p| { let l = p.place("again", 0); p.add(l, 9, 1); }),
    forged("when a verdict fell", Methods, Leave, "root of the tree is not that", |p| { let l = p.place("verdict", 0); p.add(l, 6, 1); }),
    forged("a counter that counted nothing is left out", Methods, Leave, "root of the tree is not that", |p| { let l = p.place("counter", 5); replace(p, l, &[]); }),
    forged("the root", Methods, Leave, "root of the tree is not that", |p| { let l = p.place("tree", 0); p.set(l, 2, "0".repeat(64)); }),
    forged("the number of leaves", Methods, Leave, "root of the tree is not that", |p| { let l = p.place("tree", 0); p.add(l, 1, 1); }),
    forged("the date", Methods, Leave, "has not signed this", |p| { let l = p.place("made", 0); p.add(l, 1, -1); }),
    forged("the program", Methods, Leave, "has not signed this", |p| { let l = p.place("made", 0); p.set(l, 2, "0.2.0"); }),
    forged("when the job was submitted", Methods, Leave, "has not signed this", |p| { let l = p.place("job", 0); p.add(l, 1, -1); }),
    forged("the job's identity", Methods, Leave, "its pass is of job", |p| { let l = p.place("pass", 0); p.set(l, 7, "5".repeat(32)); }),
    forged("the job's identity, in all lines", Methods, Leave, "root of the tree is not that", |p| {
        let (pass, of_pass) = (p.place("pass", 0), of_pass(p, 1));
        p.set(pass, 7, "5".repeat(32));
        of_pass.filter(|&l| p.lines[l].starts_with("cross")).collect::<Vec<_>>().into_iter().for_each(|l| p.set(l, 8, "5".repeat(32)));
    }),
    forged("the seed of the recounts", Methods, Leave, "has not signed this", |p| { let l = p.place("pass", 0); p.set(l, 6, "1".repeat(32)); }),
    forged("the share of the recounts", Methods, Leave, "has not signed this", |p| { let l = p.place("pass", 0); p.set(l, 5, 1); }),
    forged("the signer", Methods, Leave, "has not signed this", |p| { let l = p.place("signer", 0); p.set(l, 1, crate::draft::hex(key(2).verifying_key().as_bytes())); }),
    forged("a digit of the signature", Methods, Leave, "has not signed this", |p| { let l = p.place("signature", 0); let s = p.field(l, 1).replace('7', "8"); p.set(l, 1, s); }),
    forged("the signature of another file", Methods, Leave, "has not signed this", |p| {
        let mut other = part(&[&plan(8, Method::Search)], 0..plan_len(8), key(1));
        other.seal();
        let (l, from) = (p.place("signature", 0), other.place("signature", 0));
        p.lines[l] = other.lines[from].clone();
    }),
    forged("signed with another key", Methods, Sign, "none of the keys that may sign it", |p| p.key = key(9)),
    forged("a key that accepts all signatures", Methods, Leave, "the signer is no public key", |p| { let l = p.place("signer", 0); p.set(l, 1, format!("01{}", "0".repeat(62))); }),

    // Signed again: numbers.
    forged("a solution more in a record", Methods, Sign, "the records of cross", |p| { let l = p.place("record", 4); p.add(l, 5, 1); }),
    forged("a node more in a record", Methods, Sign, "the records of cross", |p| { let l = p.place("record", 4); p.add(l, 6, 1); }),
    forged("a solution more in a cross", Methods, Sign, "the records of cross", |p| { let l = p.place("cross", 1); p.add(l, 6, 1); }),
    forged("a solution more in a total", Methods, Sign, "its total says", |p| { let l = p.place("total", 0); p.add(l, 3, 1); }),
    forged("a record more in a total", Methods, Sign, "its total says", |p| { let l = p.place("total", 1); p.add(l, 2, 1); }),
    forged("a solution more, added up", Methods, Sum, "the passes contradict each other", |p| { let l = p.place("record", 5); p.add(l, 5, 1); }),
    forged("a solution more in one cross of one pass, added up", Images, Sum, "the passes contradict each other: cross", |p| { let l = alike(p, 1).0; amend(p, l, 5, 1); }),
    forged("a solution more in a cross of both passes, added up", Images, Sum, "are published for n = 10", |p| {
        let (one, two) = (alike(p, 1).0, alike(p, 2).0);
        amend(p, one, 5, 1);
        amend(p, two, 5, 1);
    }),
    forged("two solutions shifted between spans of a cross", Methods, Sum, "counted again it has", |p| { let l = neighbours(p); shift(p, l, 5); }),
    forged("two solutions shifted between crosses", Images, Sum, "the passes contradict each other: cross", |p| { let l = alike(p, 1); shift(p, l, 5); }),
    forged("two solutions shifted between crosses in both passes", Images, Sum, "counted again it has", |p| {
        let (one, two) = (alike(p, 1), alike(p, 2));
        shift(p, one, 5);
        shift(p, two, 5);
    }),
    forged("nodes shifted between spans", Methods, Sum, "counted again it has", |p| { let l = neighbours(p); shift(p, l, 6); }),
    forged("a node more in a record, added up", Images, Sum, "counted again it has", |p| { let l = alike(p, 2).1; p.add(l, 6, 1); }),
    forged("crosses exchanged in both passes", Images, Sum, "counted again it has", |p| {
        let (one, two) = (alike(p, 1), alike(p, 2));
        exchange(p, one, &[5, 6]);
        exchange(p, two, &[5, 6]);
    }),
    forged("solutions past 2^63", Methods, Sign, "over 2^63 - 1", |p| { let l = p.place("record", 3); p.set(l, 5, 1_u64 << 63); }),
    forged("nodes past 2^64", Methods, Sign, "is no number", |p| { let l = p.place("record", 3); p.set(l, 6, u128::from(u64::MAX) + 1); }),
    forged("a sum past 2^128", Methods, Sign, "is no number", |p| { let l = p.place("cross", 3); p.set(l, 6, "9".repeat(39)); }),
    forged("a sum past 2^128 when it is weighted", Images, Sign, "the records of cross", |p| { let l = p.place("cross", 3); p.set(l, 6, u128::MAX); }),
    forged("a number below 0", Methods, Sign, "is no number", |p| { let l = p.place("record", 3); p.set(l, 5, -1); }),
    forged("a number with a zero before it", Methods, Sign, "is no number", |p| { let l = p.place("record", 3); let s = format!("0{}", p.field(l, 5)); p.set(l, 5, s); }),
    forged("a number in other digits", Methods, Sign, "is no number", |p| { let l = p.place("record", 3); p.set(l, 5, "٣"); }),
    forged("a field too many", Methods, Sign, "a field too many", |p| { let l = p.place("record", 3); p.lines[l] += "\t0"; }),
    forged("symmetric placements", Methods, Sign, "unchanged by half and quarter turns", |p| { let l = p.place("symmetric", 0); p.add(l, 1, 8); }),

    // Signed again: spans.
    forged("a span left out", Methods, Sum, "of cross 0 are missing", |p| { let l = p.place("record", 1); replace(p, l, &[]); }),
    forged("the last span of a cross left out", Methods, Sum, "of cross 0 are missing", |p| { let l = p.place("record", 2); replace(p, l, &[]); }),
    forged("a span doubled", Methods, Sum, "overlaps the record before it", |p| { let l = p.place("record", 1); double(p, l); }),
    forged("a span moved by one", Methods, Sum, "of cross 0 are missing", |p| { let l = p.place("record", 1); p.add(l, 3, 1); p.add(l, 4, 1); }),
    forged("a span stretched by one", Methods, Sum, "overlaps the record before it", |p| { let l = p.place("record", 1); p.add(l, 4, 1); }),
    forged("a span stretched by one past the end", Methods, Sum, "goes past the", |p| { let l = p.place("record", 2); p.add(l, 4, 1); }),
    forged("a span cut by one", Methods, Sum, "of cross 0 are missing", |p| { let l = p.place("record", 2); p.add(l, 4, -1); }),
    forged("an empty span", Methods, Sum, "is empty", |p| { let l = p.place("record", 2); let s = p.field(l, 3).to_owned(); p.set(l, 4, s); }),
    forged("two spans exchanged", Methods, Sum, "of cross 0 are missing", |p| { let (a, b) = (p.place("record", 1), p.place("record", 2)); p.lines.swap(a, b); }),
    forged("a border between spans moved by one", Methods, Sum, "counted again it has", |p| { let (a, b) = (p.place("record", 1), p.place("record", 2)); p.add(a, 4, 1); p.add(b, 3, 1); }),
    forged("a record under another cross", Methods, Sum, "has not begun, or is over", |p| { let l = p.place("record", 1); p.add(l, 2, 1); }),
    forged("a record in the other pass", Methods, Sum, "of cross 0 are missing", |p| { let l = p.place("record", 1); p.set(l, 1, 2); }),
    forged("a record of a third pass", Methods, Sum, "stands where it does not belong", |p| { let l = p.place("record", 1); p.set(l, 1, 3); }),
    forged("a record of a counter that is not there", Methods, Sum, "there is no counter 9", |p| { let l = p.place("record", 1); p.set(l, 8, 9); }),

    // Signed again: parts, plans and passes.
    forged("a cross left out", Images, Sum, "of pass 1 are missing", |p| { let l = p.place("cross", 3); let next = p.place("cross", 4); p.lines.drain(l..next); }),
    forged("the last cross left out", Images, Sum, "of pass 2 are missing", |p| { let l = p.place("cross", -1); p.lines.drain(l..p.place("total", 0)); }),
    forged("a cross doubled", Images, Sign, "comes again, or out of order", |p| { let l = p.place("cross", 3); let next = p.place("cross", 4); let cross = p.lines[l].clone(); p.lines.insert(next, cross); }),
    forged("two crosses out of order", Images, Sign, "crosses 3..4 of pass 1 are missing", |p| { let l = p.place("cross", 3); let both: Vec<String> = p.lines.drain(l..p.place("cross", 4)).collect(); let next = p.place("cross", 5); p.lines.splice(next..next, both); }),
    forged("a cross past the last", Images, Sign, "is none of the crosses", |p| { let l = p.place("total", 0); p.lines.insert(l, format!("cross\t2\t{}\t0\t1\t8\t0\t0\t{}", plan_len(10), "1".repeat(32))); }),
    forged("the weight of a cross", Methods, Sum, "and must have", |p| { let l = p.place("cross", 2); p.set(l, 5, 8); }),
    forged("the image of a cross", Images, Sign, "by its plan it is on", |p| { let l = p.place("cross", 2); let i = (p.number(l, 3) + 2) % 8; p.set(l, 3, i); }),
    forged("the mirror of an image", Images, Sign, "by its plan it is on", |p| { let l = p.place("cross", 2); let i = p.number(l, 3) + 1; p.set(l, 3, i); }),
    forged("the subproblems of a cross", Methods, Sign, "subproblems, by its plan", |p| { let l = p.place("cross", 2); p.add(l, 4, -1); }),
    forged("another n", Images, Sign, "n = 9 has", |p| { let l = p.place("board", 0); p.set(l, 1, 9); }),
    forged("an n that takes core-hours to check", Images, Sign, "only if asked for (--yes)", |p| { let l = p.place("board", 0); p.set(l, 1, 32); }),
    forged("an n that is no board", Images, Sign, "from 0 to 32", |p| { let l = p.place("board", 0); p.set(l, 1, 33); }),
    forged("another version of the decomposition", Images, Sign, "this program knows", |p| { let l = p.place("pass", 0); p.add(l, 3, 1); }),
    forged("another method", Images, Sign, "crosses by halves", |p| { let l = p.place("pass", 0); p.set(l, 2, "halves"); p.set(l, 3, Method::Halves.decomposition()); }),
    forged("a method that is none", Images, Sign, "the method 'luck'", |p| { let l = p.place("pass", 0); p.set(l, 2, "luck"); }),
    forged("passes exchanged", Images, Sum, "by its plan it is on", |p| {
        let (one, two) = (of_pass(p, 1), of_pass(p, 2));
        let renumber = |p: &mut Part, lines: std::ops::Range<usize>, pass: u8| lines.for_each(|l| p.set(l, 1, pass));
        renumber(p, one.clone(), 2);
        renumber(p, two.clone(), 1);
        let len = one.len();
        p.lines[one.start..two.end].rotate_left(len);
    }),
    forged("the first pass copied into the second", Images, Sum, "by its plan it is on", |p| copy_pass(p, false)),
    forged("the first pass copied into the second, with its images", Images, Sum, "one is a copy of the other", |p| copy_pass(p, true)),
    forged("the first pass copied into the second, but for one cross", Images, Sum, "counted again it has", |p| { copy_pass(p, true); let l = alike(p, 2).0; amend(p, l, 6, 1); }),
    forged("the second pass left out", Images, Sum, "where 'tree' belongs", |p| { let l = p.place("pass", 1); replace(p, l, &[]); let of = of_pass(p, 2); p.lines.drain(of); }),
    forged("a second pass by halves of halves", Methods, Sign, "halves have no other images", |p| { let l = p.place("pass", 1); p.set(l, 2, "halves"); p.set(l, 3, Method::Halves.decomposition()); }),
    forged("a part said to be the whole", Images, Sum, "of pass 1 are missing", |p| { let half = 40; *p = part(&[&plan(9, Method::Search)], 0..half, key(1)); let l = p.place("crosses", 0); p.set(l, 2, plan_len(9)); }),
    forged("a part with a second pass by another method", Methods, Sign, "can be compared for a whole board alone", |p| { let l = p.place("crosses", 0); p.add(l, 2, -1); }),
    merged("a part of no crosses", "30..30 are no crosses of", |d| { let p = &mut d.parts[0]; p.lines[2] = format!("crosses\t30\t30\t{}", plan_len(9)); leave_header(p); p.seal(); }),
    merged("a part of no crosses between two", "30..30 are no crosses of", |d| { let mut p = d.parts[0].clone(); p.lines[2] = format!("crosses\t30\t30\t{}", plan_len(9)); leave_header(&mut p); p.seal(); d.parts.insert(1, p); }),
    forged("crosses that begin behind their end", Methods, Sign, "are no crosses of", |p| { let l = p.place("crosses", 0); p.set(l, 1, 99); }),
    forged("more than everything counted again", Methods, Sign, "of a million", |p| { let l = p.place("pass", 0); p.set(l, 5, 1_000_001); }),
    forged("the identities of the passes exchanged", Images, Sign, "its pass is of job", |p| {
        let (one, two) = (p.place("pass", 0), p.place("pass", 1));
        let [of_one, of_two] = [one, two].map(|l| p.field(l, 7).to_owned());
        p.set(one, 7, of_two);
        p.set(two, 7, of_one);
    }),
    forged("the identity of another job in the header", Methods, Sign, "its pass is of job", |p| { let l = p.place("pass", 0); p.set(l, 7, "5".repeat(32)); }),
    forged("a cross of another job", Methods, Sign, "its pass is of job", |p| { let l = p.place("cross", 1); p.set(l, 8, "5".repeat(32)); }),
    forged("a pass without an identity", Methods, Sign, "the job's identity is missing", |p| { p.cut_last("pass"); p.cut_last("pass"); }),
    forged("a cross without an identity", Methods, Sign, "the job's identity is missing", |p| p.cut_last("cross")),
    forged("an identity of all zeros", Methods, Sign, "is all zeros", |p| {
        let lines = [("pass", 0, 7), ("cross", 0, 8)].map(|(kind, number, field)| (p.place(kind, number), field));
        lines.into_iter().for_each(|(line, field)| p.set(line, field, "0".repeat(32)));
    }),
    forged("an identity that is none", Methods, Sign, "is not 32 hexadecimal digits", |p| { let l = p.place("pass", 0); p.set(l, 7, "7"); }),
    forged("one identity for both passes", Images, Sign, "as pass 1 is", |p| { let (one, two) = (p.place("pass", 0), p.place("pass", 1)); let of_one = p.field(one, 7).to_owned(); p.set(two, 7, of_one); }),
    forged("nothing said of who alone counted again", Methods, Sign, "the party that counts again is missing", |p| p.cut_last("pass")),
    forged("a party that alone counted again, and is none", Methods, Sign, "is neither 16 hexadecimal digits nor 'any'", |p| { let l = p.place("pass", 0); p.set(l, 8, "bert"); }),
    forged("a party said to have counted again alone, which has not", Images, Sign, "party 000000000000000d was named for that and has not", |p| { let l = p.place("pass", 0); p.set(l, 8, "000000000000000d"); }),
    forged("a drawn record that another than the named party confirms", Images, Sign, "party 000000000000000b was named for that and has not", |p| {
        let (pass, again) = (p.place("pass", 0), p.place("again", 4));
        p.set(pass, 8, "000000000000000b");
        p.set(again, 8, 2);
    }),
    forged("who alone counted again", Images, Leave, "has not signed this", |p| { let l = p.place("pass", 0); p.set(l, 8, "000000000000000b"); }),
    forged("another format", Methods, Sign, "it has format 3", |p| { let l = p.place("part", 0); p.set(l, 1, 3); }),

    // Signed again: counters, recounts and verdicts.
    forged("a counter doubled", Methods, Sign, "stands where counter 2 belongs", |p| { let l = p.place("counter", 1); double(p, l); }),
    forged("a counter behind the first cross", Methods, Sign, "stands behind the first cross", |p| { let l = p.place("cross", 1); let c = p.lines[p.place("counter", 0)].replace("counter\t0", "counter\t6"); p.lines.insert(l, c); }),
    forged("a name that looks like another", Methods, Sign, "is no name", |p| { let l = p.place("counter", 1); p.set(l, 2, "an\u{200b}na"); }),
    forged("a name that commands a terminal", Methods, Sign, "is no name", |p| { let l = p.place("counter", 1); p.set(l, 2, "\u{1b}[2J"); }),
    forged("a record counted again by its own name", Methods, Sign, "who had counted it", |p| { let l = p.place("again", 0); p.set(l, 8, 4); }),
    forged("a record counted again by its own party under another name", Methods, Sign, "by 'anton', who had counted it as 'anna'", |p| { let l = p.place("again", 0); p.set(l, 8, 5); }),
    forged("a record that was drawn and only its own party confirms, under another name", Images, Sign, "by 'anton', who had counted it as 'anna'", |p| { let l = p.place("again", 3); p.set(l, 8, 5); }),
    forged("a counter without a party", Methods, Sign, "the party is missing", |p| { let l = p.place("counter", 1); p.lines[l] = "counter\t1\tbert\t0.1.0\tavx2".to_owned(); }),
    forged("a party that is none", Methods, Sign, "is not 16 hexadecimal digits", |p| { let l = p.place("counter", 1); p.set(l, 5, "b"); }),
    forged("a second count doubled", Methods, Sign, "twice, or parties are not in order", |p| { let l = p.place("again", 0); double(p, l); }),
    forged("a second count of another span", Methods, Sign, "does not follow its record", |p| { let l = p.place("again", 0); p.add(l, 4, -1); }),
    forged("a second count that disagrees", Methods, Sign, "no verdict says who is right", |p| { let l = p.place("again", 0); p.add(l, 5, 1); }),
    forged("a second count with other nodes", Methods, Sign, "no verdict says who is right", |p| { let l = p.place("again", 0); p.add(l, 6, 1); }),
    forged("a verdict left out", Methods, Sign, "no verdict says who is right", |p| { let l = p.place("verdict", 0); replace(p, l, &[]); }),
    forged("a verdict doubled", Methods, Sign, "stands where verdict 1 belongs", |p| { let l = p.place("verdict", 0); double(p, l); }),
    forged("a verdict doubled under the next number", Methods, Sign, "says what an earlier one says", |p| { let l = p.place("verdict", 0); double(p, l); p.set(l + 1, 5, 1); }),
    forged("a verdict for the other count", Methods, Sign, "for another count than that of the record", |p| { let l = p.place("verdict", 0); p.add(l, 7, 4); }),
    forged("the record replaced by what lost", Methods, Sum, "no verdict says who is right", |p| {
        let (verdict, record) = (p.place("verdict", 0), p.place("verdict", 0) - 3);
        let (solutions, work) = (p.number(verdict, 10), p.number(verdict, 11));
        p.set(record, 5, solutions);
        p.set(record, 6, work);
    }),
    forged("a verdict that a party wins against itself under another name", Methods, Sign, "wins against itself", |p| { let l = p.place("verdict", 0); p.set(l, 9, 0); p.set(l, 12, 5); }),
    forged("a verdict that a name wins against itself", Methods, Sign, "wins against itself", |p| { let l = p.place("verdict", 0); p.set(l, 12, 1); }),
    forged("a verdict against an equal count", Methods, Sign, "loses against an equal one", |p| { let l = p.place("verdict", 0); exchange_within(p, l); }),
    forged("a verdict against somebody else", Methods, Sign, "no verdict says who is right", |p| { let l = p.place("verdict", 0); p.set(l, 12, 2); }),
    forged("a verdict for what one name alone has", Methods, Sign, "that one party alone has", |p| { let l = p.place("verdict", 0); replace(p, l - 2, &[]); }),
    forged("a verdict about another span", Methods, Sign, "does not follow its record", |p| { let l = p.place("verdict", 0); p.add(l, 2, 1); }),

    forged("a second count of a drawn record left out", Images, Sign, "was drawn to be counted again", |p| { let l = p.place("again", 7); replace(p, l, &[]); }),
    forged("a larger share said to be counted again", Methods, Sign, "was drawn to be counted again", |p| { let l = p.place("pass", 0); p.set(l, 5, 900_000); }),

    // The file.
    file("the end is cut off", "ends here, too early", |file| file[..file.len() - 40].to_vec()),
    file("the last line is cut off and the rest packed again", "ends here, too early", |file| { let text = unpack(&file); let end = text[..text.len() - 1].iter().rposition(|&b| b == b'\n').expect("lines"); pack(&text[..=end]) }),
    file("half of the last line is cut off", "ends here, too early", |file| { let text = unpack(&file); pack(&text[..text.len() - 20]) }),
    file("a flipped bit in what is packed", "", |mut file| { let at = file.len() / 2; file[at] ^= 16; file }),
    file("a wrong checksum of the packed data", "are damaged, or the file is not a certificate", |mut file| { let at = file.len() - 8; file[at] ^= 1; file }),
    file("something behind what is packed", "something follows", |mut file| { file.push(0); file }),
    file("another file behind it", "something follows", |file| [file.clone(), file].concat()),
    file("a line behind the last", "something follows", |file| { let mut text = unpack(&file); text.push(b'\n'); pack(&text) }),
    file("not packed", "are damaged, or the file is not a certificate", |file| unpack(&file)),
    file("an empty file", "ends here, too early", |_| Vec::new()),
    file("a bomb of zeros", "longer than any line", |file| { let head = head(&file); pack(&[head, vec![0; 1 << 20]].concat()) }),
    file("a bomb of empty lines", "begins no line that can stand here", |file| { let head = head(&file); pack(&[head, vec![b'\n'; 1 << 20]].concat()) }),
    file("a bomb of lines that may stand there", "unpacks to more than 50 times its size", |file| {
        let mut text = head(&file);
        let name = "x".repeat(100);
        (0..260_000).for_each(|i| text.extend(format!("counter\t{i}\t{name}\t{name}\t{name}\t0000000000000000\n").as_bytes()));
        pack(&text)
    }),
    file("counters without end", "more than 262144 counters", |file| {
        let mut text = head(&file);
        (0..262_145).for_each(|i| text.extend(format!("counter\t{i}\tw{}\t0\tx\t{i:016x}\n", i * 7919 % 262_147).as_bytes()));
        pack(&text)
    }),
    file("text in no encoding", "is no UTF-8", |file| { let mut text = head(&file); text.extend(b"counter\t0\t\xff\t0\tx\n"); pack(&text) }),
    file("no parts", "expected 1 to 4096", |file| pack(&[b"queens certificate\t2\t0\n", &unpack(&file)[23..]].concat())),
    file("a file of something else", "where 'queens certificate' belongs", |_| pack(b"hello\n")),

    // Parts of several sites.
    merged("a part that overlaps the next by one subproblem", "the parts overlap: crosses 29..30 are in two", |d| d.parts[1] = part(&[&plan(9, Method::Search)], 29..plan_len(9), key(2))),
    merged("a gap of one subproblem between parts", "there is a gap: crosses 30..31 are in no part", |d| d.parts[1] = part(&[&plan(9, Method::Search)], 31..plan_len(9), key(2))),
    merged("a part twice", "the parts overlap: crosses 0..30 are in two", |d| { let one = d.parts[0].clone(); d.parts.insert(0, one); }),
    merged("parts of two sites said to be of one job", "as another part is", |d| {
        let identity = { let p = &d.parts[0]; p.field(p.place("pass", 0), 7).to_owned() };
        let p = &mut d.parts[1];
        let pass = p.place("pass", 0);
        p.set(pass, 7, &identity);
        p.places("cross").into_iter().for_each(|l| p.set(l, 8, &identity));
        p.seal();
    }),
    merged("parts exchanged", "the parts overlap", |d| d.parts.swap(0, 1)),
    merged("a part of another board", "can't follow one of n = 9", |d| d.parts[1] = part(&[&plan(10, Method::Search)], 30..60, key(2))),
    merged("a part by another method", "can't follow one of n = 9 by search", |d| d.parts[1] = part(&[&plan(9, Method::Halves)], 0..2, key(2))),
    merged("one site's signature under the other's part", "has not signed this", |d| { let (a, b) = (d.parts[0].place("signature", 0), d.parts[1].place("signature", 0)); d.parts[1].lines[b] = d.parts[0].lines[a].clone(); }),
    merged("a signer of one part who is not known", "none of the keys that may sign it", |d| { d.parts[1].key = key(9); d.parts[1].seal(); }),
    merged("a part's header said to be larger", "of pass 1 are missing", |d| { let p = &mut d.parts[0]; let l = p.place("crosses", 0); p.set(l, 2, 31); p.seal(); }),
    merged("a record of the next site's first cross", "is none of the crosses 0..30", |d| { let other = &d.parts[1]; let l = other.place("cross", 0); let both = [other.lines[l].clone(), other.lines[l + 1].clone()]; let p = &mut d.parts[0]; let at = p.place("total", 0); p.lines.splice(at..at, both); p.sum(); p.seal(); }),
];

pub(crate) fn plan_len(n: u8) -> u32 {
    u32::try_from(plan(n, Method::Search).parts().len()).expect("few")
}

/// Returns the lines before the body.
fn head(file: &[u8]) -> Vec<u8> {
    let text = unpack(file);
    let at = text.windows(8).position(|bytes| bytes == b"counter\t").expect("there are counters");
    text[..at].to_vec()
}

/// Removes the body.
fn leave_header(part: &mut Part) {
    let (first, end) = (part.place("counter", 0), part.place("total", 0));
    part.lines.drain(first..end);
    part.sum();
}

/// Makes the rejected count of a verdict the agreed one.
fn exchange_within(part: &mut Part, verdict: usize) {
    for (from, to) in [(7, 10), (8, 11)] {
        let value = part.field(verdict, from).to_owned();
        part.set(verdict, to, value);
    }
}

/// Copies the records of the first pass into the second.
fn copy_pass(part: &mut Part, keeps_images: bool) {
    let (one, two) = (of_pass(part, 1), of_pass(part, 2));
    let images: Vec<String> = two
        .clone()
        .filter(|&l| part.lines[l].starts_with("cross"))
        .map(|l| part.field(l, 3).to_owned())
        .collect();
    let copy: Vec<String> = part.lines[one].to_vec();
    part.lines.splice(two.clone(), copy);
    let identity = part.field(part.place("pass", 1), 7).to_owned();
    for line in two.start..part.place("total", 0) {
        part.set(line, 1, 2);
        if part.lines[line].starts_with("cross") {
            part.set(line, 8, &identity);
        }
    }
    if keeps_images {
        let crosses: Vec<usize> =
            part.places("cross").into_iter().filter(|&l| part.number(l, 1) == 2).collect();
        crosses.into_iter().zip(images).for_each(|(line, image)| part.set(line, 3, image));
    }
}
