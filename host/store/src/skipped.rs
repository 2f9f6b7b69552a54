//! What stands in a folder and can be in no state.

/// The most paths that are named of those that no state can hold.
#[cfg(feature = "machine")]
const SKIPPED_MAX: usize = 100;

/// What no state can hold: it was left where it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Skipped {
    /// The first paths, each with why.
    pub listed: Vec<(String, &'static str)>,
    /// How many more there are.
    pub omitted: u64,
}

#[cfg(feature = "machine")]
impl Skipped {
    pub(crate) fn add(&mut self, path: String, reason: &'static str) {
        match self.listed.len() < SKIPPED_MAX {
            true => self.listed.push((path, reason)),
            false => self.omitted += 1,
        }
    }
}
