//! An anonymous identifier of the machine.
//!
//! A recount should not run on the machine of the first count, whose memory may be faulty. A number that all programs
//! on one machine share is enough for that.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use queens_platform::machine_identity;

/// Returns this machine's number, constant at least until it reboots: a hash of its
/// [identity](queens_platform::machine_identity). It reveals nothing of the machine, its owner or its place. Without an
/// identity, the number identifies this process.
pub(crate) fn number() -> u64 {
    let number =
        machine_identity().map_or_else(|| RandomState::new().build_hasher().finish(), |drawn| hash(&drawn));
    number.max(1)
}

/// Computes FNV-1a: programs of all versions must compute the same number.
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
        if machine_identity().is_some() {
            assert_eq!(number(), number());
        }
    }
}
