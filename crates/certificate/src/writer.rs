//! Writes a certificate.

use std::fmt::Write as _;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use queens_model::hex::to_hex;

use crate::entry::Entry;
use crate::header::{FORMAT, Footer, Header, MAGIC, Total, message};
use crate::key::Key;
use crate::tree::Tree;

/// Writes a certificate of one part, entry by entry. It trusts its input: the reader checks it.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: GzEncoder<W>,
    header: Header,
    tree: Tree,
    line: String,
}

impl<W: Write> Writer<W> {
    /// Begins a file with the header of its only part.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn begin(out: W, header: Header) -> io::Result<Self> {
        let mut out = compressed(out, 1)?;
        write!(out, "{header}")?;
        Ok(Self { out, header, tree: Tree::default(), line: String::new() })
    }

    /// Adds an entry. The order is: all counters; then each plan part of each pass, with its records; after each record
    /// its recounts and verdicts.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn entry(&mut self, entry: &Entry) -> io::Result<()> {
        self.line.clear();
        // Writing to a string can't fail.
        _ = write!(self.line, "{entry}");
        self.tree.push(&self.line);
        self.line.push('\n');
        self.out.write_all(self.line.as_bytes())
    }

    /// Adds the totals of the passes, signs everything, and ends the file.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn finish(mut self, totals: Vec<Total>, key: &Key) -> io::Result<W> {
        let (n_leaves, root) = self.tree.finish();
        let footer = Footer { totals, n_leaves, root };
        let signature = key.sign(&message(&self.header, &footer));
        writeln!(self.out, "{footer}signature\t{}", to_hex(&signature))?;
        self.out.finish()
    }
}

/// Begins a file of this format and this number of parts.
pub(crate) fn compressed<W: Write>(out: W, n_parts: usize) -> io::Result<GzEncoder<W>> {
    let mut out = GzEncoder::new(out, Compression::default());
    writeln!(out, "{MAGIC}\t{FORMAT}\t{n_parts}")?;
    Ok(out)
}
