//! Unpacks and reads the lines of an untrusted certificate, with limits on line length and unpacked size.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use flate2::bufread::GzDecoder;

use crate::fields::{Fields, shown};
use crate::refusal::Refusal;

/// The maximum length of a line in bytes. The longest are those of counters, with three names of 100 characters.
const LONGEST_LINE: u64 = 2048;

/// The maximum unpacked size: these bytes, plus so many times the file's own size. Records unpack to about four times.
const UNPACKED: u64 = 16 << 20;
const UNPACKED_TIMES: u64 = 50;

/// The lines of a compressed file.
pub(crate) struct Lines<R: Read> {
    input: BufReader<GzDecoder<BufReader<Metered<R>>>>,
    line: Vec<u8>,
    /// Whether `line` was read by `look` and not yet taken.
    is_ahead: bool,
    number: u64,
    n_unpacked: u64,
}

/// Counts the bytes that are read.
struct Metered<R> {
    input: R,
    n_read: u64,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(bytes)?;
        self.n_read += n as u64;
        Ok(n)
    }
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        const BUFFER: usize = 1 << 16;
        let packed = BufReader::with_capacity(BUFFER, Metered { input, n_read: 0 });
        let input = BufReader::with_capacity(BUFFER, GzDecoder::new(packed));
        Self { input, line: Vec::new(), is_ahead: false, number: 0, n_unpacked: 0 }
    }

    /// Returns the place of the last line.
    pub(crate) fn place(&self) -> String {
        format!("line {}", self.number)
    }

    /// Returns the next line, without its end.
    pub(crate) fn take(&mut self) -> Result<&str, Refusal> {
        self.look()?;
        self.is_ahead = false;
        str::from_utf8(&self.line).map_err(|_| Refusal::at(format!("line {}", self.number), "it is no UTF-8"))
    }

    /// Reads the next line without taking it.
    fn look(&mut self) -> Result<&[u8], Refusal> {
        if !self.is_ahead {
            self.number += 1;
            self.line.clear();
            let read = (&mut self.input).take(LONGEST_LINE).read_until(b'\n', &mut self.line);
            let n = read.map_err(|error| self.unreadable(error))?;
            self.n_unpacked += n as u64;
            if self.line.pop() != Some(b'\n') {
                let long = "it is longer than any line of a certificate";
                let what = if n as u64 == LONGEST_LINE { long } else { "the file ends here, too early" };
                return Err(Refusal::at(self.place(), what));
            }
            self.check_size()?;
            self.is_ahead = true;
        }
        Ok(&self.line)
    }

    /// Reads the fields of the next line, which must be of this kind.
    pub(crate) fn line<T>(
        &mut self,
        kind: &str,
        read: impl FnOnce(&mut Fields<'_>) -> Result<T, String>,
    ) -> Result<T, Refusal> {
        let place = self.number + u64::from(!self.is_ahead);
        let line = self.take()?;
        let (found, mut fields) = Fields::of(line);
        let value = if found == kind {
            read(&mut fields).and_then(|value| fields.end().map(|()| value))
        } else {
            Err(format!("'{}' stands where '{kind}' belongs", shown(found)))
        };
        value.map_err(|what| Refusal::at(format!("line {place}"), what))
    }

    /// Returns whether the next line is of this kind, without taking it.
    pub(crate) fn next_is(&mut self, kind: &str) -> Result<bool, Refusal> {
        Ok(self.look()?.split(|&byte| byte == b'\t').next() == Some(kind.as_bytes()))
    }

    /// Checks that nothing follows: no line, and nothing after the compressed data.
    pub(crate) fn end(&mut self) -> Result<(), Refusal> {
        let place = format!("behind line {}", self.number);
        let more = Refusal::at(&place, "the certificate is at its end, and something follows");
        let rest = self.input.fill_buf().map(<[u8]>::is_empty);
        if self.is_ahead || !rest.map_err(|error| self.unreadable(error))? {
            return Err(more);
        }
        if self.input.get_mut().get_mut().fill_buf()?.is_empty() { Ok(()) } else { Err(more) }
    }

    /// Refuses a small file that unpacks to a huge one, before it is read.
    fn check_size(&self) -> Result<(), Refusal> {
        let n_read = self.input.get_ref().get_ref().get_ref().n_read;
        if self.n_unpacked <= UNPACKED.saturating_add(n_read.saturating_mul(UNPACKED_TIMES)) {
            return Ok(());
        }
        Err(Refusal::at(
            self.place(),
            format!("the file unpacks to more than {UNPACKED_TIMES} times its size: no certificate does"),
        ))
    }

    /// Damaged compressed data are no failure of the disk.
    fn unreadable(&self, error: io::Error) -> Refusal {
        match error.kind() {
            ErrorKind::UnexpectedEof => Refusal::at(self.place(), "the file ends here, too early"),
            ErrorKind::InvalidInput | ErrorKind::InvalidData => {
                Refusal::at(self.place(), "the compressed data are damaged, or the file is not a certificate")
            }
            _ => error.into(),
        }
    }
}
