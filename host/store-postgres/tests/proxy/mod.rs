//! Stands between a client and the server, hands everything on, and ends a connection after so many bytes.

#![allow(clippy::unwrap_used, reason = "a helper of tests is a test")]

use hutch_store_postgres::{Address, Place};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To the server.
    Sent,
    /// From it.
    Answered,
}

/// Bytes that may still pass in each direction; far below zero once a connection was ended.
#[derive(Default)]
struct Left([AtomicI64; 2]);

const ALL: i64 = i64::MAX / 2;

pub(crate) struct Proxy {
    port: u16,
    left: Arc<Left>,
}

impl Proxy {
    pub(crate) fn start(url: &str) -> Proxy {
        let Place::Folder(folder, port) = Address::parse(url).unwrap().place else { panic!("{url} is no socket") };
        let path = folder.join(format!(".s.PGSQL.{port}"));
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let left = Arc::new(Left([AtomicI64::new(ALL), AtomicI64::new(ALL)]));
        let given = Arc::clone(&left);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = UnixStream::connect(&path).unwrap();
                let ends = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let (one, two) = (Arc::clone(&given), Arc::clone(&given));
                let sockets = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || hand_on(client, server, sockets, &one.0[0]));
                let sockets = (ends.0.try_clone().unwrap(), ends.1.try_clone().unwrap());
                std::thread::spawn(move || hand_on(ends.1, ends.0, sockets, &two.0[1]));
            }
        });
        Proxy { port, left }
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://hutch@127.0.0.1:{}/hutch", self.port)
    }

    /// The connection that passes this many bytes more is ended within them.
    pub(crate) fn cut_after(&self, direction: Direction, bytes: i64) {
        self.left.0[direction as usize].store(bytes, Ordering::SeqCst);
    }

    /// The next connection that passes the word COMMIT is ended instead.
    pub(crate) fn cut_commit(&self, direction: Direction) {
        self.left.0[direction as usize].store(COMMIT, Ordering::SeqCst);
    }

    /// Ends no connection from now on; whether one was.
    pub(crate) fn heal(&self) -> bool {
        let was_cut = |left: &AtomicI64| {
            let left = left.swap(ALL, Ordering::SeqCst);
            !(0..=ALL).contains(&left)
        };
        let cut: Vec<bool> = self.left.0.iter().map(was_cut).collect();
        cut.contains(&true)
    }
}

/// What marks that a connection is to be ended where it says COMMIT.
const COMMIT: i64 = ALL / 2;

/// What marks that a connection was ended, and lets the next ones pass.
const CUT: i64 = i64::MAX - (1 << 40);

fn hand_on(mut from: impl Read, mut to: impl Write, (client, server): (TcpStream, UnixStream), left: &AtomicI64) {
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        // Far from all, and from what a test would count.
        let waits = (COMMIT - (1 << 40)..=COMMIT).contains(&left.load(Ordering::SeqCst));
        if waits && buffer[..read].windows(6).any(|word| word == b"COMMIT") {
            left.store(CUT, Ordering::SeqCst);
            break;
        }
        let before = left.fetch_sub(i64::try_from(read).unwrap(), Ordering::SeqCst);
        let passes = usize::try_from(before).unwrap_or_default().min(read);
        let handed = to.write_all(&buffer[..passes]);
        if passes < read {
            left.store(CUT, Ordering::SeqCst);
        }
        if handed.is_err() || passes < read {
            break;
        }
    }
    let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
}
