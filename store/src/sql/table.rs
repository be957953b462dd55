//! The description of a database table.

/// A database table. In the tables of the job store, each row has a digest.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The table's name.
    pub name: &'static str,
    /// All columns but the digest, in their declared order. The digest is the last column, if there is one.
    pub columns: &'static [&'static str],
    /// The number of leading columns that form the primary key.
    pub n_key: usize,
    /// Whether its rows belong to a job. The first column then is the job's id.
    pub is_of_job: bool,
    /// SQL that writes a row: all columns, and the digest. With a digest, it replaces the row with the same key.
    pub put: &'static str,
}

impl Table {
    /// Returns SQL that removes the row with a key, whose values are the parameters.
    pub fn remove(&self) -> String {
        let is = |(number, column)| format!("{column} = ?{number}");
        let key: Vec<String> = (1..).zip(&self.columns[..self.n_key]).map(is).collect();
        format!("DELETE FROM {} WHERE {}", self.name, key.join(" AND "))
    }
}
