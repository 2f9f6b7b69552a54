//! Random operations. Names are few, so that operations meet; paths that exist are preferred, then bent: a trailing slash, `.`,
//! `..`, doubled slashes, absolute, empty, too long.

use super::guest::Guest;
use super::operation::{OpenFlags, Operation, SLOTS, STREAMS, Time};
use super::random::Random;
use super::seen::{Kind, Tree, TreeNode};
use hutch_model::snapshot::CHUNK_BYTES;
use hutch_world::files::Type;
use hutch_world::{Input, Output};
use std::collections::VecDeque;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "é"];

/// Links in a chain of links: longer than may be followed.
const CHAIN: usize = 44;

/// A source of operations.
pub(crate) struct Generator {
    random: Random,
    /// Paths from the top that existed when the tree was last looked at.
    known: Vec<(String, Kind)>,
    /// Operations to come before any other.
    pending: VecDeque<Operation>,
    chained: bool,
    /// Whether sizes and offsets are near chunks and lists.
    large: bool,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Generator {
        let mut random = Random::new(seed);
        let chained = random.one_in(25);
        let large = random.one_in(8);
        let mut generator = Generator { random, known: Vec::new(), pending: VecDeque::new(), chained, large };
        if chained {
            generator.chain();
        } else if !generator.random.one_in(4) {
            generator.populate();
        }
        generator
    }

    /// Folders, files and links to begin with.
    fn populate(&mut self) {
        for at in 0..6 {
            let path = self.parts(3);
            let operation = match self.random.below(3) {
                0 => Operation::Open { into: 1 + at, base: 0, path, flags: OpenFlags("crw".to_owned()) },
                1 => Operation::Symlink { base: 0, target: self.target(), path },
                _ => Operation::CreateFolder { base: 0, path },
            };
            self.pending.push_back(operation);
        }
    }

    /// A chain of links that ends in a folder, a file, a link or nothing.
    fn chain(&mut self) {
        let slash = if self.random.one_in(3) { "/" } else { "" };
        let first = self.random.pick(&["a", "a/b", ".", "k43", "missing"]).to_string();
        self.pending.push_back(Operation::Symlink { base: 0, target: first, path: "k0".to_owned() });
        for at in 1..CHAIN {
            let target = format!("k{}{slash}", at - 1);
            self.pending.push_back(Operation::Symlink { base: 0, target, path: format!("k{at}") });
        }
    }

    /// Takes note of what exists.
    pub(crate) fn learn(&mut self, tree: &Tree) {
        self.known.clear();
        for (path, node) in tree.iter().filter(|(path, _)| path.len() < 400) {
            let kind = match node {
                TreeNode::Folder { .. } => Kind::Folder,
                TreeNode::Link { .. } => Kind::Link,
                TreeNode::File { .. } => Kind::File,
            };
            self.known.push((path.clone(), kind));
        }
    }

    /// The next operation.
    pub(crate) fn next(&mut self, guest: &Guest) -> Operation {
        if let Some(operation) = self.pending.pop_front() {
            return operation;
        }
        match self.random.below(100) {
            0..17 => self.open(guest),
            17..19 => Operation::Close { slot: self.slot() },
            19..24 => Operation::Read { slot: self.file(guest), offset: self.offset(), length: self.size() },
            24..31 => {
                let (slot, offset) = (self.file(guest), self.offset());
                Operation::Write { slot, offset, length: self.length(), fill: self.random.next() as u8 }
            }
            31..34 => Operation::SetSize { slot: self.file(guest), size: self.size() },
            34..47 => self.stream(guest),
            47..52 => {
                let (base, path) = self.fresh(guest);
                Operation::CreateFolder { base, path }
            }
            52..56 => {
                let (base, path) = self.existing(guest, &[Kind::Folder]);
                Operation::RemoveFolder { base, path }
            }
            56..60 => {
                let (base, path) = self.existing(guest, &[Kind::File, Kind::Link]);
                Operation::Unlink { base, path }
            }
            60..70 => {
                let (base, path) = self.existing(guest, &[Kind::File, Kind::Folder, Kind::Link]);
                let (new_base, new_path) = self.place(guest);
                Operation::Rename { base, path, new_base, new_path }
            }
            70..74 => {
                let (base, path) = self.existing(guest, &[Kind::File, Kind::Link]);
                let (new_base, new_path) = self.fresh(guest);
                Operation::Link { base, path, follow: self.random.one_in(10), new_base, new_path }
            }
            74..78 => {
                let (target, (base, path)) = (self.target(), self.fresh(guest));
                Operation::Symlink { base, target, path }
            }
            78..80 => {
                let (base, path) = self.existing(guest, &[Kind::Link]);
                Operation::ReadLink { base, path }
            }
            80..82 => Operation::Stat { slot: self.slot() },
            82..87 => {
                let (base, path) = self.place(guest);
                Operation::StatAt { base, path, follow: self.random.one_in(2) }
            }
            87..89 => Operation::SetTimes { slot: self.slot(), accessed: self.time(), modified: self.time() },
            89..92 => {
                let ((base, path), follow) = (self.place(guest), self.random.one_in(2));
                Operation::SetTimesAt { base, path, follow, accessed: self.time(), modified: self.time() }
            }
            92..95 => Operation::List { slot: self.folder(guest) },
            95 => Operation::Flags { slot: self.slot() },
            96 if self.random.one_in(3) => Operation::Reopen { read_only: self.random.one_in(5) },
            96..98 => Operation::Same { a: self.slot(), b: self.slot() },
            _ => {
                let (slot, (base, path)) = (self.slot(), self.place(guest));
                Operation::SameAt { slot, base, path, follow: self.random.one_in(2) }
            }
        }
    }

    fn open(&mut self, guest: &Guest) -> Operation {
        let (flags, kinds): (String, &[Kind]) = match self.random.below(12) {
            0..3 => ("r".to_owned(), &[Kind::File, Kind::Folder, Kind::Link]),
            3..5 => ("cw".to_owned(), &[Kind::File]),
            5..7 => ("crw".to_owned(), &[Kind::File, Kind::Link]),
            7 => ("rw".to_owned(), &[Kind::File]),
            8 => ("dr".to_owned(), &[Kind::Folder]),
            _ => (OpenFlags::LETTERS.chars().filter(|_| self.random.one_in(3)).collect(), &[Kind::File, Kind::Folder]),
        };
        let fresh = flags.contains('c') && self.random.one_in(2);
        let (base, path) = if fresh { self.fresh(guest) } else { self.existing(guest, kinds) };
        let follow = if self.random.one_in(2) && !flags.contains('f') { "f" } else { "" };
        let into = 1 + self.random.below(SLOTS - 1);
        Operation::Open { into, base, path, flags: OpenFlags(format!("{follow}{flags}")) }
    }

    fn stream(&mut self, guest: &Guest) -> Operation {
        let open = |random: &mut Random, is: &dyn Fn(usize) -> bool| {
            let open: Vec<usize> = (0..STREAMS).filter(|at| is(*at)).collect();
            if open.is_empty() || random.one_in(12) { random.below(STREAMS) } else { *random.pick(&open) }
        };
        let input = open(&mut self.random, &|at| matches!(guest.inputs[at], Some(Input::File(Some(_)))));
        let output = open(&mut self.random, &|at| matches!(guest.outputs[at], Some(Output::File(Some(_)))));
        match self.random.below(15) {
            0..3 => {
                let into = self.random.below(STREAMS);
                Operation::OpenInput { into, slot: self.file(guest), offset: self.near() }
            }
            3..6 => {
                let offset = if self.random.one_in(2) { None } else { Some(self.near()) };
                Operation::OpenOutput { into: self.random.below(STREAMS), slot: self.file(guest), offset }
            }
            6..8 => Operation::StreamRead { input, length: self.size() },
            8..11 => {
                let length = self.length().min(CHUNK_BYTES as usize);
                Operation::StreamWrite { output, length, fill: self.random.next() as u8 }
            }
            11..13 => Operation::Splice { output, input, length: self.size() },
            13 => Operation::CloseInput { input: self.random.below(STREAMS) },
            _ => Operation::CloseOutput { output: self.random.below(STREAMS) },
        }
    }

    fn slot(&mut self) -> usize {
        self.random.below(SLOTS)
    }

    /// A place with an open file, most times.
    fn file(&mut self, guest: &Guest) -> usize {
        self.slot_of(guest, |kind| kind == Type::File)
    }

    /// A place with an open folder, most times.
    fn folder(&mut self, guest: &Guest) -> usize {
        self.slot_of(guest, |kind| kind == Type::Folder)
    }

    fn slot_of(&mut self, guest: &Guest, wanted: impl Fn(Type) -> bool) -> usize {
        let is = |slot: &usize| guest.slots[*slot].as_ref().is_some_and(|open| wanted(guest.world.kind(open)));
        let fitting: Vec<usize> = (0..SLOTS).filter(is).collect();
        if fitting.is_empty() || self.random.one_in(12) { self.slot() } else { *self.random.pick(&fitting) }
    }

    /// A folder and a path from it: of something, or of nothing.
    fn place(&mut self, guest: &Guest) -> (usize, String) {
        if self.random.one_in(2) {
            self.existing(guest, &[Kind::File, Kind::Folder, Kind::Link])
        } else {
            self.fresh(guest)
        }
    }

    /// A folder and a path from it, most times of something of these kinds.
    fn existing(&mut self, guest: &Guest, kinds: &[Kind]) -> (usize, String) {
        let fitting: Vec<&String> =
            self.known.iter().filter(|(_, kind)| kinds.contains(kind)).map(|(path, _)| path).collect();
        if fitting.is_empty() || self.random.one_in(4) {
            return self.anything(guest);
        }
        let path = (*self.random.pick(&fitting)).clone();
        (0, self.bent(path))
    }

    /// A folder and a path from it, most times of a name in a folder that exists.
    fn fresh(&mut self, guest: &Guest) -> (usize, String) {
        if self.random.one_in(3) {
            return self.anything(guest);
        }
        let folders = self.known.iter().filter(|(_, kind)| *kind == Kind::Folder).map(|(path, _)| &**path);
        let folders: Vec<&str> = folders.chain([""]).collect();
        let folder = (*self.random.pick(&folders)).to_owned();
        let name = self.name();
        (0, self.bent(if folder.is_empty() { name } else { format!("{folder}/{name}") }))
    }

    /// An open folder and a few names.
    fn anything(&mut self, guest: &Guest) -> (usize, String) {
        let (base, path) = (self.folder(guest), self.parts(3));
        (base, self.bent(path))
    }

    fn name(&mut self) -> String {
        match self.random.below(200) {
            0 => "n".repeat(255),
            1 => "n".repeat(256),
            2 => "é".repeat(128),
            _ if self.chained && self.random.one_in(3) => format!("k{}", 36 + self.random.below(8)),
            _ => self.random.pick(&NAMES).to_string(),
        }
    }

    fn parts(&mut self, most: usize) -> String {
        let parts: Vec<String> = (0..=self.random.below(most)).map(|_| self.part()).collect();
        parts.join("/")
    }

    fn part(&mut self) -> String {
        match self.random.below(14) {
            0 => ".".to_owned(),
            1 => "..".to_owned(),
            _ => self.name(),
        }
    }

    fn bent(&mut self, path: String) -> String {
        match self.random.below(120) {
            0..4 => format!("{path}/"),
            4..7 => format!("{path}/{}", self.name()),
            7..9 => format!("{path}/."),
            9..11 => format!("{path}/.."),
            11..13 => format!("{path}/../{}", self.name()),
            13 => format!("{path}//{}", self.name()),
            14 => format!("./{path}"),
            15 => format!("{path}//"),
            16 => format!("{}/../{path}", self.name()),
            17 if self.random.one_in(2) => format!("/{path}"),
            18 if self.random.one_in(2) => String::new(),
            19 if self.random.one_in(4) => format!("{}{path}", "./".repeat(2040 + self.random.below(10))),
            20 if self.random.one_in(4) => format!("{path}\0{}", self.name()),
            21 => format!("{path}/./"),
            22 => format!("../{path}"),
            _ => path,
        }
    }

    fn target(&mut self) -> String {
        match self.random.below(40) {
            0 => String::new(),
            1 => format!("/{}", self.parts(2)),
            2 => "t".repeat(4090 + self.random.below(10)),
            3 => "\0".to_owned(),
            4..8 => format!("../{}", self.parts(2)),
            8..12 => format!("{}/", self.parts(2)),
            12..25 if !self.known.is_empty() => self.random.pick(&self.known).0.clone(),
            _ => self.parts(3),
        }
    }

    fn time(&mut self) -> Time {
        match self.random.below(12) {
            0..3 => Time::Keep,
            3..5 => Time::Now,
            5 => Time::At(*self.random.pick(&[0, 18_446_744_074, i64::MAX as u64, u64::MAX]), 999_999_999),
            6 => Time::At(self.random.next() % 1000, *self.random.pick(&[1_000_000_000, u32::MAX])),
            _ => Time::At(1_000_000_000 + self.random.next() % 1000, (self.random.next() % 1_000_000_000) as u32),
        }
    }

    fn offset(&mut self) -> u64 {
        match self.random.below(60) {
            0 => *self.random.pick(&[u64::MAX, 1 << 63, i64::MAX as u64, (i64::MAX - 9) as u64, 1 << 62]),
            _ => self.near(),
        }
    }

    /// An offset that a file may have.
    fn near(&mut self) -> u64 {
        match self.random.below(60) {
            0..9 => self.boundary(),
            9..35 => 0,
            _ => self.random.next() % 40,
        }
    }

    fn size(&mut self) -> u64 {
        match self.random.below(60) {
            0 => *self.random.pick(&[u64::MAX, 1 << 63, i64::MAX as u64, 1 << 62]),
            1..10 => self.boundary(),
            10..14 => 0,
            _ => self.random.next() % 60,
        }
    }

    fn length(&mut self) -> usize {
        match self.random.below(30) {
            0..3 => 0,
            3..6 if self.large => (self.boundary() as usize).min(3 * CHUNK_BYTES as usize),
            _ => self.random.below(50),
        }
    }

    /// About the edge of a chunk, or in some runs of a list of chunks.
    fn boundary(&mut self) -> u64 {
        let edge = match self.random.below(8) {
            0 if self.large => *self.random.pick(&[256, 512, 256 * 256]) * CHUNK_BYTES,
            1..3 if self.large => 4096,
            _ if self.large => (1 + self.random.next() % 3) * CHUNK_BYTES,
            _ => 4096,
        };
        edge - 2 + self.random.next() % 5
    }
}
