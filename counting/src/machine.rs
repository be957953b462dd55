//! Which machine this is, without saying so.
//!
//! Who counts a record again should not be a program on the same machine as who counted it first: the same memory may
//! be bad. All that it takes for that is a number that programs on one machine have in common.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};

/// What the system draws at random whenever it starts, for all that runs on it, in containers too.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// A number of this machine, as long as it runs: a hash of what its system drew when it started, which says nothing of
/// the machine, its owner or its place. Where there is no such thing, a number of this process.
pub(crate) fn number() -> u64 {
    let number = match fs::read(BOOT_ID) {
        Ok(drawn) if drawn.len() >= 16 => hash(&drawn),
        _ => RandomState::new().build_hasher().finish(),
    };
    number.max(1)
}

/// FNV-1a: all programs of this machine, of whatever version, have to find the same.
fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    b"queens machine".iter().chain(bytes).fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_one_number() {
        assert_ne!(hash(b"one"), hash(b"two"));
        assert_eq!(hash(b""), 0x449e_9d55_a634_4c23, "the same in all versions");
        if fs::read(BOOT_ID).is_ok() {
            assert_eq!(number(), number());
        }
    }
}
