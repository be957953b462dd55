//! Parses the output of `--help`.

/// Returns the commands that a help text lists, in one list or in groups with headings.
#[must_use]
pub fn commands(help: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut is_list = false;
    for line in help.lines() {
        if !line.starts_with(' ') {
            let heading = line.strip_suffix(':').filter(|heading| !heading.contains(' '));
            is_list = heading.is_some_and(|heading| !["Arguments", "Options", "Examples"].contains(&heading));
        }
        let row = line.strip_prefix("  ").filter(|row| is_list && !row.starts_with(' '));
        names.extend(row.and_then(|row| row.split(' ').next()).filter(|name| *name != "help"));
    }
    names
}
