//! What is known of a table.

/// A table. Rows of the jobs' have a digest.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// What it is called.
    pub name: &'static str,
    /// All of its columns but the digest, which is the last if there is one, in the order in which they are declared.
    pub columns: &'static [&'static str],
    /// How many of them, from the first on, are the primary key.
    pub n_key: usize,
    /// Whether its rows belong to a job, which the first column says.
    pub is_of_job: bool,
    /// Writes a row: all columns, and the digest. Where it has one, in place of the row with the same key.
    pub put: &'static str,
}

impl Table {
    /// Removes the row with a key: its values are the parameters.
    pub fn remove(&self) -> String {
        let is = |(number, column)| format!("{column} = ?{number}");
        let key: Vec<String> = (1..).zip(&self.columns[..self.n_key]).map(is).collect();
        format!("DELETE FROM {} WHERE {}", self.name, key.join(" AND "))
    }
}
