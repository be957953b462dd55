//! The Merkle tree over the lines of a certificate.
//!
//! It is that of RFC 6962: a leaf is the SHA-256 of a zero byte and the line, a node that of a one byte and its two
//! children. If the number of leaves is no power of two, the left subtree has the largest power of two below it. No
//! leaf is ever doubled, and a node can't pass for a leaf. The number of leaves is signed with the root.

use sha2::{Digest, Sha256};

/// A SHA-256 hash.
pub(crate) type Hash = [u8; 32];

/// Returns the hash of a line, without its end.
pub(crate) fn leaf(line: &[u8]) -> Hash {
    Sha256::new().chain_update([0]).chain_update(line).finalize().into()
}

fn node(left: &Hash, right: &Hash) -> Hash {
    Sha256::new().chain_update([1]).chain_update(left).chain_update(right).finalize().into()
}

/// A tree that grows by leaves and keeps only the roots of its full subtrees. It can record the paths of some leaves.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    n_leaves: u64,
    /// The full subtrees, the largest first.
    full: Vec<Subtree>,
    followed: Vec<Followed>,
}

#[derive(Debug)]
struct Subtree {
    height: u32,
    root: Hash,
    /// The followed leaves in it.
    followed: Vec<usize>,
}

/// A leaf with its path to the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Followed {
    /// The number of the leaf, from 0.
    pub(crate) index: u64,
    /// The hashes beside the path, from the leaf up.
    pub(crate) path: Vec<Hash>,
}

impl Tree {
    pub(crate) fn push(&mut self, leaf: Hash) {
        self.add(leaf, Vec::new());
    }

    /// Adds a leaf and records its path to the root.
    pub(crate) fn push_and_follow(&mut self, leaf: Hash) {
        self.followed.push(Followed { index: self.n_leaves, path: Vec::new() });
        self.add(leaf, vec![self.followed.len() - 1]);
    }

    fn add(&mut self, leaf: Hash, followed: Vec<usize>) {
        self.n_leaves += 1;
        let mut subtree = Subtree { height: 0, root: leaf, followed };
        while self.full.last().is_some_and(|left| left.height == subtree.height) {
            let Some(left) = self.full.pop() else { break };
            subtree = join(left, subtree, &mut self.followed);
        }
        self.full.push(subtree);
    }

    /// Returns the number of leaves.
    pub(crate) fn n_leaves(&self) -> u64 {
        self.n_leaves
    }

    /// Returns the root, and the followed leaves with their paths, in order.
    pub(crate) fn finish(mut self) -> (Hash, Vec<Followed>) {
        let Some(mut right) = self.full.pop() else { return (Sha256::digest([]).into(), Vec::new()) };
        while let Some(left) = self.full.pop() {
            right = join(left, right, &mut self.followed);
        }
        (right.root, self.followed)
    }
}

fn join(left: Subtree, right: Subtree, followed: &mut [Followed]) -> Subtree {
    for &one in &left.followed {
        followed[one].path.push(right.root);
    }
    for &one in &right.followed {
        followed[one].path.push(left.root);
    }
    let mut both = left.followed;
    both.extend(right.followed);
    Subtree { height: left.height + 1, root: node(&left.root, &right.root), followed: both }
}

/// Returns the root to which this path leads in a tree of `n_leaves` leaves; `None` if the tree has no such path.
pub(crate) fn root_of(leaf: Hash, followed: &Followed, n_leaves: u64) -> Option<Hash> {
    let Followed { index, path } = followed;
    let (mut index, mut last) = (*index, n_leaves.checked_sub(1)?);
    if index > last {
        return None;
    }
    let (mut hash, mut path) = (leaf, path.iter());
    while last > 0 {
        if index % 2 == 1 {
            hash = node(path.next()?, &hash);
        } else if index < last {
            hash = node(&hash, path.next()?);
        }
        // The last node of an odd number moves up unchanged.
        index /= 2;
        last /= 2;
    }
    path.next().is_none().then_some(hash)
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
    fn trees_of_all_sizes_are_those_of_the_definition_and_prove_each_leaf() {
        for n in 0..70_u64 {
            let leaves: Vec<Hash> = (0..n).map(|i| leaf(&i.to_le_bytes())).collect();
            let mut tree = Tree::default();
            leaves.iter().for_each(|&leaf| tree.push_and_follow(leaf));
            assert_eq!(tree.n_leaves(), n);
            let (root, followed) = tree.finish();
            assert_eq!(root, by_definition(&leaves), "{n} leaves");
            for (i, way) in followed.iter().enumerate() {
                assert_eq!(root_of(leaves[i], way, n), Some(root));
                // Fails for another leaf, another place, another size with other paths, and a shortened path.
                assert_ne!(root_of(leaf(b"x"), way, n), Some(root));
                for index in (0..n).filter(|&index| index != way.index) {
                    assert_ne!(root_of(leaves[i], &Followed { index, ..way.clone() }, n), Some(root));
                }
                let mut cut = way.clone();
                if cut.path.pop().is_some() {
                    assert_eq!(root_of(leaves[i], &cut, n), None);
                }
                cut.path.extend([[0; 32]; 2]);
                assert_ne!(root_of(leaves[i], &cut, n), Some(root));
            }
        }
    }

    #[test]
    fn a_node_is_no_leaf_and_no_leaf_is_doubled() {
        let [a, b, c] = [b"a", b"b", b"c"].map(|line| leaf(line));
        let root = |leaves: &[Hash]| {
            let mut tree = Tree::default();
            leaves.iter().for_each(|&leaf| tree.push(leaf));
            tree.finish().0
        };
        assert_ne!(root(&[a, b, c]), root(&[a, b, c, c]));
        assert_ne!(root(&[a, b]), leaf(&[a, b].concat()));
    }
}
