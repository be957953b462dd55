//! What is known of a table.

/// A table whose rows have a digest.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct Table {
    pub(in crate::store) name: &'static str,
    /// All of its columns but the digest, which is the last, in the order in which they are declared.
    pub(in crate::store) columns: &'static [&'static str],
    /// How many of them, from the first on, are the primary key.
    pub(in crate::store) n_key: usize,
    /// Whether its rows belong to a job, which the first column says.
    pub(in crate::store) is_of_job: bool,
    /// Writes a row, all columns and the digest, in place of the one with the same key.
    pub(in crate::store) put: &'static str,
}

impl Table {
    /// Removes the row with a key: its values are the parameters.
    pub(in crate::store) fn remove(&self) -> String {
        let is = |(number, column)| format!("{column} = ?{number}");
        let key: Vec<String> = (1..).zip(&self.columns[..self.n_key]).map(is).collect();
        format!("DELETE FROM {} WHERE {}", self.name, key.join(" AND "))
    }
}
