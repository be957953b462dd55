//! The header and the footer of a certificate's part.

use std::fmt::{self, Display, Formatter, Write};
use std::io::Read;
use std::ops::Range;

use queens_model::hex::{from_hex, to_hex};
use queens_model::{JobIdentity, Name};
use queens_solver::{BoardSize, Method};

use crate::counter_identity::PartyDigest;
use crate::fields::{Fields, shown};
use crate::key::PublicKey;
use crate::lines::Lines;
use crate::refusal::Refusal;
use crate::tree::Hash;

/// The first field of a file, before the format and the number of parts.
pub(crate) const MAGIC: &str = "queens certificate";

/// The version of the format.
pub(crate) const FORMAT: u32 = 2;

/// Reads a format version, which must be known.
pub(crate) fn read_format(fields: &mut Fields<'_>) -> Result<(), String> {
    match fields.number("the version of the format")? {
        FORMAT => Ok(()),
        other => Err(format!("it has format {other}, this program knows {FORMAT}")),
    }
}

/// Stands for any recounting party.
const ANYBODY: &str = "any";

/// The first word of a part's header.
pub(crate) const PART: &str = "part";

/// The first word after a part's body.
pub(crate) const TOTAL: &str = "total";

/// The maximum number of passes.
pub(crate) const MOST_PASSES: usize = 2;

/// The description of a job, or of the part of it that a site has counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The size of the board.
    pub n: BoardSize,
    /// The range of parts of the first pass's plan that were counted.
    pub crosses: Range<u32>,
    /// The number of parts of that plan.
    pub n_crosses: u32,
    /// The time of submission, in milliseconds since 1970.
    pub created_ms: u64,
    /// The time of completion; 0 if unknown.
    pub finished_ms: u64,
    /// One or two passes.
    pub passes: Vec<Pass>,
    /// The number of placements that a half turn leaves unchanged.
    pub half_turn: u64,
    /// The number of placements that a quarter turn leaves unchanged.
    pub quarter_turn: u64,
    /// The time of the export, in milliseconds since 1970.
    pub made_ms: u64,
    /// The version of the program that made it.
    pub program: Name,
    /// The key of the signer.
    pub signer: PublicKey,
}

/// A count of everything that a certificate covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The counting method.
    pub method: Method,
    /// The version of the method's decomposition that its spans refer to.
    pub decomposition: u32,
    /// The number of its job at its coordinator.
    pub job: u64,
    /// The identity of its job, because that number is not unique.
    pub identity: JobIdentity,
    /// The share of its work to recount, in parts per million.
    pub recount_ppm: u32,
    /// The seed that drew the records.
    pub seed: u128,
    /// The party that was named to recount them and must be one of any two that agree. `None` means any party that had
    /// not counted them.
    pub recount_by: Option<PartyDigest>,
}

/// The sums over a pass's records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// The number of records.
    pub n_records: u64,
    /// Their solutions, each with the weight of its part.
    pub solutions: u128,
    /// Their nodes, unweighted.
    pub work: u128,
}

/// The lines after the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) totals: Vec<Total>,
    pub(crate) n_leaves: u64,
    pub(crate) root: Hash,
}

impl Display for Header {
    /// Writes the lines, each with its end.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Range { start, end } = self.crosses;
        writeln!(f, "{PART}\t{FORMAT}")?;
        writeln!(f, "board\t{}", self.n)?;
        writeln!(f, "crosses\t{start}\t{end}\t{}", self.n_crosses)?;
        writeln!(f, "job\t{}\t{}", self.created_ms, self.finished_ms)?;
        for (number, pass) in (1..).zip(&self.passes) {
            let Pass { method, decomposition, job, identity, recount_ppm, seed, recount_by } = pass;
            let by = recount_by.map_or_else(|| ANYBODY.to_owned(), |party| party.to_string());
            write!(f, "pass\t{number}\t{method}\t{decomposition}\t{job}\t{recount_ppm}\t{seed:032x}")?;
            writeln!(f, "\t{identity}\t{by}")?;
        }
        writeln!(f, "symmetric\t{}\t{}", self.half_turn, self.quarter_turn)?;
        writeln!(f, "made\t{}\t{}", self.made_ms, self.program)?;
        writeln!(f, "signer\t{}", self.signer)
    }
}

impl Display for Footer {
    /// Writes the lines, each with its end.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (number, Total { n_records, solutions, work }) in (1..).zip(&self.totals) {
            writeln!(f, "{TOTAL}\t{number}\t{n_records}\t{solutions}\t{work}")?;
        }
        writeln!(f, "tree\t{}\t{}", self.n_leaves, to_hex(&self.root))
    }
}

impl Header {
    /// Reads the lines of a header.
    pub(crate) fn read<R: Read>(lines: &mut Lines<R>) -> Result<Self, Refusal> {
        lines.line(PART, read_format)?;
        let n = lines.line("board", |fields| {
            let n: u8 = fields.number("n")?;
            BoardSize::new(n).map_err(|error| error.to_string())
        })?;
        let (crosses, n_crosses) = lines.line("crosses", |fields| {
            let crosses = fields.number("the first cross")?..fields.number("the cross after the last")?;
            let n_crosses = fields.number("the number of crosses")?;
            // The smallest boards have no parts at all.
            let is_empty = crosses.is_empty() && n_crosses > 0;
            if is_empty || crosses.start > crosses.end || crosses.end > n_crosses {
                return Err(format!("{}..{} are no crosses of {n_crosses}", crosses.start, crosses.end));
            }
            Ok((crosses, n_crosses))
        })?;
        let (created_ms, finished_ms) =
            lines.line("job", |fields| Ok((fields.count("a time")?, fields.count("a time")?)))?;
        let mut passes = vec![];
        while passes.len() < MOST_PASSES && (passes.is_empty() || lines.next_is("pass")?) {
            let number = passes.len() + 1;
            let before = passes.first().map(|first: &Pass| first.identity);
            passes.push(lines.line("pass", |fields| {
                let pass = Pass::read(fields, number)?;
                if before == Some(pass.identity) {
                    return Err(format!("it is of job {}, as pass 1 is", pass.identity));
                }
                Ok(pass)
            })?);
        }
        let (half_turn, quarter_turn) = lines
            .line("symmetric", |fields| Ok((fields.count("half turns")?, fields.count("quarter turns")?)))?;
        let (made_ms, program) =
            lines.line("made", |fields| Ok((fields.count("a time")?, fields.name("the program")?)))?;
        let signer = lines.line("signer", |fields| {
            let bytes = fields.hex("the signer")?;
            PublicKey::from_bytes(&bytes).map_err(|_| "the signer is no public key".to_owned())
        })?;
        Ok(Self {
            n,
            crosses,
            n_crosses,
            created_ms,
            finished_ms,
            passes,
            half_turn,
            quarter_turn,
            made_ms,
            program,
            signer,
        })
    }
}

impl Pass {
    fn read(fields: &mut Fields<'_>, expected: usize) -> Result<Self, String> {
        let number: usize = fields.number("the number of the pass")?;
        if number != expected {
            return Err(format!("it is pass {number}, where pass {expected} belongs"));
        }
        let method = fields.text("the method")?;
        let method = method.parse().map_err(|error| format!("the method '{}': {error}", shown(method)))?;
        let decomposition = fields.number("the decomposition")?;
        let job = fields.number("the job")?;
        let recount_ppm = fields.number("the share counted again")?;
        if recount_ppm > 1_000_000 {
            return Err(format!("the share counted again is {recount_ppm} of a million"));
        }
        let seed = u128::from_be_bytes(fields.hex("the seed")?);
        let (identity, recount_by) = (identity(fields)?, recount_by(fields)?);
        Ok(Self { method, decomposition, job, identity, recount_ppm, seed, recount_by })
    }
}

/// Reads a job's identity, which is never all zeros.
pub(crate) fn identity(fields: &mut Fields<'_>) -> Result<JobIdentity, String> {
    let identity = JobIdentity(u128::from_be_bytes(fields.hex("the job's identity")?));
    if identity == JobIdentity::default() {
        return Err("the job's identity is all zeros, which is none".to_owned());
    }
    Ok(identity)
}

/// Reads the party that was named to recount, if there is one.
fn recount_by(fields: &mut Fields<'_>) -> Result<Option<PartyDigest>, String> {
    const WHAT: &str = "the party that counts again";
    let text = fields.text(WHAT)?;
    if text == ANYBODY {
        return Ok(None);
    }
    let wrong = || format!("{WHAT}, '{}', is neither 16 hexadecimal digits nor '{ANYBODY}'", shown(text));
    from_hex(text).map(PartyDigest::from_bytes).map(Some).ok_or_else(wrong)
}

impl Footer {
    /// Reads the lines of a footer with this number of passes.
    pub(crate) fn read<R: Read>(lines: &mut Lines<R>, n_passes: usize) -> Result<Self, Refusal> {
        let mut totals = vec![];
        for expected in 1..=n_passes {
            totals.push(lines.line(TOTAL, |fields| {
                let number: usize = fields.number("the number of the pass")?;
                if number != expected {
                    return Err(format!("it is of pass {number}, where that of pass {expected} belongs"));
                }
                Ok(Total {
                    n_records: fields.number("the number of records")?,
                    solutions: fields.number("solutions")?,
                    work: fields.number("nodes")?,
                })
            })?);
        }
        let (n_leaves, root) = lines
            .line("tree", |fields| Ok((fields.number("the number of leaves")?, fields.hex("the root")?)))?;
        Ok(Self { totals, n_leaves, root })
    }
}

/// Returns the signed message: header and footer as in the file.
pub(crate) fn message(header: &Header, footer: &Footer) -> Vec<u8> {
    let mut text = String::new();
    // Writing to a string can't fail.
    _ = write!(text, "{header}{footer}");
    text.into_bytes()
}
