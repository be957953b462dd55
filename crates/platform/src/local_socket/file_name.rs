//! Names of the files of sockets.

/// The end of the names of sockets.
pub(super) const ENDING: &str = "socket";

/// The longest part of a name in the name of its file: the path of a socket has 107 bytes at most.
const LONGEST_NAME: usize = 24;

/// Returns the name of a socket's file without its ending: the name itself if it is short and plain. Otherwise its
/// start and a hash, the same in all versions.
pub(super) fn file_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let start: String = name.chars().take(LONGEST_NAME).map(|c| if is_plain(c) { c } else { '.' }).collect();
    if start == name {
        return start;
    }
    // FNV-1a.
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    format!("{start}.{:08x}", name.bytes().fold(0x811c_9dc5, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_short_plain_and_different() {
        assert_eq!(file_name("rack-2_a"), "rack-2_a");
        let long = "x".repeat(100);
        for name in [&long, "../x", "a/b", "ä b", "a.b", ".", &"ü".repeat(100)] {
            let file = file_name(name);
            assert!(file.len() <= 33 && !file.contains('/') && file.is_ascii(), "{file}");
            assert_ne!(file, file_name(&format!("{name}x")));
        }
        assert_eq!(file_name("a b"), "a.b.10a3f9f2");
    }
}
