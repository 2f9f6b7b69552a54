//! Going down and up below one folder, with few folders open however deep it goes.

use crate::read::open_folder;
use cap_std::fs::Dir;
use std::io;

/// The most folders that are open at a time: beyond it, those in the middle are closed and opened anew when they are needed. Low
/// enough for the smallest common limit of open files.
const OPEN_MAX: usize = 32;

/// Open folders along one path below a root, so that neighbours share the walk.
#[derive(Debug)]
pub struct Handles {
    root: Dir,
    names: Vec<String>,
    /// By depth; the root is not among them. The deepest one is always open.
    open: Vec<Option<Dir>>,
}

impl Handles {
    /// Handles below `root`.
    pub const fn new(root: Dir) -> Handles {
        Handles { root, names: Vec::new(), open: Vec::new() }
    }

    /// The folder at `path`; `None` if there is no such folder, or a link on the way.
    ///
    /// # Errors
    /// The system's refusal.
    pub fn at<S: AsRef<str>>(&mut self, path: &[S]) -> io::Result<Option<&Dir>> {
        let same = self.names.iter().zip(path).take_while(|(name, wanted)| name.as_str() == wanted.as_ref()).count();
        // The deepest folder on the way that is still open.
        let start = (0..same).rev().find(|depth| self.open.get(*depth).is_some_and(Option::is_some));
        let keep = start.map_or(0, |depth| depth + 1);
        self.names.truncate(keep);
        self.open.truncate(keep);
        for name in path.iter().skip(keep) {
            let parent = self.open.last().and_then(Option::as_ref).unwrap_or(&self.root);
            let Some(folder) = open_folder(parent, name.as_ref())? else { return Ok(None) };
            self.names.push(name.as_ref().to_owned());
            self.open.push(Some(folder));
            self.close_some();
        }
        Ok(Some(self.open.last().and_then(Option::as_ref).unwrap_or(&self.root)))
    }

    /// Closes what is neither near the root nor near the end.
    fn close_some(&mut self) {
        let depth = self.open.len();
        if depth > OPEN_MAX
            && let Some(middle) = self.open.get_mut(depth - OPEN_MAX / 2)
            && depth - OPEN_MAX / 2 >= OPEN_MAX / 2
        {
            *middle = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count_open(handles: &Handles) -> usize {
        handles.open.iter().flatten().count()
    }

    #[test]
    fn a_deep_walk_keeps_few_folders_open_and_finds_its_way_back() {
        let home = tempfile::tempdir().unwrap();
        let root = Dir::open_ambient_dir(home.path(), cap_std::ambient_authority()).unwrap();
        let names: Vec<String> = (0..300).map(|depth| format!("d{depth}")).collect();
        let mut at = root.try_clone().unwrap();
        for name in &names {
            at.create_dir(name).unwrap();
            at = at.open_dir(name).unwrap();
        }
        let mut handles = Handles::new(root);
        for depth in (0..=300).chain((0..=300).rev()).chain([7, 299, 100, 101, 0, 300]) {
            let folder = handles.at(&names[..depth]).unwrap().unwrap();
            let below = crate::list(folder).unwrap().names;
            assert_eq!(below, names.get(depth).cloned().into_iter().collect::<Vec<_>>(), "{depth}");
            assert!(count_open(&handles) <= OPEN_MAX + 1, "{} open at {depth}", count_open(&handles));
        }
        assert!(handles.at(&["d0", "nothing"]).unwrap().is_none());
        assert!(handles.at(&["d0", "d1"]).unwrap().is_some());
    }
}
