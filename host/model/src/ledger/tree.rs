//! A ledger as a Merkle tree, so that one entry is shown to be in it by the hashes of a few others: RFC 6962, section 2.1, with SHA-256. The leaves are
//! the bytes of the entries, in their order.

use crate::sha256::Sha256;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What stands before a leaf's bytes, and before those of the two halves of a node.
const LEAF: &[u8] = &[0];
const NODE: &[u8] = &[1];

fn node(left: &Sha256, right: &Sha256) -> Sha256 {
    Sha256::of_parts(&[NODE, left.bytes(), right.bytes()])
}

/// How many entries a ledger had, and the name of all of them: what is written down elsewhere to know them again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreeHead {
    /// How many.
    pub size: u64,
    /// The root of their tree.
    pub root: Sha256,
}

impl fmt::Display for TreeHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.size, self.root.hex())
    }
}

/// The text is no head of a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a number of entries, a colon and the 64 digits of their root")]
pub struct NotATreeHead;

impl FromStr for TreeHead {
    type Err = NotATreeHead;

    fn from_str(text: &str) -> Result<TreeHead, NotATreeHead> {
        let (size, root) = text.split_once(':').ok_or(NotATreeHead)?;
        let size = size.parse().ok().filter(|known: &u64| known.to_string() == size).ok_or(NotATreeHead)?;
        Ok(TreeHead { size, root: format!("sha256:{root}").parse().map_err(|_| NotATreeHead)? })
    }
}

/// The leaves of a ledger's tree, each 32 bytes.
#[derive(Clone, Debug, Default)]
pub struct Leaves(Vec<Sha256>);

impl Leaves {
    /// Takes the next entry's bytes.
    pub fn push(&mut self, entry: &[u8]) {
        self.0.push(Sha256::of_parts(&[LEAF, entry]));
    }

    /// All of them.
    pub fn head(&self) -> TreeHead {
        TreeHead { size: self.0.len() as u64, root: root(&self.0) }
    }

    /// What shows that the entry in a place, from 1, is among them; nothing if there is none.
    pub fn inclusion(&self, sequence: u64) -> Option<Inclusion> {
        let at = usize::try_from(sequence.checked_sub(1)?).ok().filter(|at| *at < self.0.len())?;
        let (mut path, mut left, mut at) = (Vec::new(), self.0.as_slice(), at);
        while left.len() > 1 {
            let (one, other) = left.split_at(half(left.len()));
            if at < one.len() {
                path.push(root(other));
                left = one;
            } else {
                path.push(root(one));
                at -= one.len();
                left = other;
            }
        }
        path.reverse();
        let TreeHead { size, root } = self.head();
        Some(Inclusion { size, root: root.hex(), path: path.iter().map(Sha256::hex).collect() })
    }
}

/// The largest power of two below a number of leaves, which is more than one.
fn half(leaves: usize) -> usize {
    leaves.next_power_of_two() / 2
}

fn root(leaves: &[Sha256]) -> Sha256 {
    match leaves {
        [] => Sha256::of(b""),
        [leaf] => *leaf,
        leaves => {
            let (left, right) = leaves.split_at(half(leaves.len()));
            node(&root(left), &root(right))
        }
    }
}

/// That an entry is in a ledger: how many entries that had, their root, and the hashes that lead there from the entry, the nearest first. One that leads
/// nowhere can be written too: [`holds`](Inclusion::holds) says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inclusion {
    size: u64,
    root: String,
    path: Vec<String>,
}

impl Inclusion {
    /// The ledger's head, if these hashes lead to it from the entry that has these bytes and this place.
    pub fn holds(&self, sequence: u64, entry: &[u8]) -> Option<TreeHead> {
        let digest = |hex: &String| format!("sha256:{hex}").parse::<Sha256>().ok();
        let mut at = sequence.checked_sub(1).filter(|at| *at < self.size)?;
        let mut last = self.size - 1;
        let mut found = Sha256::of_parts(&[LEAF, entry]);
        for hex in &self.path {
            let beside = digest(hex)?;
            if last == 0 {
                return None;
            }
            if at % 2 == 1 || at == last {
                found = node(&beside, &found);
                // Where there is nothing to the right, the next halves have no other part.
                while at % 2 == 0 && at != 0 {
                    (at, last) = (at / 2, last / 2);
                }
            } else {
                found = node(&found, &beside);
            }
            (at, last) = (at / 2, last / 2);
        }
        (last == 0 && digest(&self.root) == Some(found)).then_some(TreeHead { size: self.size, root: found })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The leaves and roots by which implementations of Certificate Transparency hold themselves to each other.
    const LEAVES: [&[u8]; 8] = [
        b"",
        b"\x00",
        b"\x10",
        b"\x20\x21",
        b"\x30\x31",
        b"\x40\x41\x42\x43",
        b"\x50\x51\x52\x53\x54\x55\x56\x57",
        b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
    ];
    const ROOTS: [&str; 9] = [
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];

    fn leaves(count: usize) -> Leaves {
        let mut leaves = Leaves::default();
        LEAVES[..count].iter().for_each(|leaf| leaves.push(leaf));
        leaves
    }

    #[test]
    fn roots_are_those_of_other_implementations() {
        for (count, root) in ROOTS.iter().enumerate() {
            let head = leaves(count).head();
            assert_eq!((head.size, head.root.hex().as_str()), (count as u64, *root));
            assert_eq!(head.to_string().parse(), Ok(head));
        }
        for wrong in ["", "1", ":", "1:", "x:00", &format!("01:{}", ROOTS[0]), &format!("1:{}0", ROOTS[0])] {
            assert_eq!(wrong.parse::<TreeHead>(), Err(NotATreeHead), "{wrong}");
        }
    }

    #[test]
    fn every_entry_is_shown_to_be_there_by_few_hashes_and_no_other_is() {
        let entry = |number: u64| format!("entry {number}").into_bytes();
        for count in 1..=70_u64 {
            let mut all = Leaves::default();
            (1..=count).for_each(|number| all.push(&entry(number)));
            for number in 1..=count {
                let shown = all.inclusion(number).unwrap();
                assert!(shown.path.len() <= 7, "{count}");
                assert_eq!(shown.holds(number, &entry(number)), Some(all.head()), "{number} of {count}");
                // Not another entry, another place, another hash, one more or one less.
                assert_eq!(shown.holds(number, &entry(number + 1)), None);
                for other in (0..=count + 1).filter(|other| *other != number) {
                    assert_eq!(shown.holds(other, &entry(number)), None, "{number} as {other} of {count}");
                }
                for at in 0..shown.path.len() {
                    let mut path = shown.path.clone();
                    path[at] = ROOTS[0].to_owned();
                    assert_eq!(Inclusion { path, ..shown.clone() }.holds(number, &entry(number)), None);
                    let mut path = shown.path.clone();
                    path.remove(at);
                    assert_eq!(Inclusion { path, ..shown.clone() }.holds(number, &entry(number)), None);
                }
                let path = shown.path.iter().cloned().chain([ROOTS[0].to_owned()]).collect();
                assert_eq!(Inclusion { path, ..shown.clone() }.holds(number, &entry(number)), None);
            }
            assert_eq!(all.inclusion(0), None);
            assert_eq!(all.inclusion(count + 1), None);
        }
        let claimed = Inclusion { size: 0, root: ROOTS[0].to_owned(), path: Vec::new() };
        assert_eq!(claimed.holds(1, b""), None);
    }
}
