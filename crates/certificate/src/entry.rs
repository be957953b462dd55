//! The lines of a certificate's body, which are the leaves of its tree.

use std::fmt::{self, Display, Formatter};

use queens_model::{JobIdentity, Name};
use queens_solver::{Count, Span};

use crate::counter_identity::PartyDigest;
use crate::fields::{Fields, shown};
use crate::header::identity;

/// The maximum number of counters of a part.
pub(crate) const MOST_COUNTERS: usize = 1 << 18;

/// A worker that counted, with its build, kernel and party.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The worker's name.
    pub worker: Name,
    /// The version of its program.
    pub build: Name,
    /// Its kernel.
    pub kernel: Name,
    /// The party that runs it.
    pub party: PartyDigest,
}

/// A line of the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Declares a counter, whose number the following lines use.
    Counter {
        /// The number, from 0.
        number: u32,
        /// The counter.
        counter: Counter,
    },
    /// A plan part, with the sums of its records.
    Cross(CrossSum),
    /// A counted span.
    Record(Counted),
    /// A recount of the span of the preceding record.
    Again {
        /// The count.
        counted: Counted,
        /// The time of the count, in milliseconds since 1970.
        at_ms: u64,
    },
    /// The outcome of a dispute about the preceding record.
    Verdict(Verdict),
}

/// A plan part, with the sums of its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrossSum {
    /// The pass, 1 or 2.
    pub pass: u8,
    /// Its number in the plan.
    pub number: u32,
    /// The image on which it was counted.
    pub image: u8,
    /// The number of its subproblems.
    pub n_subproblems: u64,
    /// The number of solutions that each of its solutions stands for.
    pub weight: u8,
    /// The solutions of all its records, unweighted.
    pub solutions: u128,
    /// Their work, unweighted.
    pub work: u128,
    /// The identity of their job.
    pub identity: JobIdentity,
}

/// A count of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The pass, 1 or 2.
    pub pass: u8,
    /// The counted span.
    pub span: Span,
    /// The result.
    pub count: Count,
    /// The time of one thread, in microseconds.
    pub duration_us: u64,
    /// The number of its counter.
    pub counter: u32,
}

/// The count of a span on which two parties agreed, and the count that it replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The pass, 1 or 2.
    pub pass: u8,
    /// The counted span.
    pub span: Span,
    /// The index of the verdict on this span, from 0.
    pub number: u32,
    /// The time of the verdict, in milliseconds since 1970.
    pub at_ms: u64,
    /// The agreed count.
    pub agreed: Count,
    /// The second counter of the agreed count.
    pub counter: u32,
    /// The rejected count.
    pub lost: Count,
    /// The counter of the rejected count.
    pub loser: u32,
}

impl Display for Entry {
    /// Writes the line without its end.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counter { number, counter: Counter { worker, build, kernel, party } } => {
                write!(f, "counter\t{number}\t{worker}\t{build}\t{kernel}\t{party}")
            }
            Self::Cross(CrossSum {
                pass,
                number,
                image,
                n_subproblems,
                weight,
                solutions,
                work,
                identity,
            }) => {
                write!(f, "cross\t{pass}\t{number}\t{image}\t{n_subproblems}\t{weight}")?;
                write!(f, "\t{solutions}\t{work}\t{identity}")
            }
            Self::Record(counted) => write!(f, "record\t{counted}"),
            Self::Again { counted, at_ms } => write!(f, "again\t{counted}\t{at_ms}"),
            Self::Verdict(Verdict { pass, span, number, at_ms, agreed, counter, lost, loser }) => {
                let (cross, from, until) = (span.part(), span.from(), span.to());
                write!(f, "verdict\t{pass}\t{cross}\t{from}\t{until}\t{number}\t{at_ms}")?;
                write!(f, "\t{}\t{}\t{counter}", agreed.solutions, agreed.work)?;
                write!(f, "\t{}\t{}\t{loser}", lost.solutions, lost.work)
            }
        }
    }
}

impl Display for Counted {
    /// Writes the fields.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { pass, span, count: Count { solutions, work }, duration_us, counter } = self;
        let (cross, from, until) = (span.part(), span.from(), span.to());
        write!(f, "{pass}\t{cross}\t{from}\t{until}\t{solutions}\t{work}\t{duration_us}\t{counter}")
    }
}

impl Entry {
    /// Reads a line of the body.
    pub(crate) fn read(line: &str) -> Result<Self, String> {
        let (kind, mut fields) = Fields::of(line);
        let entry = match kind {
            "record" => Self::Record(Counted::read(&mut fields)?),
            "again" => {
                let counted = Counted::read(&mut fields)?;
                Self::Again { counted, at_ms: fields.count("a time")? }
            }
            "cross" => Self::Cross(CrossSum {
                pass: fields.number("the pass")?,
                number: fields.number("the cross")?,
                image: fields.number("the image")?,
                n_subproblems: fields.number("the number of subproblems")?,
                weight: fields.number("the weight")?,
                solutions: fields.number("solutions")?,
                work: fields.number("nodes")?,
                identity: identity(&mut fields)?,
            }),
            "counter" => Self::Counter {
                number: fields.number("the number of a counter")?,
                counter: Counter {
                    worker: fields.name("the worker")?,
                    build: fields.name("the build")?,
                    kernel: fields.name("the kernel")?,
                    party: PartyDigest::from_bytes(fields.hex("the party")?),
                },
            },
            "verdict" => Self::Verdict(Verdict {
                pass: fields.number("the pass")?,
                span: span(&mut fields)?,
                number: fields.number("the number of the verdict")?,
                at_ms: fields.count("a time")?,
                agreed: count(&mut fields)?,
                counter: fields.number("a counter")?,
                lost: count(&mut fields)?,
                loser: fields.number("a counter")?,
            }),
            other => return Err(format!("'{}' begins no line that can stand here", shown(other))),
        };
        fields.end()?;
        Ok(entry)
    }
}

impl Counted {
    fn read(fields: &mut Fields<'_>) -> Result<Self, String> {
        Ok(Self {
            pass: fields.number("the pass")?,
            span: span(fields)?,
            count: count(fields)?,
            duration_us: fields.count("a duration")?,
            counter: fields.number("a counter")?,
        })
    }
}

fn span(fields: &mut Fields<'_>) -> Result<Span, String> {
    let (cross, from) = (fields.number("the cross")?, fields.count("the first subproblem")?);
    let until = fields.count("the subproblem after the last")?;
    Span::new(cross, from, until).map_err(|error| error.to_string())
}

fn count(fields: &mut Fields<'_>) -> Result<Count, String> {
    Ok(Count { solutions: fields.count("solutions")?, work: fields.count("nodes")? })
}
