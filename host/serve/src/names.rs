//! The names that callers gave to their requests: which of them were carried out, as the ledger says, and which are under way here.

use hutch::{Failure, Session};
use hutch_model::digest::Digest;
use hutch_model::ledger::Request;
use std::collections::{BTreeMap, BTreeSet};

/// How many entries of the ledger, counted from its end, are looked through for a name.
pub(crate) const ENTRIES_MAX: u64 = 10_000;

/// What is known of the names given to requests about one instance.
#[derive(Default)]
pub(crate) struct Names {
    /// The place up to which the ledger was read.
    read: u64,
    /// Of each name what was asked for, and the entry that carried it out.
    done: BTreeMap<Digest, (Digest, u64)>,
    under_way: BTreeSet<Digest>,
}

/// What a name stands for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// Nothing yet, up to this place of the ledger: it is under way from now on.
    New(u64),
    /// The same request, which is under way.
    UnderWay,
    /// Another request.
    Another,
    /// This request, which the entry in this place carried out.
    Done(u64),
}

impl Names {
    /// Looks a request up, after what the ledger has by now.
    pub(crate) fn begin(&mut self, request: &Request, session: &Session) -> Result<Known, Failure> {
        if self.under_way.contains(&request.key) {
            return Ok(Known::UnderWay);
        }
        let end = session.head()?.last.sequence;
        let first = end.saturating_sub(ENTRIES_MAX) + 1;
        self.take(session.requests(first.max(self.read + 1))?, first);
        self.read = end;
        Ok(self.look(request))
    }

    fn take(&mut self, found: Vec<(Request, u64)>, first: u64) {
        self.done.retain(|_, (_, place)| *place >= first);
        for (request, place) in found {
            self.done.insert(request.key, (request.body, place));
        }
    }

    fn look(&mut self, request: &Request) -> Known {
        match self.done.get(&request.key) {
            Some((body, place)) if *body == request.body => Known::Done(*place),
            Some(_) => Known::Another,
            None => {
                self.under_way.insert(request.key);
                Known::New(self.read)
            }
        }
    }

    /// A request has ended.
    pub(crate) fn end(&mut self, request: &Request) {
        self.under_way.remove(&request.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_one_request() {
        let (mut names, request) = (Names::default(), Request::new("agent", "k", b"a"));
        assert_eq!(names.look(&request), Known::New(0));
        names.end(&request);
        names.take(vec![(request, 7)], 1);
        assert_eq!(names.look(&request), Known::Done(7));
        assert_eq!(names.look(&Request::new("agent", "k", b"b")), Known::Another);
        assert_eq!(names.look(&Request::new("other", "k", b"a")), Known::New(0));
        // What is too long ago is forgotten.
        names.take(Vec::new(), 8);
        assert_eq!(names.look(&request), Known::New(0));
    }
}
