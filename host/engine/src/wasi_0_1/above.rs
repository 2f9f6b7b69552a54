//! The folder `/` and whatever else is above the preopened ones: seen by WASI 0.1 alone, whose programs look for their files by
//! absolute names, or relative to the first folder that they are given. Nothing in it can be changed.

use crate::rules::IDENTITY_BASE;
use std::collections::{BTreeMap, BTreeSet};

/// What is at a path from `/`.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Found<'a> {
    /// The preopened folder of this number, and the path from there.
    Preopened(usize, &'a str),
    /// One of the folders above them, by number.
    Above(usize),
    /// Nothing.
    Nothing,
    /// The path leads out of `/`.
    Outside,
}

/// All of them.
#[derive(Default)]
pub(super) struct Above {
    /// Preopened folders by their paths from `/`.
    preopened: BTreeMap<String, usize>,
    /// Paths of the folders above, with the names in each; the first is `/`, whose path is empty.
    folders: Vec<(String, BTreeSet<String>)>,
}

impl Above {
    /// What is above folders of these names; nothing if there are none, or if one of them is `/` itself.
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Above {
        let preopened: BTreeMap<String, usize> =
            names.enumerate().map(|(number, name)| (parts(name).collect::<Vec<_>>().join("/"), number)).collect();
        if preopened.is_empty() || preopened.contains_key("") {
            return Above::default();
        }
        let mut folders: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for path in preopened.keys() {
            let mut above = String::new();
            for part in parts(path) {
                folders.entry(above.clone()).or_default().insert(part.to_owned());
                above = joined(&above, part);
            }
        }
        // What lies in a preopened folder is that folder's.
        folders.retain(|path, _| !preopened.contains_key(path));
        Above { preopened, folders: folders.into_iter().collect() }
    }

    /// Whether there is a `/`.
    pub(super) fn is_there(&self) -> bool {
        !self.folders.is_empty()
    }

    /// The names in a folder, from the one of this number on, each with what it leads to.
    pub(super) fn names(&self, folder: usize, from: usize) -> impl Iterator<Item = (&str, Found<'_>)> {
        let (path, names) = self.folders.get(folder).map(|(path, names)| (path.as_str(), names)).unzip();
        let path = path.unwrap_or_default();
        names.into_iter().flatten().skip(from).map(move |name| (name.as_str(), self.at(&joined(path, name))))
    }

    /// What identifies a folder.
    pub(super) fn identity(folder: usize) -> u64 {
        IDENTITY_BASE + folder as u64
    }

    /// The folder above one; `/` is above itself.
    pub(super) fn parent(&self, folder: usize) -> usize {
        let path = self.folders.get(folder).map_or("", |(path, _)| path);
        let above = path.rsplit_once('/').map_or("", |(above, _)| above);
        self.folders.iter().position(|(path, _)| path == above).unwrap_or(0)
    }

    fn at(&self, path: &str) -> Found<'static> {
        match (self.preopened.get(path), self.folders.iter().position(|(folder, _)| folder == path)) {
            (Some(number), _) => Found::Preopened(*number, "."),
            (None, Some(folder)) => Found::Above(folder),
            (None, None) => Found::Nothing,
        }
    }

    /// What `path` leads to from one of the folders. The preopened folder that it reaches first, or another one whose name goes on
    /// from there as the path does, takes the rest of it.
    pub(super) fn find<'a>(&self, folder: usize, path: &'a str) -> Found<'a> {
        let mut at = self.folders.get(folder).map(|(path, _)| path.clone()).unwrap_or_default();
        let (mut reached, mut rest) = (None, path);
        loop {
            rest = rest.trim_start_matches('/');
            let (part, after) = rest.split_once('/').unwrap_or((rest, ""));
            match part {
                "" => break,
                "." => {}
                ".." if reached.is_some() => break,
                ".." => match at.rsplit_once('/') {
                    Some((above, _)) => at = above.to_owned(),
                    None if at.is_empty() => return Found::Outside,
                    None => at.clear(),
                },
                part => {
                    at = joined(&at, part);
                    match self.preopened.get(&at) {
                        Some(number) => reached = Some((*number, after)),
                        None if self.leads_on(&at) => {}
                        None => break,
                    }
                }
            }
            rest = after;
        }
        match reached {
            Some((number, rest)) => {
                let rest = rest.trim_start_matches('/');
                Found::Preopened(number, if rest.is_empty() { "." } else { rest })
            }
            None => self.at(&at),
        }
    }

    /// Whether a preopened folder lies below this path.
    fn leads_on(&self, path: &str) -> bool {
        let from = joined(path, "");
        self.preopened.range(from.clone()..).next().is_some_and(|(name, _)| name.starts_with(&from))
    }
}

/// The parts of a path that lead somewhere else.
fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !matches!(*part, "" | "."))
}

fn joined(path: &str, part: &str) -> String {
    if path.is_empty() { part.to_owned() } else { format!("{path}/{part}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_preopened_folders_and_to_nothing_else() {
        let above = Above::new(["data", "state/a", "state/b", "data/inner"].into_iter());
        let find = |path| above.find(0, path);
        assert_eq!(find("data"), Found::Preopened(0, "."));
        assert_eq!(find("/data/"), Found::Preopened(0, "."));
        assert_eq!(find("./data//x/../y"), Found::Preopened(0, "x/../y"));
        assert_eq!(find("data/../state/a"), Found::Preopened(0, "../state/a"));
        assert_eq!(find("data/inner/x"), Found::Preopened(3, "x"));
        assert_eq!(find("data/innermost/x"), Found::Preopened(0, "innermost/x"));
        assert_eq!(find("state/b/c"), Found::Preopened(2, "c"));
        assert_eq!(find("state/../data/c"), Found::Preopened(0, "c"));
        assert_eq!(find("state"), Found::Above(1));
        assert_eq!(above.find(1, ".."), Found::Above(0));
        assert_eq!(above.find(1, "a/x"), Found::Preopened(1, "x"));
        assert_eq!(find(""), Found::Above(0));
        assert_eq!(
            (find("stat"), find("state/c/d"), find("etc/passwd")),
            (Found::Nothing, Found::Nothing, Found::Nothing)
        );
        assert_eq!((find(".."), find("state/../../data")), (Found::Outside, Found::Outside));
        let names: Vec<_> = above.names(0, 0).collect();
        assert_eq!(names, [("data", Found::Preopened(0, ".")), ("state", Found::Above(1))]);
        assert_eq!((above.parent(0), above.parent(1)), (0, 0));
    }

    #[test]
    fn there_is_nothing_above_a_folder_that_is_the_top_itself() {
        for names in [&["/"][..], &["."], &[], &["data", "./"]] {
            assert!(!Above::new(names.iter().copied()).is_there(), "{names:?}");
        }
    }
}
