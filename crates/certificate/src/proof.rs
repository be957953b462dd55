//! Makes and checks proofs that one record is in a certificate.

use std::fmt::Write as _;
use std::io::{Read, Seek};
use std::str::Lines as TextLines;

use crate::check::begin;
use crate::entry::{Counted, Counter, CrossSum, Entry};
use crate::fields::{Fields, from_hex, shown, to_hex};
use crate::header::{FORMAT, Footer, Header, Source, TOTAL, message, read_format};
use crate::key::PublicKey;
use crate::lines::Lines;
use crate::pass_check::is_of_job;
use crate::refusal::Refusal;
use crate::tree::{Followed, Tree, leaf, root_of};

/// The first line of a proof.
const PROOF: &str = "queens proof";

/// The maximum size of a proof in bytes: three leaves, with at most 64 hashes each.
const LONGEST: u64 = 64 << 10;

/// The record to prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The pass, 1 or 2.
    pub pass: u8,
    /// The number of the part.
    pub cross: u32,
    /// A subproblem of the record.
    pub subproblem: u64,
}

/// The content of a valid proof: its signer states that this was counted.
#[derive(Clone, Debug)]
pub struct Proved {
    /// The header of the certificate's part.
    pub header: Header,
    /// The counted record.
    pub counted: Counted,
    /// The plan part of the record.
    pub cross: CrossSum,
    /// The worker that counted it, with build, kernel and party.
    pub counter: Counter,
    /// Whether the signer is one of the given keys.
    pub is_known: bool,
}

/// Makes a proof of a record of a certificate. The certificate is not checked.
///
/// # Errors
/// If there is no such record, or the file is no certificate.
pub fn prove(mut input: impl Read + Seek, wanted: Wanted) -> Result<String, Refusal> {
    let found = find(&mut input, wanted)?;
    input.rewind()?;
    let mut lines = Lines::new(input);
    begin(&mut lines)?;
    for part in 0.. {
        let header = Header::read(&mut lines)?;
        let leaves = if part == found.part { &found.leaves[..] } else { &[] };
        let (tree, texts) = follow(&mut lines, leaves)?;
        let footer = Footer::read(&mut lines, header.passes.len())?;
        let signature: [u8; 64] = lines.line("signature", |fields| fields.hex("the signature"))?;
        if part < found.part {
            continue;
        }
        let mut text = format!("{PROOF}\t{FORMAT}\n{header}{footer}signature\t{}\n", to_hex(&signature));
        for (line, Followed { index, path }) in texts.iter().zip(tree.finish().1) {
            let path: Vec<String> = path.iter().map(|hash| to_hex(hash)).collect();
            // Writing to a string can't fail.
            _ = writeln!(text, "{line}\nway\t{index}\t{}", path.join(" "));
        }
        return Ok(text);
    }
    Err(Refusal::at("the certificate", "it has changed meanwhile"))
}

/// The position of a record.
struct Found {
    part: usize,
    /// The leaf numbers of its counter, its plan part and itself.
    leaves: [u64; 3],
}

fn find(input: impl Read, wanted: Wanted) -> Result<Found, Refusal> {
    let mut lines = Lines::new(input);
    for part in 0..begin(&mut lines)? {
        let header = Header::read(&mut lines)?;
        let (mut cross, mut found) = (0, None);
        for index in 0_u64.. {
            if lines.look()?.starts_with(TOTAL.as_bytes()) {
                break;
            }
            match Entry::read(lines.take()?).map_err(|what| Refusal::at(lines.place(), what))? {
                Entry::Cross(_) => cross = index,
                Entry::Record(Counted { pass, span, counter, .. }) => {
                    let is_it = (pass, span.part()) == (wanted.pass, wanted.cross)
                        && (span.from()..span.to()).contains(&wanted.subproblem);
                    if is_it && found.is_none() {
                        // Counters come first, and their numbers start at 0.
                        found = Some(Found { part, leaves: [u64::from(counter), cross, index] });
                    }
                }
                _ => {}
            }
        }
        if let Some(found) = found {
            return Ok(found);
        }
        Footer::read(&mut lines, header.passes.len())?;
        lines.line("signature", |fields| fields.text("the signature").map(drop))?;
    }
    let Wanted { pass, cross, subproblem } = wanted;
    let what = format!("subproblem {subproblem} of cross {cross} of pass {pass} is in no record");
    Err(Refusal::at("the certificate", what))
}

/// Reads a body, follows the leaves with these numbers, and returns their lines.
fn follow<R: Read>(lines: &mut Lines<R>, leaves: &[u64]) -> Result<(Tree, Vec<String>), Refusal> {
    let (mut tree, mut texts) = (Tree::default(), Vec::new());
    while !lines.look()?.starts_with(TOTAL.as_bytes()) {
        let line = lines.take()?;
        if leaves.contains(&tree.n_leaves()) {
            tree.push_and_follow(leaf(line.as_bytes()));
            let entry = Entry::read(line).map_err(|what| Refusal::at("the certificate", what))?;
            texts.push(entry.to_string());
        } else {
            tree.push(leaf(line.as_bytes()));
        }
    }
    Ok((tree, texts))
}

/// Returns whether a file with this beginning is a proof.
#[must_use]
pub fn is_proof(beginning: &[u8]) -> bool {
    beginning.starts_with(PROOF.as_bytes())
}

/// Checks a proof: the signature, and that the record, its part and its counter are in the signed tree.
///
/// # Errors
/// If it proves nothing.
pub fn check_proof(input: impl Read, keys: &[PublicKey]) -> Result<Proved, Refusal> {
    let mut text = String::new();
    let n = input.take(LONGEST).read_to_string(&mut text)?;
    if n as u64 == LONGEST {
        return Err(Refusal::at("the proof", "it is longer than any proof"));
    }
    let mut lines = ProofLines { lines: text.lines(), ahead: None, number: 0 };
    lines.line(PROOF, read_format)?;
    let header = Header::read(&mut lines)?;
    let footer = Footer::read(&mut lines, header.passes.len())?;
    let signature = lines.line("signature", |fields| fields.hex("the signature"))?;
    let signer = header.signer;
    if !signer.has_signed(&message(&header, &footer), &signature) {
        return Err(Refusal::at(lines.place(), format!("{signer} has not signed this")));
    }
    if !keys.is_empty() && !keys.contains(&signer) {
        let what = format!("it is signed by {signer}, which is none of the keys that may sign it");
        return Err(Refusal::at(lines.place(), what));
    }
    let (counter_index, counter) = lines.proved(&footer)?;
    let (_, cross) = lines.proved(&footer)?;
    let (_, record) = lines.proved(&footer)?;
    if let Some(line) = lines.next() {
        return Err(Refusal::at(
            lines.place(),
            format!("'{}' follows a proof that is at its end", shown(line)),
        ));
    }
    let (Entry::Counter { number, counter }, Entry::Cross(cross), Entry::Record(counted)) =
        (counter, cross, record)
    else {
        return Err(Refusal::at(lines.place(), "expected a counter, a cross and a record"));
    };
    let belongs = (counted.pass, counted.span.part()) == (cross.pass, cross.number);
    if !belongs || counted.counter != number || u64::from(number) != counter_index {
        return Err(Refusal::at(lines.place(), "the record is not of this cross and this counter"));
    }
    let pass = usize::from(cross.pass).checked_sub(1).and_then(|at| header.passes.get(at));
    let pass = pass.ok_or_else(|| Refusal::at(lines.place(), "the record is of no pass"))?;
    is_of_job(&cross, pass).map_err(|what| Refusal::at(lines.place(), what))?;
    let is_known = keys.contains(&signer);
    Ok(Proved { header, counted, cross, counter, is_known })
}

/// The lines of a proof.
struct ProofLines<'a> {
    lines: TextLines<'a>,
    ahead: Option<&'a str>,
    number: usize,
}

impl<'a> ProofLines<'a> {
    fn place(&self) -> String {
        format!("line {}", self.number)
    }

    fn next(&mut self) -> Option<&'a str> {
        self.number += 1;
        self.ahead.take().or_else(|| self.lines.next())
    }

    /// The next leaf, with its number, if its way leads to the root.
    fn proved(&mut self, footer: &Footer) -> Result<(u64, Entry), Refusal> {
        let line = self.next().ok_or_else(|| Refusal::at(self.place(), "the proof ends here, too early"))?;
        let entry = Entry::read(line).map_err(|what| Refusal::at(self.place(), what))?;
        let followed = self.line("way", |fields| {
            let index = fields.number("the number of a leaf")?;
            let path = fields.text("a way")?;
            let hashes = path.split(' ').filter(|hash| !hash.is_empty());
            let path: Option<Vec<_>> = hashes.map(from_hex).collect();
            Ok(Followed { index, path: path.ok_or("a way has something that is no hash")? })
        })?;
        if root_of(leaf(line.as_bytes()), &followed, footer.n_leaves) != Some(footer.root) {
            return Err(Refusal::at(self.place(), "this way does not lead to the root that was signed"));
        }
        Ok((followed.index, entry))
    }
}

impl Source for ProofLines<'_> {
    type Error = Refusal;

    fn line<T>(
        &mut self,
        kind: &str,
        read: impl FnOnce(&mut Fields<'_>) -> Result<T, String>,
    ) -> Result<T, Refusal> {
        let line = self.next().ok_or_else(|| Refusal::at(self.place(), "the proof ends here, too early"))?;
        let (found, mut fields) = Fields::of(line);
        if found != kind {
            return Err(Refusal::at(
                self.place(),
                format!("'{}' stands where '{kind}' belongs", shown(found)),
            ));
        }
        let value = read(&mut fields).and_then(|value| fields.end().map(|()| value));
        value.map_err(|what| Refusal::at(self.place(), what))
    }

    fn peek(&mut self) -> Result<String, Refusal> {
        if self.ahead.is_none() {
            self.ahead = self.lines.next();
        }
        Ok(self.ahead.map(|line| Fields::of(line).0.to_owned()).unwrap_or_default())
    }
}
