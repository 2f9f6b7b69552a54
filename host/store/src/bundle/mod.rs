//! A store, or what was added to it from an entry on, as bytes: to be kept where there is no database, and to be carried from one host
//! to another. Whoever takes a bundle in believes nothing: every object is named anew from its bytes, and every entry is made again
//! from its record, in its place, and must come to the same bytes. That the records tell the truth about their runs only running them
//! again shows.
//!
//! The form: parts, one after the other, so that bundles can be appended to each other. A part is `hutch-bundle-1` and a line's end; the
//! length of its content, in eight bytes, the lowest first; the content; and a digest of it, of 32 bytes. The content is items: a letter
//! for the kind, a length in eight bytes, and so many bytes. A part that carries packages begins with `hutch-bundle-2`: who knows of none
//! refuses it, and takes all others. Where the first entries have no states any more, an item before them says which entry is the first that has: those before that
//! one are records alone, and with that one comes all of the state that it stands on. In a [log](crate::log) the last item of a part may say who may use
//! the instance and which entries were taken: elsewhere nobody believes it.

mod parts;
mod read;

pub use parts::{Part, PartError, Parts, export};
pub use read::{Bundle, TakenIn, packages, take_in};

use hutch_model::digest::Kind;

/// Where what is wrong with one is said to be: in none of the stores.
pub const AT: &str = "the bundle";

const MAGIC: &[u8] = b"hutch-bundle-1\n";
const MAGIC_CARRYING: &[u8] = b"hutch-bundle-2\n";
const LENGTH_BYTES: usize = 8;
const DIGEST_BYTES: usize = 32;
const ENTRY: u8 = b'E';
/// A packed package. Stores keep none.
const PACKAGE: u8 = b'P';
/// The place of the first entry whose states are kept.
const KEPT_FROM: u8 = b'K';
/// Who may use the instance behind the entries before it, and which of them were taken.
const ADMITTED: u8 = b'A';
const KINDS: [(u8, Kind); 4] = [(b'T', Kind::Tree), (b'L', Kind::List), (b'C', Kind::Chunk), (b'S', Kind::Stream)];
