//! The name that a caller gives to a request, so that the same request, made again, is answered and not carried out again. Says how it
//! is written down; who looks for it is elsewhere.

use crate::digest::{Digest, Kind};
use serde::{Deserialize, Serialize};

/// A request that has a name. Neither the name nor what was asked for can be read from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Of the name and of who gave it: two callers may give the same.
    pub key: Digest,
    /// Of what was asked for.
    pub body: Digest,
}

impl Request {
    /// A request that `caller` names `key`, for what `body` says.
    pub fn new(caller: &str, key: &str, body: &[u8]) -> Request {
        // The length tells where one ends and the other begins.
        let named = format!("{}:{caller}{key}", caller.len());
        Request { key: Digest::of(Kind::Stream, named.as_bytes()), body: Digest::of(Kind::Stream, body) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_can_not_take_each_others_names() {
        let one = Request::new("ab", "c", b"x");
        assert_eq!(one, Request::new("ab", "c", b"x"));
        for (other, same_body) in [
            (Request::new("a", "bc", b"x"), true),
            (Request::new("", "abc", b"x"), true),
            (Request::new("ab", "c", b"y"), false),
        ] {
            assert_eq!((one.key == other.key, one.body == other.body), (!same_body, same_body));
        }
    }
}
