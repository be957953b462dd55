//! The description of a database table.

use std::sync::OnceLock;

/// A database table. In the tables of the job store, each row has a digest.
#[derive(Debug)]
pub struct Table {
    /// The table's name.
    pub name: &'static str,
    /// All columns but the digest, in their declared order. The digest is the last column, if there is one.
    pub columns: &'static [&'static str],
    /// The number of leading columns that form the primary key.
    pub n_key: usize,
    /// Whether its rows belong to a job. The first column then is the job's id.
    pub is_of_job: bool,
    has_digest: bool,
    put: OnceLock<String>,
    remove: OnceLock<String>,
}

impl Table {
    /// Describes a table whose rows have a digest and belong to no job.
    pub const fn new(name: &'static str, columns: &'static [&'static str], n_key: usize) -> Self {
        Self {
            name,
            columns,
            n_key,
            is_of_job: false,
            has_digest: true,
            put: OnceLock::new(),
            remove: OnceLock::new(),
        }
    }

    /// Describes a table whose rows have a digest and belong to a job.
    pub const fn of_job(name: &'static str, columns: &'static [&'static str], n_key: usize) -> Self {
        let mut table = Self::new(name, columns, n_key);
        table.is_of_job = true;
        table
    }

    /// Describes a table whose rows have no digest and belong to no job.
    pub const fn without_digest(name: &'static str, columns: &'static [&'static str], n_key: usize) -> Self {
        let mut table = Self::new(name, columns, n_key);
        table.has_digest = false;
        table
    }

    /// Returns SQL that writes a row: all columns, and the digest. With a digest, it replaces the row with the same
    /// key.
    pub fn put_sql(&self) -> &str {
        self.put.get_or_init(|| {
            let columns: Vec<&str> =
                self.columns.iter().copied().chain(self.has_digest.then_some("digest")).collect();
            let parameters: Vec<String> = (1..=columns.len()).map(|number| format!("?{number}")).collect();
            let insert = format!(
                "INSERT INTO {} ({}) VALUES ({})",
                self.name,
                columns.join(", "),
                parameters.join(", ")
            );
            if !self.has_digest {
                return insert;
            }
            let (key, rest) = columns.split_at(self.n_key);
            let set: Vec<String> =
                rest.iter().map(|column| format!("{column} = excluded.{column}")).collect();
            format!("{insert} ON CONFLICT ({}) DO UPDATE SET {}", key.join(", "), set.join(", "))
        })
    }

    /// Returns SQL that removes the row with a key, whose values are the parameters.
    pub fn remove_sql(&self) -> &str {
        self.remove.get_or_init(|| {
            let is = |(number, column)| format!("{column} = ?{number}");
            let key: Vec<String> = (1..).zip(&self.columns[..self.n_key]).map(is).collect();
            format!("DELETE FROM {} WHERE {}", self.name, key.join(" AND "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_is_made_of_the_columns() {
        let table = Table::of_job("mark", &["job", "number", "text"], 2);
        assert_eq!(
            table.put_sql(),
            "INSERT INTO mark (job, number, text, digest) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (job, number) DO UPDATE SET text = excluded.text, digest = excluded.digest"
        );
        assert_eq!(table.remove_sql(), "DELETE FROM mark WHERE job = ?1 AND number = ?2");
        let table = Table::without_digest("name", &["name", "party"], 1);
        assert_eq!(table.put_sql(), "INSERT INTO name (name, party) VALUES (?1, ?2)");
    }
}
