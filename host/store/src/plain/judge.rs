//! Whether something in a plain directory is ours: one answer for all who ask. Knows no files; what a file holds it asks for, and only
//! where nothing else tells.
//!
//! | what stands there | is ours |
//! |---|---|
//! | looks as it did when its content was known, in this start of the machine | always |
//! | holds what the directory shows, or is being brought to | always: whoever wrote that changed nothing |
//! | holds what an earlier state has there | only with that state's time, to the nanosecond, and only where the directory may be older than is known |
//! | may be what is left of what it shows, or is being brought to | only with that state's time, and only after another start of the machine |
//! | anything else | never: it is somebody's edit |
//!
//! What hutch writes has the time of the state that it is of. So a version that a person puts back is told from one that the power put
//! back: it was written at another time.

use super::stamps::Mark;
use hutch_folder::{Form, Stamp};
use hutch_model::digest::Digest;
use hutch_model::snapshot::{Entry, Node};

/// What is known of a name before its content is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) stamp: Stamp,
    /// What was remembered of it.
    pub(super) mark: Option<Mark>,
    /// Whether that was in another start of the machine, or may have been: the power may have taken content and left its look.
    pub(super) restarted: bool,
}

/// What a state has under the name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Version<'a> {
    /// The directory shows it, or is being brought to it.
    Shown(&'a Entry),
    /// It showed it earlier.
    Earlier(&'a Entry),
}

/// The judgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Judged {
    /// It is known to hold this, without a look at the content.
    Known(Digest),
    /// It holds what the version in this place has.
    Holds(usize),
    /// It is what is left of the version in this place.
    Torn(usize),
    /// It is not ours.
    Theirs,
}

impl Look {
    /// What it is known to hold, if anything is.
    pub(super) fn known(&self) -> Option<Digest> {
        match self.mark {
            Some(Mark::Seen(seen, content)) if seen == self.stamp && !self.restarted => Some(content),
            _ => None,
        }
    }

    /// Whose it is, among the versions that may stand there: first those that are shown. `holds` says whether it is a node, `torn` whether
    /// it could be what is left of one.
    pub(super) fn judge<E>(
        &self,
        versions: &[Version<'_>],
        mut holds: impl FnMut(&Node) -> Result<bool, E>,
        mut torn: impl FnMut(&Entry) -> Result<bool, E>,
    ) -> Result<Judged, E> {
        if let Some(content) = self.known() {
            return Ok(Judged::Known(content));
        }
        let in_time = |entry: &Entry| entry.modified_ns == self.stamp.modified_ns;
        for (place, version) in versions.iter().enumerate() {
            let may_be = match version {
                Version::Shown(_) => true,
                Version::Earlier(entry) => in_time(entry),
            };
            let (Version::Shown(entry) | Version::Earlier(entry)) = version;
            if may_be && holds(&entry.node)? {
                return Ok(Judged::Holds(place));
            }
        }
        for (place, version) in versions.iter().enumerate().filter(|_| self.restarted && self.stamp.form == Form::File)
        {
            if let Version::Shown(entry) = version
                && in_time(entry)
                && torn(entry)?
            {
                return Ok(Judged::Torn(place));
            }
        }
        Ok(Judged::Theirs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hutch_model::digest::Kind;
    use hutch_model::snapshot::Name;
    use std::convert::Infallible;

    fn digest(text: &str) -> Digest {
        Digest::of(Kind::Chunk, text.as_bytes())
    }

    fn entry(text: &str, modified_ns: u64) -> Entry {
        let node = Node::File { size: text.len() as u64, content: digest(text) };
        Entry { name: Name::new("a").unwrap(), modified_ns, node }
    }

    /// What stands there, its time, whether it looks as it was remembered, and whether the machine was started anew; and whose that is. The
    /// directory shows "was" and is being brought to "is", each with its time; "old" is earlier.
    #[test]
    fn whose_it_is() {
        let (is, was, old) = (entry("is", 3), entry("was", 2), entry("old", 1));
        let versions = [Version::Shown(&is), Version::Shown(&was), Version::Earlier(&old)];
        for (there, time, remembered, restarted, expected) in [
            // In one start of the machine a look is believed, and nothing is read.
            ("is", 9, true, false, Judged::Known(digest("is"))),
            ("zeros", 3, true, false, Judged::Known(digest("zeros"))),
            // After another one it is not, whatever is remembered.
            ("is", 3, true, true, Judged::Holds(0)),
            ("was", 2, true, true, Judged::Holds(1)),
            ("theirs", 3, true, true, Judged::Theirs),
            ("zeros", 3, true, true, Judged::Torn(0)),
            ("zeros", 2, true, true, Judged::Torn(1)),
            // What is shown is ours by what it holds.
            ("is", 9, false, false, Judged::Holds(0)),
            ("was", 9, false, true, Judged::Holds(1)),
            // What is earlier is ours by its time too: else a person put it back.
            ("old", 1, false, true, Judged::Holds(2)),
            ("old", 2, false, true, Judged::Theirs),
            ("old", 1_000_000_001, false, true, Judged::Theirs),
            ("old", 1, true, true, Judged::Holds(2)),
            ("old", 9, true, true, Judged::Theirs),
            // What is torn is ours in time, and after another start alone; nothing is left of what is earlier.
            ("zeros", 3, false, false, Judged::Theirs),
            ("zeros", 9, false, true, Judged::Theirs),
            ("zeros", 1, false, true, Judged::Theirs),
            ("theirs", 9, false, false, Judged::Theirs),
        ] {
            let stamp = Stamp { form: Form::File, size: 1, modified_ns: time, changed_ns: 7, inode: 1, device: 1 };
            let mark = remembered.then(|| Mark::Seen(stamp, digest(there)));
            let mut reads = 0;
            let judged = Look { stamp, mark, restarted }.judge(
                &versions,
                |node| {
                    reads += 1;
                    Ok::<_, Infallible>(*node == entry(there, 0).node)
                },
                |_| Ok(there == "zeros"),
            );
            let case = (there, time, remembered, restarted);
            assert_eq!(judged, Ok(expected), "{case:?}");
            assert_eq!(reads == 0, remembered && !restarted, "{case:?}");
            // Another look than the one that was remembered says nothing.
            let other = Stamp { changed_ns: 8, ..stamp };
            assert_eq!(Look { stamp: other, mark, restarted }.known(), None, "{case:?}");
        }
    }
}
