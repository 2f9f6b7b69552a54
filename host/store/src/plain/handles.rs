//! Open folders along one path below a root, so that neighbours share the walk.

use super::disk;
use cap_std::fs::Dir;
use std::io;

pub(super) struct Handles {
    root: Dir,
    open: Vec<(String, Dir)>,
}

impl Handles {
    pub(super) const fn new(root: Dir) -> Handles {
        Handles { root, open: Vec::new() }
    }

    /// The folder at `path`; `None` if there is no such folder, or a link on the way.
    pub(super) fn at(&mut self, path: &[String]) -> io::Result<Option<&Dir>> {
        let shared = self.open.iter().zip(path).take_while(|((name, _), wanted)| name == *wanted).count();
        self.open.truncate(shared);
        for name in path.iter().skip(shared) {
            let parent = self.open.last().map_or(&self.root, |(_, folder)| folder);
            match disk::folder(parent, name)? {
                Some(folder) => self.open.push((name.clone(), folder)),
                None => return Ok(None),
            }
        }
        Ok(Some(self.open.last().map_or(&self.root, |(_, folder)| folder)))
    }
}
