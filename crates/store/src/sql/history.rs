//! Reads and writes history (progress curves, events and the days of parties) in the tables of a database.

use std::sync::Arc;

use queens_model::{Event, EventKind, JobId};
use rusqlite::types::Value;

use super::database::{Database, Row};
use super::digest::{EVENT, PARTY_DAY, POINT};
use super::fault::Fault;
use super::read::{self, cell, integer, parsed, sql_integer};
use crate::history::{Change, FIRST_OF_FLEET, LEVELS, PartyDay, Past, Point, Subject};

/// Adds all valid rows to `past`. Returns an error about invalid rows after all others are read.
pub(crate) fn read_past(database: &dyn Database, past: &mut Past) -> Result<(), Fault> {
    let points = read_points(database, &mut past.points);
    points.and(read_events(database, &mut past.events)).and(read_days(database, &mut past.days))
}

/// Makes a change part of the open transaction. If `begins_anew`, it replaces all stored history.
pub(crate) fn write_change(database: &dyn Database, change: &Change, begins_anew: bool) -> Result<(), Fault> {
    // Deletions come first to make room for new rows.
    if begins_anew {
        database.change("DELETE FROM point", &[])?;
        database.change("DELETE FROM event", &[])?;
        database.change("DELETE FROM party_day", &[])?;
    }
    for (level, (first, last)) in LEVELS.iter().zip(change.kept) {
        let step = sql_integer("step", level.step_seconds)?;
        // Each of these statements finds its rows by the key.
        let of_jobs = format!("< ?2 AND job < {FIRST_OF_FLEET}");
        let of_fleet = format!("< ?2 AND job >= {FIRST_OF_FLEET}");
        for (which, bound) in [(&*of_jobs, first), (&*of_fleet, level.oldest(last)), ("> ?2", last)] {
            let sql = format!("DELETE FROM point WHERE step = ?1 AND number {which}");
            database.change(&sql, &[step.into(), sql_integer("step", bound)?.into()])?;
        }
    }
    let (first_by_workers, first_of_others) = change.first_events;
    for kind in EventKind::ALL {
        let first = if kind.is_by_workers() { first_by_workers } else { first_of_others };
        let sql = format!("DELETE FROM event WHERE kind = '{}' AND number < ?1", kind.name());
        database.change(&sql, &[i64::try_from(first).unwrap_or(i64::MAX).into()])?;
    }
    change.points.iter().try_for_each(|point| put_point(database, point))?;
    change.events.iter().try_for_each(|event| put_event(database, event))?;
    database.change("DELETE FROM party_day WHERE day < ?1", &[change.first_day.into()])?;
    change.days.iter().try_for_each(|day| put_day(database, day))
}

/// Adds all valid points. Returns an error about invalid ones after all others are read.
fn read_points(database: &dyn Database, points: &mut Vec<Point>) -> Result<(), Fault> {
    let mut damaged = Ok(());
    read::select(database, &POINT, "", &[], |row| -> Result<(), Fault> {
        match point(row) {
            Ok(point) => points.push(point),
            Err(fault) => damaged = Err(fault),
        }
        Ok(())
    })?;
    damaged
}

fn point(row: &Row<'_>) -> Result<Point, Fault> {
    let place = "a point of a curve";
    POINT.verify(row, None, &place)?;
    let step: u64 = integer(row, "step", &place)?;
    let level = LEVELS.iter().position(|level| level.step_seconds == step);
    Ok(Point {
        subject: Subject::numbered(integer(row, "job", &place)?),
        level: level.ok_or_else(|| Fault::Damaged(format!("{place}: no step takes {step} s")))?,
        // With 32 bits here, times in milliseconds stay below 2^63.
        number: u64::from(integer::<u32>(row, "number", &place)?),
        end_ms: integer(row, "end_ms", &place)?,
        measured_ms: integer(row, "measured_ms", &place)?,
        work: integer(row, "work", &place)?,
        billionths: integer(row, "billionths", &place)?,
    })
}

fn put_point(database: &dyn Database, point: &Point) -> Result<(), Fault> {
    let Point { subject, level, number, end_ms, measured_ms, work, billionths } = *point;
    let amount = |number: u64| Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    let values = vec![
        amount(LEVELS[level].step_seconds),
        amount(number),
        amount(subject.number()),
        amount(end_ms),
        amount(measured_ms),
        amount(work),
        billionths.into(),
    ];
    POINT.put(database, None, values)
}

/// Adds all valid events, in order. Returns an error about invalid ones after all others are read.
fn read_events(database: &dyn Database, events: &mut Vec<Arc<Event>>) -> Result<(), Fault> {
    let mut damaged = Ok(());
    read::select(database, &EVENT, "ORDER BY number", &[], |row| -> Result<(), Fault> {
        match event(row) {
            Ok(event) => events.push(Arc::new(event)),
            Err(fault) => damaged = Err(fault),
        }
        Ok(())
    })?;
    damaged
}

fn event(row: &Row<'_>) -> Result<Event, Fault> {
    let place = "an event";
    EVENT.verify(row, None, &place)?;
    let kind: String = cell(row, "kind", &place)?;
    let known = EventKind::ALL.into_iter().find(|known| known.name() == kind);
    let job: Option<i64> = cell(row, "job", &place)?;
    Ok(Event {
        number: integer(row, "number", &place)?,
        at_ms: integer(row, "at_ms", &place)?,
        kind: known.ok_or_else(|| Fault::Damaged(format!("{place} is of no kind that is known")))?,
        job: job.and_then(|job| u64::try_from(job).ok()).map(JobId),
        text: cell(row, "text", &place)?,
    })
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

/// Adds all valid days of parties. Returns an error about invalid ones after all others are read.
fn read_days(database: &dyn Database, days: &mut Vec<PartyDay>) -> Result<(), Fault> {
    let mut damaged = Ok(());
    read::select(database, &PARTY_DAY, "ORDER BY day", &[], |row| -> Result<(), Fault> {
        match day(row) {
            Ok(day) => days.push(day),
            Err(fault) => damaged = Err(fault),
        }
        Ok(())
    })?;
    damaged
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
