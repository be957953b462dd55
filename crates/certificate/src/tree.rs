//! The Merkle tree over the lines of a certificate.
//!
//! It is that of RFC 6962: a leaf is the SHA-256 of a zero byte and the line, a node that of a one byte and its two
//! children. If the number of leaves is no power of two, the left subtree has the largest power of two below it. No
//! leaf is ever doubled, and a node can't pass for a leaf. The number of leaves is signed with the root.

use sha2::{Digest, Sha256};

/// A SHA-256 hash.
pub(crate) type Hash = [u8; 32];

/// A tree that grows by leaves and keeps only the roots of its full subtrees.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    n_leaves: u64,
    /// The heights and roots of the full subtrees, the largest first.
    full: Vec<(u32, Hash)>,
}

impl Tree {
    /// Adds a line, without its end.
    pub(crate) fn push(&mut self, line: &str) {
        self.n_leaves += 1;
        let (mut height, mut root) = (0, leaf(line));
        while let Some((_, left)) = self.full.pop_if(|(left, _)| *left == height) {
            (height, root) = (height + 1, node(&left, &root));
        }
        self.full.push((height, root));
    }

    /// Returns the number of leaves, and the root.
    pub(crate) fn finish(self) -> (u64, Hash) {
        let root =
            self.full.into_iter().map(|(_, root)| root).rev().reduce(|right, left| node(&left, &right));
        (self.n_leaves, root.unwrap_or_else(|| Sha256::digest([]).into()))
    }
}

fn leaf(line: &str) -> Hash {
    Sha256::new().chain_update([0]).chain_update(line).finalize().into()
}

fn node(left: &Hash, right: &Hash) -> Hash {
    Sha256::new().chain_update([1]).chain_update(left).chain_update(right).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes the root by the definition.
    fn by_definition(leaves: &[Hash]) -> Hash {
        match leaves {
            [] => Sha256::digest([]).into(),
            [one] => *one,
            more => {
                let (left, right) = more.split_at(more.len().next_power_of_two() / 2);
                node(&by_definition(left), &by_definition(right))
            }
        }
    }

    #[test]
    fn trees_of_all_sizes_are_those_of_the_definition() {
        for n in 0..70_u64 {
            let lines: Vec<String> = (0..n).map(|i| i.to_string()).collect();
            let mut tree = Tree::default();
            lines.iter().for_each(|line| tree.push(line));
            let leaves: Vec<Hash> = lines.iter().map(|line| leaf(line)).collect();
            assert_eq!(tree.finish(), (n, by_definition(&leaves)));
        }
    }

    #[test]
    fn a_node_is_no_leaf_and_no_leaf_is_doubled() {
        let root = |lines: &[&str]| {
            let mut tree = Tree::default();
            lines.iter().for_each(|line| tree.push(line));
            tree.finish().1
        };
        assert_ne!(root(&["a", "b", "c"]), root(&["a", "b", "c", "c"]));
        let both = [leaf("a"), leaf("b")].concat();
        assert_ne!(
            root(&["a", "b"]),
            Hash::from(Sha256::new().chain_update([0]).chain_update(both).finalize())
        );
    }
}
