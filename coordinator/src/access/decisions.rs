//! Decisions in the book, and who was not let in: the latest of both, so many of each at most.

use queens_messages::Decision;
use rusqlite::{Connection, Row, TransactionBehavior};

use super::book::Book;
use super::book_error::BookError;

/// How many decisions are kept.
const DECISIONS: i64 = 100_000;

/// How many refusals to let somebody in are kept: strangers can't make it so many that decisions go for them.
const REFUSALS: i64 = 10_000;

/// The oldest go whenever so many have come.
const ROUND: i64 = 1000;

/// How many are told at a time.
const PAGE: i64 = 1000;

impl Book {
    /// Adds decisions of those who were let in, or refusals to let somebody in.
    ///
    /// # Errors
    /// If they can't be written.
    pub(super) fn note(&mut self, decisions: &[Decision], are_refusals: bool) -> Result<(), BookError> {
        self.with(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for it in decisions {
                let sql = "INSERT INTO audit (refusal, at_ms, who, role, peer, what, outcome)
                           VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
                let at_ms = i64::try_from(it.at_ms).unwrap_or(i64::MAX);
                let row = (are_refusals, at_ms, &it.who, &it.role, &it.peer, &it.what, &it.outcome);
                transaction.prepare_cached(sql)?.execute(row)?;
                if transaction.last_insert_rowid() % ROUND == 0 {
                    remove_oldest(&transaction)?;
                }
            }
            transaction.commit()
        })
    }

    /// The latest decisions, or the latest before one, the latest first; some of them. With refusals, or without.
    ///
    /// # Errors
    /// If they can't be read.
    pub(super) fn decisions(
        &mut self,
        before: Option<u64>,
        refusals: bool,
    ) -> Result<Vec<Decision>, BookError> {
        let before = before.and_then(|before| i64::try_from(before).ok()).unwrap_or(i64::MAX);
        self.with(|connection| {
            let kinds = if refusals { "" } else { "AND refusal = 0" };
            let sql = format!(
                "SELECT number, at_ms, who, role, peer, what, outcome FROM audit WHERE number < ?1 {kinds}
                 ORDER BY number DESC LIMIT ?2"
            );
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map((before, PAGE), decision)?;
            rows.collect()
        })
    }
}

/// Removes what is more than is kept. Takes time with what is kept, once in a round.
fn remove_oldest(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "DELETE FROM audit WHERE refusal = ?1 AND number <=
               (SELECT number FROM audit WHERE refusal = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)";
    for kept in [(false, DECISIONS), (true, REFUSALS)] {
        connection.prepare_cached(sql)?.execute(kept)?;
    }
    Ok(())
}

fn decision(row: &Row<'_>) -> rusqlite::Result<Decision> {
    Ok(Decision {
        number: row.get::<_, i64>(0)?.unsigned_abs(),
        at_ms: row.get::<_, i64>(1)?.unsigned_abs(),
        who: row.get(2)?,
        role: row.get(3)?,
        peer: row.get(4)?,
        what: row.get(5)?,
        outcome: row.get(6)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The latest are kept of both, however many of one kind there are.
    #[test]
    fn the_latest_of_both_kinds_are_kept_and_no_more() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut book = Book::open(dir.path()).expect("a book");
        let some = |what: &str| -> Vec<Decision> {
            let one = |i| Decision {
                number: 0,
                at_ms: i,
                who: "invitation 1".to_owned(),
                role: "operator".to_owned(),
                peer: "10.0.0.1".to_owned(),
                what: format!("{what} {i}"),
                outcome: "done".to_owned(),
            };
            (0..10_000).map(one).collect()
        };
        (0..11).for_each(|_| book.note(&some("cancel job"), false).expect("written"));
        (0..3).for_each(|_| book.note(&some("knock"), true).expect("written"));
        let mut found: Vec<Decision> = Vec::new();
        loop {
            let page = book.decisions(found.last().map(|last| last.number), true).expect("read");
            assert!(page.len() <= 1000);
            if page.is_empty() {
                break;
            }
            found.extend(page);
        }
        assert!(found.windows(2).all(|two| two[0].number > two[1].number));
        let (refusals, decisions): (Vec<_>, Vec<_>) =
            found.iter().partition(|one| one.what.starts_with("knock"));
        assert!((10_000..11_000).contains(&refusals.len()), "{}", refusals.len());
        assert!((100_000..101_000).contains(&decisions.len()), "{}", decisions.len());
        let without = book.decisions(None, false).expect("read");
        assert_eq!(
            (without.len(), without[0].number),
            (1000, 110_000),
            "decisions are not lost among refusals"
        );
        assert_eq!((found[0].what.as_str(), decisions[0].number), ("knock 9999", 110_000));
    }
}
