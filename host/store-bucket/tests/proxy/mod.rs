//! Stands between a client and the server, hands everything on, and ends a connection after so many bytes.

#![allow(clippy::unwrap_used, reason = "a helper of tests is a test")]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To the server.
    Sent,
    /// From it.
    Answered,
}

const ALL: i64 = i64::MAX / 2;

/// Bytes that may still pass in each direction, and whether anything passes once they have.
struct Left {
    bytes: [AtomicI64; 2],
    was_cut: AtomicBool,
    stays_cut: AtomicBool,
}

pub(crate) struct Proxy {
    port: u16,
    left: Arc<Left>,
}

impl Proxy {
    pub(crate) fn start(endpoint: &str) -> Proxy {
        let server = endpoint.strip_prefix("http://").unwrap().to_owned();
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let left = Arc::new(Left {
            bytes: [AtomicI64::new(ALL), AtomicI64::new(ALL)],
            was_cut: AtomicBool::new(false),
            stays_cut: AtomicBool::new(false),
        });
        let given = Arc::clone(&left);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if given.was_cut.load(Ordering::SeqCst) && given.stays_cut.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(&server) else { continue };
                for (direction, from, to) in [(0, &client, &server), (1, &server, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let left = Arc::clone(&given);
                    std::thread::spawn(move || hand_on(from, to, &left, direction));
                }
            }
        });
        Proxy { port, left }
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The connection that passes this many bytes more is ended within them; and all others, if it stays so.
    pub(crate) fn cut_after(&self, direction: Direction, bytes: i64, stays: bool) {
        self.left.was_cut.store(false, Ordering::SeqCst);
        self.left.stays_cut.store(stays, Ordering::SeqCst);
        self.left.bytes[direction as usize].store(bytes, Ordering::SeqCst);
    }

    /// Ends no connection from now on; whether one was.
    pub(crate) fn heal(&self) -> bool {
        for bytes in &self.left.bytes {
            bytes.store(ALL, Ordering::SeqCst);
        }
        self.left.stays_cut.store(false, Ordering::SeqCst);
        self.left.was_cut.swap(false, Ordering::SeqCst)
    }
}

/// The bytes of the head of a request that begins here; 0 if none does. It is handed on whole or not at all: Python's servers, of which moto is
/// one, take one that was cut short for a whole one without a body, and put an object of no bytes. Others hold it against its signature.
fn head_bytes(bytes: &[u8]) -> usize {
    let begins = ["GET ", "HEAD ", "PUT ", "POST ", "DELETE "].iter().any(|verb| bytes.starts_with(verb.as_bytes()));
    let end = bytes.windows(4).position(|end| end == b"\r\n\r\n").map_or(bytes.len(), |at| at + 4);
    if begins { end } else { 0 }
}

fn hand_on(mut from: TcpStream, mut to: TcpStream, left: &Left, direction: usize) {
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if left.was_cut.load(Ordering::SeqCst) && left.stays_cut.load(Ordering::SeqCst) {
            break;
        }
        let before = left.bytes[direction].fetch_sub(i64::try_from(read).unwrap(), Ordering::SeqCst);
        let passes = usize::try_from(before).unwrap_or_default().min(read);
        let passes = if direction == 0 && passes < head_bytes(&buffer[..read]) { 0 } else { passes };
        let handed = to.write_all(&buffer[..passes]);
        if passes < read {
            left.was_cut.store(true, Ordering::SeqCst);
            // Others pass, or are seen to be cut by the mark.
            left.bytes[direction].store(ALL, Ordering::SeqCst);
            break;
        }
        if handed.is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
