//! Combines several writing statements into one, for little more than half the time of a transaction.
//!
//! The server executes it atomically.

use super::write_buffer::Parameter;

/// A combined statement under construction. Its parts must write different rows, and none sees the writes of another.
#[derive(Debug, Default)]
pub(super) struct CombinedStatement {
    parts: Vec<String>,
    values: Vec<Parameter>,
}

impl CombinedStatement {
    /// Adds a statement, whose parameters are numbered from `?1`.
    pub(super) fn add(&mut self, sql: &str, values: Vec<Parameter>) {
        let part = format!("part{} AS ({})", self.parts.len() + 1, renumbered(sql, self.values.len()));
        self.parts.push(part);
        self.values.extend(values);
    }

    /// Returns the combined statement, which ends with a query that is always executed.
    pub(super) fn finish(mut self, query: &str, values: Vec<Parameter>) -> (String, Vec<Parameter>) {
        let query = renumbered(query, self.values.len());
        self.values.extend(values);
        let parts = self.parts.join(", ");
        (if parts.is_empty() { query } else { format!("WITH {parts} {query}") }, self.values)
    }
}

/// Shifts the parameter numbers of a statement.
fn renumbered(sql: &str, by: usize) -> String {
    let mut pieces = sql.split('?');
    let mut renumbered = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|c: char| !c.is_ascii_digit()).unwrap_or(piece.len());
        let (number, rest) = piece.split_at(end);
        renumbered.push('?');
        match number.parse::<usize>() {
            Ok(number) => renumbered.push_str(&(number + by).to_string()),
            Err(_) => renumbered.push_str(number),
        }
        renumbered.push_str(rest);
    }
    renumbered
}

#[cfg(test)]
mod tests {
    use rusqlite::types::Value;

    use super::*;

    #[test]
    fn parameters_of_each_part_are_its_own() {
        let value = |number: i64| Parameter::One(Value::Integer(number));
        let mut single = CombinedStatement::default();
        single.add("DELETE FROM a WHERE (b) IN (SELECT * FROM unnest(?1::int8[]))", vec![value(1)]);
        single.add("INSERT INTO a (b, c) VALUES (?1, ?2)", vec![value(2), value(3)]);
        let (sql, values) = single.finish("SELECT hold(?1)", vec![value(4)]);
        assert_eq!(
            sql,
            "WITH part1 AS (DELETE FROM a WHERE (b) IN (SELECT * FROM unnest(?1::int8[]))), \
             part2 AS (INSERT INTO a (b, c) VALUES (?2, ?3)) SELECT hold(?4)"
        );
        assert_eq!(values, [1, 2, 3, 4].map(value));
        let (sql, _) = CombinedStatement::default().finish("SELECT hold(?1)", vec![value(4)]);
        assert_eq!(sql, "SELECT hold(?1)");
    }
}
