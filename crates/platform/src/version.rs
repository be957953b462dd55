//! The version of the programs, from the build script.

/// The version of the programs. A release also has its commit, if known: "0.1.0+1a2b3c4d5e6f".
pub const VERSION: &str = env!("QUEENS_VERSION");

/// Returns the text of `--version` after the program's name: version, commit and its date, target, and the kernels,
/// which the caller names.
#[must_use]
pub fn version_in_full(kernels: &str) -> String {
    let commit = match (VERSION.split_once('+'), env!("QUEENS_COMMIT_DATE")) {
        (Some((_, commit)), "") => commit.to_owned(),
        (Some((_, commit)), date) => format!("{commit} of {date}"),
        (None, _) => "not known".to_owned(),
    };
    format!("{VERSION}\ncommit   {commit}\ntarget   {}\nkernels  {kernels}", env!("QUEENS_TARGET"))
}
