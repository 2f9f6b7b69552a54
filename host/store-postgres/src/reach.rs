//! Connections that another process makes. Behind the rings a process makes no sockets; so who may need new ones there starts that process before.
//! It connects to the one server that it knows, hands the socket over, and ends when nobody asks any more. Knows no messages of the server's.

use crate::address::Address;
use crate::database::dialled;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// One more connection is wanted.
const ASK: u8 = b'?';
/// It comes along.
const CONNECTED: u8 = b'+';
/// There is none, and a text follows that says why.
const FAILED: u8 = b'-';
/// Bytes of the longest such text.
const REASON_BYTES_MAX: usize = 1 << 10;

/// Connects to this server for whoever is at the other end of `asked`, until nobody asks any more. `wait` is what it is for the database
/// that is used through these connections.
///
/// # Errors
/// What is asked is nothing that is, or nobody takes the answer.
pub fn connect_for(asked: UnixStream, address: &Address, wait: Duration) -> io::Result<()> {
    answer(asked, || dialled(address, wait).map(OwnedFd::from))
}

fn answer(mut asked: UnixStream, mut connect: impl FnMut() -> io::Result<OwnedFd>) -> io::Result<()> {
    let mut ask = [0];
    loop {
        match asked.read_exact(&mut ask) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        if ask != [ASK] {
            return Err(ErrorKind::InvalidData.into());
        }
        match connect() {
            Ok(connection) => {
                let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
                let mut along = SendAncillaryBuffer::new(&mut space);
                let descriptors = [connection.as_fd()];
                along.push(SendAncillaryMessage::ScmRights(&descriptors));
                sendmsg(&asked, &[IoSlice::new(&[CONNECTED])], &mut along, SendFlags::NOSIGNAL)?;
            }
            Err(error) => {
                let mut reason = error.to_string().into_bytes();
                reason.truncate(REASON_BYTES_MAX);
                let length = u16::try_from(reason.len()).unwrap_or_default().to_le_bytes();
                asked.write_all(&[&[FAILED], &length[..], &reason].concat())?;
            }
        }
    }
}

/// The other end: who connects for this process.
#[derive(Debug)]
pub struct Connector(Mutex<UnixStream>);

impl Connector {
    /// What is at the other end of `asking` answers as [`connect_for`] does, within this time.
    ///
    /// # Errors
    /// No time can be set.
    pub fn new(asking: UnixStream, within: Duration) -> io::Result<Connector> {
        asking.set_read_timeout(Some(within))?;
        Ok(Connector(Mutex::new(asking)))
    }

    pub(crate) fn connect(&self) -> io::Result<OwnedFd> {
        let mut asking = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        asking.write_all(&[ASK])?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let (mut along, mut said) = (RecvAncillaryBuffer::new(&mut space), [0]);
        let got = rustix::io::retry_on_intr(|| {
            recvmsg(&*asking, &mut [IoSliceMut::new(&mut said)], &mut along, RecvFlags::CMSG_CLOEXEC)
        })?;
        if got.bytes == 0 {
            return Err(io::Error::new(ErrorKind::UnexpectedEof, "the process that connects has ended"));
        }
        let mut connections = along.drain().flat_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect(),
            _ => Vec::new(),
        });
        match (said, connections.next()) {
            ([CONNECTED], Some(connection)) => Ok(connection),
            ([FAILED], None) => {
                let mut length = [0; 2];
                asking.read_exact(&mut length)?;
                let mut reason = vec![0; usize::from(u16::from_le_bytes(length)).min(REASON_BYTES_MAX)];
                asking.read_exact(&mut reason)?;
                Err(io::Error::other(String::from_utf8_lossy(&reason).into_owned()))
            }
            _ => Err(ErrorKind::InvalidData.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// What is asked for by one process and made by another, which is a thread here.
    fn between<R>(connect: impl FnMut() -> io::Result<OwnedFd> + Send, asks: impl FnOnce(&Connector) -> R) -> R {
        let (ours, theirs) = UnixStream::pair().unwrap();
        std::thread::scope(|scope| {
            let made = scope.spawn(move || answer(theirs, connect));
            let connector = Connector::new(ours, Duration::from_secs(20)).unwrap();
            let result = asks(&connector);
            drop(connector);
            made.join().unwrap().unwrap();
            result
        })
    }

    #[test]
    fn a_connection_is_made_there_and_used_here_and_what_failed_is_told() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = Address::parse(&format!("postgres://me@{}/x", listener.local_addr().unwrap())).unwrap();
        let mut made = 0;
        let connect = || {
            made += 1;
            match made {
                2 => Err(io::Error::other("no ".repeat(REASON_BYTES_MAX))),
                _ => dialled(&address, Duration::from_secs(1)).map(OwnedFd::from),
            }
        };
        between(connect, |connector| {
            for number in [1, 2, 3] {
                match connector.connect() {
                    Ok(connection) => {
                        std::fs::File::from(connection).write_all(b"here").unwrap();
                        let (mut there, mut got) = (listener.accept().unwrap().0, String::new());
                        there.read_to_string(&mut got).unwrap();
                        assert_eq!((got.as_str(), number != 2), ("here", true));
                    }
                    Err(error) => {
                        assert_eq!((error.to_string().len(), number), (REASON_BYTES_MAX, 2), "{error}");
                    }
                }
            }
        });
    }

    #[test]
    fn who_asks_for_something_else_or_is_answered_something_else_is_refused() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        ours.write_all(b"x").unwrap();
        answer(theirs, || panic!("nothing is to be connected to")).unwrap_err();
        for said in [&b"+"[..], b"x", b"-\xff\xff", b""] {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            theirs.write_all(said).unwrap();
            theirs.shutdown(std::net::Shutdown::Write).unwrap();
            Connector::new(ours, Duration::from_secs(20)).unwrap().connect().unwrap_err();
        }
    }
}
