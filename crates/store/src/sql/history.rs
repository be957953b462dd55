//! Reads and writes history (progress curves, events and the days of parties) in the tables of a database.

use std::sync::Arc;

use queens_model::{Event, EventKind, JobId};
use rusqlite::types::Value;

use super::database::{Database, Row};
use super::digest::{CURVE, EVENT, PARTY_DAY};
use super::fault::Fault;
use super::read::{self, integer, parsed, sql_integer};
use super::table::Table;
use crate::history::{Change, Curve, PartyDay, Past, Subject};

/// SQL that removes the tables of earlier versions. [`HISTORY_TABLES`](crate::sqlite::history::HISTORY_TABLES) makes
/// those that are missing.
pub(crate) const REMOVE_OLD_TABLES: &str = "DROP TABLE IF EXISTS point";

/// Adds all valid rows to `past`. Returns an error about invalid rows after all others are read.
pub(crate) fn read_past(database: &dyn Database, past: &mut Past) -> Result<(), Fault> {
    let curves = read_rows(database, &CURVE, "", curve, &mut past.curves);
    let events = read_rows(database, &EVENT, "ORDER BY number", event, &mut past.events);
    curves.and(events).and(read_rows(database, &PARTY_DAY, "ORDER BY day", day, &mut past.days))
}

/// Makes a change part of the open transaction. If `begins_anew`, it replaces all stored history.
pub(crate) fn write_change(database: &dyn Database, change: &Change, begins_anew: bool) -> Result<(), Fault> {
    // Deletions come first to make room for new rows.
    if begins_anew {
        for Table { name, .. } in [&CURVE, &EVENT, &PARTY_DAY] {
            database.change(&format!("DELETE FROM {name}"), &[])?;
        }
    }
    let (first_by_workers, first_of_others) = change.first_events;
    for kind in EventKind::ALL {
        let first = if kind.is_by_workers() { first_by_workers } else { first_of_others };
        let sql = format!("DELETE FROM event WHERE kind = '{}' AND number < ?1", kind.name());
        database.change(&sql, &[i64::try_from(first).unwrap_or(i64::MAX).into()])?;
    }
    let (removed, new): (Vec<_>, Vec<_>) =
        change.curves.iter().partition(|(_, curve)| curve.points.is_empty());
    for (subject, _) in removed {
        database.change(CURVE.remove_sql(), &[sql_integer("job", subject.number())?.into()])?;
    }
    new.into_iter().try_for_each(|(subject, curve)| put_curve(database, *subject, curve))?;
    change.events.iter().try_for_each(|event| put_event(database, event))?;
    database.change("DELETE FROM party_day WHERE day < ?1", &[change.first_day.into()])?;
    change.days.iter().try_for_each(|day| put_day(database, day))
}

/// Adds all valid rows of a table. Returns an error about invalid ones after all others are read.
fn read_rows<T>(
    database: &dyn Database,
    table: &Table,
    order: &str,
    parse: fn(&Row<'_>) -> Result<T, Fault>,
    rows: &mut Vec<T>,
) -> Result<(), Fault> {
    let mut damaged = Ok(());
    read::select(database, table, order, &[], |row| -> Result<(), Fault> {
        match parse(row) {
            Ok(row) => rows.push(row),
            Err(fault) => damaged = Err(fault),
        }
        Ok(())
    })?;
    damaged
}

fn curve(row: &Row<'_>) -> Result<(Subject, Curve), Fault> {
    let place = "a curve";
    CURVE.verify(row, None, &place)?;
    let points: Vec<u8> = row.get("points", &place)?;
    let curve = Curve::parse(integer(row, "step_seconds", &place)?, &points);
    let curve = curve.ok_or_else(|| Fault::Damaged(format!("{place} has other points than a curve")))?;
    Ok((Subject::numbered(integer(row, "job", &place)?), curve))
}

fn put_curve(database: &dyn Database, subject: Subject, curve: &Curve) -> Result<(), Fault> {
    let values = vec![
        sql_integer("job", subject.number())?.into(),
        sql_integer("step", curve.step_seconds)?.into(),
        Value::Blob(curve.bytes()),
    ];
    CURVE.put(database, None, values)
}

fn event(row: &Row<'_>) -> Result<Arc<Event>, Fault> {
    let place = "an event";
    EVENT.verify(row, None, &place)?;
    let kind: String = row.get("kind", &place)?;
    let known = EventKind::ALL.into_iter().find(|known| known.name() == kind);
    let job: Option<i64> = row.get("job", &place)?;
    Ok(Arc::new(Event {
        number: integer(row, "number", &place)?,
        at_ms: integer(row, "at_ms", &place)?,
        kind: known.ok_or_else(|| Fault::Damaged(format!("{place} is of no kind that is known")))?,
        job: job.and_then(|job| u64::try_from(job).ok()).map(JobId),
        text: row.get("text", &place)?,
    }))
}

fn put_event(database: &dyn Database, event: &Event) -> Result<(), Fault> {
    let values = vec![
        sql_integer("event", event.number)?.into(),
        sql_integer("time", event.at_ms)?.into(),
        event.kind.name().to_owned().into(),
        event.job.map(|job| sql_integer("job", job.0)).transpose()?.into(),
        event.text.clone().into(),
    ];
    EVENT.put(database, None, values)
}

fn day(row: &Row<'_>) -> Result<PartyDay, Fault> {
    let place = "a day of a party";
    PARTY_DAY.verify(row, None, &place)?;
    let (day, time_us) = (integer(row, "day", &place)?, integer(row, "time_us", &place)?);
    Ok(PartyDay { day, party: parsed(row, "party", &place)?, time_us })
}

fn put_day(database: &dyn Database, PartyDay { day, party, time_us }: &PartyDay) -> Result<(), Fault> {
    let time_us = i64::try_from(*time_us).unwrap_or(i64::MAX);
    PARTY_DAY.put(database, None, vec![(*day).into(), party.to_string().into(), time_us.into()])
}
