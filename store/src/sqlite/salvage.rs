//! Rows straight from the pages of a database, for one that SQLite can't read any more.
//!
//! Nothing leads to a page here and nothing vouches for it: whatever looks like a row is one, if its digest says so. So
//! a damaged page costs what is on it and no more, be it the root of a table or the header of the file. How pages, rows
//! and the log are laid out: <https://www.sqlite.org/fileformat2.html>.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;

use rusqlite::types::Value;

use crate::sql::fault::Fault;

/// Bytes of a page: SQLite's default, which we never change.
const PAGE: usize = 4096;

/// What stands before the frames of a log, and before the page of each.
const LOG_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// The first bytes of a page, which say what it holds.
const TABLE_LEAF: u8 = 0x0d;
const INDEX_LEAF: u8 = 0x0a;
const INDEX_INTERIOR: u8 = 0x02;

/// What may be a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) values: Vec<Value>,
    /// Whether nothing newer is there in place of the page it is from.
    pub(super) is_latest: bool,
}

/// Calls `found` with whatever may be a row of a database and its log, what was written later after what was written
/// earlier. Returns how many pages can't be read.
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
    // The first page holds the names of tables.
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

/// A whole page; `None` past the end of the file.
fn page(file: &File, at: u64) -> io::Result<Option<Vec<u8>>> {
    let mut page = vec![0; PAGE];
    match file.read_exact_at(&mut page, at) {
        Ok(()) => Ok(Some(page)),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// The pages in a log and where they stand: those written since it was last begun anew. Their checksums are not asked.
fn frames(log: &File) -> Vec<(u32, u64)> {
    let mut header = [0; LOG_HEADER];
    if log.read_exact_at(&mut header, 0).is_err() {
        return Vec::new();
    }
    let mut frames = Vec::new();
    let mut at = LOG_HEADER as u64;
    let mut frame = [0; FRAME_HEADER];
    while log.read_exact_at(&mut frame, at).is_ok() {
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

/// What on a page may be rows. A page that says that it is something else is taken for anything.
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

/// The row in a cell, if all of it is on this page.
fn row(mut cell: &[u8], kind: u8) -> Option<Vec<Value>> {
    if kind == INDEX_INTERIOR {
        // The page with the rows before.
        cell = cell.get(4..)?;
    }
    let len = usize::try_from(varint(&mut cell)?).ok()?;
    let rowid = if kind == TABLE_LEAF { Some(varint(&mut cell)?) } else { None };
    let mut values = values(cell.get(..len)?)?;
    if let (Some(rowid), Some(key @ Value::Null)) = (rowid, values.first_mut()) {
        // An integer key stands before the row only.
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

/// Takes a number of up to nine bytes off the front.
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
