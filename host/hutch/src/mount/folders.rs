//! All folders of a granted one, the last found first. Each is opened from the one that it is in and known by its own name, so that paths may be
//! of any length, of any bytes and of any number.

use super::carry::CarryError;
use cap_std::fs::Dir;
use hutch_folder::open_folder;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::rc::Rc;

/// So many folders on the way to one stay open.
const HELD_MAX: usize = 64;

/// One of them.
struct Folder {
    /// The number of the one that it is in.
    above: usize,
    depth: usize,
    name: OsString,
    /// Whether tools act on all of it.
    acts: bool,
}

pub(super) struct Folders {
    all: Vec<Folder>,
    due: Vec<usize>,
    /// Those on the way to the last one that was opened, each with its number, at the place of its depth.
    held: Vec<(usize, Rc<Dir>)>,
}

/// A folder that was opened.
pub(super) struct Opened {
    pub(super) number: usize,
    pub(super) dir: Rc<Dir>,
    pub(super) acts: bool,
    /// How many had to be opened for that.
    pub(super) opened: usize,
}

impl Folders {
    pub(super) fn of(top: &Dir) -> io::Result<Folders> {
        let all = vec![Folder { above: 0, depth: 0, name: OsString::new(), acts: false }];
        Ok(Folders { all, due: vec![0], held: vec![(0, Rc::new(top.try_clone()?))] })
    }

    /// Adds one that is in another.
    pub(super) fn add(&mut self, above: usize, name: OsString, acts: bool) {
        let number = self.child(above, name, acts);
        self.due.push(number);
    }

    /// Adds one by its path, on all of which tools act; once more, if it was looked at before.
    pub(super) fn add_path(&mut self, path: &str) {
        let mut at = 0;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            at = self.child(at, name.into(), true);
        }
        if let Some(folder) = self.all.get_mut(at) {
            folder.acts = true;
        }
        self.due.push(at);
    }

    fn child(&mut self, above: usize, name: OsString, acts: bool) -> usize {
        let depth = self.all.get(above).map_or(0, |above| above.depth) + 1;
        self.all.push(Folder { above, depth, name, acts });
        self.all.len() - 1
    }

    /// The name of one, and its path below the granted folder.
    pub(super) fn name(&self, number: usize) -> &OsStr {
        self.all.get(number).map_or(OsStr::new(""), |folder| &folder.name)
    }

    pub(super) fn path(&self, number: usize) -> PathBuf {
        let mut names: Vec<&OsStr> = self.way(number, |_| false).0.iter().map(|number| self.name(*number)).collect();
        names.reverse();
        names.into_iter().collect()
    }

    /// The folders from one up to the first for which this is so, or to the granted one, which both are not among them; and which that is.
    fn way(&self, number: usize, is_end: impl Fn(usize) -> bool) -> (Vec<usize>, usize) {
        let (mut way, mut at) = (Vec::new(), number);
        while at != 0 && !is_end(at) {
            way.push(at);
            at = self.all.get(at).map_or(0, |folder| folder.above);
        }
        (way, at)
    }

    /// Opens the next one; `None` at the end. What is gone meanwhile, or nobody may enter, is passed over.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn next(&mut self) -> Result<Option<Opened>, CarryError> {
        while let Some(number) = self.due.pop() {
            let depth = |number: usize| self.all.get(number).map_or(0, |folder| folder.depth);
            let is_held = |number: usize| self.held.get(depth(number)).is_some_and(|(held, _)| *held == number);
            let (way, from) = self.way(number, is_held);
            self.held.truncate(depth(from) + 1);
            let opened = way.len();
            if let Some(dir) = self.open(way)? {
                let acts = self.all.get(number).is_some_and(|folder| folder.acts);
                return Ok(Some(Opened { number, dir, acts, opened }));
            }
        }
        Ok(None)
    }

    /// Opens the last one of a way that begins in the last one that is held.
    fn open(&mut self, way: Vec<usize>) -> Result<Option<Rc<Dir>>, CarryError> {
        let Some((_, mut dir)) = self.held.last().cloned() else { return Ok(None) };
        for number in way.into_iter().rev() {
            let Some(folder) = self.all.get(number) else { return Ok(None) };
            match open_folder(&dir, &folder.name) {
                Ok(Some(next)) => dir = Rc::new(next),
                Ok(None) => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
                Err(source) => return Err(CarryError::Io { path: self.path(number).display().to_string(), source }),
            }
            if folder.depth < HELD_MAX && self.held.len() == folder.depth {
                self.held.push((number, dir.clone()));
            }
        }
        Ok(Some(dir))
    }
}
