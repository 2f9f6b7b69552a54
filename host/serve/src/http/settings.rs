//! What the operator says about serving over HTTP.

use super::access::Token;
use std::net::SocketAddr;
use std::time::Duration;

/// How to serve.
pub struct Http {
    /// Where to listen; port 0 is any that is free.
    pub listen: SocketAddr,
    /// Who may come in.
    pub tokens: Vec<Token>,
    /// Whether there is a link that signs a person in, once.
    pub link: bool,
    /// Origins under which the server is known besides its address, as `https://hutch.example`: those of a proxy.
    pub origins: Vec<String>,
    /// What callers may take.
    pub bounds: Bounds,
}

/// What callers may take.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The most bytes of a request's body.
    pub body_bytes_max: usize,
    /// The longest that the head of a request may take to come, the same of its body, and the longest that an answer may be left unread.
    pub sent_within: Duration,
    /// The most connections at once.
    pub connections_max: usize,
    /// How long what is under way may take to end when serving is to end.
    pub ended_within: Duration,
}
