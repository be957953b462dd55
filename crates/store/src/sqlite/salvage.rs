//! Reads rows straight from the pages of a database that SQLite can't read any more.
//!
//! No structure leads to a page, and none vouches for it: any bytes with the right digest are a row. So
//! a damaged page costs only its own rows, even if it is the root of a table or the header of the file. The layout of
//! pages, rows and the log: <https://www.sqlite.org/fileformat2.html>.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, ErrorKind};

use queens_platform::read_exact_at;
use rusqlite::types::Value;

use crate::sql::fault::Fault;

/// The page size in bytes: SQLite's default, which we never change.
const PAGE: usize = 4096;

/// The lengths of a log's header, and of the header before each of its pages.
const LOG_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// The page types, which are the first bytes of pages.
const TABLE_LEAF: u8 = 0x0d;
const INDEX_LEAF: u8 = 0x0a;
const INDEX_INTERIOR: u8 = 0x02;

/// A candidate for a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) values: Vec<Value>,
    /// Whether it comes from the newest version of its page.
    pub(crate) is_latest: bool,
}

/// Calls `found` with all candidate rows of a database and its log, older ones first. Returns the number of unreadable
/// pages.
pub(super) fn candidates(
    database: &File,
    log: Option<&File>,
    found: &mut dyn FnMut(Candidate) -> Result<(), Fault>,
) -> Result<u64, Fault> {
    let frames = log.map(frames).unwrap_or_default();
    let latest: HashMap<u32, u64> = frames.iter().copied().collect();
    let mut n_unreadable = 0;
    let mut look = |file: &File, at: u64, is_latest| -> Result<bool, Fault> {
        match page(file, at) {
            Err(_) => n_unreadable += 1,
            Ok(None) => return Ok(false),
            Ok(Some(page)) => {
                rows(&page).into_iter().try_for_each(|values| found(Candidate { values, is_latest }))?;
            }
        }
        Ok(true)
    };
    // The first page holds only the names of tables.
    let mut number = 2;
    while look(database, u64::from(number - 1) * PAGE as u64, !latest.contains_key(&number))? {
        number += 1;
    }
    for (number, at) in &frames {
        if let Some(log) = log {
            look(log, *at, latest.get(number) == Some(at))?;
        }
    }
    Ok(n_unreadable)
}

/// Reads a whole page; returns `None` past the end of the file.
fn page(file: &File, at: u64) -> io::Result<Option<Vec<u8>>> {
    let mut page = vec![0; PAGE];
    match read_exact_at(file, &mut page, at) {
        Ok(()) => Ok(Some(page)),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the pages in a log since its last restart, and their offsets. Does not verify their checksums.
fn frames(log: &File) -> Vec<(u32, u64)> {
    let mut header = [0; LOG_HEADER];
    if read_exact_at(log, &mut header, 0).is_err() {
        return Vec::new();
    }
    let mut frames = Vec::new();
    let mut at = LOG_HEADER as u64;
    let mut frame = [0; FRAME_HEADER];
    while read_exact_at(log, &mut frame, at).is_ok() {
        let content = at + FRAME_HEADER as u64;
        let (number, salts) = (&frame[..4], &frame[8..16]);
        if salts == &header[16..24] {
            let number = u32::from_be_bytes([number[0], number[1], number[2], number[3]]);
            frames.push((number, content));
        }
        at = content + PAGE as u64;
    }
    frames
}

/// Returns the candidate rows of a page. Tries all page types if the first byte is none of them.
fn rows(page: &[u8]) -> Vec<Vec<Value>> {
    let all = [TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR];
    let kinds = match page.first().filter(|kind| all.contains(kind)) {
        Some(kind) => vec![*kind],
        None => all.to_vec(),
    };
    kinds.into_iter().flat_map(|kind| rows_of(page, kind)).collect()
}

fn rows_of(page: &[u8], kind: u8) -> Vec<Vec<Value>> {
    let n_cells = page.get(3..5).map_or(0, |bytes| usize::from(u16::from_be_bytes([bytes[0], bytes[1]])));
    let pointers = page.get(if kind == INDEX_INTERIOR { 12 } else { 8 }..).unwrap_or_default();
    let pointers = pointers.chunks_exact(2).take(n_cells);
    let cell =
        |pointer: &[u8]| row(page.get(usize::from(u16::from_be_bytes([pointer[0], pointer[1]]))..)?, kind);
    pointers.filter_map(cell).collect()
}

/// Parses the row in a cell, if all of it is on this page.
fn row(mut cell: &[u8], kind: u8) -> Option<Vec<Value>> {
    if kind == INDEX_INTERIOR {
        // Skips the number of the page with the rows before.
        cell = cell.get(4..)?;
    }
    let len = usize::try_from(varint(&mut cell)?).ok()?;
    let rowid = if kind == TABLE_LEAF { Some(varint(&mut cell)?) } else { None };
    let mut values = values(cell.get(..len)?)?;
    if let (Some(rowid), Some(key @ Value::Null)) = (rowid, values.first_mut()) {
        // An integer primary key is stored only before the row.
        *key = Value::Integer(rowid);
    }
    Some(values)
}

fn values(payload: &[u8]) -> Option<Vec<Value>> {
    let mut types = payload;
    let len = usize::try_from(varint(&mut types)?).ok()?;
    let n_types = len.checked_sub(payload.len() - types.len())?;
    let (mut types, mut content) = (types.get(..n_types)?, payload.get(len..)?);
    let mut values = Vec::new();
    while !types.is_empty() {
        values.push(value(varint(&mut types)?, &mut content)?);
    }
    content.is_empty().then_some(values)
}

fn value(kind: i64, content: &mut &[u8]) -> Option<Value> {
    let size = match kind {
        0 | 8 | 9 => 0,
        1..=4 => usize::try_from(kind).ok()?,
        5 => 6,
        6 | 7 => 8,
        12.. => usize::try_from((kind - 12) / 2).ok()?,
        _ => return None,
    };
    let (bytes, rest) = content.split_at_checked(size)?;
    *content = rest;
    Some(match kind {
        0 => Value::Null,
        8 | 9 => Value::Integer(kind - 8),
        1..=6 => {
            let sign = if bytes[0] < 0x80 { 0 } else { -1 };
            Value::Integer(bytes.iter().fold(sign, |number, &byte| (number << 8) | i64::from(byte)))
        }
        7 => Value::Real(f64::from_be_bytes(bytes.try_into().ok()?)),
        _ if kind % 2 == 0 => Value::Blob(bytes.to_vec()),
        _ => Value::Text(String::from_utf8(bytes.to_vec()).ok()?),
    })
}

/// Takes a variable-length integer of up to nine bytes off the front.
fn varint(bytes: &mut &[u8]) -> Option<i64> {
    let mut number = 0;
    for i in 0..9 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if i == 8 {
            return Some((number << 8) | i64::from(byte));
        }
        number = (number << 7) | i64::from(byte & 0x7f);
        if byte < 0x80 {
            break;
        }
    }
    Some(number)
}
