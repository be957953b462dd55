//! What is known of a table.

/// A table. Rows of the jobs' have a digest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// All of its columns but the digest, which is the last if there is one, in the order in which they are declared.
    pub(crate) columns: &'static [&'static str],
    /// How many of them, from the first on, are the primary key.
    pub(crate) n_key: usize,
    /// Whether its rows belong to a job, which the first column says.
    pub(crate) is_of_job: bool,
    /// Writes a row: all columns, and the digest. Where it has one, in place of the row with the same key.
    pub(crate) put: &'static str,
}

impl Table {
    /// Removes the row with a key: its values are the parameters.
    pub(crate) fn remove(&self) -> String {
        let is = |(number, column)| format!("{column} = ?{number}");
        let key: Vec<String> = (1..).zip(&self.columns[..self.n_key]).map(is).collect();
        format!("DELETE FROM {} WHERE {}", self.name, key.join(" AND "))
    }
}
